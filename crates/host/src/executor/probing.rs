//! Probes: calls that search for a message without receiving it.
//!
//! A probe searches the queue of unexpected messages, as a receive does, and leaves the message there. It ends when the
//! library knows of the message: at once, or when the request of a rendezvous message has been read. A probe pays for
//! the search; the receive overhead belongs to the receive. A call that does not wait has a separate overhead before
//! the search.

use mpi::program::{Action, Matched};

use super::Executor;
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::inbound::{Envelope, Inbound};
use crate::local_ranks::LocalRank;
use crate::match_key::{ANY_SOURCE, MatchKey};
use crate::probes::Probing;
use crate::processor::{Occasion, WorkStart};
use crate::slots::MessageSlot;
use crate::trace::Purpose;

impl Executor {
    /// Starts a probe of a local rank.
    pub(super) fn probe(
        &mut self,
        rank: LocalRank,
        (op, id): (OpId, u32),
        action: Action,
        now: u64,
        around: &mut impl HostContext,
    ) {
        let Action::Probe { from, tag, context, waits } = action else { return };
        // Deferred reactions come before the search.
        self.run_pending_progress(rank, now, around);
        let key = MatchKey { source: from.unwrap_or(ANY_SOURCE), tag, context };
        let found = self.matching.probe(rank, key);
        let from = if waits { now } else { self.poll_work(rank, op, now) };
        let from = self.search(rank, from, (op, Occasion::Call));
        let probing = Probing::new(op, (rank, id), key);
        match found {
            Some(message) => {
                let place = self.probes.add(probing);
                self.probe_finds(place, message, WorkStart { from, now }, around);
            }
            None if waits => self.probes.wait(probing, self.ranks.len()),
            None => {
                let place = self.probes.add(probing);
                self.later(self.processors.returns(rank, from), op, Event::Probed(place), now, around);
            }
        }
    }

    /// Accepts the work of a polling call of a local rank. Returns the time at which it ends.
    #[inline]
    pub(super) fn poll_work(&mut self, rank: LocalRank, op: OpId, now: u64) -> u64 {
        match self.interface.poll_overhead {
            0 => now,
            work => self.call_work(rank, (op, Purpose::Poll), now, work),
        }
    }

    /// Lets the waiting probes of a rank find an unexpected message. `start` has the time from which the library knows
    /// of the message.
    #[inline]
    pub(super) fn probes_find(
        &mut self,
        message: MessageSlot,
        key: MatchKey,
        start: WorkStart,
        around: &mut impl HostContext,
    ) {
        let rank = self.arrivals[message].rank;
        while let Some(place) = self.probes.next_for(rank, key) {
            let op = self.probes.get(place).op;
            self.trace_met(rank, op.number, self.arrivals[message].send());
            self.trace_latency(rank, (op, Purpose::Probe), (start.now, start.now));
            self.probe_finds(place, message, start, around);
        }
    }

    /// Lets a probe find a message from time `from` on, which may be later than now.
    fn probe_finds(
        &mut self,
        place: u32,
        message: MessageSlot,
        WorkStart { from, now }: WorkStart,
        around: &mut impl HostContext,
    ) {
        let Inbound { envelope: Envelope { source, tag, bytes, .. }, ready_at, rank, .. } = self.arrivals[message];
        let probing = self.probes.get(place);
        probing.found = Some(Matched { source, tag, bytes });
        let op = probing.op;
        let end = self.processors.returns(rank, from.max(ready_at));
        self.later(end, op, Event::Probed(place), now, around);
    }

    /// Ends a probe.
    pub(super) fn probed(&mut self, place: u32, now: u64) {
        let Probing { op, rank, id, found, .. } = self.probes.remove(place);
        self.end(rank, (op.number, id), now, found);
    }
}
