//! Naive matching of messages and receives.

use host::Searches;
use mpi::program::Action;

use super::{Message, Naive, What};

impl Naive {
    /// Delivers messages of a pair of ranks to the receiver in the order in which they have been handed over.
    pub(super) fn come_in_turn(&mut self, from: u32, to: u32) {
        let of_pair = |message: &Message| (message.from, message.to) == (from, to) && !message.has_come;
        while let Some(message) = self.messages.iter().position(of_pair).filter(|&first| self.messages[first].is_here) {
            self.messages[message].has_come = true;
            self.come(message);
        }
    }

    pub(super) fn takes(&self, receive: usize, message: usize) -> bool {
        let (Action::Recv { from, tag, context, .. } | Action::Probe { from, tag, context, .. }) =
            self.operations[receive].action
        else {
            return false;
        };
        let message = &self.messages[message];
        context == message.context
            && from.is_none_or(|from| from == message.from)
            && tag.is_none_or(|tag| tag == message.tag)
    }

    /// Handles the arrival of a message: it matches the first posted receive that takes it, or is unexpected.
    pub(super) fn come(&mut self, message: usize) {
        let rank = self.messages[message].to as usize;
        let found = self.posted[rank].iter().position(|&receive| self.takes(receive, message));
        count(&mut self.searches[0], found, self.posted[rank].len());
        match found {
            Some(place) => {
                let receive = self.posted[rank].remove(place);
                self.meet(message, receive);
            }
            None => {
                self.unexpected[rank].push(message);
                let eager = self.unexpected[rank].iter().map(|&place| &self.messages[place]).filter(|own| !own.asks);
                self.amounts[0] = self.amounts[0].max(eager.map(|own| own.bytes).sum());
                self.searches[1].longest = self.searches[1].longest.max(self.unexpected[rank].len() as u32);
                let waiting = std::mem::take(&mut self.probing[rank]);
                let (find, wait) = waiting.into_iter().partition(|&probe| self.takes(probe, message));
                self.probing[rank] = wait;
                let find: Vec<usize> = find;
                find.into_iter().for_each(|probe| self.finds(probe, message, self.now));
            }
        }
    }

    /// Posts a receive: it matches the first message that it takes, or waits.
    pub(super) fn post(&mut self, receive: usize) {
        let rank = self.operations[receive].rank as usize;
        let found = self.unexpected[rank].iter().position(|&message| self.takes(receive, message));
        count(&mut self.searches[1], found, self.unexpected[rank].len());
        match found {
            Some(place) => {
                let message = self.unexpected[rank].remove(place);
                self.meet(message, receive);
            }
            None => {
                self.posted[rank].push(receive);
                self.searches[0].longest = self.searches[0].longest.max(self.posted[rank].len() as u32);
            }
        }
    }

    /// Probes: finds the first message that a receive would match, or waits if `waits`, or continues.
    pub(super) fn probe(&mut self, probe: usize, waits: bool) {
        let rank = self.operations[probe].rank as usize;
        let found = self.unexpected[rank].iter().position(|&message| self.takes(probe, message));
        count(&mut self.searches[1], found, self.unexpected[rank].len());
        match found {
            Some(place) => {
                let from = if waits { self.now } else { self.now + self.nic.poll_overhead };
                self.finds(probe, self.unexpected[rank][place], from);
            }
            None if waits => self.probing[rank].push(probe),
            None => self.at(self.now + self.nic.poll_overhead, probe, What::LookEnds(probe)),
        }
    }

    /// Ends a probe that has found a message, at `from` or when the message's request has been read, if that is later.
    fn finds(&mut self, probe: usize, message: usize, from: u64) {
        self.at(self.messages[message].read_at.max(from), probe, What::ProbeEnds(probe, message));
    }

    pub(super) fn meet(&mut self, message: usize, receive: usize) {
        self.messages[message].receive = Some(receive);
        let Message { send, to, bytes, missing, asks, read_at, .. } = self.messages[message];
        let Action::Recv { bytes: room, .. } = self.operations[receive].action else { panic!("not a receive") };
        if bytes > room {
            self.truncated.push(to);
        }
        if missing == 0 {
            self.complete(message);
        } else if self.same_node(self.messages[message].from, to) {
            self.copy(message, receive, What::CopiedOut(message));
        } else if asks {
            let at = match self.forwarding_of(message) {
                Some(own) => self.nic_work(to, own.receive + own.send),
                None => read_at.max(self.now) + self.nic.send_overhead,
            };
            self.at(at, send, What::Answer(message));
        }
    }

    pub(super) fn complete(&mut self, message: usize) {
        let receive = self.messages[message].receive.unwrap();
        let at = match self.forwarding_of(message) {
            Some(own) => self.nic_work(self.messages[message].to, own.receive),
            None => self.now + self.nic.receive_overhead,
        };
        self.at(at, receive, What::ReceiveEnds(message));
    }
}

/// Counts a search of a list of `length` entries that has found a match at a place, or none.
fn count(searches: &mut Searches, found: Option<usize>, length: usize) {
    let depth = found.map_or(length, |place| place + 1) as u32;
    searches.count += 1;
    searches.depth += u64::from(depth);
    searches.deepest = searches.deepest.max(depth);
}
