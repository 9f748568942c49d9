//! Messages on a network that carries them whole ([`crate::transit`]): each message or protocol part arrives as one
//! event.
//!
//! Messages of a node to another arrive in the order in which they were handed over, so that none has to be announced.

use super::super::Executor;
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::inbound::Envelope;
use crate::nic::{Fragment, Passage, Rooms, Stream};
use crate::rank_pair::RankEnds;
use crate::slots::{MessageSlot, SendSlot};
use crate::trace::{Carriage, TracedPart};
use crate::transit::{Arriving, CompactMessage, CompactShape, MessageInTransit, Payload, Transit, Transmission};

impl Executor {
    /// Lets the network carry messages whole. Must be called before the programs begin.
    pub fn carry_whole(&mut self) {
        self.transit = Some(Transit::new((self.placed.nodes(), self.placed.executor_of.len())));
        self.nics.rooms = Rooms::new(None, self.interface.packet, 0);
    }

    /// Handles all events before `end`, in picoseconds.
    pub fn run_until(&mut self, end: u64, around: &mut impl HostContext) {
        let Some(last) = end.checked_sub(1) else { return };
        while let Some((at, op, event)) = self.pending.take(last) {
            self.clock.tick = at;
            match event {
                // Most events, without the dispatch over all kinds.
                Event::Data(place) => self.send_data(place, at, around),
                Event::Arrives(place) => self.first_arrives(place, at, around),
                Event::Completes(place) => self.completes(place, at),
                _ => self.act(op, event, at, around),
            }
            self.start_ready(at, around);
        }
    }

    /// Returns the time of the next event, in picoseconds. `None` before the programs begin.
    pub fn next_at(&self) -> Option<u64> {
        self.pending.first()
    }

    /// Takes in a message of another executor. Must not be called after its arrival time.
    pub fn take_in(&mut self, message: MessageInTransit) {
        self.progress.packets -= 1;
        self.arrive_later(message);
    }

    /// Hands over a part of a send, its data or its request.
    pub(super) fn transmit_part(
        &mut self,
        (place, part): (SendSlot, TracedPart),
        bytes: (u64, Stream),
        around: &mut impl HostContext,
    ) {
        let sending = self.sends[place];
        let (op, to) = (sending.op, sending.to);
        // A rendezvous message has a place at its receiver.
        let payload = match sending.placed {
            MessageSlot::NONE => Payload::Announced(sending.envelope(place)),
            placed => Payload::Data(placed),
        };
        let at = self.transmit((op, to), payload, bytes, around);
        self.trace_carried(op, part, at);
    }

    /// Hands over the answer to a message's request, or the notice for its data.
    pub(super) fn hand_over_answer(
        &mut self,
        (place, part): (MessageSlot, TracedPart),
        now: u64,
        around: &mut impl HostContext,
    ) {
        let Envelope { source, number, to, place: send, .. } = self.arrivals[place].envelope;
        let op = OpId { rank: to, number };
        let stream = self.control_stream(op.rank, source, now);
        let control = (u64::from(self.interface.control), stream);
        let at = self.transmit((op, source), Payload::Answer(send, place), control, around);
        self.trace_carried(OpId { rank: source, number }, part, at);
    }

    /// Records that a part of a message has been handed over, with its arrival times.
    #[inline]
    fn trace_carried(&mut self, message: OpId, part: TracedPart, at: Passage) {
        self.trace_hand_over(message, part, self.clock.tick, Carriage::Link(at.head, at.tail));
    }

    /// Returns a credit for a message.
    pub(super) fn credit_back(&mut self, envelope: &Envelope, now: u64, around: &mut impl HostContext) {
        let Envelope { source, number, to, .. } = *envelope;
        let op = OpId { rank: to, number };
        let stream = self.control_stream(op.rank, source, now);
        self.transmit((op, source), Payload::Credit, (u64::from(self.interface.control), stream), around);
    }

