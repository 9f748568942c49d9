//! What happens at nodes between two ticks of the network, in the order of its times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::alarm::Alarm;

/// Alarms at times that are no ticks, or that have come while others of the same tick are handled.
#[derive(Debug, Default)]
pub(crate) struct Pending(BinaryHeap<Reverse<(u64, u32, Alarm)>>);

impl Pending {
    /// Adds an alarm for an operation at a time in picoseconds.
    pub fn push(&mut self, at: u64, op: u32, what: Alarm) {
        self.0.push(Reverse((at, op, what)));
    }

    /// Takes the earliest alarm, of equal times that of the lowest operation, if its time is not beyond `last`.
    #[inline]
    pub fn take(&mut self, last: u64) -> Option<(u64, u32, Alarm)> {
        self.0.peek().filter(|Reverse((at, ..))| *at <= last)?;
        self.0.pop().map(|Reverse(alarm)| alarm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_are_taken_in_order_of_time_and_operation() {
        // Would catch a heap the wrong way round, and an alarm that goes off early.
        let mut pending = Pending::default();
        for (at, op) in [(30, 1), (20, 9), (30, 0), (41, 2)] {
            pending.push(at, op, Alarm::End);
        }
        let taken: Vec<_> = std::iter::from_fn(|| pending.take(40)).map(|(at, op, _)| (at, op)).collect();
        assert_eq!(taken, [(20, 9), (30, 0), (30, 1)]);
        assert_eq!(pending.take(41), Some((41, 2, Alarm::End)));
        assert_eq!(pending.take(u64::MAX), None);
    }
}
