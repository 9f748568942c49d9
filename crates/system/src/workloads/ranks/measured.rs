//! Measurements of ranks: round trips of latency benchmarks, messages and matching of programs, and steps of
//! message-driven applications.

use std::sync::Arc;

use apps::benchmarks::TableBenchmark;
use engine::Exchange;
use host::{BusyTimes, CheckedElements, ConnectionCounts, Executor, RelayCounts, Searches};
use mpi::communicator::{Interconnect, OffloadScope};
use mpi::program::{Interval, Measure};
use tasks::TaskGraph;
use topology::Topology;
use traffic::Placement;
use units::NodeId;

use crate::workloads::application;
use ::network::{Feature, Network};
use measure::{
    ApplicationResult, BenchmarkResult, GroupsResult, MappingFigures, MeasureResult, MeasuredTimes, PairResult,
    ProgramResult, RelaysResult, StepsResult, Warning,
};

/// Measurements of ranks, besides the times at which they end.
#[derive(Clone, Debug)]
pub(crate) enum Measured {
    /// Round trips of pairs.
    Benchmark(Arc<BenchmarkPairs>),
    /// Rows of a table, with messages and matching.
    Table(Arc<TableBenchmark>),
    /// Messages and matching.
    Program,
    /// Steps of an application, with messages and matching.
    Steps(Arc<Steps>),
}

impl Measured {
    /// Returns the application. None if the ranks run another kind of program.
    pub fn steps(&self) -> Option<&Steps> {
        match self {
            Self::Steps(steps) => Some(steps),
            Self::Benchmark(_) | Self::Table(_) | Self::Program => None,
        }
    }
}

/// Application measured by steps. Its ranks are the nodes that have tasks.
#[derive(Debug)]
pub(crate) struct Steps {
    pub graph: Arc<TaskGraph>,
    /// Placement of its tasks.
    pub placement: Arc<Placement>,
    pub topology: Arc<dyn Topology>,
    /// Nodes of its job.
    pub nodes: Vec<NodeId>,
    /// Computation of a step on the node that computes most, in picoseconds.
    pub compute: u64,
}

impl Steps {
    /// Returns the path lengths of the application's bytes.
    pub fn mapping(&self) -> Option<MappingFigures> {
        application::figures(&self.graph, &self.placement, (&self.topology, &self.nodes))
    }

    /// Returns the results that every application has.
    pub fn application(&self) -> ApplicationResult {
        ApplicationResult { compute_ns: self.compute as f64 / 1e3, mapping: self.mapping() }
    }
}

/// Returns the step times of `ranks` ranks that began at `begin`, in picoseconds. `intervals` holds, for each rank, the
/// end of each step. `finished` tells whether all ranks have ended.
pub(super) fn steps_result(intervals: &[Interval], ranks: u32, (begin, finished): (u64, bool)) -> StepsResult {
    let steps = intervals.iter().map(|step| step.key as usize + 1).max().unwrap_or(0);
    let mut ends = vec![(0_u32, 0_u64); steps];
    for step in intervals {
        let (ranks, end) = &mut ends[step.key as usize];
        (*ranks, *end) = (*ranks + 1, (*end).max(step.end));
    }
    let ends: Vec<u64> = ends.into_iter().take_while(|&(ended, _)| ended == ranks).map(|(_, end)| end).collect();
    let since = |end: &u64| (end - begin) as f64 / 1e3;
    let mean = ends.last().filter(|_| finished).map(|end| since(end) / ends.len() as f64);
    StepsResult { steps: ends.len() as u32, step_time_ns: mean, first_step_ns: ends.first().map(since) }
}

/// Counts of messages and processors, summed over executors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostCounts {
    /// Searches of the queue of posted receives, and of the queue of unexpected messages.
    searches: [Searches; 2],
    unexpected_bytes: u64,
    copied_bytes: u64,
    credit_waits: u64,
    pub relays: RelayCounts,
    connections: ConnectionCounts,
    /// Memory of a connection, in bytes.
    pub connection_bytes: u64,
    /// Registrations made, and messages that needed none.
    registrations: (u64, u64),
    /// Busy times of all processors.
    busy: BusyTimes,
    /// Sends minus receives.
    unmatched: i64,
    /// Group operations that waited for earlier operations to end.
    group_waits: u64,
    /// Whether some group operation had a wrong result.
    unverified: bool,
    /// Longest total time that packets waited at one combine unit, in picoseconds.
    pub longest_wait: u64,
    /// Checked elements of the groups' results.
    elements: CheckedElements,
}

