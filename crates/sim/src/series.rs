//! Time series: what is delivered, and what waits, at fixed simulated times.
//!
//! A machine takes *samples* between two windows (`timeline`): bytes delivered so far, of each job, how long sources have been kept
//! waiting, and what waits in routers by class of channels. A job makes *intervals* of them, from one sample to the next. All
//! are whole numbers and sums over partitions, so that neither threads nor partitions can matter.

use fabric::QueueDepths;
use units::Time;

use crate::network::Network;
use crate::results::{QueueSeries, SeriesResult};

/// The most samples that are kept. At the end of the last of them every second one is dropped, and the period doubles.
pub(crate) const MOST_SAMPLES: usize = 1 << 16;

/// How long the oldest packets of the sources of a job have waited to enter the network, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceWaits {
    /// Of all nodes, summed.
    pub sum: u64,
    /// Of the node that waits longest.
    pub largest: u64,
}

impl SourceWaits {
    /// Given how far each source has come: when the packet at its head was generated.
    pub fn of(progress: &[u64], now: u64) -> Self {
        let waits = || progress.iter().map(|&generated_at| now - generated_at);
        Self { sum: waits().sum(), largest: waits().max().unwrap_or(0) }
    }
}

/// The state of a machine at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was taken, in ticks.
    pub at: u64,
    /// By job, bytes delivered since the machine began: counted as heads leave the last router.
    pub delivered: Vec<u64>,
    /// By job, what its sources wait.
    pub waits: Vec<SourceWaits>,
    /// By class of channels, what waits in routers.
    pub queues: Vec<QueueDepths>,
}

/// The samples of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    /// Picoseconds from one to the next, and of a tick.
    period: u64,
    tick: u64,
    taken: Vec<Sample>,
}

impl Samples {
    /// None yet.
    pub fn new(period: Time, tick: Time) -> Self {
        Self { period: period.0.max(1), tick: tick.0, taken: Vec::new() }
    }

    /// When the next is taken, in ticks.
    pub fn next_time(&self) -> u64 {
        (self.taken.len() as u64 + 1).saturating_mul(self.period).div_ceil(self.tick)
    }

    /// Adds the next one.
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

    /// All of them, in the order of their times.
    pub fn taken(&self) -> &[Sample] {
        &self.taken
    }
}

/// From one sample to the next.
#[derive(Clone, Debug)]
struct Interval {
    /// Its end and its length, in ticks.
    end: u64,
    length: u64,
    /// Bytes delivered in it.
    bytes: u64,
    /// At its end.
    waits: SourceWaits,
    queues: Vec<QueueDepths>,
}

/// The time series of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series(Vec<Interval>);

impl Series {
    /// Adds what a machine has sampled of a job. The machine began at a time, in ticks; samples after `last` of its own
    /// time count as taken then.
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

    /// Makes one interval of every two.
    fn join_pairs(&mut self) {
        let join = |pair: &[Interval]| match pair {
            [first, second] => {
                Interval { length: first.length + second.length, bytes: first.bytes + second.bytes, ..second.clone() }
            }
            only => only[0].clone(),
        };
        self.0 = self.0.chunks(2).map(join).collect();
    }

    /// The result, if there is a series; a load of 1 is so many bytes a tick, of all `senders` together.
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
        // Would catch bytes that are lost, or a next sample at a time of the old period.
        let mut samples = Samples::new(Time(5), Time(5));
        (1..=MOST_SAMPLES as u64).for_each(|at| samples.push(sample(at, 3 * at)));
        assert_eq!(samples.taken().len(), MOST_SAMPLES / 2);
        assert_eq!(samples.taken()[..2], [sample(2, 6), sample(4, 12)]);
        assert_eq!(samples.next_time(), MOST_SAMPLES as u64 + 2);
    }

    #[test]
    fn intervals_have_what_was_delivered_between_samples_and_end_with_the_job() {
        // Would catch cumulative counts taken for those of an interval, an interval without length, a second machine that
        // begins at time 0.
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
