//! Messages on a network that carries them whole ([`crate::wire`]): what is handed over arrives as one event.
//!
//! Messages of a pair of ranks arrive in the order in which they were handed over, so that none has to be announced.

use super::super::{Executor, NONE};
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::inbound::Envelope;
use crate::nic::{Fragment, Passage};
use crate::wire::{Cargo, Carried, Flight, Way, Wire, WireParams};

impl Executor {
    /// Has messages carried whole from now on. Before the programs begin.
    pub fn use_wire(&mut self, params: WireParams) {
        self.wire = Some(Wire::new(params, self.placed.nodes()));
        self.arrivals.come_in_order();
    }

    /// Moves on to a time in picoseconds, exclusive.
    pub fn run_until(&mut self, end: u64, around: &mut impl HostContext) {
        let Some(last) = end.checked_sub(1) else { return };
        while let Some((at, op, event)) = self.pending.take(last) {
            self.tick = at;
            self.act(op, event, at, around);
            self.start_ready(at, around);
        }
    }

    /// What another executor has sent; not after its time.
    pub fn take_in(&mut self, flight: Flight) {
        self.progress.packets -= 1;
        let Flight { at, op, cargo, way } = flight;
        let event = match cargo {
            Cargo::Announced(envelope) => {
                let place = self.arrivals.announce(self.placed.number(envelope.to), envelope);
                self.arrivals[place].way = way;
                Event::Landed(place)
            }
            Cargo::Data(place) => {
                self.arrivals[place].way = way;
                Event::Landed(place)
            }
            Cargo::Answer(send, placed) => {
                (self.sends[send].placed, self.sends[send].way) = (placed, way);
                Event::LandedAnswer(send)
            }
        };
        self.pending.push_arrival(at, op, event);
    }

    /// What has arrived at the nodes of this executor, and what has left them, if messages are carried whole.
    pub fn carried(&self) -> Option<&Carried> {
        self.wire.as_ref().map(|wire| &wire.carried)
    }

    /// Hands the data or the request of a send over.
    pub(super) fn fly(&mut self, place: u32, bytes: u64, now: u64, around: &mut impl HostContext) {
        let sending = self.sends[place];
        let (op, to) = (sending.op, sending.to);
        let (at, way) = self.leave(op.rank, bytes, now);
        // What has asked has a place at its receiver.
        let is_data = sending.placed != NONE;
        let (tag, context, bytes) = (sending.tag, sending.context, sending.bytes);
        let envelope = Envelope { source: op.rank, number: op.number, to, tag, context, bytes, place };
        if !self.placed.is_here(to) {
            self.progress.packets += 1;
            let cargo = if is_data { Cargo::Data(sending.placed) } else { Cargo::Announced(envelope) };
            return around.carry(self.placed.node(to), Flight { at, op, cargo, way });
        }
        let placed = match is_data {
            true => sending.placed,
            false => self.arrivals.announce(self.placed.number(to), envelope),
        };
        self.sends[place].placed = placed;
        self.arrivals[placed].way = way;
        self.pending.push_arrival(at, op, Event::Landed(placed));
    }

    /// Answers the request of a message.
    pub(super) fn fly_back(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Envelope { source, number, to, place: send, .. } = self.arrivals[place].envelope;
        let op = OpId { rank: source, number };
        let (at, way) = self.leave(to, u64::from(self.interface.control), now);
        if !self.placed.is_here(source) {
            self.progress.packets += 1;
            let flight = Flight { at, op, cargo: Cargo::Answer(send, place), way };
            return around.carry(self.placed.node(source), flight);
        }
        self.sends[send].way = way;
        self.pending.push_arrival(at, op, Event::LandedAnswer(send));
    }

    /// Bytes of a rank leave its node: when they have arrived, and how.
    #[inline]
    fn leave(&mut self, rank: u32, bytes: u64, now: u64) -> (u64, Way) {
        let node = self.placed.number_of[self.placed.node(rank) as usize] as usize;
        let mut at = Passage::whole(now);
        if self.interfaces.sending {
            at = self.interfaces.send(node, &whole(bytes), at);
        }
        let Some(wire) = &mut self.wire else { return (now, Way::default()) };
        let Passage { head, tail } = wire.carry(node, bytes, at);
        (tail, Way { bytes, span: tail - head, since: now })
    }

    /// A message, its request or its data have arrived.
    pub(in super::super) fn landed(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let (way, to, op) = {
            let message = &self.arrivals[place];
            (message.way, message.envelope.to, message.send())
        };
        let at = self.receive_flight(to, way, now);
        self.later(at, op, Event::Packet(place), now, around);
    }

    /// The answer to the request of a send has arrived.
    pub(in super::super) fn landed_answer(&mut self, send: u32, now: u64, around: &mut impl HostContext) {
        let (way, op) = (self.sends[send].way, self.sends[send].op);
        let at = self.receive_flight(op.rank, way, now);
        self.later(at, op, Event::Answered(send), now, around);
    }

    /// Bytes have arrived for a rank: when they have passed the parts of its node's interface.
    #[inline]
    fn receive_flight(&mut self, rank: u32, way: Way, now: u64) -> u64 {
        if let Some(wire) = &mut self.wire {
            wire.carried.arrive(way.bytes, now - way.since);
        }
        if !self.interfaces.receiving {
            return now;
        }
        let node = self.placed.number_of[self.placed.node(rank) as usize] as usize;
        let at = Passage { head: now.saturating_sub(way.span), tail: now };
        self.interfaces.receive(node, &whole(way.bytes), at).tail
    }
}

/// A message as one packet.
fn whole(bytes: u64) -> Fragment {
    Fragment { bytes, is_first: true, is_last: true }
}
