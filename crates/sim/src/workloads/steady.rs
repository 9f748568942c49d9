//! When a workload that never ends by itself has warmed up, and has been measured for long enough: what the courses of open traffic and of
//! operations that begin at a rate have in common. What a steady state and a precise mean are, each says itself.

use super::Setting;
use crate::experiment::WarmUp;

/// Batches before the warm-up may end, and before measuring may.
pub(super) const FEWEST_BATCHES: usize = 64;

/// Batches after which the warm-up ends even if no steady state was found.
pub(super) const LONGEST_WARM_UP: usize = 400;

/// Batches of the measured interval after which a run ends even if it is not precise, unless the experiment says when.
pub(super) const LONGEST_MEASURE: usize = 4096;

impl Setting {
    /// The simulated time at which measuring ends, in ticks.
    pub(super) fn last(&self) -> u64 {
        self.longest().min(self.span.end)
    }

    /// When a warm-up of fixed length ends, in ticks.
    pub(super) fn fixed_warm_up(&self) -> Option<u64> {
        let WarmUp::Fixed(time) = self.measure.warm_up else { return None };
        let end = self.span.start.saturating_add(time.0.div_ceil(self.network.plan.tick().0));
        Some(if self.shared { end.next_multiple_of(self.batch) } else { end })
    }

    /// Whether a warm-up ends after so many batches although no steady state was found.
    pub(super) fn warm_up_ends(&self, count: usize, now: u64) -> bool {
        let start = self.span.start;
        count >= LONGEST_WARM_UP || now.saturating_sub(start) >= self.last().saturating_sub(start) / 2
    }

    /// Whether so many batches are as many as the experiment asks for at least.
    pub(super) fn is_long_enough(&self, count: usize) -> bool {
        let shortest = self.measure.min_time.map_or(0, |time| time.0 / self.network.plan.tick().0);
        count as u64 * self.batch >= shortest
    }

    /// Whether measuring ends after so many batches, although it is not precise, but for the end of the job.
    pub(super) fn measure_ends(&self, count: usize) -> bool {
        let longest = if self.measure.max_time.is_some() { usize::MAX } else { LONGEST_MEASURE };
        count >= longest && self.is_long_enough(count)
    }

    /// Until when what was measured from a time to another is waited for, in ticks.
    pub(super) fn longest_drain(&self, (from, to): (u64, u64)) -> u64 {
        to.saturating_add(2 * (to - from)).saturating_add(self.batch.saturating_mul(64))
    }
}
