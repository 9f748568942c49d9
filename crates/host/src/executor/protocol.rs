//! How messages go from rank to rank: eager and by rendezvous.

use workload::program::Matched;

use super::{Executor, NONE, Receiving, Sending};
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::flow::{Part, flow_of};
use crate::inbound::Envelope;
use crate::label::Label;
use crate::queues;
use crate::report::{Completed, HostError, Released};

impl Executor {
    /// Hands the request of a send over.
    pub(super) fn send_request(&mut self, place: u32, around: &mut impl HostContext) {
        self.announce(place, around);
        self.hand_over(place, u64::from(self.interface.control), around);
    }

    /// Answers the request of a message that has met a receive.
    pub(super) fn answer(&mut self, place: u32, around: &mut impl HostContext) {
        let Envelope { source, to, place: sent_from, .. } = self.arrivals[place].envelope;
        let flow_id = flow_of(to, Part::Answer);
        let answer = queues::Outgoing { flow_id, mark: sent_from, dst: self.placed.node(source) };
        self.queue(to, answer, u64::from(self.interface.control), around);
    }

    /// Hands the data of a send over, which ends.
    pub(super) fn send_data(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let sending = self.sends[place];
        self.end(sending.rank, sending.id, now, None);
        let OpId { rank: source, number } = sending.op;
        let Sending { to, tag, bytes, .. } = sending;
        if self.placed.node(to) == self.placed.node(source) {
            let envelope = Envelope { source, number, to, tag, bytes, place };
            let message = self.arrivals.add(self.placed.number(to), envelope);
            self.arrivals[message].missing = 0;
            self.admit(message, now, around);
        } else {
            if !self.waits_for_receiver(bytes) {
                self.announce(place, around);
            }
            self.hand_over(place, bytes.max(1), around);
            if let Some((released, _)) = &mut self.notes {
                released.push(Released { source, number, at: self.tick, to, bytes });
            }
        }
        self.sends.remove(place);
    }

    /// Announces the message of a send.
    fn announce(&mut self, place: u32, around: &mut impl HostContext) {
        let Sending { op, to, tag, bytes, .. } = self.sends[place];
        let envelope = Envelope { source: op.rank, number: op.number, to, tag, bytes, place };
        if self.placed.is_here(to) {
            self.sends[place].placed = self.arrivals.announce(self.placed.number(to), envelope);
        } else {
            around.announce(self.placed.node(to), envelope);
        }
    }

    /// Queues bytes of a send at its node's interface; they are released to the network at the present tick.
    fn hand_over(&mut self, place: u32, bytes: u64, around: &mut impl HostContext) {
        let Sending { op, to, placed, .. } = self.sends[place];
        let (part, mark) = if placed == NONE { (Part::Numbered, op.number) } else { (Part::Placed, placed) };
        let message = queues::Outgoing { flow_id: flow_of(op.rank, part), mark, dst: self.placed.node(to) };
        self.queue(op.rank, message, bytes, around);
    }

    fn queue(&mut self, rank: u32, message: queues::Outgoing, bytes: u64, around: &mut impl HostContext) {
        let node = self.placed.number_of[self.placed.node(rank) as usize];
        self.queues.push(node as usize, message, bytes, self.tick);
        around.wake(node);
    }

    /// A packet of a message, or its request, has arrived.
    pub(super) fn packet_arrived(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let asks = self.waits_for_receiver(self.arrivals[place].envelope.bytes);
        let message = &mut self.arrivals[place];
        let is_first = !message.is_here;
        if asks && is_first {
            message.read_at = now + self.interface.receive_overhead;
        } else {
            message.missing = message.missing.saturating_sub(u64::from(self.interface.packet));
            if message.missing == 0 {
                let (envelope, receive) = (message.envelope, message.receive());
                self.note_completed(&envelope);
                if let Some(receive) = receive {
                    self.complete(receive, now, around);
                }
            }
        }
        if is_first && self.arrivals.come(place) {
            self.admit(place, now, around);
            let mut last = place;
            while let Some(next) = self.arrivals.next_of_pair(last) {
                self.admit(next, now, around);
                last = next;
            }
        }
    }

    fn note_completed(&mut self, envelope: &Envelope) {
        if let Some((_, completed)) = &mut self.notes {
            completed.push(Completed { source: envelope.source, number: envelope.number, at: self.tick });
        }
    }

    /// A message has come to its rank, in its turn.
    fn admit(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let (envelope, rank) = (self.arrivals[place].envelope, self.arrivals[place].rank);
        let label = Label { source: envelope.source, tag: Some(envelope.tag) };
        if let Some((receive, _)) = self.matching.message(rank, label, place) {
            self.meet(place, receive, now, around);
        }
    }

    /// A message has met its receive.
    pub(super) fn meet(&mut self, place: u32, receive: u32, now: u64, around: &mut impl HostContext) {
        self.receives[receive].message = place;
        self.arrivals[place].receive = receive;
        let message = self.arrivals[place];
        let Envelope { source, tag, bytes: sent, .. } = message.envelope;
        let Receiving { op, bytes: received, .. } = self.receives[receive];
        if sent > received {
            self.fail(HostError::Truncated { rank: op.rank, source_rank: source, tag, sent, received });
        }
        if message.missing == 0 {
            self.complete(receive, now, around);
        } else if self.waits_for_receiver(sent) {
            let at = message.read_at.max(now) + self.interface.send_overhead;
            self.later(at, message.send(), Event::Answer(place), now, around);
        }
    }

    /// All data of a receive's message have arrived.
    fn complete(&mut self, receive: u32, now: u64, around: &mut impl HostContext) {
        let op = self.receives[receive].op;
        self.later(now + self.interface.receive_overhead, op, Event::Received(receive), now, around);
    }

    /// A receive ends.
    pub(super) fn received(&mut self, place: u32, now: u64) {
        let Receiving { rank, id, message, .. } = self.receives.remove(place);
        let Envelope { source, tag, bytes, .. } = self.arrivals[message].envelope;
        self.arrivals.remove(message, !self.placed.is_here(source));
        self.end(rank, id, now, Some(Matched { source, tag, bytes }));
    }
}
