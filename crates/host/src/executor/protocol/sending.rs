//! Sender's side of the eager and the rendezvous protocol.

use super::super::{Announced, Executor, PendingSend};
use super::hops::Hop;
use crate::connections::Found;
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::flow::{Part, flow_of};
use crate::inbound::Envelope;
use crate::nic::{PerByte, Stream};
use crate::processor::Occasion;
use crate::queues::{self, Piece, Room};
use crate::rank_pair::{RankEnds, RankPair};
use crate::registration::BufferUse;
use crate::report::Released;
use crate::slots::{MessageSlot, SendSlot};
use crate::trace::{Carriage, Purpose, TracedPart};

/// Whether bytes of a message that are handed over together include its first and its last.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageEnds {
    pub begins: bool,
    pub ends: bool,
}

impl Executor {
    /// Starts a send. Its data or its request are handed over after the work of the call.
    #[inline]
    pub(in super::super) fn start_send(&mut self, mut sending: PendingSend, now: u64, around: &mut impl HostContext) {
        let PendingSend { op, to, bytes, .. } = sending;
        sending.rendezvous = self.uses_rendezvous(op.rank, to, bytes);
        let place = self.sends.vacant(|| sending);
        sending.write(&mut self.sends[place]);
        match sending.rendezvous {
            true => self.start_request(place, now, around),
            false => self.start_data(place, now, around),
        }
    }

    /// Returns the connection of a send.
    #[inline]
    fn find_connection(&self, &PendingSend { op, rank, to, .. }: &PendingSend) -> Found {
        if !self.nics.connections.on_demand() || self.is_within(op.rank, to) {
            return Found::From(0);
        }
        self.nics.connections.find(RankPair { local: rank, peer: to })
    }

    /// Starts a rendezvous send.
    fn start_request(&mut self, place: SendSlot, now: u64, around: &mut impl HostContext) {
        let sending = self.sends[place];
        let PendingSend { op, rank, to, tag, context, bytes, .. } = sending;
        let connection = self.find_connection(&sending);
        let setup = connection.setup();
        // If the data do not pass the interface, nothing has to be registered.
        let buffer = BufferUse { peer: to, receives: false, tag, context };
        let within = self.is_within(op.rank, to);
        let registration = if within { 0 } else { self.nics.registrations.register(rank, buffer, bytes) };
        let at = match self.forwards_send(place) {
            Some(own) => self.nic_work(rank, (op, Purpose::Request), now, own.send + registration + setup),
            None => {
                let work = self.interface.send_overhead + registration + setup;
                self.call_work(rank, (op, Purpose::Request), now, work)
            }
        };
        let at = at.max(connection.there_from());
        self.connect(connection, RankPair { local: rank, peer: to }, at);
        self.later(at, op, Event::Request(place), now, around);
    }

    /// Starts an eager send.
    fn start_data(&mut self, place: SendSlot, now: u64, around: &mut impl HostContext) {
        let sending = &self.sends[place];
        let &PendingSend { op, rank, to, bytes, .. } = sending;
        let (connection, pair) = (self.find_connection(sending), RankPair { local: rank, peer: to });
        let (setup, ready) = (connection.setup(), connection.there_from());
        if let Some(own) = self.forwards_send(place) {
            let at = self.nic_work(rank, (op, Purpose::Send), now, own.send + setup).max(ready);
            self.connect(connection, pair, at);
            return self.later(at, op, Event::Data(place), now, around);
        }
        let work = self.interface.sending(bytes) + setup;
        let at = self.call_work(rank, (op, Purpose::Send), now, work).max(ready);
        self.connect(connection, pair, at);
        if self.is_within(op.rank, to) {
            // The copy is part of the call.
            self.call_work(rank, (op, Purpose::Write), at, self.alone(bytes));
        } else if self.interface.parts.written(bytes).is_some() {
            self.begin_writing(place, at, Occasion::Call);
        }
        self.later(at, op, Event::Data(place), now, around);
    }

    /// Notes that a local rank has a connection to another rank from time `at` on, if it is new.
    #[inline]
    fn connect(&mut self, connection: Found, pair: RankPair, at: u64) {
        if let Found::New(_) = connection {
            self.nics.connections.ready(pair, at);
        }
    }

    /// Handles the request of a send that is ready to be handed over.
    pub(in super::super) fn send_request(&mut self, place: SendSlot, now: u64, around: &mut impl HostContext) {
        let PendingSend { op, to, .. } = self.sends[place];
        if self.is_within(op.rank, to) {
            self.ask_within(place, now, around);
        } else if self.may_go(place) {
            self.put_request(place, now, around);
        }
    }

