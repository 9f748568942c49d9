//! Actions on the whole machine at fixed times, in the order of time.
//!
//! A machine stops at the time of each action, between two windows, so that all partitions see it at one tick, whatever
//! the number of threads. Actions of one tick are carried out in the order in which they were added.

/// Action on the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Global {
    /// Shares the congestion of all channels with every partition, periodically.
    Snapshot {
        /// Ticks between snapshots, at least 1.
        period: u64,
    },
    /// Takes one sample for time series. The reader adds the next one.
    Sample,
}
units::record!(match Global {
    0 => Snapshot { period: period },
    1 => Sample {},
});

/// Pending actions.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Actions with their times in ticks, latest first, so that the next one is taken from the end.
    entries: Vec<(u64, Global)>,
}
units::state!(Timeline { entries });

impl Timeline {
    /// Adds an action at `at`, in ticks.
    pub fn add(&mut self, at: u64, action: Global) {
        let place = self.entries.partition_point(|&(other, _)| other > at);
        self.entries.insert(place, (at, action));
    }

    /// Returns the time of the next action, in ticks. None if there is none.
    pub fn next(&self) -> Option<u64> {
        self.entries.last().map(|&(at, _)| at)
    }

    /// Postpones periodic actions that are due before `until`, each to the first of its times from `until` on. Returns
    /// whether there were any.
    pub fn put_off(&mut self, until: u64) -> bool {
        let repeats = |&(at, action): &(u64, Global)| at < until && matches!(action, Global::Snapshot { .. });
        let early: Vec<_> = self.entries.extract_if(.., |entry| repeats(entry)).collect();
        // At equal times the action that was added first comes first, so it lies last.
        for &(at, action) in early.iter().rev() {
            if let Global::Snapshot { period } = action {
                let periods = (until - at).div_ceil(period.max(1));
                self.add(at.saturating_add(periods.saturating_mul(period.max(1))), action);
            }
        }
        !early.is_empty()
    }

    /// Takes the next action that is due. A periodic one is added again.
    pub fn take_due(&mut self, now: u64) -> Option<Global> {
        let (at, action) = self.entries.pop_if(|&mut (at, _)| at <= now)?;
        if let Global::Snapshot { period } = action {
            self.add(at.saturating_add(period.max(1)), action);
        }
        Some(action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_come_at_their_times_in_the_order_in_which_they_were_added() {
        // Would catch an action that comes early, twice or never again, and a later one before an earlier one.
        let snapshot = |period| Global::Snapshot { period };
        let mut timeline = Timeline::default();
        assert_eq!((timeline.next(), timeline.take_due(9)), (None, None));
        timeline.add(4, snapshot(6));
        timeline.add(0, snapshot(3));
        timeline.add(4, snapshot(100));
        timeline.add(5, Global::Sample);
        let mut seen = Vec::new();
        for now in 0..=10 {
            while let Some(action) = timeline.take_due(now) {
                seen.push(match action {
                    Global::Snapshot { period } => (now, period),
                    Global::Sample => (now, 0),
                });
            }
            assert!(timeline.next() > Some(now));
        }
        assert_eq!(seen, [(0, 3), (3, 3), (4, 6), (4, 100), (5, 0), (6, 3), (9, 3), (10, 6)]);
    }

    #[test]
    fn what_is_put_off_comes_at_the_first_of_its_times() {
        // Would catch a repeated action that leaves its grid, comes before its time or twice, and one that does not
        // repeat and is lost.
        let mut timeline = Timeline::default();
        timeline.add(3, Global::Snapshot { period: 7 });
        timeline.add(5, Global::Sample);
        assert!(timeline.put_off(17) && !timeline.put_off(17));
        assert_eq!((timeline.next(), timeline.take_due(5)), (Some(5), Some(Global::Sample)));
        assert_eq!(timeline.next(), Some(17));
        assert!(timeline.put_off(18));
        assert_eq!((timeline.next(), timeline.take_due(24)), (Some(24), Some(Global::Snapshot { period: 7 })));
        assert_eq!(timeline.next(), Some(31));
    }
}
