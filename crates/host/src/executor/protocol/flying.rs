//! Messages on a network that carries them whole ([`crate::wire`]): what is handed over arrives as one event.
//!
//! Messages of a node to another arrive in the order in which they were handed over, so that none has to be announced.

use super::super::{Executor, NONE};
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::inbound::Envelope;
use crate::nic::{Fragment, Passage, Rooms, Stream};
use crate::trace::{Carriage, TracedPart};
use crate::wire::{Arriving, Cargo, Carried, Flight, Light, Shape, Way, Wire, WireParams};

impl Executor {
    /// Has messages carried whole from now on, in a run that ends at `end` in any case, in picoseconds. Before the programs begin.
    pub fn use_wire(&mut self, params: WireParams, end: u64) {
        let nodes = (self.placed.nodes(), self.placed.executor_of.len());
        self.wire = Some(Wire::new(params, end, nodes));
        self.rooms = Rooms::new(None, self.interface.packet, 0);
    }

    /// Moves on to a time in picoseconds, exclusive.
    pub fn run_until(&mut self, end: u64, around: &mut impl HostContext) {
        let Some(last) = end.checked_sub(1) else { return };
        while let Some((at, op, event)) = self.pending.take(last) {
            self.tick = at;
            match event {
                // Most of what happens, without the way through all that may.
                Event::Data(place) => self.send_data(place, at, around),
                Event::Arrives(place) => self.first_arrives(place, at, around),
                Event::Completes(place) => self.completes(place, at),
                _ => self.act(op, event, at, around),
            }
            self.start_ready(at, around);
        }
    }

    /// When something is to happen next, in picoseconds; none before the programs begin.
    pub fn next_at(&self) -> Option<u64> {
        self.pending.first()
    }

    /// Exchanges when the links of its nodes are free for what another executor of the same nodes has left of them: they share the
    /// links, and take turns.
    pub fn exchange_links(&mut self, free_at: &mut Vec<u64>) {
        if let Some(wire) = &mut self.wire {
            std::mem::swap(&mut wire.free_at, free_at);
        }
    }

    /// What another executor has sent; not after its time.
    pub fn take_in(&mut self, flight: Flight) {
        self.progress.packets -= 1;
        self.expect_flight(flight);
    }

    /// What has arrived at the nodes of this executor, and what has left them, if messages are carried whole.
    pub fn carried(&self) -> Option<&Carried> {
        self.wire.as_ref().map(|wire| &wire.carried)
    }

    /// Hands a part of a send over, its data or its request.
    pub(super) fn fly(
        &mut self,
        (place, part): (u32, TracedPart),
        bytes: (u64, Stream),
        around: &mut impl HostContext,
    ) {
        let sending = self.sends[place];
        let (op, to) = (sending.op, sending.to);
        // What has asked has a place at its receiver.
        let cargo = match sending.placed {
            NONE => Cargo::Announced(Envelope {
                source: op.rank,
                number: op.number,
                turn: 0,
                to,
                tag: sending.tag,
                context: sending.context,
                bytes: sending.bytes,
                place,
                asks: sending.asks,
            }),
            placed => Cargo::Data(placed),
        };
        let at = self.send_flight((op, to), cargo, bytes, around);
        self.trace_carried(op, part, at);
    }

    /// Answers the request of a message, or its data.
    pub(super) fn fly_back(&mut self, (place, part): (u32, TracedPart), now: u64, around: &mut impl HostContext) {
        let Envelope { source, number, to, place: send, .. } = self.arrivals[place].envelope;
        let op = OpId { rank: to, number };
        let stream = self.control_stream(op.rank, source, now);
        let control = (u64::from(self.interface.control), stream);
        let at = self.send_flight((op, source), Cargo::Answer(send, place), control, around);
        self.trace_carried(OpId { rank: source, number }, part, at);
    }

    /// A part of a message has been handed over that arrives at some times.
    #[inline]
    fn trace_carried(&mut self, message: OpId, part: TracedPart, at: Passage) {
        self.trace_hand_over(message, part, self.tick, Carriage::Link(at.head, at.tail));
    }

