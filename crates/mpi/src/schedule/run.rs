//! Execution of schedules as programs.

use std::sync::Arc;

use super::{OpKind, Schedule, ScheduleError};
use crate::program::{Action, Ended, Messages, Notify, Op, ProgramError, Programs, RankProgram};

impl Programs for Schedule {
    fn may_probe(&self) -> bool {
        false
    }

    fn ranks(&self) -> u32 {
        Self::ranks(self)
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        let operations = self.of(rank);
        let waits = self.waits()[operations.start as usize..operations.end as usize].to_vec();
        Box::new(ScheduledRank { first: operations.start, waits, schedule: self, stack: Vec::new() })
    }

    fn operations(&self) -> u64 {
        self.kind.iter().filter(|&&kind| kind != OpKind::Calc).count() as u64
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn messages_of(&self, rank: u32, visit: &mut dyn FnMut(Messages)) {
        self.messages_from(rank).for_each(|(from, to, bytes)| visit(Messages { from, to, bytes, count: 1 }));
    }

    fn check_progress(&self, eager_limit: Option<u64>) -> Result<(), ScheduleError> {
        Self::check_progress(self, eager_limit)
    }
}

/// Rank that runs its part of a schedule.
#[derive(Debug)]
struct ScheduledRank {
    schedule: Arc<Schedule>,
    /// First operation of the rank.
    first: u32,
    /// Number of events that each operation of the rank still waits for.
    waits: Vec<u32>,
    /// Operations to start. Kept to reuse its memory.
    stack: Vec<u32>,
}

impl ScheduledRank {
    /// Starts an operation, and the operations that waited only for its start.
    fn start(&mut self, op: u32, starts: &mut Vec<Op>) {
        self.stack.push(op);
        while let Some(op) = self.stack.pop() {
            starts.push(Op::one(op, self.action(op)));
            for &next in self.schedule.after_start(op).iter().rev() {
                let waits = &mut self.waits[(next - self.first) as usize];
                *waits -= 1;
                if *waits == 0 {
                    self.stack.push(next);
                }
            }
        }
    }

    fn action(&self, op: u32) -> Action {
        let Self { schedule, .. } = self;
        let (size, peer, tag) = (schedule.size(op), schedule.peer(op), schedule.tag(op));
        match schedule.kind(op) {
            OpKind::Calc => Action::Calc { time: size },
            OpKind::Recv | OpKind::RecvAny => Action::recv(peer, size, tag),
            // Only receives may leave rank and tag open.
            OpKind::Send => Action::send(peer.unwrap_or_default(), size, tag.unwrap_or_default()),
        }
    }
}

impl RankProgram for ScheduledRank {
    fn begin(&mut self, _now: u64, starts: &mut Vec<Op>) -> Result<Notify, ProgramError> {
        let first = self.first;
        let free: Vec<u32> = (first..).zip(&self.waits).filter(|&(_, &waits)| waits == 0).map(|(op, _)| op).collect();
        free.into_iter().for_each(|op| self.start(op, starts));
        Ok(Notify::Each)
    }

    fn ended(&mut self, ended: &Ended, starts: &mut Vec<Op>) -> Result<Notify, ProgramError> {
        let schedule = Arc::clone(&self.schedule);
        for &next in schedule.after_end(ended.id) {
            let waits = &mut self.waits[(next - self.first) as usize];
            *waits -= 1;
            if *waits == 0 {
                self.start(next, starts);
            }
        }
        Ok(Notify::Each)
    }
}
