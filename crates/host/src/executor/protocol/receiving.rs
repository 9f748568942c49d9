//! Receiver's side of the protocols.

use mpi::program::Matched;

use super::super::{Executor, PendingRecv};
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::inbound::{Envelope, Inbound};
use crate::match_key::MatchKey;
use crate::matching::Receive;
use crate::processor::{Occasion, ProgressTask, WorkStart};
use crate::rank_pair::RankPair;
use crate::report::{Completed, HostError};
use crate::slots::MessageSlot;
use crate::trace::{Purpose, TracedPart};

impl Executor {
    /// Handles a packet of a message, or its request, that has arrived.
    pub(in super::super) fn packet_arrived(&mut self, place: MessageSlot, now: u64, around: &mut impl HostContext) {
        let message = &mut self.arrivals[place];
        let is_first = !message.is_here;
        if message.envelope.rendezvous && is_first {
            // If overheads do not occupy the processor, a request is read even before the earlier messages of its pair.
            let by_nic = self.interface.matching.on_nic || self.forwards_arrival(place).is_some();
            let message = &mut self.arrivals[place];
            message.ready_at = now + if by_nic { 0 } else { self.interface.receive_overhead };
            let (op, rank, ready_at) = (message.send(), message.rank, message.ready_at);
            self.trace_arrival(op, TracedPart::Request, now);
            if by_nic || !self.processors.is_host_driven() {
                self.trace_latency(rank, (op, Purpose::Read), (now, ready_at));
            }
        } else {
            message.missing = message.missing.saturating_sub(u64::from(self.interface.packet));
            if message.missing == 0 {
                let (envelope, rank, is_met) = (message.envelope, message.rank, message.receive().is_some());
                self.trace_arrival(self.arrivals[place].send(), TracedPart::Data, now);
                self.note_completed(&envelope);
                if is_met {
                    self.enter_progress(rank, ProgressTask::Complete(place), WorkStart::at(now), around);
                }
            }
        }
        if is_first {
            self.come_in_turn(place, now, around);
        }
    }

    /// Notes the bytes of a part that has arrived whole, beyond those of one packet, if the network takes messages whole.
    #[inline]
    pub(in super::super) fn arrived_whole(&mut self, arrived: Event, bytes: u32) {
        let Event::Packet(place) = arrived else { return };
        let message = &mut self.arrivals[place];
        if self.interface.whole && (message.is_here || !message.envelope.rendezvous) {
            message.missing = message.missing.saturating_sub(u64::from(bytes.saturating_sub(self.interface.packet)));
        }
    }

    /// Handles a message that is here. It comes to its rank if all earlier messages of its pair have, and so do the
    /// next ones that are here.
    pub(in super::super) fn come_in_turn(&mut self, place: MessageSlot, now: u64, around: &mut impl HostContext) {
        if !self.arrivals.come(place) {
            return;
        }
        let mut last = Some(place);
        while let Some(place) = last {
            self.enter_progress(self.arrivals[place].rank, ProgressTask::Admit(place), WorkStart::at(now), around);
            last = self.arrivals.next_of_pair(place);
        }
    }

    /// Delivers a message between ranks of one node at once.
    pub(super) fn deliver_within(&mut self, envelope: Envelope, now: u64, around: &mut impl HostContext) {
        let rank = self.placed.local_rank(envelope.to);
        let message = self.arrivals.add(rank, envelope);
        self.arrivals[message].missing = 0;
        self.trace_arrival(self.arrivals[message].send(), TracedPart::Data, now);
        self.enter_progress(rank, ProgressTask::Admit(message), WorkStart::at(now), around);
    }

    fn note_completed(&mut self, envelope: &Envelope) {
        if let Some(notes) = &mut self.records.notes {
            notes.completed.push(Completed { source: envelope.source, number: envelope.number, at: self.clock.tick });
        }
    }

