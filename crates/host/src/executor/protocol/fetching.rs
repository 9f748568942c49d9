//! Rendezvous by read: the receiver fetches the data, and notifies the sender.
//!
//! The answer to a request is then a read request. The sender's interface serves it: the data go as soon as it has
//! come, without an overhead. When the receive has ended, the receiver hands over a notice, which takes both overheads,
//! and ends the send.

use super::super::{Executor, PendingSend};
use crate::context::{HostContext, Rendezvous};
use crate::event::Event;
use crate::processor::{ProgressTask, WorkStart};
use crate::slots::{MessageSlot, SendSlot};
use crate::trace::{Purpose, TracedPart};

impl Executor {
    /// Returns whether receivers read the data of rendezvous messages.
    #[inline]
    pub(super) fn reads(&self) -> bool {
        self.interface.protocol.rendezvous == Rendezvous::Read
    }

    /// Handles the receiver's answer to the request of a send, or its notice if it has fetched the data.
    pub(in super::super) fn answer_arrived(&mut self, send: SendSlot, now: u64, around: &mut impl HostContext) {
        let PendingSend { op, rank, read_complete, .. } = self.sends[send];
        self.trace_arrival(op, if read_complete { TracedPart::Notice } else { TracedPart::Answer }, now);
        if read_complete {
            self.enter_progress(rank, ProgressTask::Fetched(send), WorkStart::at(now), around);
        } else if self.reads() {
            self.sends[send].read_complete = true;
            self.trace_latency(rank, (op, Purpose::Data), (now, now));
            self.put_on_network(send, now, around);
        } else {
            self.enter_progress(rank, ProgressTask::Data(send), WorkStart::at(now), around);
        }
    }

    /// Sends the notice after the end of a receive whose data have been read.
    pub(super) fn finish_read(&mut self, message: MessageSlot, now: u64, around: &mut impl HostContext) {
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

    /// Hands over the notice that the data of a message have been read, and removes the message.
    pub(in super::super) fn finish(&mut self, message: MessageSlot, now: u64, around: &mut impl HostContext) {
        self.answer(message, now, around);
        self.forget(message);
    }

    /// Ends a send whose data have been fetched.
    pub(in super::super) fn fetched(&mut self, send: SendSlot, now: u64) {
        let sending = self.sends.remove(send);
        self.end(sending.rank, (sending.op.number, sending.id), now, None);
    }
}
