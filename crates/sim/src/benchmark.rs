//! Benchmarks of message latency: ranks run schedules, and round trips are timed.

use std::sync::Arc;

use fabric::Batch;
use host::{Executor, NicParams, RankPlacement, UNTOUCHED};
use mapping::NodeHops;
use serde::Serialize;
use units::{TaskId, Time};
use workload::benchmarks::Benchmark;

use crate::clock::Stopwatch;
use crate::closed::{ClosedResult, Totals};
use crate::experiment::NicSpec;
use crate::looks::Looks;
use crate::machine::{self, Machine};
use crate::progress::Phase as Doing;
use crate::result::PointResult;
use crate::run::{RunError, RunOptions, weights};
use crate::scheduled::ScheduledTraffic;
use crate::system::{System, SystemError};
use crate::traffic::NodeTraffic;

/// What a benchmark of message latency measures. A message's time is half of its round trip's: overheads, the path and the
/// message's length. Null if the run ended before a round trip had.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchmarkResult {
    /// Bytes of a message.
    #[serde(rename = "message_size_B")]
    pub message_size_bytes: u64,
    /// Time of a message: the mean over pairs. Here and below, of those on different nodes.
    pub message_time_mean_ns: Option<f64>,
    /// That of the fastest pair, by its mean.
    pub message_time_min_ns: Option<f64>,
    /// That of the slowest pair, by its mean.
    pub message_time_max_ns: Option<f64>,
    /// How far the slowest pair is above the fastest, as a share of that.
    pub message_time_spread: Option<f64>,
    /// Channels that a message crosses between the two of a pair under the topology's default routing, on average.
    pub pair_channels_mean: f64,
    /// The pairs.
    pub pairs: Vec<PairResult>,
}

/// Two ranks that have exchanged messages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairResult {
    /// The rank that begins.
    pub rank: u32,
    /// The rank that answers.
    pub partner: u32,
    /// Channels that a message crosses between their nodes under the topology's default routing; 0 in one node.
    pub channels: u32,
    /// Round trips that have ended.
    pub messages: u32,
    /// Time of a message, on average.
    pub time_mean_ns: Option<f64>,
    /// That of the fastest.
    pub time_min_ns: Option<f64>,
    /// That of the slowest.
    pub time_max_ns: Option<f64>,
}

/// Runs a benchmark to its end.
pub(crate) fn run(system: &System, benchmark: &Benchmark, options: &RunOptions) -> Result<PointResult, RunError> {
    let watch = Stopwatch::start();
    let mut machine = machine::build(system, options, traffic(system, benchmark));
    let counts = to_the_end(system, benchmark, &mut *machine, options)?;
    let times = Times::of(&machine.executors(), benchmark.schedule.len());
    let longest = longest(system);
    let finished = times.ended.iter().all(|&end| end != UNTOUCHED);
    let time = if finished { times.ended.iter().copied().max().unwrap_or(0) } else { longest };
    let rate = f64::from(system.packets().packet) / system.slot() as f64;
    let capacity = time as f64 * rate * weights(system).iter().sum::<f64>();
    let totals = Totals { time, finished, counts, capacity, channels: machine.channel_bytes() };
    let ns = |ticks: u64| ticks as f64 * system.plan.tick().0 as f64 / 1e3;
    let closed = ClosedResult {
        time_ns: finished.then(|| ns(time)),
        bandwidth_bytes_per_s: if time > 0 { counts.bytes as f64 / ns(time) * 1e9 } else { 0.0 },
        per_rank: (0..benchmark.schedule.ranks()).map(|rank| ns(times.end_of(benchmark, rank))).collect(),
        phases: Vec::new(),
        application: None,
        benchmark: Some(measured(system, benchmark, &times)?),
    };
    Ok(totals.point(system, closed, watch.seconds()))
}

/// When a run ends even if the benchmark has not, in ticks.
fn longest(system: &System) -> u64 {
    system.spec.measure.max_time.map_or(u64::MAX, |time| time.0 / system.plan.tick().0)
}

