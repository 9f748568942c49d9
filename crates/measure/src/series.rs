//! Time series of deliveries and queues at fixed simulated times.
//!
//! A machine takes *samples* between two windows (`timeline`): bytes delivered so far of each job, waiting times of
//! sources, and bytes queued in routers by class of channels. A job turns them into *intervals*, each from one sample
//! to the next. All values are whole numbers and sums over partitions, so that they depend neither on threads nor on
//! partitions.

use fabric::QueueDepths;
use network::{MOST_SAMPLES, Network, Sample, SourceWaits};

use crate::results::{QueueSeries, SeriesResult};

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
units::record!(Interval { end, length, bytes, waits, queues });

/// Time series of a job.
#[derive(Clone, Debug, Default)]
pub struct Series(Vec<Interval>);
units::record!(Series { 0 });

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
