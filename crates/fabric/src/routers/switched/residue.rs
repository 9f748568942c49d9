//! Concentrating the residue (Prabhakar, McKeown and Ahuja 1997, the algorithm Concentrate): copies that cannot leave
//! in an instant are left to as few inputs as possible, so that the others bring new packets to the front.
//!
//! An output that n heads request leaves n - 1 copies. The input that has the most copies in common with the residue
//! keeps as many of them as it can; a tie goes to the input whose head has come last. Then the next input follows,
//! until nothing is left. The other copies leave. Copies that cannot leave in any case, because their output is busy or
//! has no room beyond it, count as common from the beginning: their input keeps a residue anyway. If several virtual
//! channels of an input could send, the one whose head has waited longest takes part.

use super::Switched;
use super::multicast::{Matching, RankedCandidate, ReadyCopy};
use super::runs::Runs;
use crate::fabric::Fabric;
use crate::index::InputId;
use crate::routers::arbiter::{Candidates, in_turn};

impl Switched {
    /// Gives each active output of a router one of the heads that request it.
    pub(super) fn concentrate(&mut self, fabric: &mut Fabric, place: (usize, usize), active: &[u64], now: u64) {
        let base = place.1;
        let mut matching = std::mem::take(&mut self.multicast.matching);
        matching.ready.clear();
        for out in in_turn(active, 0).filter(|&out| self.requests.side(base + out).0.free_at <= now) {
            let heads = Runs { routers: self, output: base + out, first: InputId::new(base, 0, self.vc_shift), now };
            for candidate in self.requests.candidates(base + out) {
                if heads.ready(fabric, candidate).is_some() {
                    matching.ready.push(ReadyCopy { out: out as u32, candidate: candidate as u32 });
                }
            }
        }
        self.take_one_of_each_port(fabric, place, &mut matching);
        let Matching { ready, residue, order, given, .. } = &mut matching;
        residue.fill(0);
        ready.iter().for_each(|copy| residue[copy.out as usize] += 1);
        residue.iter_mut().for_each(|left| *left = left.saturating_sub(1));
        while !order.is_empty() && residue.iter().any(|&left| left > 0) {
            let Some(next) =
                (0..order.len()).min_by_key(|&index| self.residue_rank(fabric, base, order[index], (ready, residue)))
            else {
                break;
            };
            let keeper = order.swap_remove(next).candidate;
            ready.retain(|&ReadyCopy { out, candidate }| {
                let stays = candidate == keeper && residue[out as usize] > 0;
                residue[out as usize] -= u32::from(stays);
                !stays
            });
        }
        for ReadyCopy { out, candidate } in ready.drain(..) {
            given[out as usize] = Some(candidate);
        }
        order.clear();
        self.multicast.matching = matching;
    }

    /// Collects the candidates that could send, one for each port, with their tie-breaking keys: the time since which
    /// each requests, and then the router's arbitration.
    fn take_one_of_each_port(&self, fabric: &mut Fabric, place: (usize, usize), matching: &mut Matching) {
        let Matching { ready, order, .. } = matching;
        let first = InputId::new(place.1, 0, self.vc_shift);
        let since = |candidate: u32| self.multicast.since[first.plus(candidate as usize).index()];
        order.clear();
        order.extend(ready.iter().map(|&ReadyCopy { candidate, .. }| RankedCandidate {
            rank: since(candidate),
            tie: 0,
            candidate,
        }));
        order.sort_unstable_by_key(|own| (own.candidate >> self.vc_shift, own.rank, own.candidate));
        order.dedup_by_key(|own| own.candidate >> self.vc_shift);
        ready.retain(|copy| order.iter().any(|chosen| chosen.candidate == copy.candidate));
        for own in order.iter_mut() {
            own.tie = self.tie(fabric, place, own.candidate as usize);
        }
    }

    /// Returns the key that is smallest for the candidate that keeps its copies first: the most in common with the
    /// residue, and the latest to request.
    fn residue_rank(
        &self,
        fabric: &Fabric,
        base: usize,
        RankedCandidate { rank: since, tie, candidate }: RankedCandidate,
        (ready, residue): (&[ReadyCopy], &[u32]),
    ) -> (usize, u64, u64) {
        let run = fabric.run(self.fifos[InputId::new(base, candidate as usize, self.vc_shift).index()].queue.head());
        let own = ready.iter().filter(|copy| copy.candidate == candidate);
        let leaving = own.filter(|copy| residue[copy.out as usize] == 0).count();
        let common = run.count() - leaving;
        (usize::from(u16::MAX) - common, u64::MAX - since, tie)
    }
}