/// Makes the traffic of some nodes.
fn traffic(system: &System, benchmark: &Benchmark) -> impl Fn(&[u32]) -> NodeTraffic {
    let NicSpec::Ideal(nic) = &system.spec.nic;
    let ticks = |time: Time| time.0 / system.plan.tick().0;
    let interface = NicParams {
        send_overhead: ticks(nic.send_overhead),
        receive_overhead: ticks(nic.receive_overhead),
        eager_limit: nic.eager_limit.map(|limit| limit.0),
        control: nic.control().0.min(u64::from(system.packets().packet)) as u32,
        packet: system.packets().packet,
        pace: system.slot(),
        tick: system.plan.tick().0,
    };
    let schedule = Arc::clone(&benchmark.schedule);
    let node_of: Arc<[u32]> =
        (0..benchmark.schedule.ranks()).map(|rank| system.placement.node(TaskId(rank)).0).collect();
    let (machine, seed, routing) = (system.topology.nodes(), system.spec.seed, system.routing.clone());
    move |nodes: &[u32]| {
        let placed = RankPlacement { node_of: node_of.clone(), nodes: nodes.to_vec(), machine };
        let executor = Executor::new(schedule.clone(), interface, placed);
        NodeTraffic::Scheduled(Box::new(ScheduledTraffic::new(executor, &routing, seed, nodes)))
    }
}

/// Moves on until every operation has ended, or time is up.
fn to_the_end(
    system: &System,
    benchmark: &Benchmark,
    machine: &mut dyn Machine,
    options: &RunOptions,
) -> Result<Batch, RunError> {
    let all = benchmark.schedule.len().max(1) as f64;
    let mut looks = Looks::new(system, longest(system), &options.progress);
    loop {
        let open: u64 = machine.executors().iter().map(|ranks| ranks.open()).sum();
        options.progress.set(Doing::Measuring, 1.0 - open as f64 / all);
        if open == 0 || looks.is_over() {
            options.progress.set(Doing::Done, 1.0);
            return Ok(looks.counts);
        }
        looks.next(machine)?;
    }
}

/// By operation, when it started and ended, in ticks.
struct Times {
    started: Vec<u64>,
    ended: Vec<u64>,
}

impl Times {
    /// Of all partitions: each operation is in one of them.
    fn of(executors: &[&Executor], operations: usize) -> Self {
        let mut times = Self { started: vec![UNTOUCHED; operations], ended: vec![UNTOUCHED; operations] };
        for executor in executors {
            let (started, ended) = executor.times();
            for (all, own) in [(&mut times.started, started), (&mut times.ended, ended)] {
                all.iter_mut().zip(own).for_each(|(all, &own)| *all = own.min(*all));
            }
        }
        times
    }

    /// When a rank has done its last operation; 0 if it does nothing.
    fn end_of(&self, benchmark: &Benchmark, rank: u32) -> u64 {
        let ends = benchmark.schedule.of(rank).map(|op| self.ended[op as usize]);
        ends.filter(|&end| end != UNTOUCHED).max().unwrap_or(0)
    }
}

fn measured(system: &System, benchmark: &Benchmark, times: &Times) -> Result<BenchmarkResult, SystemError> {
    let node_hops = NodeHops::new(&*system.topology).map_err(|error| SystemError::new("topology", error.message))?;
    let per_pair = (benchmark.trips.len() / benchmark.pairs.len().max(1)).max(1);
    // Half a round trip, in nanoseconds.
    let half = |&(send, recv): &(u32, u32)| {
        let (start, end) = (times.started[send as usize], times.ended[recv as usize]);
        (end != UNTOUCHED).then(|| (end - start) as f64 * system.plan.tick().0 as f64 / 2e3)
    };
    let pair = |(&(rank, partner), trips): (&(u32, u32), &[(u32, u32)])| {
        let halves: Vec<f64> = trips.iter().filter_map(half).collect();
        let (from, to) = (system.placement.node(TaskId(rank)), system.placement.node(TaskId(partner)));
        PairResult {
            rank,
            partner,
            channels: node_hops.between(from, to),
            messages: halves.len() as u32,
            time_mean_ns: mean(&halves),
            time_min_ns: halves.iter().copied().reduce(f64::min),
            time_max_ns: halves.iter().copied().reduce(f64::max),
        }
    };
    let pairs: Vec<PairResult> = benchmark.pairs.iter().zip(benchmark.trips.chunks(per_pair)).map(pair).collect();
    let apart = || pairs.iter().filter(|pair| pair.channels > 0);
    let means: Vec<f64> = apart().filter_map(|pair| pair.time_mean_ns).collect();
    let (least, most) = (means.iter().copied().reduce(f64::min), means.iter().copied().reduce(f64::max));
    let channels: Vec<f64> = apart().map(|pair| f64::from(pair.channels)).collect();
    Ok(BenchmarkResult {
        message_size_bytes: benchmark.message_size,
        message_time_mean_ns: mean(&means),
        message_time_min_ns: least,
        message_time_max_ns: most,
        message_time_spread: least.zip(most).map(|(least, most)| (most - least) / least),
        pair_channels_mean: mean(&channels).unwrap_or(0.0),
        pairs,
    })
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
