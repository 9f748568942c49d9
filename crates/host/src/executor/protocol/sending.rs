//! The side of the sender: eager and by rendezvous.

use super::super::{Executor, NONE, Sending};
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::flow::{Part, flow_of};
use crate::inbound::Envelope;
use crate::nic::{PerByte, Stream};
use crate::queues;
use crate::report::Released;
use crate::trace::{Carriage, Purpose, TracedPart};

impl Executor {
    /// A send starts: its data or its request are handed over after the work of the call.
    pub(in super::super) fn start_send(&mut self, sending: Sending, now: u64, around: &mut impl HostContext) {
        let Sending { op, rank, to, bytes, asks, .. } = sending;
        let place = self.sends.insert(sending);
        let within = self.is_within(op.rank, to);
        if asks {
            // Nothing has to be registered with an interface that the data do not pass.
            let registration = if within { 0 } else { self.registration(rank, bytes) };
            let work = self.interface.send_overhead + registration;
            let at = self.call_work(rank, (op, Purpose::Request), now, work);
            return self.later(at, op, Event::Request(place), now, around);
        }
        let at = self.call_work(rank, (op, Purpose::Send), now, self.interface.sending(bytes));
        if within {
            // The copy is part of the call.
            self.call_work(rank, (op, Purpose::Write), at, self.alone(bytes));
        } else if let Some(time) = self.interface.parts.written(bytes) {
            self.sends[place].written_at = self.call_work(rank, (op, Purpose::Write), at, time);
        }
        self.later(at, op, Event::Data(place), now, around);
    }

    /// The request of a send is ready to be handed over.
    pub(in super::super) fn send_request(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Sending { op, to, .. } = self.sends[place];
        if self.is_within(op.rank, to) {
            self.ask_within(place, now, around);
        } else if self.may_go(place) {
            self.put_request(place, now, around);
        }
    }

    /// Hands the request of a send over.
    pub(super) fn put_request(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        self.announce(place, around);
        self.hand_over(place, (u64::from(self.interface.control), TracedPart::Request), now, around);
    }

    /// Answers the request of a message that has met a receive, or the data of one that has been read.
    pub(in super::super) fn answer(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let part = if self.arrivals[place].missing == 0 { TracedPart::Notice } else { TracedPart::Answer };
        if self.wire.is_some() {
            return self.fly_back((place, part), now, around);
        }
        let Envelope { source, to, place: sent_from, .. } = self.arrivals[place].envelope;
        let flow_id = flow_of(to, Part::Answer);
        self.trace_hand_over(self.arrivals[place].send(), part, now, Carriage::Packets(flow_id, sent_from));
        let answer = queues::Outgoing { flow_id, mark: sent_from, dst: self.placed.node(source) };
        self.queue(to, answer, (u64::from(self.interface.control), Stream::whole(now)), around);
    }

    /// The data of a send are ready to be handed over.
    pub(in super::super) fn send_data(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        if self.light {
            let sending = self.sends[place];
            if self.goes_light(&sending) && sending.written_at <= now {
                self.sends.remove(place);
                return self.send_light(&sending, now, around);
            }
        }
        if self.is_copied_in(place) {
            self.send_within(place, now, around);
        } else if self.sends[place].asks || self.may_go(place) {
            self.put_data(place, now, around);
        }
    }

    /// The data of a send of a burst are ready to be handed over, which needs no more than that.
    pub(in super::super) fn send_one(&mut self, sending: Sending, now: u64, around: &mut impl HostContext) {
        if self.goes_light(&sending) {
            return self.send_light(&sending, now, around);
        }
        let place = self.sends.insert(sending);
        self.send_data(place, now, around);
    }

    /// Whether the message of a send is light.
    #[inline]
    fn goes_light(&self, &Sending { op, to, bytes, .. }: &Sending) -> bool {
        self.is_light(bytes) && !self.is_within(op.rank, to)
    }