units::record!(HostCounts {
    searches,
    unexpected_bytes,
    copied_bytes,
    credit_waits,
    relays,
    connections,
    connection_bytes,
    registrations,
    busy,
    unmatched,
    group_waits,
    unverified,
    longest_wait,
    elements,
});

impl HostCounts {
    /// Returns a warning of messages without a receive, after a run in which all operations have ended. Programs with
    /// wildcards may leave such messages.
    pub fn unreceived(&self) -> Option<Warning> {
        let count = u64::try_from(self.unmatched).ok().filter(|&count| count > 0)?;
        let messages = if count == 1 { "message has" } else { "messages have" };
        let message = format!(
            "{count} {messages} no receive: a run ends when all operations have ended, and neither waits for what nobody receives nor measures it"
        );
        Some(Warning { kind: "unreceived", key: "workload.program", message })
    }

    /// Returns the counts of an executor.
    pub fn of(executor: &Executor) -> Self {
        let mut busy = BusyTimes::default();
        executor.busy().for_each(|(_, own)| busy.add(own));
        Self {
            searches: executor.searches(),
            unexpected_bytes: executor.most_unexpected_bytes(),
            copied_bytes: executor.copied_bytes(),
            credit_waits: executor.credit_waits(),
            relays: executor.relay_counts(),
            connections: executor.connections(),
            registrations: executor.registrations(),
            busy,
            unmatched: executor.unmatched(),
            group_waits: executor.group_waits(),
            unverified: !executor.verified(),
            elements: executor.checked_elements(),
            ..Self::default()
        }
    }

    /// Adds the counts of other executors.
    pub fn add(&mut self, other: &Self) {
        self.searches.iter_mut().zip(other.searches).for_each(|(all, own)| all.add(&own));
        self.unexpected_bytes = self.unexpected_bytes.max(other.unexpected_bytes);
        self.copied_bytes = self.copied_bytes.saturating_add(other.copied_bytes);
        self.credit_waits += other.credit_waits;
        self.relays.add(&other.relays);
        self.unmatched += other.unmatched;
        self.connections.add(&other.connections);
        let (made, spared) = other.registrations;
        self.registrations = (self.registrations.0 + made, self.registrations.1 + spared);
        self.busy.add(other.busy);
        self.group_waits += other.group_waits;
        self.unverified |= other.unverified;
        self.elements.add(other.elements);
    }

    /// Returns the sum of the counts of all processes, at process 0.
    pub fn of_processes(self, exchange: &dyn Exchange) -> Self {
        let mut all = Self::default();
        exchange.collect(vec![self]).iter().for_each(|own| all.add(own));
        all
    }
}

/// Numbers of groups that were to operate in routers that have no room for them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LimitedGroups {
    /// Groups without room for any operation.
    wholly: u32,
    /// Groups without room for some operations.
    partly: u32,
}

impl LimitedGroups {
    /// Counts the groups that switches do not serve, or not for all operations.
    pub fn of(interconnect: &Interconnect) -> Self {
        let limits = &interconnect.limits;
        let wholly = limits.values().filter(|&&service| service == OffloadScope::Nothing).count() as u32;
        Self { wholly, partly: limits.len() as u32 - wholly }
    }
}

