//! Samples of a machine at fixed simulated times.
//!
//! All values are whole numbers and sums over partitions, so that they depend neither on threads nor on partitions.

use fabric::QueueDepths;
use units::Time;

/// Largest number of samples that are kept. When it is reached, every second sample is dropped and the period doubles.
pub const MOST_SAMPLES: usize = 1 << 16;

/// Waiting times of a job's sources: the time that the oldest packet of each has waited to enter the network, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceWaits {
    /// Sum over all nodes, in ticks.
    pub sum: u64,
    /// Largest waiting time of a node, in ticks.
    pub largest: u64,
}
units::record!(SourceWaits { sum, largest });

impl SourceWaits {
    /// Returns the waiting times at `now`. `progress` holds the generation time of the packet at the head of each
    /// source.
    pub fn of(progress: &[u64], now: u64) -> Self {
        let waits = || progress.iter().map(|&generated_at| now - generated_at);
        Self { sum: waits().sum(), largest: waits().max().unwrap_or(0) }
    }
}

/// State of a machine at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time of the sample, in ticks.
    pub at: u64,
    /// Bytes delivered since the machine began, by job. Counted as heads leave the last router.
    pub delivered: Vec<u64>,
    /// Waiting times of the sources, by job.
    pub waits: Vec<SourceWaits>,
    /// Queues in routers, by class of channels.
    pub queues: Vec<QueueDepths>,
}
units::record!(Sample { at, delivered, waits, queues });

/// Samples of a machine.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Period of the samples, and tick, in picoseconds.
    period: u64,
    tick: u64,
    taken: Vec<Sample>,
}
units::record!(Samples { period, tick, taken });

impl Samples {
    /// Creates an empty series of samples.
    pub fn new(period: Time, tick: Time) -> Self {
        Self { period: period.0.max(1), tick: tick.0, taken: Vec::new() }
    }

    /// Returns the time of the next sample, in ticks.
    pub fn next_time(&self) -> u64 {
        (self.taken.len() as u64 + 1).saturating_mul(self.period).div_ceil(self.tick)
    }

    /// Adds the next sample.
    pub fn push(&mut self, sample: Sample) {
        self.taken.push(sample);
        if self.taken.len() >= MOST_SAMPLES {
            let mut number = 0_u32;
            self.taken.retain(|_| {
                number += 1;
                number.is_multiple_of(2)
            });
            self.period = self.period.saturating_mul(2);
        }
    }

    /// Returns all samples in the order of time.
    pub fn taken(&self) -> &[Sample] {
        &self.taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: u64, delivered: u64) -> Sample {
        Sample { at, delivered: vec![delivered], waits: vec![SourceWaits::default()], queues: Vec::new() }
    }

    #[test]
    fn a_period_that_is_no_multiple_of_the_tick_does_not_drift() {
        // Would catch a period that is rounded once: 10 ps on a tick of 4 ps are 3, 5, 8, 10 ticks.
        let mut samples = Samples::new(Time(10), Time(4));
        let mut times = Vec::new();
        for _ in 0..4 {
            times.push(samples.next_time());
            samples.push(sample(samples.next_time(), 0));
        }
        assert_eq!(times, [3, 5, 8, 10]);
    }

    #[test]
    fn of_too_many_samples_every_second_one_stays() {
        // Would catch lost bytes, or a next sample at a time of the old period.
        let mut samples = Samples::new(Time(5), Time(5));
        (1..=MOST_SAMPLES as u64).for_each(|at| samples.push(sample(at, 3 * at)));
        assert_eq!(samples.taken().len(), MOST_SAMPLES / 2);
        assert_eq!(samples.taken()[..2], [sample(2, 6), sample(4, 12)]);
        assert_eq!(samples.next_time(), MOST_SAMPLES as u64 + 2);
    }
}
