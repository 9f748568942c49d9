//! Records of an executor, and the recording of its trace: one line for each event, and nothing unless requested.

use mpi::program::Action;

use super::Executor;
use crate::event::OpId;
use crate::local_ranks::LocalRank;
use crate::processor::{Accepted, Occasion};
use crate::report::{Completed, Released};
use crate::trace::{Carriage, FlightEnd, Kind, Purpose, Trace, TracedFlight, TracedPart, TracedWork};

/// Records of a run, each if requested.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Messages that cross the network.
    pub notes: Option<MessageNotes>,
    pub trace: Option<Box<Trace>>,
}
units::record!(Records { notes, trace });

/// Released and arrived messages.
#[derive(Debug, Default)]
pub(super) struct MessageNotes {
    pub released: Vec<Released>,
    pub completed: Vec<Completed>,
}
units::record!(MessageNotes { released, completed });

impl Executor {
    /// Starts recording the activity of ranks. Must be called before they begin.
    pub fn trace(&mut self) {
        self.records.trace = Some(Box::new(Trace::new(self.ranks.len())));
    }

    /// Returns the ranks of this executor, by local rank, and their trace. `None`: no trace was requested.
    pub fn traced(&self) -> Option<(&[u32], &Trace)> {
        Some((self.placed.ranks(), self.records.trace.as_deref()?))
    }

    /// Accepts library work of a local rank in a call. Returns the time at which it ends.
    #[inline]
    pub(super) fn call_work(&mut self, rank: LocalRank, what: (OpId, Purpose), now: u64, work: u64) -> u64 {
        let end = self.processors.call(rank, now, work);
        self.trace_work(rank, what, end);
        end
    }

    /// Accepts library work of a local rank on an arrival. Returns the time at which it ends.
    #[inline]
    pub(super) fn reaction_work(&mut self, rank: LocalRank, what: (OpId, Purpose), now: u64, work: u64) -> u64 {
        let end = self.processors.progress(rank, now, work);
        self.trace_work(rank, what, end);
        end
    }

    /// Accepts library work of a local rank. Returns the time at which it ends.
    pub(super) fn library_work(
        &mut self,
        on: Occasion,
        rank: LocalRank,
        what: (OpId, Purpose),
        now: u64,
        work: u64,
    ) -> u64 {
        match on {
            Occasion::Call => self.call_work(rank, what, now, work),
            Occasion::Progress => self.reaction_work(rank, what, now, work),
        }
    }

    /// Records the operations that a program has issued, each of a burst separately.
    #[cold]
    pub(super) fn trace_issued(&mut self) {
        let ranks = self.placed.node_of.len() as u32;
        let issued = self.ready.replace(|op| Self::each_of(op, ranks));
        if let Some(trace) = &mut self.records.trace {
            trace.issued(issued);
        }
    }

    #[inline]
    pub(super) fn trace_postponed(&mut self, rank: LocalRank) {
        if let Some(trace) = &mut self.records.trace {
            trace.postponed(rank);
        }
    }

    #[inline]
    pub(super) fn trace_resumed(&mut self, rank: LocalRank) {
        if let Some(trace) = &mut self.records.trace {
            trace.resumed(rank);
        }
    }

    #[inline]
    pub(super) fn trace_started(&mut self, rank: LocalRank, number: u32, action: &Action, now: u64) {
        let Some(trace) = &mut self.records.trace else { return };
        match *action {
            Action::Calc { .. } | Action::Kernel { .. } => trace.started(rank, now, Kind::Calc),
            Action::Recv { .. } => trace.started(rank, now, Kind::Recv),
            Action::Group(_) => trace.started(rank, now, Kind::Group),
            Action::Poll | Action::Probe { .. } | Action::OnNic(_) => trace.started(rank, now, Kind::Poll),
            Action::Send { to, bytes, .. } => {
                trace.started(rank, now, Kind::Send);
                trace.sends(rank, number, (to, bytes));
            }
        }
    }

    #[inline]
    pub(super) fn trace_ended(&mut self, rank: LocalRank, number: u32, now: u64) {
        if let Some(trace) = &mut self.records.trace {
            trace.ended(rank, number, now);
        }
    }

    #[inline]
    pub(super) fn trace_group(&mut self, rank: LocalRank, number: u32, which: (u32, u32)) {
        if let Some(trace) = &mut self.records.trace {
            trace.in_group(rank, number, which);
        }
    }

    #[inline]
    pub(super) fn trace_met(&mut self, rank: LocalRank, number: u32, message: OpId) {
        if let Some(trace) = &mut self.records.trace {
            trace.met(rank, number, message);
        }
    }

    /// Records the last accepted work of a local rank's processor, which is for an operation and ends at `end`.
    #[inline]
    pub(super) fn trace_work(&mut self, rank: LocalRank, (op, purpose): (OpId, Purpose), end: u64) {
        let Some(trace) = &mut self.records.trace else { return };
        let Accepted { begin, work, beside } = self.processors.accepted();
        let of = self.placed.ranks()[rank.index()];
        trace.work(rank, TracedWork { rank: of, begin, end, purpose, op, work, beside });
    }

    /// Records work for an operation beside the processor of a local rank.
    #[inline]
    pub(super) fn trace_latency(&mut self, rank: LocalRank, (op, purpose): (OpId, Purpose), (begin, end): (u64, u64)) {
        let Some(trace) = &mut self.records.trace else { return };
        let of = self.placed.ranks()[rank.index()];
        trace.work(rank, TracedWork { rank: of, begin, end, purpose, op, work: end - begin, beside: true });
    }

    #[inline]
    pub(super) fn trace_calc_until(&mut self, rank: LocalRank, end: u64) {
        if let Some(trace) = &mut self.records.trace {
            trace.calc_until(rank, end);
        }
    }

    /// Records that a part of a message is handed over.
    #[inline]
    pub(super) fn trace_hand_over(&mut self, message: OpId, part: TracedPart, at: u64, by: Carriage) {
        let Some(trace) = &mut self.records.trace else { return };
        trace.flight(TracedFlight { message, part, end: FlightEnd::HandedOver, at, by: Some(by) });
    }

    /// Records that a part of a message has arrived completely and has passed the interface.
    #[inline]
    pub(super) fn trace_arrival(&mut self, message: OpId, part: TracedPart, at: u64) {
        let Some(trace) = &mut self.records.trace else { return };
        trace.flight(TracedFlight { message, part, end: FlightEnd::Arrived, at, by: None });
    }
}
