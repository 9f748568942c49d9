//! What an executor records of its ranks: one line where something happens, and nothing unless it is asked for.

use workload::program::Action;

use super::Executor;
use crate::event::OpId;
use crate::trace::{Kind, Purpose, Trace, TracedPart};

impl Executor {
    /// Records from now on what ranks do, before they begin.
    pub fn trace(&mut self) {
        self.trace = Some(Box::new(Trace::new(self.ranks.len())));
    }

    /// The ranks of this executor, by their numbers here, and what has been recorded of them; none unless it was asked for.
    pub fn traced(&self) -> Option<(&[u32], &Trace)> {
        Some((self.placed.ranks(), self.trace.as_deref()?))
    }

    #[inline]
    pub(super) fn trace_issued(&mut self, count: usize) {
        if let Some(trace) = &mut self.trace {
            trace.issued(count);
        }
    }

    #[inline]
    pub(super) fn trace_started(&mut self, rank: u32, number: u32, action: &Action, now: u64) {
        let Some(trace) = &mut self.trace else { return };
        match *action {
            Action::Calc { .. } => trace.started(rank, now, Kind::Calc),
            Action::Recv { .. } => trace.started(rank, now, Kind::Recv),
            Action::Send { to, bytes, .. } => {
                trace.started(rank, now, Kind::Send);
                trace.sends(rank, number, (to, bytes));
            }
        }
    }

    #[inline]
    pub(super) fn trace_ended(&mut self, rank: u32, number: u32, now: u64) {
        if let Some(trace) = &mut self.trace {
            trace.ended(rank, number, now);
        }
    }

    #[inline]
    pub(super) fn trace_met(&mut self, rank: u32, number: u32, message: OpId) {
        if let Some(trace) = &mut self.trace {
            trace.met(rank, number, message);
        }
    }

    /// Work of a rank: when it could begin, when it begins and when it ends.
    #[inline]
    pub(super) fn trace_work(&mut self, rank: u32, what: (OpId, Purpose), times: [u64; 3]) {
        if let Some(trace) = &mut self.trace {
            trace.work(rank, what, times);
        }
    }

    /// A packet has arrived: its `flow_id` and its mark.
    #[inline]
    pub(super) fn trace_packet(&mut self, packet: (u32, u32)) {
        if let Some(trace) = &mut self.trace {
            trace.arrived(packet);
        }
    }

    /// A part of a message is handed over, or has arrived.
    #[inline]
    pub(super) fn trace_flight(&mut self, message: OpId, (part, arrived): (TracedPart, bool), at: u64) {
        if let Some(trace) = &mut self.trace {
            trace.flight(message, part, arrived, at);
        }
    }
}
