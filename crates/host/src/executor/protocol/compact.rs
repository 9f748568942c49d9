//! Compact messages: eager messages on a network that carries them whole, if no protocol, credit or trace needs them
//! individually. Messages in transit, messages that pass interfaces, and pending receives are held as progressions
//! ([`crate::progressions`]), so that a burst needs the memory of one message.
//!
//! All events happen at the times, and in the order, of messages that are held individually. A test compares both
//! forms.

use mpi::program::Matched;

use super::super::{Executor, PendingSend};
use super::in_transit::whole;
use crate::completing::Completing;
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::inbound::Envelope;
use crate::local_ranks::LocalRank;
use crate::match_key::MatchKey;
use crate::matching::Receive;
use crate::nic::Passage;
use crate::processor::{Occasion, WorkStart};
use crate::rank_pair::RankEnds;
use crate::report::HostError;
use crate::slots::SendSlot;
use crate::trace::Purpose;
use crate::transit::{CompactMessage, CompactShape, MessageInTransit, Payload, Transmission};

impl Executor {
    /// Returns whether a message of `bytes` bytes can be compact.
    #[inline]
    pub(in super::super) fn can_be_compact(&self, bytes: u64) -> bool {
        self.compact.are_possible && !self.waits_for_receiver(bytes)
    }

    /// Returns whether eager messages are compact, from the begin of the programs on.
    pub(in super::super) fn has_compact(&self) -> bool {
        let notes_each = self.credits.is_some() || self.nics.connections.on_demand() || self.probes.are_possible;
        let notes_each = notes_each || self.interface.protocol.forwarding.is_some();
        self.transit.is_some() && !notes_each && self.records.trace.is_none() && self.records.notes.is_none()
    }

    /// Hands a compact message over to a rank of another node.
    pub(super) fn send_compact(&mut self, sending: &PendingSend, now: u64, around: &mut impl HostContext) {
        let &PendingSend { op, to, tag, context, bytes, .. } = sending;
        let (node, carried) = (self.local_node(op.rank), bytes.max(1));
        let at = self.nics.connections.fetch(node, RankEnds { from: op.rank, to }, now);
        let stream = self.nics.parts.fetch(node, carried, at);
        let Passage { head, tail } = self.leave((node, to), (carried, stream), around);
        let (span, since) = (tail - head, stream.from);
        if self.placed.is_local(to) {
            let shape = CompactShape { tag, context, bytes, span };
            return self.receive_compact_later(&CompactMessage { at: tail, since, op, to, shape });
        }
        let payload = Payload::Announced(sending.envelope(SendSlot::NONE));
        let transmission = Transmission { bytes: carried, span, since };
        self.send_away(MessageInTransit { at: tail, op, to, payload, transmission }, around);
    }

    /// Notes that a compact message is in transit to a rank of this executor.
    #[inline]
    pub(super) fn receive_compact_later(&mut self, message: &CompactMessage) {
        let node = self.placed.node(message.op.rank) as usize;
        let Some(transit) = &mut self.transit else { return };
        if let Some(place) = transit.compact.push(node, message.shape, message.numbers()) {
            self.pending.push_arrival(message.at, message.op, Event::Arrives(place));
        }
    }

    /// Handles the arrival of the first message of a progression.
    pub(in super::super) fn first_arrives(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Some(transit) = &mut self.transit else { return };
        let message = transit.compact.first_message(place);
        if let Some(next) = transit.compact.pass(place) {
            let (at, op) = transit.compact.due(next);
            self.pending.push_arrival(at, op, Event::Arrives(next));
        }
        let carried = message.shape.bytes.max(1);
        around.count_arrival(carried, now - message.since);
        if !self.nics.parts.receiving {
            return self.compact_arrives(&message, now, around);
        }
        let at = Passage { head: now.saturating_sub(message.shape.span), tail: now };
        let node = self.local_node(message.to);
        let passed = self.nics.parts.receive(node, &whole(carried), at).tail;
        if passed <= now {
            return self.compact_arrives(&message, now, around);
        }
        let message = CompactMessage { at: passed, ..message };
        let Some(transit) = &mut self.transit else { return };
        if let Some(place) = transit.passing.push(node, message.shape, message.numbers()) {
            self.pending.push(passed, message.op, Event::Passes(place));
        }
    }

    /// Handles the first message of a progression, which has passed the interface of its receiver.
    pub(in super::super) fn traversed_nic(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Some(transit) = &mut self.transit else { return };
        let message = transit.passing.first_message(place);
        if let Some(next) = transit.passing.pass(place) {
            let (at, op) = transit.passing.due(next);
            self.pending.push(at, op, Event::Passes(next));
        }
        self.compact_arrives(&message, now, around);
    }

    /// Handles a compact message that has come to its rank.
    fn compact_arrives(&mut self, message: &CompactMessage, now: u64, around: &mut impl HostContext) {
        let &CompactMessage { op, to, shape: CompactShape { tag, context, bytes, .. }, .. } = message;
        let rank = self.placed.local_rank(to);
        let envelope = Envelope {
            source: op.rank,
            number: op.number,
            turn: 0,
            to,
            tag,
            context,
            bytes,
            place: SendSlot::NONE,
            rendezvous: false,
        };
        if self.processors.must_defer_progress(rank) {
            // The library learns of it later: until then it is an ordinary message.
            let message = self.arrivals.add_whole(rank, envelope);
            return self.come_in_turn(message, now, around);
        }
        let key = MatchKey { source: op.rank, tag: Some(tag), context };
        let arrivals = &mut self.arrivals;
        let met = self.matching.message(rank, key, || arrivals.add_whole(rank, envelope));
        let from = self.search(rank, now, (op, Occasion::Progress));
        match met {
            Some(receive) => self.complete(&envelope, (rank, receive), WorkStart { from, now }),
            None => self.unexpected.hold(rank, bytes),
        }
    }

    /// Receives the data of a matched eager message, from time `from` on, which may be later than now.
    fn complete(&mut self, envelope: &Envelope, (rank, met): (LocalRank, Receive), WorkStart { from, now }: WorkStart) {
        let &Envelope { source, tag, context, bytes, .. } = envelope;
        let (op, received) = (self.op_of(met), self.receives[met.item].bytes);
        if bytes > received {
            let sent = bytes;
            self.fail(HostError::Truncated { rank: op.rank, source_rank: source, tag, context, sent, received });
        }
        let at = self.reaction_work(rank, (op, Purpose::Receive), from, self.interface.receiving(bytes));
        if at <= now {
            return self.end_receive(met, Matched { source, tag, bytes }, now);
        }
        let completing = Completing { receive: met.item, tag, bytes };
        let numbers = [at, OpId { rank: source, number: met.number }.packed()];
        if let Some(place) = self.compact.completing.push(rank.index(), completing, numbers) {
            self.pending.push(at, op, Event::Completes(place));
        }
    }

    /// Ends the first receive of a progression.
    pub(in super::super) fn completes(&mut self, place: u32, now: u64) {
        let (&Completing { receive, tag, bytes }, &[_, packed]) = self.compact.completing.first(place);
        if let Some(next) = self.compact.completing.pass(place) {
            let (&Completing { receive, .. }, &[at, packed]) = self.compact.completing.first(next);
            let op = self.op_of(Receive { item: receive, number: OpId::of_packed(packed).number });
            self.pending.push(at, op, Event::Completes(next));
        }
        let OpId { rank: source, number } = OpId::of_packed(packed);
        self.end_receive(Receive { item: receive, number }, Matched { source, tag, bytes }, now);
    }
}