    /// Hands over the request of a send.
    pub(super) fn put_request(&mut self, place: SendSlot, now: u64, around: &mut impl HostContext) {
        self.announce(place, around);
        self.hand_over(place, (u64::from(self.interface.control), TracedPart::Request), now, around);
    }

    /// Hands over the answer to the request of a matched message, or the notice for data that have been read.
    pub(in super::super) fn answer(&mut self, place: MessageSlot, now: u64, around: &mut impl HostContext) {
        let part = if self.arrivals[place].missing == 0 { TracedPart::Notice } else { TracedPart::Answer };
        if self.transit.is_some() {
            return self.hand_over_answer((place, part), now, around);
        }
        let Envelope { source, to, place: sent_from, .. } = self.arrivals[place].envelope;
        let flow_id = flow_of(to, Part::Answer);
        self.trace_hand_over(self.arrivals[place].send(), part, now, Carriage::Packets(flow_id, sent_from.0));
        let answer = queues::Outgoing { flow_id, mark: sent_from.0, dst: self.placed.node(source) };
        self.queue_control((self.arrivals[place].send(), RankEnds { from: to, to: source }), answer, now, around);
    }

    /// Handles the data of a send that are ready to be handed over.
    pub(in super::super) fn send_data(&mut self, place: SendSlot, now: u64, around: &mut impl HostContext) {
        if self.compact.are_possible {
            let sending = self.sends[place];
            if self.is_sent_compact(&sending) && sending.written_at <= now {
                self.sends.remove(place);
                return self.send_light(&sending, now, around);
            }
        }
        if self.is_copied_in(place) {
            self.send_within(place, now, around);
        } else if self.asks_for_credit(place) {
            self.forget_writing(place);
            self.put_request(place, now, around);
        } else if self.sends[place].rendezvous || self.may_go(place) {
            self.put_data(place, now, around);
        }
    }

    /// Handles the data of a send of a burst that need nothing but to be handed over.
    pub(in super::super) fn send_one(&mut self, sending: PendingSend, now: u64, around: &mut impl HostContext) {
        if self.is_sent_compact(&sending) {
            return self.send_light(&sending, now, around);
        }
        let place = self.sends.insert(sending);
        self.send_data(place, now, around);
    }

    /// Returns whether the message of a send is compact.
    #[inline]
    fn is_sent_compact(&self, &PendingSend { op, to, bytes, .. }: &PendingSend) -> bool {
        self.can_be_compact(bytes) && !self.is_within(op.rank, to)
    }

    /// Hands over a compact message, and ends its send.
    fn send_light(&mut self, sending: &PendingSend, now: u64, around: &mut impl HostContext) {
        let &PendingSend { op, rank, id, .. } = sending;
        self.end(rank, (op.number, id), now, None);
        self.send_compact(sending, now, around);
    }

    /// Hands over the data of a send. The send ends, unless its processor still writes them.
    pub(super) fn put_data(&mut self, place: SendSlot, now: u64, around: &mut impl HostContext) {
        let sending = self.sends[place];
        let PendingSend { op, rank, id, to, written_at, rendezvous, .. } = sending;
        let is_cut = self.is_cut(place);
        if written_at <= now && !is_cut {
            self.end(rank, (op.number, id), now, None);
        }
        if self.is_within(op.rank, to) {
            let envelope = Envelope { rendezvous: false, ..sending.envelope(place) };
            self.trace_hand_over(op, TracedPart::Data, now, Carriage::Memory);
            self.deliver_within(envelope, now, around);
        } else {
            if !rendezvous {
                self.announce(place, around);
            }
            self.put_on_network(place, now, around);
        }
        if is_cut {
            self.sends[place].rendezvous = false;
            self.wait_for_room(place, now, around);
        } else if written_at <= now {
            self.sends.remove(place);
        } else {
            self.sends[place].rendezvous = false;
            self.later(written_at, self.sends[place].op, Event::Sent(place), now, around);
        }
    }

    /// Ends a send whose data the processor has written.
    pub(in super::super) fn sent(&mut self, place: SendSlot, now: u64) {
        let PendingSend { op, rank, id, .. } = self.sends.remove(place);
        self.end(rank, (op.number, id), now, None);
    }

