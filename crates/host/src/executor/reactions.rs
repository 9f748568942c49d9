//! What the library does about what arrives, and when the processor lets it.

use super::Executor;
use crate::context::HostContext;
use crate::event::Event;
use crate::inbound::Envelope;
use crate::processor::Reaction;

impl Executor {
    /// A rank's library, by its number here, has something to do: at once, or when the rank is inside the library.
    #[inline]
    pub(super) fn react(&mut self, rank: u32, reaction: Reaction, now: u64, around: &mut impl HostContext) {
        if self.processors.defers(rank) {
            return self.processors.defer(rank, reaction);
        }
        self.handle(rank, reaction, now, around);
    }

    fn handle(&mut self, rank: u32, reaction: Reaction, now: u64, around: &mut impl HostContext) {
        match reaction {
            Reaction::Admit(message) => self.admit(message, now, around),
            Reaction::Complete(receive) => {
                let Envelope { bytes, .. } = self.arrivals[self.receives[receive].message].envelope;
                let at = self.processors.react(rank, now, self.interface.receiving(bytes));
                self.later(at, self.receives[receive].op, Event::Received(receive), now, around);
            }
            Reaction::Answer(message) => {
                // A processor that is occupied has read the request before it goes on to this.
                let read_at = if self.processors.occupied() { now } else { self.arrivals[message].read_at };
                let from = read_at.max(now);
                let at = self.processors.react(rank, from, self.interface.send_overhead);
                self.later(at, self.arrivals[message].send(), Event::Answer(message), now, around);
            }
            Reaction::Data(send) => {
                let work = self.interface.receive_overhead + self.interface.sending(self.sends[send].bytes);
                let at = self.processors.react(rank, now, work);
                self.later(at, self.sends[send].op, Event::Data(send), now, around);
            }
        }
    }

    /// A rank is inside the library: it does what has waited for that.
    #[inline]
    pub(super) fn react_to_deferred(&mut self, rank: u32, now: u64, around: &mut impl HostContext) {
        while let Some(reaction) = self.processors.next_deferred(rank) {
            self.handle(rank, reaction, now, around);
        }
    }

    /// A rank's processor has ended a calculation: what its program goes on with, then what has waited for the processor, then, since
    /// the rank waits inside the library if it does not compute, what has arrived.
    pub(super) fn settle(&mut self, rank: u32, now: u64, around: &mut impl HostContext) {
        loop {
            self.start_ready(now, around);
            if let Some(op) = self.processors.next_postponed(rank) {
                self.start(rank, op, now, around);
            } else if let Some(reaction) = self.processors.next_deferred(rank) {
                self.handle(rank, reaction, now, around);
            } else {
                return;
            }
        }
    }
}
