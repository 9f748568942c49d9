//! Rules for the lengths of warm-up and measurement of workloads that never end by themselves: shared by open traffic
//! and by operations that begin at a rate. Each defines steady state and precision itself.

use super::RunContext;
use ::experiment::WarmUp;

/// Smallest number of batches of the warm-up, and of the measurement.
pub(super) const FEWEST_BATCHES: usize = 64;

/// Largest number of batches of a warm-up that finds no steady state.
pub(super) const LONGEST_WARM_UP: usize = 400;

/// Largest number of measured batches of a run that does not become precise. Overridden by `measure.max_time`.
pub(super) const LONGEST_MEASURE: usize = 4096;

impl RunContext {
    /// Returns the time at which measuring ends at the latest, in ticks.
    pub(super) fn last(&self) -> u64 {
        self.longest().min(self.span.end)
    }

    /// Returns the end of a warm-up of fixed length, in ticks. None for an automatic warm-up.
    pub(super) fn fixed_warm_up(&self) -> Option<u64> {
        let WarmUp::Fixed(time) = self.measure.warm_up else { return None };
        let end = self.span.start.saturating_add(time.0.div_ceil(self.network.plan.tick().0));
        Some(if self.shared { end.next_multiple_of(self.batch) } else { end })
    }

    /// Whether the warm-up ends after `count` batches even without a steady state.
    pub(super) fn warm_up_ends(&self, count: usize, now: u64) -> bool {
        let start = self.span.start;
        count >= LONGEST_WARM_UP || now.saturating_sub(start) >= self.last().saturating_sub(start) / 2
    }

    /// Whether `count` batches reach the minimum that the experiment asks for.
    pub(super) fn is_long_enough(&self, count: usize) -> bool {
        let shortest = self.measure.min_time.map_or(0, |time| time.0 / self.network.plan.tick().0);
        count as u64 * self.batch >= shortest
    }

    /// Whether the measurement ends after `count` batches even if it is not precise. Ignores the end of the job.
    pub(super) fn measure_ends(&self, count: usize) -> bool {
        let longest = if self.measure.max_time.is_some() { usize::MAX } else { LONGEST_MEASURE };
        count >= longest && self.is_long_enough(count)
    }

    /// Returns the latest end of the drain after a measurement between two times, in ticks.
    pub(super) fn longest_drain(&self, (from, to): (u64, u64)) -> u64 {
        to.saturating_add(2 * (to - from)).saturating_add(self.batch.saturating_mul(64))
    }
}
