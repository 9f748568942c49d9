//! The side of the sender: eager and by rendezvous.

use super::super::{Executor, NONE, Sending};
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::flow::{Part, flow_of};
use crate::inbound::Envelope;
use crate::queues;
use crate::report::Released;

impl Executor {
    /// A send starts: its data or its request are handed over after the work of the call.
    pub(in super::super) fn start_send(&mut self, sending: Sending, now: u64, around: &mut impl HostContext) {
        let Sending { op, rank, bytes, asks, .. } = sending;
        let place = self.sends.insert(sending);
        let (work, event) = match asks {
            true => (self.interface.send_overhead, Event::Request(place)),
            false => (self.interface.sending(bytes), Event::Data(place)),
        };
        let at = self.processors.call(rank, now, work);
        self.later(at, op, event, now, around);
    }

    /// Hands the request of a send over.
    pub(in super::super) fn send_request(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        self.announce(place, around);
        self.hand_over(place, u64::from(self.interface.control), now, around);
    }

    /// Answers the request of a message that has met a receive.
    pub(in super::super) fn answer(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Envelope { source, to, place: sent_from, .. } = self.arrivals[place].envelope;
        let flow_id = flow_of(to, Part::Answer);
        let answer = queues::Outgoing { flow_id, mark: sent_from, dst: self.placed.node(source) };
        self.queue(to, answer, (u64::from(self.interface.control), now), around);
    }

    /// Hands the data of a send over, which ends.
    pub(in super::super) fn send_data(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let sending = self.sends[place];
        self.end(sending.rank, sending.id, now, None);
        let OpId { rank: source, number } = sending.op;
        let Sending { to, tag, context, bytes, .. } = sending;
        if self.placed.node(to) == self.placed.node(source) {
            let envelope = Envelope { source, number, to, tag, context, bytes, place };
            self.deliver_within(envelope, now, around);
        } else {
            if !self.waits_for_receiver(bytes) {
                self.announce(place, around);
            }
            self.hand_over(place, bytes.max(1), now, around);
            if let Some((released, _)) = &mut self.notes {
                released.push(Released { source, number, at: self.tick, to, bytes });
            }
        }
        self.sends.remove(place);
    }

    /// Announces the message of a send.
    fn announce(&mut self, place: u32, around: &mut impl HostContext) {
        let Sending { op, to, tag, context, bytes, .. } = self.sends[place];
        let envelope = Envelope { source: op.rank, number: op.number, to, tag, context, bytes, place };
        if self.placed.is_here(to) {
            self.sends[place].placed = self.arrivals.announce(self.placed.number(to), envelope);
        } else {
            around.announce(self.placed.node(to), envelope);
        }
    }

    /// Queues bytes of a send at its node's interface; they are released to the network at the present tick at the earliest.
    fn hand_over(&mut self, place: u32, bytes: u64, now: u64, around: &mut impl HostContext) {
        let Sending { op, to, placed, .. } = self.sends[place];
        let (part, mark) = if placed == NONE { (Part::Numbered, op.number) } else { (Part::Placed, placed) };
        let message = queues::Outgoing { flow_id: flow_of(op.rank, part), mark, dst: self.placed.node(to) };
        self.queue(op.rank, message, (bytes, now), around);
    }

    /// Queues bytes of a rank's message that are handed over now.
    fn queue(&mut self, rank: u32, message: queues::Outgoing, (bytes, now): (u64, u64), around: &mut impl HostContext) {
        let node = self.placed.number_of[self.placed.node(rank) as usize];
        self.queues.push(node as usize, message, bytes, (self.tick, now));
        around.wake(node);
    }
}
