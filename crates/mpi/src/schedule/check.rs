//! Progress check: whether every operation of a schedule ends.

use units::cycle::resolve;

use super::{OpKind, Schedule, ScheduleError};

impl Schedule {
    /// Checks that every operation ends. Messages of more than `eager_limit` bytes wait for their receivers
    /// (rendezvous); with `None`, no message does.
    ///
    /// The events are the starts and ends of operations. All can happen if and only if their dependency graph has a
    /// topological order (Kahn). If matching is not known beforehand, the graph omits messages, and only cycles within
    /// a rank are found.
    ///
    /// # Errors
    /// An operation that waits in a cycle, or that waits for such an operation.
    pub fn check_progress(&self, eager_limit: Option<u64>) -> Result<(), ScheduleError> {
        let is_known = !self.partner.is_empty();
        // A message of a rank to itself does not cross the network and does not wait for its receiver.
        let waits_for_receiver = |send: u32| {
            let leaves = self.peer(send) != Some(self.rank(send));
            is_known && leaves && eager_limit.is_some_and(|limit| self.size(send) > limit)
        };
        // Vertex 2o is the start of operation o, vertex 2o + 1 its end.
        let mut waits = Vec::with_capacity(2 * self.len());
        for (op, &before_start) in (0..).zip(self.waits()) {
            let before_end = match self.kind(op) {
                OpKind::Calc => 1,
                OpKind::Recv => 1 + u32::from(is_known),
                OpKind::RecvAny => 1,
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
            let other_end = match self.kind(op) {
                OpKind::Send => self.partner(op),
                OpKind::Recv => self.partner(op).filter(|&send| waits_for_receiver(send)),
                OpKind::RecvAny | OpKind::Calc => None,
            };
            std::iter::once(op).chain(other_end).for_each(|end| visit(2 * end as usize + 1));
        });
        let Some(stuck) = (0..self.len() as u32).find(|&op| waits[2 * op as usize + 1] > 0) else { return Ok(()) };
        let rank = self.rank(stuck);
        let peer = self.peer(stuck).map_or("any rank".to_owned(), |rank| format!("rank {rank}"));
        let what = match self.kind(stuck) {
            OpKind::Calc => "calculation".to_owned(),
            OpKind::Recv | OpKind::RecvAny => format!("receive from {peer}"),
            OpKind::Send => format!("send to {peer}"),
        };
        Err(ScheduleError::Cycle { rank, index: stuck - self.of(rank).start, what })
    }
}
