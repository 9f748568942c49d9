//! Messages between ranks of one node, and of a rank to itself: through the node's memory, if it takes any time.
//!
//! - *Copied twice* (eager): when the send overhead has passed, the sender copies the message to a buffer that both can
//!   read, and the send ends. The message can be read the memory's latency later. When it is matched, the receiver
//!   copies it out.
//! - *Copied once* (messages above the eager limit to another rank): when the send overhead has passed, the message can
//!   be read the latency later. When it is matched, the receiver copies it from the sender's buffer. The send ends the
//!   latency after the end of that copy.
//!
//! The receive ends the receive overhead after the receiver's copy. A copy occupies the processor of its rank, if
//! overheads do, for the time that it takes alone; delays by concurrent copies do not occupy it. A message is copied as
//! a whole: the second copy does not begin before the first has ended. Reading the request of a message that is copied
//! once takes no additional time.

use super::super::{Executor, PendingSend};
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::inbound::Envelope;
use crate::processor::{ProgressTask, WorkStart};
use crate::slots::{MessageSlot, SendSlot};
use crate::trace::{Carriage, Purpose, TracedPart};

impl Executor {
    /// Returns the time that a copy of `bytes` bytes takes alone, in picoseconds.
    #[inline]
    pub(in super::super) fn alone(&self, bytes: u64) -> u64 {
        self.interface.protocol.memory.map_or(0, |memory| memory.time(bytes))
    }

    fn memory_latency(&self) -> u64 {
        self.interface.protocol.memory.map_or(0, |memory| memory.latency)
    }

    /// Returns whether a send's message is copied by its sender.
    #[inline]
    pub(super) fn is_copied_in(&self, place: SendSlot) -> bool {
        let PendingSend { op, to, rendezvous, .. } = self.sends[place];
        self.interface.protocol.memory.is_some() && !rendezvous && self.is_within(op.rank, to)
    }

    /// Begins the sender's copy of a send within a node that has passed its overhead.
    pub(super) fn send_within(&mut self, place: SendSlot, now: u64, around: &mut impl HostContext) {
        self.announce(place, around);
        let PendingSend { op, bytes, .. } = self.sends[place];
        self.trace_hand_over(op, TracedPart::Data, now, Carriage::Memory);
        self.begin_copy((op, Event::CopiedIn(place)), bytes, now, around);
    }

    /// Announces a message within a node that is copied by its receiver alone.
    pub(super) fn ask_within(&mut self, place: SendSlot, now: u64, around: &mut impl HostContext) {
        self.announce(place, around);
        self.sends[place].read_complete = true;
        let PendingSend { op, placed, .. } = self.sends[place];
        self.trace_hand_over(op, TracedPart::Data, now, Carriage::Memory);
        self.later(now.saturating_add(self.memory_latency()), op, Event::Readable(placed), now, around);
    }

    /// Begins a copy of a message of a rank.
    fn begin_copy(&mut self, (op, end): (OpId, Event), bytes: u64, now: u64, around: &mut impl HostContext) {
        let node = self.placed.local_node(op.rank) as u32;
        let alone = self.alone(bytes);
        if alone == 0 {
            return self.act(op, end, now, around);
        }
        let at = self.memories.begin(node, now, (bytes, alone), (op, end));
        self.later(at, OpId::FIRST, Event::Memory(node), now, around);
    }

    /// Ends the first copy of a local node, unless others have begun meanwhile.
    pub(in super::super) fn copies_end(&mut self, node: u32, now: u64, around: &mut impl HostContext) {
        let pending = &mut self.pending;
        // Events of the end take their place in the order of this instant.
        if let Some(next) = self.memories.end(node, now, |op, event| pending.push(now, op, event)) {
            self.later(next, OpId::FIRST, Event::Memory(node), now, around);
        }
    }

    /// Ends the sender's copy, and the send.
    pub(in super::super) fn copied_in(&mut self, place: SendSlot, now: u64, around: &mut impl HostContext) {
        let PendingSend { op, rank, id, placed, .. } = self.sends.remove(place);
        self.end(rank, (op.number, id), now, None);
        self.later(now.saturating_add(self.memory_latency()), op, Event::Readable(placed), now, around);
    }

    /// Begins the receiver's copy.
    pub(in super::super) fn copy_out(&mut self, message: MessageSlot, now: u64, around: &mut impl HostContext) {
        let op = self.receive_of(message);
        let Envelope { bytes, .. } = self.arrivals[message].envelope;
        self.begin_copy((op, Event::Copied(message)), bytes, now, around);
    }

    /// Ends the receiver's copy.
    pub(in super::super) fn copied(&mut self, message: MessageSlot, now: u64, around: &mut impl HostContext) {
        self.arrivals[message].missing = 0;
        let (send, rank) = (self.arrivals[message].send(), self.arrivals[message].rank);
        let Envelope { place, rendezvous, .. } = self.arrivals[message].envelope;
        self.trace_arrival(send, TracedPart::Data, now);
        self.enter_progress(rank, ProgressTask::Complete(message), WorkStart::at(now), around);
        if rendezvous {
            self.trace_latency(rank, (send, Purpose::Finish), (now, now));
            self.trace_hand_over(send, TracedPart::Notice, now, Carriage::Memory);
            self.later(now.saturating_add(self.memory_latency()), send, Event::Answered(place), now, around);
        }
    }
}
