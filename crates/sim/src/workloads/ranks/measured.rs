//! What is measured of ranks: by benchmarks of message latency, round trips; of programs, messages and their matching.

use std::sync::Arc;

use host::Searches;
use workload::program::{Interval, Measure};

use crate::results::{BenchmarkResult, MeasureResult, MeasuredTimes, PairResult, ProgramResult};

/// What is measured of ranks besides the times at which they end.
#[derive(Clone, Debug)]
pub(crate) enum Measured {
    /// The round trips of pairs.
    Benchmark(Arc<BenchmarkPairs>),
    /// Messages and how they have been matched.
    Program,
}

/// What has been measured of a program, given the searches for posted receives and for unexpected messages, what it measures itself,
/// and its intervals.
pub(super) fn of_program(
    [posted, unexpected]: [Searches; 2],
    measures: &[Measure],
    intervals: &[Interval],
) -> ProgramResult {
    let mean = |searches: &Searches| (searches.count > 0).then(|| searches.depth as f64 / searches.count as f64);
    ProgramResult {
        program_messages: posted.count,
        unexpected_max: unexpected.longest,
        posted_search_mean: mean(&posted),
        unexpected_search_mean: mean(&unexpected),
        search_max: posted.deepest.max(unexpected.deepest),
        times: measured_times(measures, intervals),
    }
}

/// The times that a program measures itself, if it does.
fn measured_times(measures: &[Measure], intervals: &[Interval]) -> Option<MeasuredTimes> {
    let each = (0..).zip(measures).map(|(number, measure)| {
        let own = |interval: &&Interval| interval.key as usize % measures.len() == number;
        measure_result(measure, intervals.iter().filter(own), measures.len() as u32)
    });
    let measures: Vec<MeasureResult> = each.collect();
    let first = measures.first()?;
    Some(MeasuredTimes {
        operation_time_mean_ns: first.time_mean_ns,
        operation_time_max_ns: first.time_max_ns,
        operation_span_mean_ns: first.span_mean_ns,
        operation_bound_ns: first.bound_ns,
        measures,
    })
}

/// What has been measured of one of so many, given its intervals.
fn measure_result<'a>(measure: &Measure, own: impl Iterator<Item = &'a Interval>, measures: u32) -> MeasureResult {
    let ns = |picoseconds: f64| picoseconds / 1e3;
    let (mut count, mut sum, mut longest) = (0_u64, 0_u128, 0);
    // By repetition, the first begin and the last end.
    let mut spans: Vec<Option<(u64, u64)>> = Vec::new();
    for interval in own {
        let repetition = (interval.key / measures) as usize;
        if spans.len() <= repetition {
            spans.resize(repetition + 1, None);
        }
        let (begin, end) = spans[repetition].unwrap_or((interval.start, interval.end));
        spans[repetition] = Some((begin.min(interval.start), end.max(interval.end)));
        count += 1;
        sum += u128::from(interval.end - interval.start);
        longest = longest.max(interval.end - interval.start);
    }
    let spans: Vec<f64> = spans.into_iter().flatten().map(|(begin, end)| (end - begin) as f64).collect();
    MeasureResult {
        name: measure.name.clone(),
        count,
        time_mean_ns: (count > 0).then(|| ns(sum as f64 / count as f64)),
        time_max_ns: (count > 0).then(|| ns(longest as f64)),
        span_mean_ns: mean(&spans).map(ns),
        bound_ns: measure.bound.map(|bound| ns(bound as f64)),
    }
}

/// The pairs of a benchmark.
#[derive(Clone, Debug)]
pub(crate) struct BenchmarkPairs {
    /// Bytes of a message.
    pub message_size: u64,
    /// The two ranks, the one that begins first.
    pub pairs: Vec<(u32, u32)>,
    /// The channels that a message crosses.
    pub channels: Vec<u32>,
}

impl BenchmarkPairs {
    /// What has been measured, given the round trips by the number of their pair, in picoseconds.
    pub fn result(&self, trips: &[Interval]) -> BenchmarkResult {
        // Half a round trip, in nanoseconds.
        let mut halves: Vec<Vec<f64>> = vec![Vec::new(); self.pairs.len()];
        for trip in trips {
            halves[trip.key as usize].push((trip.end - trip.start) as f64 / 2e3);
        }
        let all = self.pairs.iter().zip(&self.channels).zip(&halves);
        let pairs: Vec<PairResult> =
            all.map(|((&pair, &channels), halves)| pair_result(pair, channels, halves)).collect();
        let apart = || pairs.iter().filter(|pair| pair.channels > 0);
        let means: Vec<f64> = apart().filter_map(|pair| pair.time_mean_ns).collect();
        let (least, most) = (means.iter().copied().reduce(f64::min), means.iter().copied().reduce(f64::max));
        let channels: Vec<f64> = apart().map(|pair| f64::from(pair.channels)).collect();
        BenchmarkResult {
            message_size_bytes: self.message_size,
            message_time_mean_ns: mean(&means),
            message_time_min_ns: least,
            message_time_max_ns: most,
            message_time_spread: least.zip(most).map(|(least, most)| (most - least) / least),
            pair_channels_mean: mean(&channels).unwrap_or(0.0),
            pairs,
        }
    }
}

/// What a pair of ranks measured, given half of each round trip that has ended, in nanoseconds.
fn pair_result((rank, partner): (u32, u32), channels: u32, halves: &[f64]) -> PairResult {
    PairResult {
        rank,
        partner,
        channels,
        messages: halves.len() as u32,
        time_mean_ns: mean(halves),
        time_min_ns: halves.iter().copied().reduce(f64::min),
        time_max_ns: halves.iter().copied().reduce(f64::max),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
