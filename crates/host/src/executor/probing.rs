//! Probes: calls that search for a message without receiving it.
//!
//! A probe searches the queue of messages that nobody has expected, as a receive does, and leaves what it finds there. It ends when the
//! library has read that there is the message: at once, or when the request of a message by rendezvous has been read. What it finds
//! costs the search; the overhead of receiving is the receive's. A call that does not wait has an overhead of its own, before the search.

use workload::program::{Action, Matched};

use super::Executor;
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::inbound::{Envelope, Inbound};
use crate::label::{ANY_SOURCE, Label};
use crate::probes::Probing;
use crate::trace::Purpose;

impl Executor {
    /// A rank, by its number here, probes.
    pub(super) fn probe(
        &mut self,
        rank: u32,
        (op, id): (OpId, u32),
        action: Action,
        now: u64,
        around: &mut impl HostContext,
    ) {
        let Action::Probe { from, tag, context, waits } = action else { return };
        // What has waited for the library comes before it searches.
        self.react_to_deferred(rank, now, around);
        let label = Label { source: from.unwrap_or(ANY_SOURCE), tag, context };
        let found = self.matching.probe(rank, label);
        let from = if waits { now } else { self.poll_work(rank, op, now) };
        let from = self.search(rank, from, (op, true));
        let probing = Probing::new(op, (rank, id), label);
        match found {
            Some(message) => {
                let place = self.probes.add(probing);
                self.probe_finds(place, message, (from, now), around);
            }
            None if waits => self.probes.wait(probing, self.ranks.len()),
            None => {
                let place = self.probes.add(probing);
                self.later(self.processors.returns(rank, from), op, Event::Probed(place), now, around);
            }
        }
    }

    /// A call of a rank, by its number here, only polls: when its work ends.
    #[inline]
    pub(super) fn poll_work(&mut self, rank: u32, op: OpId, now: u64) -> u64 {
        match self.interface.poll_overhead {
            0 => now,
            work => self.call_work(rank, (op, Purpose::Poll), now, work),
        }
    }

    /// A message has come that nobody has expected, as the library knows from a time on: probes of its rank that wait for such a one
    /// find it.
    #[inline]
    pub(super) fn probes_find(&mut self, message: u32, label: Label, from: (u64, u64), around: &mut impl HostContext) {
        let rank = self.arrivals[message].rank;
        while let Some(place) = self.probes.next_for(rank, label) {
            let op = self.probes.get(place).op;
            self.trace_met(rank, op.number, self.arrivals[message].send());
            self.trace_latency(rank, (op, Purpose::Probe), (from.1, from.1));
            self.probe_finds(place, message, from, around);
        }
    }

    /// A probe has found a message from a time on, which may be later than now.
    fn probe_finds(&mut self, place: u32, message: u32, (from, now): (u64, u64), around: &mut impl HostContext) {
        let Inbound { envelope: Envelope { source, tag, bytes, .. }, read_at, rank, .. } = self.arrivals[message];
        let probing = self.probes.get(place);
        probing.found = Some(Matched { source, tag, bytes });
        let op = probing.op;
        let end = self.processors.returns(rank, from.max(read_at));
        self.later(end, op, Event::Probed(place), now, around);
    }

    /// A probe ends.
    pub(super) fn probed(&mut self, place: u32, now: u64) {
        let Probing { op, rank, id, found, .. } = self.probes.remove(place);
        self.end(rank, (op.number, id), now, found);
    }
}
