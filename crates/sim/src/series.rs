//! Time series of deliveries and queues at fixed simulated times.
//!
//! A machine takes *samples* between two windows (`timeline`): bytes delivered so far of each job, waiting times of
//! sources, and bytes queued in routers by class of channels. A job turns them into *intervals*, each from one sample
//! to the next. All values are whole numbers and sums over partitions, so that they depend neither on threads nor on
//! partitions.

use fabric::QueueDepths;
use units::Time;

use crate::network::Network;
use crate::results::{QueueSeries, SeriesResult};

/// Largest number of samples that are kept. When it is reached, every second sample is dropped and the period doubles.
pub(crate) const MOST_SAMPLES: usize = 1 << 16;

/// Waiting times of a job's sources: the time that the oldest packet of each has waited to enter the network, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceWaits {
    /// Sum over all nodes, in ticks.
    pub sum: u64,
    /// Largest waiting time of a node, in ticks.
    pub largest: u64,
}

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

/// Samples of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    /// Period of the samples, and tick, in picoseconds.
    period: u64,
    tick: u64,
    taken: Vec<Sample>,
}

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

/// Interval from one sample to the next.
#[derive(Clone, Debug)]
struct Interval {
    /// End and length, in ticks.
    end: u64,
    length: u64,
    /// Bytes delivered during the interval.
    bytes: u64,
    /// State at the end of the interval.
    waits: SourceWaits,
    queues: Vec<QueueDepths>,
}

/// Time series of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series(Vec<Interval>);

impl Series {
    /// Adds the samples of a job that a machine has taken. The machine began at `begin`, in ticks. Samples after its
    /// own time `last` count as taken at `last`.
    pub fn extend(&mut self, samples: Vec<Sample>, job: usize, (begin, last): (u64, u64)) {
        let (mut before, mut delivered) = (0, 0);
        for Sample { at, delivered: all, waits, queues } in samples {
            let (at, bytes) = (at.min(last), all[job] - delivered);
            if at > before {
                self.0.push(Interval { end: begin + at, length: at - before, bytes, waits: waits[job], queues });
            } else if let Some(interval) = self.0.last_mut() {
                interval.bytes += bytes;
            }
            (before, delivered) = (at, all[job]);
        }
        while self.0.len() > MOST_SAMPLES {
            self.join_pairs();
        }
    }

    /// Joins every two intervals into one.
    fn join_pairs(&mut self) {
        let join = |pair: &[Interval]| match pair {
            [first, second] => {
                Interval { length: first.length + second.length, bytes: first.bytes + second.bytes, ..second.clone() }
            }
            only => only[0].clone(),
        };
        self.0 = self.0.chunks(2).map(join).collect();
    }

    /// Returns the result. None without samples. A load of 1 is `bytes_per_tick` bytes in a tick, for all `senders`
    /// senders together.
    pub fn result(&self, network: &Network, bytes_per_tick: f64, senders: usize) -> Option<SeriesResult> {
        let last = self.0.last()?;
        let ns = |ticks: u64| network.ns(ticks);
        let each = |of: &dyn Fn(&Interval) -> f64| self.0.iter().map(of).collect::<Vec<f64>>();
        let load = |interval: &Interval| interval.bytes as f64 / (interval.length as f64 * bytes_per_tick);
        let names = network.topology.class_names();
        let queue = |class: usize| QueueSeries {
            class: names[class].to_owned(),
            channels: last.queues[class].channels,
            mean_bytes: each(&|own| own.queues[class].bytes as f64 / own.queues[class].channels as f64),
            max_bytes: self.0.iter().map(|own| own.queues[class].largest).collect(),
        };
        let is_there = |&class: &usize| last.queues[class].channels > 0;
        Some(SeriesResult {
            interval_ns: self.0.iter().map(|own| ns(own.length)).fold(0.0, f64::max),
            time_ns: each(&|own| ns(own.end)),
            accepted_load: each(&load),
            source_wait_mean_ns: Some(each(&|own| ns(own.waits.sum) / senders.max(1) as f64)),
            source_wait_max_ns: Some(each(&|own| ns(own.waits.largest))),
            queues: (0..names.len()).filter(is_there).map(queue).collect(),
        })
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

    #[test]
    fn intervals_have_what_was_delivered_between_samples_and_end_with_the_job() {
        // Would catch cumulative counts in place of an interval's counts, an interval without length, a second machine
        // that begins at time 0.
        let mut series = Series::default();
        series.extend(vec![sample(10, 4), sample(20, 9), sample(30, 9)], 0, (0, 15));
        series.extend(vec![sample(10, 2), sample(13, 7)], 0, (15, u64::MAX));
        let found: Vec<_> = series.0.iter().map(|own| (own.end, own.length, own.bytes)).collect();
        assert_eq!(found, [(10, 10, 4), (15, 5, 5), (25, 10, 2), (28, 3, 5)]);
        series.join_pairs();
        let found: Vec<_> = series.0.iter().map(|own| (own.end, own.length, own.bytes)).collect();
        assert_eq!(found, [(15, 15, 9), (28, 13, 7)]);
    }
}
