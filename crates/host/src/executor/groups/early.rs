//! Segments for operations that a rank has not called yet: runs of segments of one origin, so that a stream of them
//! needs the memory of one.

use crate::context::{GroupArrival, GroupWork};
use crate::groups::without_segment;
use crate::ranges::ahead_of;

/// Consecutive segments with equal contributors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub from: u32,
    /// Segment behind the last.
    pub to: u32,
    pub work: GroupWork,
    pub contributions: u32,
    /// Sum of the contributors' numbers.
    pub sum: u64,
}
units::record!(Run { from, to, work, contributions, sum });

/// Runs in the order of segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Early(Vec<Run>);
units::record!(Early { 0 });

impl Early {
    /// Adds a segment, not before `base`. Returns whether it is the first of its number.
    pub fn add(&mut self, base: u32, arrival: &GroupArrival) -> bool {
        let &GroupArrival { segment, work, contributions, value, .. } = arrival;
        let sum = without_segment(value, segment);
        let own = Run { from: segment, to: segment.wrapping_add(1), work, contributions, sum };
        let place = self.0.partition_point(|run| ahead_of(run.from, base) <= ahead_of(segment, base));
        if let Some(before) = place.checked_sub(1).map(|place| &mut self.0[place]) {
            if ahead_of(before.to, segment) > 0 {
                return false;
            }
            if (Run { from: own.from, to: own.to, ..*before }) == own && before.to == segment {
                before.to = own.to;
                return true;
            }
        }
        self.0.insert(place, own);
        true
    }

    /// Removes and returns the first run that begins before `end`, up to that segment.
    pub fn take(&mut self, end: u32) -> Option<Run> {
        let run = *self.0.first().filter(|run| ahead_of(run.from, end) < 0)?;
        if ahead_of(run.to, end) > 0 {
            self.0[0].from = end;
            return Some(Run { to: end, ..run });
        }
        Some(self.0.remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::contribution;

    #[test]
    fn streams_are_runs() {
        // Would catch a run for each segment, one of two origins, one that is cut at the wrong end, a duplicate that is
        // not seen, and an order that breaks where numbers wrap.
        let base = u32::MAX - 1;
        let at = |segment: u32| base.wrapping_add(segment);
        let of = |rank: u32, segment: u32| GroupArrival {
            group: 0,
            segment: at(segment),
            work: GroupWork::Multicast,
            contributions: 1,
            value: contribution(rank, at(segment)),
            element: 0,
            bytes: 7,
            rail: 0,
        };
        let mut early = Early::default();
        for (rank, segment) in [(1, 0), (2, 5), (1, 1), (2, 6), (1, 2), (2, 3), (2, 4), (2, 7)] {
            assert!(early.add(base, &of(rank, segment)), "{segment}");
        }
        assert!(!early.add(base, &of(1, 1)));
        let runs = std::iter::from_fn(|| early.take(at(6))).map(|run| (run.from, run.to)).collect::<Vec<_>>();
        assert_eq!(
            runs.iter().map(|run| (run.0.wrapping_sub(base), run.1.wrapping_sub(base))).collect::<Vec<_>>(),
            [(0, 3), (3, 5), (5, 6)]
        );
        assert_eq!(early.take(at(9)).map(|run| run.to), Some(at(8)));
        assert_eq!(early.take(at(9)), None);
    }
}
