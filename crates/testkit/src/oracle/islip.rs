//! Virtual-output-queued routers: iSLIP (McKeown 1999).

use std::collections::BTreeMap;

use super::arbitration::Candidate;
use super::{Arbitration, Simulator};

impl Simulator<'_> {
    /// Matches inputs to outputs (McKeown 1999) and sends the matched packets.
    pub(super) fn islip(&mut self, now: u64, router: usize, rounds: u8) {
        let asked = (0..self.routers[router].ports()).filter(|&out| self.routers[router].is_asked(out, now));
        let (free, busy): (Vec<u16>, Vec<u16>) =
            asked.partition(|&out| self.senders[self.output(router, out)].free_at <= now);
        // Requests: the inputs with a packet for an output, by output, while both are free.
        let mut requests = BTreeMap::new();
        for &out in &free {
            requests.insert(out, self.of_each_input(now, router, out));
        }
        for round in 0..rounds {
            let accepted = self.match_once(router, &requests, round == 0);
            if accepted.is_empty() {
                break;
            }
            for chosen in accepted {
                let (input, vc, out) = chosen.place;
                requests.remove(&out);
                requests.values_mut().for_each(|of: &mut Vec<Candidate>| of.retain(|other| other.place.0 != input));
                self.routers[router].served_vc.insert((input, out), vc);
                self.send(now, router, chosen);
            }
        }
        let still_wanted = free.into_iter().filter(|&out| !self.routers[router].heads(out).is_empty());
        for out in still_wanted.chain(busy).collect::<Vec<u16>>() {
            let channel = self.output(router, out);
            let sender = &mut self.senders[channel];
            match sender.free_at > now {
                true => self.events.visit_router(sender.free_at, router),
                false => sender.starved = true,
            }
        }
    }

    /// Returns the packet that each input would send to an output. The virtual channels of an input take turns.
    fn of_each_input(&mut self, now: u64, router: usize, out: u16) -> Vec<Candidate> {
        let candidates = self.candidates(now, router, out);
        let of_one = candidates.chunk_by(|one, other| one.place.0 == other.place.0);
        let choose = |of: &[Candidate]| {
            let input = of[0].place.0;
            // Initially the lowest virtual channel goes first.
            let last = self.routers[router].served_vc.get(&(input, out)).copied().unwrap_or(u8::MAX);
            Arbitration::RoundRobin.first(of, (input, last))
        };
        of_one.filter_map(choose).collect()
    }

    /// Performs one round of grant and accept. Pointers move only in the first round, and only past accepted grants.
    fn match_once(&mut self, router: usize, requests: &BTreeMap<u16, Vec<Candidate>>, first: bool) -> Vec<Candidate> {
        let state = &mut self.routers[router];
        let ports = state.ports();
        // Grants by input, in ascending order of outputs.
        let mut grants: BTreeMap<u16, Vec<Candidate>> = BTreeMap::new();
        for (&out, of) in requests {
            let from = state.grant[usize::from(out)];
            let granted = of.iter().find(|one| one.place.0 >= from).or(of.first());
            if let Some(&granted) = granted {
                grants.entry(granted.place.0).or_default().push(granted);
            }
        }
        let mut accepted = Vec::new();
        for (input, granted) in grants {
            let from = state.accept[usize::from(input)];
            let Some(&chosen) = granted.iter().find(|one| one.place.2 >= from).or(granted.first()) else { continue };
            if first {
                state.accept[usize::from(input)] = (chosen.place.2 + 1) % ports;
                state.grant[usize::from(chosen.place.2)] = (input + 1) % ports;
            }
            accepted.push(chosen);
        }
        accepted
    }
}
