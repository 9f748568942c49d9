//! Whether every operation of a schedule ends.

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
        let operations = self.len() as u32;
        let waits_for_receiver = |send: u32| eager_limit.is_some_and(|limit| self.size(send) > limit);
        // What still has to happen before a start, and before an end.
        let mut before_start = self.waits().to_vec();
        let mut before_end: Vec<u32> = (0..operations)
            .map(|op| match self.kind(op) {
                OpKind::Calc => 1,
                OpKind::Recv => 2,
                OpKind::Send => 1 + u32::from(waits_for_receiver(op)),
            })
            .collect();
        let mut ready: Vec<(u32, bool)> =
            (0..operations).filter(|&op| before_start[op as usize] == 0).map(|op| (op, false)).collect();
        let mut ended = 0;
        while let Some((op, is_end)) = ready.pop() {
            let followers = if is_end { self.after_end(op) } else { self.after_start(op) };
            for &next in followers {
                before_start[next as usize] -= 1;
                if before_start[next as usize] == 0 {
                    ready.push((next, false));
                }
            }
            if is_end {
                ended += 1;
                continue;
            }
            let partner = self.partner(op);
            let other_end = match self.kind(op) {
                OpKind::Send => Some(partner),
                OpKind::Recv => Some(partner).filter(|&send| waits_for_receiver(send)),
                OpKind::Calc => None,
            };
            for end in std::iter::once(op).chain(other_end) {
                before_end[end as usize] -= 1;
                if before_end[end as usize] == 0 {
                    ready.push((end, true));
                }
            }
        }
        if ended == operations {
            return Ok(());
        }
        let stuck = (0..operations).find(|&op| before_end[op as usize] > 0).unwrap_or(0);
        let rank = self.rank(stuck);
        let what = match self.kind(stuck) {
            OpKind::Calc => "calculation".to_owned(),
            OpKind::Recv => format!("receive from rank {}", self.rank(self.partner(stuck))),
            OpKind::Send => format!("send to rank {}", self.rank(self.partner(stuck))),
        };
        Err(ScheduleError::Cycle { rank, index: stuck - self.of(rank).start, what })
    }
}