    /// Admits a message that has come to its rank in order: the library learns of it.
    pub(in super::super) fn admit(&mut self, place: MessageSlot, now: u64, around: &mut impl HostContext) {
        let (envelope, rank) = (self.arrivals[place].envelope, self.arrivals[place].rank);
        if self.nics.connections.on_demand() && !self.is_within(envelope.source, envelope.to) {
            self.nics.connections.ready(RankPair { local: rank, peer: envelope.source }, now);
        }
        let rendezvous = envelope.rendezvous && !self.is_within(envelope.source, envelope.to);
        let (mut from, send) = (now, self.arrivals[place].send());
        let by_nic = self.interface.matching.on_nic || self.forwards_arrival(place).is_some();
        if rendezvous && self.processors.is_host_driven() && !by_nic {
            from = self.reaction_work(rank, (send, Purpose::Read), now, self.interface.receive_overhead);
            self.arrivals[place].ready_at = from;
        }
        let key = MatchKey { source: envelope.source, tag: Some(envelope.tag), context: envelope.context };
        let met = self.matching.message(rank, key, || place);
        let from = self.search(rank, from, (send, Occasion::Progress));
        match met {
            Some(receive) => self.meet((place, receive), WorkStart { from, now }, around),
            None => {
                self.unexpected.hold(rank, self.buffered(place));
                self.probes_find(place, key, WorkStart { from, now }, around);
            }
        }
    }

    /// Returns the bytes of memory that an unexpected message takes. 0 if its data have not been sent.
    pub(in super::super) fn buffered(&self, place: MessageSlot) -> u64 {
        let Envelope { bytes, rendezvous, .. } = self.arrivals[place].envelope;
        if rendezvous { 0 } else { bytes }
    }

    /// Matches a message with its receive, which may be one of a burst, from `start` on.
    pub(in super::super) fn meet(
        &mut self,
        (place, Receive { item: receive, number }): (MessageSlot, Receive),
        start: WorkStart,
        around: &mut impl HostContext,
    ) {
        let found = &mut self.arrivals[place];
        (found.receive, found.number, found.ready_at) = (receive, number, found.ready_at.max(start.from));
        let message = *found;
        let Envelope { source, tag, context, bytes: sent, rendezvous, .. } = message.envelope;
        let PendingRecv { op, rank, bytes: received, .. } = self.receives[receive];
        self.trace_met(rank, op.number.wrapping_add(number), message.send());
        if sent > received {
            self.fail(HostError::Truncated { rank: op.rank, source_rank: source, tag, context, sent, received });
        }
        if message.missing == 0 {
            self.enter_progress(message.rank, ProgressTask::Complete(place), start, around);
        } else if self.is_within(source, op.rank) {
            self.enter_progress(message.rank, ProgressTask::Copy(place), start, around);
        } else if rendezvous {
            self.enter_progress(message.rank, ProgressTask::Answer(place), start, around);
        }
    }

    /// Ends the receive of a message.
    pub(in super::super) fn received(&mut self, message: MessageSlot, now: u64, around: &mut impl HostContext) {
        let Inbound { envelope, receive, number, .. } = self.arrivals[message];
        let Envelope { source, to, tag, bytes, rendezvous, .. } = envelope;
        self.end_receive(Receive { item: receive, number }, Matched { source, tag, bytes }, now);
        if self.reads() && rendezvous && !self.is_within(source, to) {
            return self.finish_read(message, now, around);
        }
        self.give_back(&envelope, now, around);
        self.forget(message);
    }

    /// Ends a receive, which may be one of a burst, with a message.
    pub(super) fn end_receive(&mut self, Receive { item: place, number }: Receive, matched: Matched, now: u64) {
        let receiving = &mut self.receives[place];
        let PendingRecv { op, rank, id, .. } = *receiving;
        receiving.left -= 1;
        if receiving.left == 0 {
            self.receives.remove(place);
        }
        self.end(rank, (op.number.wrapping_add(number), id), now, Some(matched));
    }

    /// Returns a receive, which may be one of a burst, as an operation.
    #[inline]
    pub(super) fn op_of(&self, Receive { item: place, number }: Receive) -> OpId {
        let OpId { rank, number: first } = self.receives[place].op;
        OpId { rank, number: first.wrapping_add(number) }
    }

    /// Returns the matched receive of a message, as an operation.
    pub(in super::super) fn receive_of(&self, message: MessageSlot) -> OpId {
        let Inbound { receive, number, .. } = self.arrivals[message];
        self.op_of(Receive { item: receive, number })
    }

    /// Removes a message that is no longer needed.
    pub(super) fn forget(&mut self, message: MessageSlot) {
        let source = self.arrivals[message].envelope.source;
        self.arrivals.remove(message, !self.placed.is_local(source));
    }
}
