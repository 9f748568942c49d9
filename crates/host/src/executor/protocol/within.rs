//! Messages between ranks of one node, and of a rank to itself: by way of the node's memory, if it takes any time.
//!
//! - *Copied twice* (eager): when the send overhead has passed, the sender copies the message to a buffer that both can read, and the
//!   send ends. The message can be read the memory's latency later. When it has met a receive, the receiver copies it out.
//! - *Copied once* (messages of more than the eager limit to another rank): when the send overhead has passed, the message can be
//!   read the latency later. When it has met a receive, the receiver copies it from the sender's buffer; the latency after that copy
//!   has ended, so does the send.
//!
//! The receive ends the receive overhead after the receiver's copy. A copy takes the processor of its rank, if overheads do, for the
//! time that it takes alone; how much longer it takes with others beside it does not. A message is copied as a whole: the second copy
//! does not begin before the first has ended. Reading the request of a message that is copied once takes no time of its own.

use super::super::{Executor, Sending};
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::inbound::Envelope;
use crate::processor::Reaction;
use crate::trace::{Carriage, Purpose, TracedPart};

impl Executor {
    /// How long a copy of so many bytes takes alone.
    #[inline]
    pub(in super::super) fn alone(&self, bytes: u64) -> u64 {
        self.interface.protocol.memory.map_or(0, |memory| memory.time(bytes))
    }

    fn memory_latency(&self) -> u64 {
        self.interface.protocol.memory.map_or(0, |memory| memory.latency)
    }

    /// Whether a send's message is copied by its sender.
    #[inline]
    pub(super) fn is_copied_in(&self, place: u32) -> bool {
        let Sending { op, to, asks, .. } = self.sends[place];
        self.interface.protocol.memory.is_some() && !asks && self.is_within(op.rank, to)
    }

    /// A send within a node has passed its overhead: the sender's copy begins.
    pub(super) fn send_within(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        self.announce(place, around);
        let Sending { op, bytes, .. } = self.sends[place];
        self.trace_hand_over(op, TracedPart::Data, now, Carriage::Memory);
        self.begin_copy((op, Event::CopiedIn(place)), bytes, now, around);
    }

    /// The same, of a message that is copied by its receiver alone.
    pub(super) fn ask_within(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        self.announce(place, around);
        self.sends[place].fetched = true;
        let Sending { op, placed, .. } = self.sends[place];
        self.trace_hand_over(op, TracedPart::Data, now, Carriage::Memory);
        self.later(now.saturating_add(self.memory_latency()), op, Event::Readable(placed), now, around);
    }

    /// A copy of a message of a rank begins.
    fn begin_copy(&mut self, (op, end): (OpId, Event), bytes: u64, now: u64, around: &mut impl HostContext) {
        let node = self.placed.local_node(op.rank) as u32;
        let alone = self.alone(bytes);
        if alone == 0 {
            return self.act(op, end, now, around);
        }
        let at = self.memories.begin(node, now, (bytes, alone), (op, end));
        self.later(at, OpId::FIRST, Event::Memory(node), now, around);
    }

    /// The first copy of a node, by its number here, ends now, unless others have begun meanwhile.
    pub(in super::super) fn copies_end(&mut self, node: u32, now: u64, around: &mut impl HostContext) {
        let pending = &mut self.pending;
        // What happens then takes its place in the order of this instant.
        if let Some(next) = self.memories.end(node, now, |op, event| pending.push(now, op, event)) {
            self.later(next, OpId::FIRST, Event::Memory(node), now, around);
        }
    }

    /// The sender's copy has ended, and so does the send.
    pub(in super::super) fn copied_in(&mut self, place: u32, now: u64, around: &mut impl HostContext) {
        let Sending { op, rank, id, placed, .. } = self.sends.remove(place);
        self.end(rank, (op.number, id), now, None);
        self.later(now.saturating_add(self.memory_latency()), op, Event::Readable(placed), now, around);
    }

    /// The receiver's copy begins.
    pub(in super::super) fn copy_out(&mut self, message: u32, now: u64, around: &mut impl HostContext) {
        let op = self.receive_of(message);
        let Envelope { bytes, .. } = self.arrivals[message].envelope;
        self.begin_copy((op, Event::Copied(message)), bytes, now, around);
    }

    /// The receiver's copy has ended.
    pub(in super::super) fn copied(&mut self, message: u32, now: u64, around: &mut impl HostContext) {
        self.arrivals[message].missing = 0;
        let (send, rank) = (self.arrivals[message].send(), self.arrivals[message].rank);
        let Envelope { place, asks, .. } = self.arrivals[message].envelope;
        self.trace_arrival(send, TracedPart::Data, now);
        self.react(rank, Reaction::Complete(message), (now, now), around);
        if asks {
            self.trace_latency(rank, (send, Purpose::Finish), (now, now));
            self.trace_hand_over(send, TracedPart::Notice, now, Carriage::Memory);
            self.later(now.saturating_add(self.memory_latency()), send, Event::Answered(place), now, around);
        }
    }
}