/// Returns the results of a program's groups: groups that routers serve, and groups that they have no room for. `time`
/// is the program's time in picoseconds. None without groups.
pub(crate) fn of_groups(
    counts: &HostCounts,
    (count, interconnect): (u32, LimitedGroups),
    (network, time): (&Network, u64),
) -> Option<GroupsResult> {
    if count + interconnect.wholly + interconnect.partly == 0 {
        return None;
    }
    let units = network.plan.groups().and_then(|groups| groups.units);
    // Without queues, no packets wait at units.
    let waits = units.filter(|_| time > 0 && network.has(Feature::Queues));
    let fullest = network.trees().and_then(|trees| trees.fullest(&*network.topology));
    Some(GroupsResult {
        groups: count,
        groups_verified: !counts.unverified,
        elements_checked: units.and_then(|units| units.elements).map(|_| counts.elements.checked),
        elements_digest: units.and_then(|units| units.elements).map(|_| format!("{:016x}", counts.elements.digest)),
        groups_window: units.map_or(0, |units| units.window),
        groups_in_software: interconnect.wholly,
        groups_partly_in_software: interconnect.partly,
        outstanding_waits: counts.group_waits,
        stall_share: waits.map(|_| (counts.longest_wait as f64 / time as f64).min(1.0)),
        table_entries_max: fullest.map_or(0, |(_, memory)| memory.entries),
    })
}

/// Returns the results of a program. `counts` holds the counts of its executors, and `time` the total time of all
/// processors in picoseconds (none if the ranks have not ended).
pub(super) fn of_program(counts: &HostCounts, time: Option<u64>, called_back: bool) -> ProgramResult {
    let ConnectionCounts { most_of_rank, most_of_node, misses } = counts.connections;
    let [posted, unexpected] = counts.searches;
    let share = |of: u64| time.filter(|&time| time > 0).map(|time| of as f64 / time as f64);
    let mean = |searches: &Searches| (searches.count > 0).then(|| searches.depth as f64 / searches.count as f64);
    ProgramResult {
        program_called_back: called_back,
        program_messages: posted.count,
        unexpected_max: unexpected.longest,
        unexpected_max_bytes: counts.unexpected_bytes,
        posted_search_mean: mean(&posted),
        unexpected_search_mean: mean(&unexpected),
        search_max: posted.deepest.max(unexpected.deepest),
        copied_bytes: counts.copied_bytes,
        credit_waits: counts.credit_waits,
        connections_max: most_of_rank,
        connection_memory_max_bytes: most_of_node.saturating_mul(counts.connection_bytes),
        connection_misses: misses,
        registrations: counts.registrations.0,
        registration_hits: counts.registrations.1,
        computing_share: share(counts.busy.computing),
        library_share: share(counts.busy.library),
        noise_share: share(counts.busy.noise),
        times: None,
        groups: None,
        relays: relays_of(&counts.relays),
    }
}

/// Returns the figures of relays. None if nothing has passed any.
fn relays_of(counts: &RelayCounts) -> Option<RelaysResult> {
    let &RelayCounts { bytes, most_held, waits, waited } = counts;
    (bytes > 0).then(|| RelaysResult {
        relayed_bytes: bytes,
        relay_held_max_bytes: most_held,
        relay_waits: waits,
        relay_wait_ns: waited as f64 / 1e3,
    })
}

/// Returns the times that a program measures itself. None if it measures none.
pub(super) fn measured_times(measures: &[Measure], intervals: &[Interval]) -> Option<MeasuredTimes> {
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

/// Returns the result of one of `measures` measures from its intervals.
fn measure_result<'a>(measure: &Measure, own: impl Iterator<Item = &'a Interval>, measures: u32) -> MeasureResult {
    let ns = |picoseconds: f64| picoseconds / 1e3;
    let (mut count, mut sum, mut longest) = (0_u64, 0_u128, 0);
    // First begin and last end of each repetition.
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

/// Pairs of a benchmark.
#[derive(Clone, Debug)]
pub(crate) struct BenchmarkPairs {
    /// Size of a message, in bytes.
    pub message_size: u64,
    /// Ranks of each pair. The first rank begins.
    pub pairs: Vec<(u32, u32)>,
    /// Number of channels on the path of each pair's messages.
    pub channels: Vec<u32>,
}

impl BenchmarkPairs {
    /// Returns the result from round trips, in picoseconds. The key of an interval is the index of its pair.
    pub fn result(&self, trips: &[Interval]) -> BenchmarkResult {
        // Half of each round trip, in nanoseconds.
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

/// Returns the result of a pair from the halves of its finished round trips, in nanoseconds.
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
