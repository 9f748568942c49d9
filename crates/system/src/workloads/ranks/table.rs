//! Tables of benchmarks: rows of measurements by ranks.

use apps::benchmarks::{KEYS_OF_POLLING, TableBenchmark, TableRow};
use mpi::program::Interval;

use measure::{RowResult, TableResult};

/// Returns the table of a benchmark from the intervals of its ranks, in picoseconds.
pub(super) fn table(benchmark: &TableBenchmark, intervals: &[Interval]) -> TableResult {
    let rows = benchmark.rows.iter().zip(0..).map(|(row, number)| match row.polling {
        Some(polling) => polled(row, polling, number, intervals),
        None => timed(row, number, intervals),
    });
    let rows: Vec<RowResult> = rows.collect();
    let of = |value: fn(&RowResult) -> Option<f64>| rows.iter().filter_map(value);
    TableResult {
        benchmark_kind: benchmark.kind.to_owned(),
        benchmark_ranks: benchmark.ranks,
        least_time_ns: of(|row| row.time_max_ns).reduce(f64::min),
        peak_bandwidth_bytes_per_s: of(|row| row.bandwidth_bytes_per_s).reduce(f64::max),
        peak_messages_per_s: of(|row| row.messages_per_s).reduce(f64::max),
        benchmark_rows: rows,
    }
}

/// Returns a row without measurements.
fn empty(row: &TableRow) -> RowResult {
    RowResult {
        size_bytes: row.bytes,
        repetitions: row.repetitions,
        time_min_ns: None,
        time_max_ns: None,
        time_mean_ns: None,
        bandwidth_bytes_per_s: None,
        messages_per_s: None,
        interval_ns: None,
        availability: None,
    }
}

/// Returns a row of iterations. Each rank that measures has measured all iterations together.
fn timed(row: &TableRow, number: u32, intervals: &[Interval]) -> RowResult {
    let own = intervals.iter().filter(|interval| interval.key == number);
    let (mut count, mut sum, mut least, mut most) = (0_u64, 0_u128, u64::MAX, 0);
    for time in own.map(|interval| interval.end - interval.start) {
        (count, sum, least, most) = (count + 1, sum + u128::from(time), least.min(time), most.max(time));
    }
    if count == 0 {
        return empty(row);
    }
    let iterations = f64::from(row.repetitions);
    // Converts picoseconds to the time of a part of an iteration, in nanoseconds.
    let each = |picoseconds: f64| picoseconds / iterations / f64::from(row.parts) / 1e3;
    // Work of all ranks in an iteration, divided by the time of the slowest.
    let rate = |done: u64| (most > 0).then(|| done as f64 * iterations / (most as f64 / 1e12));
    RowResult {
        time_min_ns: Some(each(least as f64)),
        time_max_ns: Some(each(most as f64)),
        time_mean_ns: Some(each(sum as f64 / count as f64)),
        bandwidth_bytes_per_s: row.moved.and_then(rate),
        messages_per_s: row.messages.and_then(rate),
        ..empty(row)
    }
}

/// Returns a row of polling. Each rank has measured all of its work, and each message that it received.
fn polled(row: &TableRow, (interval, polls): (u64, u64), number: u32, intervals: &[Interval]) -> RowResult {
    let of = |which: u32| intervals.iter().filter(move |own| own.key == number * KEYS_OF_POLLING + which);
    let times: Vec<u64> = of(0).map(|work| work.end - work.start).collect();
    let row_of = RowResult { interval_ns: Some(interval as f64 / 1e3), ..empty(row) };
    let (Some(&least), Some(&most)) = (times.iter().min(), times.iter().max()) else { return row_of };
    let sum: f64 = times.iter().map(|&time| time as f64).sum();
    let work = interval as f64 * polls as f64 * times.len() as f64;
    let received = of(1).count() as f64;
    RowResult {
        time_min_ns: Some(least as f64 / 1e3),
        time_max_ns: Some(most as f64 / 1e3),
        time_mean_ns: Some(sum / times.len() as f64 / 1e3),
        bandwidth_bytes_per_s: Some(received * row.bytes as f64 / (sum / 1e12)),
        messages_per_s: Some(received / (sum / 1e12)),
        availability: Some(work / sum),
        ..row_of
    }
}
