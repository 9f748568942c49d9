//! Operations from their start to their end.

use mpi::program::{Action, Ended, Matched, Notify, Op, ProgramError};

use super::{Executor, PendingRecv, PendingSend};
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::local_ranks::LocalRank;
use crate::match_key::{ANY_SOURCE, MatchKey};
use crate::report::HostError;
use crate::trace::Purpose;

impl Executor {
    /// Takes the operations that the program of a local rank has issued.
    #[inline]
    pub(super) fn take_issued(&mut self, rank: LocalRank, issued: Result<Notify, ProgramError>) {
        if self.records.trace.is_some() {
            self.trace_issued();
        }
        let own = &mut self.ranks[rank.index()];
        own.open += self.ready.assign(rank);
        if own.open == 0 {
            self.progress.open -= 1;
        }
        match issued {
            // A trace notes the operations to which each end leads.
            Ok(notify) => own.notify_last = notify == Notify::Last && self.records.trace.is_none(),
            Err(error) => self.fail(HostError::Program { rank: self.rank(rank), error }),
        }
    }

    /// Starts all ready operations, unless their processors have to end something before.
    #[inline(always)]
    pub(super) fn start_ready(&mut self, now: u64, around: &mut impl HostContext) {
        if !self.ready.is_empty() {
            self.start_all_ready(now, around);
        }
    }

    /// Starts ready operations. Operations that they lead to start behind all ready ones.
    #[inline(never)]
    fn start_all_ready(&mut self, now: u64, around: &mut impl HostContext) {
        let Some(mut batch) = self.starting.take() else { return };
        while !self.ready.is_empty() {
            // Both are behind pointers: operations that have just been written are not read as a whole.
            std::mem::swap(&mut batch, &mut self.ready);
            for (rank, op) in batch.iter() {
                if self.processors.must_postpone(rank) && !self.starts_beside(op) {
                    self.trace_postponed(rank);
                    self.processors.postpone(rank, *op);
                } else {
                    self.start(rank, op, now, around);
                }
            }
            batch.clear();
        }
        self.starting = Some(batch);
    }

    /// Starts an operation of a local rank.
    pub(super) fn start(&mut self, rank: LocalRank, op: &Op, now: u64, around: &mut impl HostContext) {
        if op.count > 1 && (self.processors.has_pending_progress(rank) || self.records.trace.is_some()) {
            // The first call of a burst lets the library run deferred progress tasks. Traced operations are recorded
            // separately.
            let (first, rest) = self.split(*op);
            self.start(rank, &first, now, around);
            return self.start(rank, &rest, now, around);
        }
        let state = &mut self.ranks[rank.index()];
        let id = OpId { rank: self.placed.ranks()[rank.index()], number: state.started };
        state.started = state.started.wrapping_add(op.count);
        self.trace_started(rank, id.number, &op.action, now);
        self.progress.local += u64::from(!op.action.communicates());
        match op.action {
            Action::Send { to, bytes, tag, context } => {
                self.unmatched += i64::from(op.count);
                let sending = PendingSend { bytes, context, ..PendingSend::new(id, (rank, op.id), (to, tag)) };
                match op.count {
                    _ if !self.is_rank(to, id) => {}
                    1 => self.start_send(sending, now, around),
                    count => self.start_sends(sending, (count, op.stride), now, around),
                }
            }
            Action::Recv { from, bytes, tag, context } => {
                self.unmatched -= i64::from(op.count);
                if from.is_none_or(|from| self.is_rank(from, id)) {
                    let key = MatchKey { source: from.unwrap_or(ANY_SOURCE), tag, context };
                    let receiving = PendingRecv { op: id, rank, id: op.id, bytes, left: op.count };
                    self.start_receive(receiving, key, op.stride, now, around);
                }
            }
            Action::Calc { time } => {
                let end = self.processors.calculate(rank, now, time);
                self.trace_work(rank, (id, Purpose::Calc), end);
                return self.later(end, id, Event::Calculated(op.id), now, around);
            }
            Action::Kernel { time } => {
                let end = now.saturating_add(self.processors.scaled(rank, time));
                self.trace_latency(rank, (id, Purpose::Calc), (now, end));
                return self.later(end, id, Event::Polled(op.id), now, around);
            }
            Action::OnNic(step) => self.start_on_nic(rank, (id, op.id), step, now, around),
            Action::Group(call) => self.start_group(rank, (id, op.id), call, now, around),
            Action::Probe { from, .. } => {
                if from.is_none_or(|from| self.is_rank(from, id)) {
                    return self.probe(rank, (id, op.id), op.action, now, around);
                }
            }
            Action::Poll => {
                self.run_pending_progress(rank, now, around);
                let at = self.poll_work(rank, id, now);
                return self.later(self.processors.returns(rank, at), id, Event::Polled(op.id), now, around);
            }
        }
        self.run_pending_progress(rank, now, around);
    }

    /// Returns whether the rank that an operation names exists. If not, it is an error.
    #[inline]
    fn is_rank(&mut self, other: u32, op: OpId) -> bool {
        let ranks = self.placed.node_of.len() as u32;
        if other >= ranks {
            self.fail(HostError::NoSuchRank { rank: op.rank, other, ranks });
        }
        other < ranks
    }

    /// Handles the expected end of a calculation.
    pub(super) fn calculated(&mut self, op: OpId, id: u32, now: u64, around: &mut impl HostContext) {
        let rank = self.placed.local_rank(op.rank);
        if let Some(end) = self.processors.calculated(rank, now) {
            self.trace_calc_until(rank, end);
            return self.later(end, op, Event::Calculated(id), now, around);
        }
        self.end(rank, (op.number, id), now, None);
        if self.processors.is_host_driven() {
            self.settle(rank, now, around);
        }
    }

    /// Ends an operation of a local rank: its number, and its identifier in its program.
    #[inline]
    pub(super) fn end(&mut self, rank: LocalRank, (number, id): (u32, u32), now: u64, matched: Option<Matched>) {
        self.trace_ended(rank, number, now);
        let state = &mut self.ranks[rank.index()];
        state.open -= 1;
        state.ended_at = now;
        self.progress.ended += 1;
        if state.notify_last && state.open > 0 {
            state.unnotified += 1;
            return;
        }
        let count = std::mem::take(&mut state.unnotified) + 1;
        self.notify(rank, &Ended { id, at: now, matched, count });
    }

    /// Notifies the program of a local rank of ended operations, and takes the operations that it issues.
    #[inline(never)]
    fn notify(&mut self, rank: LocalRank, ended: &Ended) {
        let issued = self.programs.ended(rank.index(), ended, self.ready.issue());
        self.take_issued(rank, issued);
    }
}