    /// Gives a credit back for a message.
    pub(super) fn credit_back(&mut self, envelope: &Envelope, now: u64, around: &mut impl HostContext) {
        let Envelope { source, number, to, .. } = *envelope;
        let op = OpId { rank: to, number };
        let stream = self.control_stream(op.rank, source, now);
        self.send_flight((op, source), Cargo::Credit, (u64::from(self.interface.control), stream), around);
    }

    /// As which a control message of a rank comes to its interface that is handed over now.
    fn control_stream(&mut self, rank: u32, to: u32, now: u64) -> Stream {
        Stream::whole(self.connections.fetch(self.local_node(rank), (rank, to), now))
    }

    /// Bytes leave for a rank, of an operation of the rank that sends them: when they arrive.
    pub(super) fn send_flight(
        &mut self,
        (op, to): (OpId, u32),
        cargo: Cargo,
        (bytes, stream): (u64, Stream),
        around: &mut impl HostContext,
    ) -> Passage {
        let arrival = self.leave(self.local_node(op.rank), (bytes, stream));
        let Passage { head, tail } = arrival;
        let flight = Flight { at: tail, op, to, cargo, way: Way { bytes, span: tail - head, since: stream.from } };
        if self.placed.is_here(to) {
            self.expect_flight(flight);
        } else {
            self.send_away(flight, around);
        }
        arrival
    }

    /// Bytes leave a node, by its number here, as they come to its interface: when they arrive at another.
    #[inline]
    pub(super) fn leave(&mut self, node: usize, (bytes, stream): (u64, Stream)) -> Passage {
        let mut at = stream.passage(0, bytes);
        if self.interfaces.sending {
            at = self.interfaces.send(node, &whole(bytes), at);
        }
        self.wire.as_mut().map_or(at, |wire| wire.carry(node, bytes, at))
    }

    /// Something is on its way to a rank of another executor.
    pub(super) fn send_away(&mut self, flight: Flight, around: &mut impl HostContext) {
        self.progress.packets += 1;
        around.carry(self.placed.node(flight.to), flight);
    }

    /// Something is on its way to a rank of this executor.
    fn expect_flight(&mut self, Flight { at, op, to, cargo, way }: Flight) {
        let event = match cargo {
            Cargo::Announced(envelope) if self.is_light(envelope.bytes) => {
                let Envelope { tag, context, bytes, .. } = envelope;
                let shape = Shape { tag, context, bytes, span: way.span };
                return self.expect_light(&Light { at, since: way.since, op, to, shape });
            }
            Cargo::Announced(envelope) => {
                Event::Packet(self.arrivals.announce_in_order(self.placed.number(to), envelope))
            }
            Cargo::Data(place) => Event::Packet(place),
            Cargo::Answer(send, placed) => {
                self.sends[send].placed = placed;
                Event::Answered(send)
            }
            Cargo::Credit => self.credit_returns((self.placed.number(to), op.rank)),
        };
        let Some(wire) = &mut self.wire else { return };
        let place = wire.arriving.insert(Arriving { to, event, way });
        self.pending.push_arrival(at, op, Event::Arrived(place));
    }

    /// Something has arrived: it passes the parts of the interface.
    pub(in super::super) fn flight_arrived(&mut self, op: OpId, place: u32, now: u64, around: &mut impl HostContext) {
        let Some(wire) = &mut self.wire else { return };
        let Arriving { to, event, way } = wire.arriving.remove(place);
        wire.carried.arrive(way.bytes, now - way.since);
        if !self.interfaces.receiving {
            return self.act(op, event, now, around);
        }
        let node = self.local_node(to);
        let at = Passage { head: now.saturating_sub(way.span), tail: now };
        let passed = self.interfaces.receive(node, &whole(way.bytes), at).tail;
        self.later(passed, op, event, now, around);
    }
}

/// A message as one packet.
pub(super) fn whole(bytes: u64) -> Fragment {
    Fragment { bytes, is_first: true, is_last: true }
}