    /// Returns the stream of a rank's control message that is handed over now.
    fn control_stream(&mut self, rank: u32, to: u32, now: u64) -> Stream {
        Stream::whole(self.nics.connections.fetch(self.local_node(rank), RankEnds { from: rank, to }, now))
    }

    /// Sends bytes to a rank, for an operation of the sender. Returns their arrival times.
    pub(super) fn transmit(
        &mut self,
        (op, to): (OpId, u32),
        payload: Payload,
        (bytes, stream): (u64, Stream),
        around: &mut impl HostContext,
    ) -> Passage {
        let arrival = self.leave((self.local_node(op.rank), to), (bytes, stream), around);
        let Passage { head, tail } = arrival;
        let message = MessageInTransit {
            at: tail,
            op,
            to,
            payload,
            transmission: Transmission { bytes, span: tail - head, since: stream.from },
        };
        if self.placed.is_local(to) {
            self.arrive_later(message);
        } else {
            self.send_away(message, around);
        }
        arrival
    }

    /// Sends bytes from a local node to a rank, as they come to the node's interface. Returns their arrival times.
    #[inline]
    pub(super) fn leave(
        &mut self,
        (node, to): (usize, u32),
        (bytes, stream): (u64, Stream),
        around: &mut impl HostContext,
    ) -> Passage {
        let mut at = stream.passage(0, bytes);
        if self.nics.parts.sending {
            at = self.nics.parts.send(node, &whole(bytes), at);
        }
        around.transmit((node, self.placed.node(to)), bytes, at)
    }

    /// Sends a message or protocol part to a rank of another executor.
    pub(super) fn send_away(&mut self, message: MessageInTransit, around: &mut impl HostContext) {
        self.progress.packets += 1;
        around.carry(self.placed.node(message.to), message);
    }

    /// Notes that a message or protocol part is in transit to a rank of this executor.
    fn arrive_later(&mut self, MessageInTransit { at, op, to, payload, transmission }: MessageInTransit) {
        let event = match payload {
            Payload::Announced(envelope) if self.can_be_compact(envelope.bytes) => {
                let Envelope { tag, context, bytes, .. } = envelope;
                let shape = CompactShape { tag, context, bytes, span: transmission.span };
                return self.receive_compact_later(&CompactMessage { at, since: transmission.since, op, to, shape });
            }
            Payload::Announced(envelope) => {
                Event::Packet(self.arrivals.announce_in_order(self.placed.local_rank(to), envelope))
            }
            Payload::Data(place) => Event::Packet(place),
            Payload::Answer(send, placed) => {
                self.sends[send].placed = placed;
                Event::Answered(send)
            }
            Payload::Credit => match self.credit_returns(self.placed.local_rank(to), op.rank) {
                Some(event) => event,
                None => return,
            },
        };
        let Some(transit) = &mut self.transit else { return };
        let place = transit.arriving.insert(Arriving { to, event, transmission });
        self.pending.push_arrival(at, op, Event::Arrived(place));
    }

    /// Handles an arrival, which passes the parts of the interface.
    pub(in super::super) fn handle_arrival(&mut self, op: OpId, place: u32, now: u64, around: &mut impl HostContext) {
        let Some(transit) = &mut self.transit else { return };
        let Arriving { to, event, transmission } = transit.arriving.remove(place);
        around.count_arrival(transmission.bytes, now - transmission.since);
        if !self.nics.parts.receiving {
            return self.act(op, event, now, around);
        }
        let node = self.local_node(to);
        let at = Passage { head: now.saturating_sub(transmission.span), tail: now };
        let passed = self.nics.parts.receive(node, &whole(transmission.bytes), at).tail;
        self.later(passed, op, event, now, around);
    }
}

/// Returns a message as one packet.
pub(super) fn whole(bytes: u64) -> Fragment {
    Fragment { bytes, is_first: true, is_last: true }
}
