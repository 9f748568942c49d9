//! Progress tasks of the MPI library, which handle arrivals, and the times at which the processor allows them.

use super::forwarding::Notified;
use super::{Executor, PendingSend};
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::inbound::{Envelope, Inbound};
use crate::local_ranks::LocalRank;
use crate::processor::{Occasion, ProgressTask, WorkStart};
use crate::registration::BufferUse;
use crate::slots::{MessageSlot, SendSlot};
use crate::trace::Purpose;

impl Executor {
    /// Schedules a progress task of the library of a local rank: from `start` on, or when the rank is inside the
    /// library. Progress tasks of the interface do not wait for that.
    #[inline]
    pub(super) fn enter_progress(
        &mut self,
        rank: LocalRank,
        task: ProgressTask,
        start: WorkStart,
        around: &mut impl HostContext,
    ) {
        let by_nic = self.interface.matching.on_nic
            && !matches!(
                task,
                ProgressTask::Complete(_) | ProgressTask::Copy(_) | ProgressTask::Group(_) | ProgressTask::Write(_)
            );
        if self.processors.must_defer_progress(rank) && !by_nic && !self.forwards_progress(task) {
            return self.processors.defer_progress(rank, task);
        }
        self.run_progress_task(rank, task, start, around);
    }

    fn run_progress_task(
        &mut self,
        rank: LocalRank,
        task: ProgressTask,
        start: WorkStart,
        around: &mut impl HostContext,
    ) {
        let WorkStart { from, now } = start;
        match task {
            ProgressTask::Admit(message) => self.admit(message, now, around),
            ProgressTask::Complete(message) => {
                let Inbound { envelope: Envelope { bytes, .. }, ready_at, .. } = self.arrivals[message];
                // The last packet may arrive during the search for the receive.
                let from = from.max(ready_at);
                let op = self.receive_of(message);
                let at = match self.forwards_arrival(message) {
                    Some(own) => self.nic_work(rank, (op, Purpose::Receive), from, own.receive),
                    None => self.reaction_work(rank, (op, Purpose::Receive), from, self.interface.receiving(bytes)),
                };
                self.later(at, op, Event::Received(message), now, around);
            }
            ProgressTask::Notified(place) => {
                let Notified { op, .. } = self.notified[place];
                let at = self.reaction_work(rank, (op, Purpose::Send), from, self.interface.receive_overhead);
                self.later(at, op, Event::Notified(place), now, around);
            }
            ProgressTask::Group(place) => {
                let (at, op) = self.group_came(place, from);
                self.later(at, op, Event::GroupEnded(place), now, around);
            }
            ProgressTask::Answer(message) => {
                let at = self.answering(rank, message, from);
                self.later(at, self.arrivals[message].send(), Event::Answer(message), now, around);
            }
            ProgressTask::Copy(message) => {
                let at = self.copying(rank, message, from);
                let op = self.receive_of(message);
                self.later(at, op, Event::CopyOut(message), now, around);
            }
            ProgressTask::Fetched(send) => {
                let PendingSend { op, to, .. } = self.sends[send];
                // Within a node the sender reads a word of memory; otherwise a message.
                if let Some(own) = self.forwards_send(send) {
                    let at = self.nic_work(rank, (op, Purpose::Fetched), from, own.receive);
                    return self.later(at, op, Event::Fetched(send), now, around);
                }
                let is_read = !self.is_within(op.rank, to) && !self.interface.matching.on_nic;
                let work = if is_read { self.interface.receive_overhead } else { 0 };
                let at = self.reaction_work(rank, (op, Purpose::Fetched), from, work);
                self.later(at, op, Event::Fetched(send), now, around);
            }
            ProgressTask::Write(send) => self.go_on_writing(send, start, around),
            ProgressTask::Data(send) => {
                let at = self.sending_data(rank, send, from);
                self.later(at, self.sends[send].op, Event::Data(send), now, around);
            }
        }
    }

