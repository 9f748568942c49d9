//! Operations from their start to their end.

use workload::program::{Action, Ended, Matched, Op};

use super::{Executor, NONE, Receiving, Sending};
use crate::burst::Sources;
use crate::context::HostContext;
use crate::event::{Event, OpId};
use crate::label::{ANY_SOURCE, Label};
use crate::report::HostError;
use crate::trace::Purpose;

impl Executor {
    /// Takes over what the program of a rank, by its number here, has issued.
    #[inline]
    pub(super) fn take_issued(&mut self, rank: u32, issued: Result<(), HostError>) {
        self.trace_issued(self.issued.len());
        if !self.issued.is_empty() {
            self.make_ready(rank);
        }
        if self.ranks[rank as usize].open == 0 {
            self.progress.open -= 1;
        }
        if let Err(error) = issued {
            self.fail(error);
        }
    }

    /// What the program of a rank has issued is to start.
    fn make_ready(&mut self, rank: u32) {
        if self.trace.is_some() {
            // Each operation of a burst is traced by itself.
            let issued = std::mem::take(&mut self.issued);
            self.issued = issued.into_iter().flat_map(|op| self.each_of(op)).collect();
        }
        let mut open = 0;
        for &op in &self.issued {
            open += u64::from(op.count);
            self.ready.push_back((rank, op));
        }
        self.issued.clear();
        self.ranks[rank as usize].open += open;
    }

    /// Starts what is ready, unless its processor has to end something before.
    #[inline]
    pub(super) fn start_ready(&mut self, now: u64, around: &mut impl HostContext) {
        if !self.ready.is_empty() {
            self.start_all_ready(now, around);
        }
    }

    fn start_all_ready(&mut self, now: u64, around: &mut impl HostContext) {
        while let Some((rank, op)) = self.ready.pop_front() {
            if self.processors.postpones(rank) && !self.starts_on_nic(&op) {
                self.trace_postponed(rank);
                self.processors.postpone(rank, op);
            } else {
                self.start(rank, op, now, around);
            }
        }
    }

    /// Starts an operation of a rank, by its number here.
    pub(super) fn start(&mut self, rank: u32, op: Op, now: u64, around: &mut impl HostContext) {
        if op.count > 1 && (self.processors.has_deferred(rank) || self.trace.is_some()) {
            // The first call of a burst lets the library do what has waited; operations are recorded one by one.
            let (first, rest) = self.split(op);
            self.start(rank, first, now, around);
            return self.start(rank, rest, now, around);
        }
        let state = &mut self.ranks[rank as usize];
        let id = OpId { rank: self.placed.ranks()[rank as usize], number: state.started };
        state.started = state.started.wrapping_add(op.count);
        self.trace_started(rank, id.number, &op.action, now);
        let ranks = self.placed.node_of.len() as u32;
        self.unmatched += match op.action {
            Action::Send { .. } => i64::from(op.count),
            Action::Recv { .. } => -i64::from(op.count),
            _ => 0,
        };
        match op.action {
            Action::Calc { time } => {
                let end = self.processors.calculate(rank, now, time);
                self.trace_work(rank, (id, Purpose::Calc), end);
                return self.later(end, id, Event::Calculated(op.id), now, around);
            }
            Action::Send { to: other, .. }
            | Action::Recv { from: Some(other), .. }
            | Action::Probe { from: Some(other), .. }
                if other >= ranks =>
            {
                self.fail(HostError::NoSuchRank { rank: id.rank, other, ranks });
            }
            Action::Send { .. } if op.count > 1 => self.start_sends(rank, op, id, now, around),
            Action::Send { to, bytes, tag, context } => {
                let sending = Sending {
                    op: id,
                    rank,
                    id: op.id,
                    to,
                    tag,
                    context,
                    bytes,
                    placed: NONE,
                    asks: self.asks(id.rank, to, bytes),
                    fetched: false,
                    stalled: false,
                    written_at: 0,
                };
                self.start_send(sending, now, around);
            }
            Action::Recv { from, bytes, tag, context } => {
                let label = Label { source: from.unwrap_or(ANY_SOURCE), tag, context };
                let receiving = Receiving { op: id, rank, id: op.id, bytes, left: op.count };
                let place = self.receives.insert(receiving);
                if op.count > 1 {
                    let sources = Sources { first: label.source, stride: op.stride, ranks };
                    self.post_burst(place, label, (sources, op.count), now, around);
                } else {
                    self.post_receive(label, (place, 0), now, around);
                }
            }
            Action::OnNic(step) => self.start_on_nic(rank, (id, op.id), step, now, around),
            Action::Group(call) => self.start_group(rank, (id, op.id), call, now, around),
            Action::Probe { .. } => return self.probe(rank, (id, op.id), op.action, now, around),
            Action::Poll => {
                self.react_to_deferred(rank, now, around);
                return self.later(self.processors.returns(rank, now), id, Event::Polled(op.id), now, around);
            }
        }
        self.react_to_deferred(rank, now, around);
    }

    /// The time has come at which a calculation was to end.
    pub(super) fn calculated(&mut self, op: OpId, id: u32, now: u64, around: &mut impl HostContext) {
        let rank = self.placed.number(op.rank);
        if let Some(end) = self.processors.calculated(rank, now) {
            self.trace_calc_until(rank, end);
            return self.later(end, op, Event::Calculated(id), now, around);
        }
        self.end(rank, (op.number, id), now, None);
        if self.processors.occupied() {
            self.settle(rank, now, around);
        }
    }

    /// An operation of a rank, by its number here, ends: its number, and what its program knows it by.
    pub(super) fn end(&mut self, rank: u32, (number, id): (u32, u32), now: u64, matched: Option<Matched>) {
        self.trace_ended(rank, number, now);
        let state = &mut self.ranks[rank as usize];
        state.open -= 1;
        state.ended_at = now;
        self.progress.ended += 1;
        let ended = self.programs[rank as usize].ended(&Ended { id, at: now, matched }, &mut self.issued);
        self.take_issued(rank, ended.map_err(|error| HostError::Program { rank: self.rank(rank), error }));
    }
}
