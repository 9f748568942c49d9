//! Multicast without fanout splitting: a head crosses when all its outputs are free and have room beyond them at once.
//!
//! Inputs are served sequentially; each sends if all outputs that its head requests are still available. Their order is
//! determined anew in each instant: `round-robin` begins behind the first input that was served last time, `random`
//! draws an order, `oldest-first` sorts by generation times, WBA by weights. Model choice: if there are copies for one
//! output on several classes, which no crossbar can send at once, one leaves with the others and the rest follow.

use units::Draw;

use super::Switched;
use super::multicast::{Matching, RankedCandidate};
use crate::catalogue::{Arbitration, FifoMulticast, MulticastPolicy};
use crate::fabric::Fabric;
use crate::index::InputId;
use crate::routers::arbiter::in_turn;

impl Switched {
    /// Gives all their outputs to heads that request active outputs of a router, and activates these outputs.
    pub(super) fn match_whole(&mut self, fabric: &mut Fabric, place: (usize, usize), active: &mut [u64], now: u64) {
        let (router, base) = place;
        let mut matching = std::mem::take(&mut self.multicast.matching);
        self.collect_candidates(base, active, &mut matching.order);
        self.put_in_order(fabric, place, &mut matching);
        let Matching { given, order, ports, first, .. } = &mut matching;
        let mut is_first = true;
        for RankedCandidate { candidate, .. } in order.drain(..) {
            let port = candidate >> self.vc_shift;
            if ports.contains(&port) || !self.can_leave_whole(fabric, base, (candidate, given), now) {
                continue;
            }
            ports.push(port);
            for packet in
                fabric.run(self.fifos[InputId::new(base, candidate as usize, self.vc_shift).index()].queue.head())
            {
                let out = usize::from(fabric.pool[packet].out);
                given[out] = Some(candidate);
                active[out >> 6] |= 1 << (out & 63);
            }
            if std::mem::take(&mut is_first) {
                first[router] = candidate + 1;
            }
        }
        ports.clear();
        self.multicast.matching = matching;
    }

    /// Sorts candidates into the order in which they are served.
    fn put_in_order(&self, fabric: &mut Fabric, (router, base): (usize, usize), matching: &mut Matching) {
        let policy = self.multicast.spec.map_or(MulticastPolicy::default(), |FifoMulticast { policy, .. }| policy);
        let begin = matching.first[router];
        let first = InputId::new(base, 0, self.vc_shift);
        for RankedCandidate { rank, tie, candidate } in &mut matching.order {
            let input = first.plus(*candidate as usize);
            *rank = if policy == MulticastPolicy::Wba { self.lightness(fabric, input) } else { 0 };
            *tie = match self.arbitration {
                Arbitration::RoundRobin => u64::from(*candidate < begin),
                Arbitration::OldestFirst => self.ages[input.index()],
                Arbitration::Random => u64::from(fabric.stream(router).below(u32::MAX)),
                Arbitration::GroupsFirst => {
                    u64::from(!self.leads_group(fabric, input)) << 1 | u64::from(*candidate < begin)
                }
            };
        }
        matching.order.sort_unstable();
    }

    /// Returns whether all outputs of a candidate are free, not given to others, and have room beyond them. If not, the
    /// router is visited again when that may have changed.
    fn can_leave_whole(
        &mut self,
        fabric: &mut Fabric,
        base: usize,
        (candidate, given): (u32, &[Option<u32>]),
        now: u64,
    ) -> bool {
        let input = InputId::new(base, candidate as usize, self.vc_shift);
        let mut packet = self.fifos[input.index()].queue.head();
        let mut all = true;
        for _ in 0..fabric.run(packet).count() {
            let out = usize::from(fabric.pool[packet].out);
            let output = base + out;
            if self.requests.side(output).0.free_at > now {
                self.wake_output(fabric, output);
                all = false;
            } else if self.ready_copy(fabric, output, input, now).is_none() {
                self.no_grant(fabric, output, now);
                all = false;
            }
            all &= given[out].is_none();
            packet = fabric.pool[packet].next;
        }
        all
    }

    /// Collects the candidates of some outputs of a router, without duplicates, in ascending order.
    pub(super) fn collect_candidates(&self, base: usize, active: &[u64], order: &mut Vec<RankedCandidate>) {
        order.clear();
        for out in in_turn(active, 0) {
            let own = |candidate| RankedCandidate { rank: 0, tie: 0, candidate: candidate as u32 };
            order.extend(self.requests.candidates(base + out).map(own));
        }
        order.sort_unstable();
        order.dedup();
    }
}