    /// Hands a light message over, whose send ends.
    fn send_light(&mut self, sending: &Sending, now: u64, around: &mut impl HostContext) {
        let &Sending { op, rank, id, .. } = sending;
        self.end(rank, (op.number, id), now, None);
        self.fly_light(sending, now, around);
    }

    /// Hands the data of a send over, which ends, unless its processor still writes them.
    pub(super) fn put_data(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Sending { rank, id, to, tag, context, bytes, written_at, asks, .. } = self.sends[place];
        let op = self.sends[place].op;
        let OpId { rank: source, number } = op;
        if written_at <= now {
            self.end(rank, (number, id), now, None);
        }
        if self.is_within(source, to) {
            let envelope = Envelope { source, number, to, tag, context, bytes, place };
            self.trace_hand_over(op, TracedPart::Data, now, Carriage::Memory);
            self.deliver_within(envelope, now, around);
        } else {
            if !asks {
                self.announce(place, around);
            }
            self.put_on_network(place, now, around);
        }
        if written_at <= now {
            self.sends.remove(place);
        } else {
            self.sends[place].asks = false;
            self.later(written_at, self.sends[place].op, Event::Sent(place), now, around);
        }
    }

    /// The processor has written the data of a send, which ends.
    pub(in super::super) fn sent(&mut self, place: u32, now: u64) {
        let Sending { op, rank, id, .. } = self.sends.remove(place);
        self.end(rank, (op.number, id), now, None);
    }

    /// The data of a send enter the network.
    pub(super) fn put_on_network(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Sending { op: OpId { rank: source, number }, to, bytes, .. } = self.sends[place];
        self.hand_over(place, (bytes.max(1), TracedPart::Data), now, around);
        if let Some((released, _)) = &mut self.notes {
            released.push(Released { source, number, at: self.tick, to, bytes });
        }
    }

    /// Announces the message of a send. One that is carried whole announces itself.
    pub(super) fn announce(&mut self, place: u32, around: &mut impl HostContext) {
        let Sending { op, to, tag, context, bytes, .. } = self.sends[place];
        if self.wire.is_some() && !self.is_within(op.rank, to) {
            return;
        }
        let envelope = Envelope { source: op.rank, number: op.number, to, tag, context, bytes, place };
        if self.placed.is_here(to) {
            self.sends[place].placed = self.arrivals.announce(self.placed.number(to), envelope);
        } else {
            around.announce(self.placed.node(to), envelope);
        }
    }

    /// Queues bytes of a send at its node's interface; they are released to the network at the present tick at the earliest.
    fn hand_over(&mut self, place: u32, what: (u64, TracedPart), now: u64, around: &mut impl HostContext) {
        let (bytes, traced) = what;
        let Sending { op, to, placed, written_at, .. } = self.sends[place];
        let stream = match () {
            () if written_at > now => Stream { from: now, per_byte: PerByte::ratio(written_at - now, bytes) },
            () if traced == TracedPart::Data => self.interfaces.fetch(self.local_node(op.rank), bytes, now),
            () => Stream::whole(now),
        };
        if self.wire.is_some() {
            return self.fly((place, traced), (bytes, stream), around);
        }
        let (part, mark) = if placed == NONE { (Part::Numbered, op.number) } else { (Part::Placed, placed) };
        let message = queues::Outgoing { flow_id: flow_of(op.rank, part), mark, dst: self.placed.node(to) };
        self.trace_hand_over(op, traced, now, Carriage::Packets(message.flow_id, mark));
        self.queue(op.rank, message, (bytes, stream), around);
    }

    /// The node of a rank, by its number here.
    pub(super) fn local_node(&self, rank: u32) -> usize {
        self.placed.number_of[self.placed.node(rank) as usize] as usize
    }

    /// Queues bytes of a rank's message that are handed over now.
    pub(super) fn queue(
        &mut self,
        rank: u32,
        message: queues::Outgoing,
        (bytes, stream): (u64, Stream),
        around: &mut impl HostContext,
    ) {
        let node = self.local_node(rank);
        self.queues.push(node, message, bytes, (self.tick, stream));
        around.wake(node as u32);
    }
}