    /// Lets the data of a send enter the network.
    pub(super) fn put_on_network(&mut self, place: SendSlot, now: u64, around: &mut impl HostContext) {
        let PendingSend { op: OpId { rank: source, number }, to, bytes, .. } = self.sends[place];
        let is_cut = self.is_cut(place);
        let extent = MessageEnds { begins: true, ends: !is_cut };
        let part = self.sends[place].written.unwrap_or(bytes.max(1));
        if part > 0 {
            self.hand_over_part(place, (part, TracedPart::Data), (None, extent), now, around);
        }
        if let Some(notes) = &mut self.records.notes {
            notes.released.push(Released { source, number, at: self.clock.tick, to, bytes });
        }
    }

    /// Announces the message of a send. A message that is carried whole needs no announcement.
    pub(super) fn announce(&mut self, place: SendSlot, around: &mut impl HostContext) {
        let PendingSend { op, to, .. } = self.sends[place];
        if self.transit.is_some() && !self.is_within(op.rank, to) {
            return;
        }
        let envelope = self.sends[place].envelope(place);
        if self.placed.is_local(to) {
            self.sends[place].placed = self.arrivals.announce(self.placed.local_rank(to), envelope);
        } else {
            let Announced { tick, turn } = &mut self.announced;
            *turn = if *tick == self.clock.tick { *turn + 1 } else { 0 };
            *tick = self.clock.tick;
            around.announce(self.placed.node(to), Envelope { turn: *turn, ..envelope });
        }
    }

    /// Queues a whole message of a send.
    fn hand_over(&mut self, place: SendSlot, what: (u64, TracedPart), now: u64, around: &mut impl HostContext) {
        self.hand_over_part(place, what, (None, MessageEnds { begins: true, ends: true }), now, around);
    }

    /// Queues bytes of a send at its node's interface, or stripes of them at all of its interfaces. They are released
    /// to the network at the present tick at the earliest. They come in the given stream if the processor writes them,
    /// and from now on otherwise.
    pub(super) fn hand_over_part(
        &mut self,
        place: SendSlot,
        what: (u64, TracedPart),
        (given, extent): (Option<Stream>, MessageEnds),
        now: u64,
        around: &mut impl HostContext,
    ) {
        let (bytes, traced) = what;
        let PendingSend { op, to, placed, written_at, .. } = self.sends[place];
        let (node, ranks) = (self.local_node(op.rank), RankEnds { from: op.rank, to });
        let is_data = traced == TracedPart::Data;
        let from_now = || Stream { from: now, per_byte: PerByte::ratio(written_at - now, bytes) };
        let written = given.or_else(|| (is_data && written_at > now).then(from_now));
        if self.transit.is_some() {
            let at = self.nics.connections.fetch(node, ranks, now);
            let stream = self.stream_of((node, is_data), (0, bytes), written, at);
            return self.transmit_part((place, traced), (bytes, stream), around);
        }
        let (part, mark) =
            if placed == MessageSlot::NONE { (Part::Numbered, op.number) } else { (Part::Placed, placed.0) };
        let message = queues::Outgoing { flow_id: flow_of(op.rank, part), mark, dst: self.placed.node(to) };
        if extent.begins {
            self.trace_hand_over(op, traced, now, Carriage::Packets(message.flow_id, mark));
        }
        let in_room = is_data && self.nics.rooms.are_limited() && self.sends[place].written.is_some();
        let room = if in_room { Room::Written } else { Room::None };
        let piece = Piece { begins: extent.begins, ends: extent.ends, room };
        let mut hop = Hop {
            op,
            message,
            piece,
            node,
            rails: (0, self.nics.rails.count()),
            rail: self.sends[place].rail,
            bytes,
            before: 0,
            written,
            is_data,
            is_striped: is_data && self.nics.rails.stripes(self.sends[place].bytes),
            claims: false,
            ranks,
        };
        if self.networks.is_some() {
            let PendingSend { bytes: all, written, .. } = self.sends[place];
            let (all, handed) = if is_data { (all, written) } else { (bytes, None) };
            let before = if extent.begins { 0 } else { handed.unwrap_or(bytes) - bytes };
            self.sends[place].rail = self.send_by_ways(hop, (all, before), now, around);
            return;
        }
        if extent.begins && !hop.is_striped {
            hop.rail = self.choose_rail(hop);
            self.sends[place].rail = hop.rail;
        }
        self.send_part(hop, now, around);
    }

    /// Returns the source of a rank on a rail: its number in this executor (`HostContext::wake`).
    pub(in super::super) fn source_of(&self, rank: u32, rail: u32) -> usize {
        self.local_node(rank) * self.nics.rails.count() as usize + rail as usize
    }

    /// Returns the local node of a rank.
    #[inline]
    pub(super) fn local_node(&self, rank: u32) -> usize {
        self.placed.local_node(rank)
    }
}
