//! Rendezvous by read: the receiver fetches the data, and notifies the sender that it has.
//!
//! The answer to a request is a read request then. The sender's interface serves it by itself: the data go as soon as it has come,
//! without an overhead. When the receive has ended, the receiver hands a notice over, which takes both overheads, and ends the send.

use super::super::{Executor, Sending};
use crate::context::{HostContext, Rendezvous};
use crate::event::Event;
use crate::processor::Reaction;
use crate::trace::{Purpose, TracedPart};

impl Executor {
    /// Whether receivers read the data of messages that wait for them.
    #[inline]
    pub(super) fn reads(&self) -> bool {
        self.interface.protocol.rendezvous == Rendezvous::Read
    }

    /// What the receiver answers has arrived: to the request of a send or, if its data have been fetched, that they have.
    pub(in super::super) fn answer_arrived(&mut self, send: u32, now: u64, around: &mut impl HostContext) {
        let Sending { op, rank, fetched, .. } = self.sends[send];
        self.trace_arrival(op, if fetched { TracedPart::Notice } else { TracedPart::Answer }, now);
        if fetched {
            self.react(rank, Reaction::Fetched(send), (now, now), around);
        } else if self.reads() {
            self.sends[send].fetched = true;
            self.trace_latency(rank, (op, Purpose::Data), (now, now));
            self.put_on_network(send, now, around);
        } else {
            self.react(rank, Reaction::Data(send), (now, now), around);
        }
    }

    /// A receive has ended whose data have been read: the notice of it follows.
    pub(super) fn finish_read(&mut self, message: u32, now: u64, around: &mut impl HostContext) {
        let (rank, send) = (self.arrivals[message].rank, self.arrivals[message].send());
        let what = (send, Purpose::Finish);
        let at = match (self.forwards_arrival(message), self.interface.matching.on_nic) {
            (Some(own), _) => self.nic_work(rank, what, now, own.send),
            (None, true) => {
                self.trace_latency(rank, what, (now, now));
                now
            }
            (None, false) => self.reaction_work(rank, what, now, self.interface.send_overhead),
        };
        self.later(at, send, Event::Finish(message), now, around);
    }

    /// Hands over the notice that the data of a message have been read, which is done with.
    pub(in super::super) fn finish(&mut self, message: u32, now: u64, around: &mut impl HostContext) {
        self.answer(message, now, around);
        self.forget(message);
    }

    /// A send ends whose data have been fetched.
    pub(in super::super) fn fetched(&mut self, send: u32, now: u64) {
        let sending = self.sends.remove(send);
        self.end(sending.rank, (sending.op.number, sending.id), now, None);
    }
}
