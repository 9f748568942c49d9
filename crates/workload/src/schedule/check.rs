//! Whether every operation of a schedule ends.

use units::cycle::resolve;

use super::{OpKind, Schedule, ScheduleError};

impl Schedule {
    /// Checks that every operation ends, where messages of more than `eager_limit` bytes wait for their receivers (none:
    /// no message does).
    ///
    /// What happens is a graph of starts and ends; it can all happen if and only if there is an order (Kahn).
    ///
    /// # Errors
    /// An operation that waits in a cycle, or for one that does.
    pub fn check_progress(&self, eager_limit: Option<u64>) -> Result<(), ScheduleError> {
        let waits_for_receiver = |send: u32| eager_limit.is_some_and(|limit| self.size(send) > limit);
        // Operation o starts as vertex 2o and ends as 2o + 1.
        let mut waits = Vec::with_capacity(2 * self.len());
        for (op, &before_start) in (0..).zip(self.waits()) {
            let before_end = match self.kind(op) {
                OpKind::Calc => 1,
                OpKind::Recv => 2,
                OpKind::Send => 1 + u32::from(waits_for_receiver(op)),
            };
            waits.extend([before_start, before_end]);
        }
        resolve(&mut waits, |vertex, visit| {
            let (op, is_end) = ((vertex / 2) as u32, vertex % 2 == 1);
            let followers = if is_end { self.after_end(op) } else { self.after_start(op) };
            followers.iter().for_each(|&next| visit(2 * next as usize));
            if is_end {
                return;
            }
            let partner = self.partner(op);
            let other_end = match self.kind(op) {
                OpKind::Send => Some(partner),
                OpKind::Recv => Some(partner).filter(|&send| waits_for_receiver(send)),
                OpKind::Calc => None,
            };
            std::iter::once(op).chain(other_end).for_each(|end| visit(2 * end as usize + 1));
        });
        let Some(stuck) = (0..self.len() as u32).find(|&op| waits[2 * op as usize + 1] > 0) else { return Ok(()) };
        let rank = self.rank(stuck);
        let what = match self.kind(stuck) {
            OpKind::Calc => "calculation".to_owned(),
            OpKind::Recv => format!("receive from rank {}", self.rank(self.partner(stuck))),
            OpKind::Send => format!("send to rank {}", self.rank(self.partner(stuck))),
        };
        Err(ScheduleError::Cycle { rank, index: stuck - self.of(rank).start, what })
    }
}