    /// Returns the time at which the request of a message that was matched at `from` has been answered.
    fn answering(&mut self, rank: LocalRank, message: MessageSlot, from: u64) -> u64 {
        let Inbound { envelope, ready_at, .. } = self.arrivals[message];
        let what = (self.arrivals[message].send(), Purpose::Answer);
        let Envelope { source, tag, context, bytes, .. } = envelope;
        let buffer = BufferUse { peer: source, receives: true, tag, context };
        if let Some(own) = self.forwards_arrival(message) {
            let registration = self.registration_of(rank, buffer, bytes);
            return self.nic_work(rank, what, from, own.receive + own.send + registration);
        }
        if self.interface.matching.on_nic {
            self.trace_latency(rank, what, (from, from));
            return from;
        }
        let registration = self.registration_of(rank, buffer, bytes);
        let work = self.interface.send_overhead + registration;
        // An occupied processor has read the request before it goes on to this.
        let from = if self.processors.is_host_driven() { from } else { ready_at.max(from) };
        self.reaction_work(rank, what, from, work)
    }

    /// Returns the registration time of a rendezvous message. 0 if it uses the protocol only for lack of a credit: its
    /// data are copied.
    fn registration_of(&mut self, rank: LocalRank, buffer: BufferUse, bytes: u64) -> u64 {
        if self.waits_for_receiver(bytes) { self.nics.registrations.register(rank, buffer, bytes) } else { 0 }
    }

    /// Returns the time at which the copy of a message within a node begins that was matched at `from`.
    fn copying(&mut self, rank: LocalRank, message: MessageSlot, from: u64) -> u64 {
        let alone = self.alone(self.arrivals[message].envelope.bytes);
        let op = self.receive_of(message);
        self.reaction_work(rank, (op, Purpose::Copy), from, alone).saturating_sub(alone).max(from)
    }

    /// Returns the time at which the data of a send are handed over whose request was answered at `from`.
    fn sending_data(&mut self, rank: LocalRank, send: SendSlot, from: u64) -> u64 {
        let PendingSend { op, bytes, .. } = self.sends[send];
        if let Some(own) = self.forwards_send(send) {
            return self.nic_work(rank, (op, Purpose::Data), from, own.receive + own.send);
        }
        if self.interface.matching.on_nic {
            self.trace_latency(rank, (op, Purpose::Data), (from, from));
            return from;
        }
        let work = self.interface.receive_overhead + self.interface.sending(bytes);
        let at = self.reaction_work(rank, (op, Purpose::Data), from, work);
        if self.interface.parts.written(bytes).is_some() {
            self.begin_writing(send, at, Occasion::Progress);
        }
        at
    }

    /// Charges a search of a rank's queue. Returns the time at which it ends.
    #[inline]
    pub(super) fn search(&mut self, rank: LocalRank, now: u64, what: (OpId, Occasion)) -> u64 {
        match self.interface.matching.per_entry {
            0 => now,
            per_entry => self.search_for(rank, now, what, per_entry.saturating_mul(u64::from(self.matching.looked_at))),
        }
    }

    /// `search` for a search that takes `time`.
    fn search_for(&mut self, rank: LocalRank, now: u64, (op, occasion): (OpId, Occasion), time: u64) -> u64 {
        match (time, self.interface.matching.on_nic) {
            (0, _) => now,
            (_, true) => {
                let source = self.source_of(self.rank(rank), 0);
                self.nics.parts.work(source, now, time)
            }
            (_, false) => self.library_work(occasion, rank, (op, Purpose::Search), now, time),
        }
    }

    /// Runs the deferred progress tasks of a rank that is inside the library.
    #[inline]
    pub(super) fn run_pending_progress(&mut self, rank: LocalRank, now: u64, around: &mut impl HostContext) {
        while let Some(task) = self.processors.next_pending_progress(rank) {
            self.run_progress_task(rank, task, WorkStart::at(now), around);
        }
    }

    /// Continues a rank whose processor has ended a calculation: first the operations that its program issues, then
    /// postponed operations, then deferred progress tasks, if the rank waits inside the library because it does not
    /// compute.
    pub(super) fn settle(&mut self, rank: LocalRank, now: u64, around: &mut impl HostContext) {
        loop {
            self.start_ready(now, around);
            if let Some(op) = self.processors.next_postponed(rank) {
                self.trace_resumed(rank);
                self.start(rank, &op, now, around);
            } else if let Some(task) = self.processors.next_pending_progress(rank) {
                self.run_progress_task(rank, task, WorkStart::at(now), around);
            } else {
                return;
            }
        }
    }
}
