//! What is measured of ranks: by benchmarks of message latency, round trips; of programs, messages and their matching; of
//! message-driven applications also steps.

use std::sync::Arc;

use host::{BusyTimes, CheckedElements, ConnectionCounts, Executor, Searches};
use topology::Topology;
use units::NodeId;
use workload::Placement;
use workload::benchmarks::TableBenchmark;
use workload::communicator::{Service, Unserved};
use workload::program::{Interval, Measure};
use workload::tasks::TaskGraph;

use crate::network::Network;
use crate::results::{
    ApplicationResult, BenchmarkResult, GroupsResult, MappingFigures, MeasureResult, MeasuredTimes, PairResult,
    ProgramResult, StepsResult, Warning,
};
use crate::workloads::application;

/// What is measured of ranks besides the times at which they end.
#[derive(Clone, Debug)]
pub(crate) enum Measured {
    /// The round trips of pairs.
    Benchmark(Arc<BenchmarkPairs>),
    /// The rows of a table, and messages and how they have been matched.
    Table(Arc<TableBenchmark>),
    /// Messages and how they have been matched.
    Program,
    /// The same, and the steps of an application.
    Steps(Arc<Steps>),
}

impl Measured {
    /// The application, if ranks run one.
    pub fn steps(&self) -> Option<&Steps> {
        match self {
            Self::Steps(steps) => Some(steps),
            Self::Benchmark(_) | Self::Table(_) | Self::Program => None,
        }
    }
}

/// The steps of an application, whose ranks are the nodes that have tasks.
#[derive(Debug)]
pub(crate) struct Steps {
    pub graph: Arc<TaskGraph>,
    /// Where its tasks are.
    pub placement: Arc<Placement>,
    pub topology: Arc<dyn Topology>,
    /// The nodes of its job.
    pub nodes: Vec<NodeId>,
    /// Computation of the node with most of it in a step, in picoseconds.
    pub compute: u64,
}

impl Steps {
    /// How far its bytes travel.
    pub fn mapping(&self) -> Option<MappingFigures> {
        application::figures(&self.graph, &self.placement, (&self.topology, &self.nodes))
    }

    /// What it has as every application.
    pub fn application(&self) -> ApplicationResult {
        ApplicationResult { compute_ns: self.compute as f64 / 1e3, mapping: self.mapping() }
    }
}

/// The steps of so many ranks that began at a time, in picoseconds, given by rank when it has ended each.
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

/// What executors have counted of messages, and of processors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostCounts {
    /// Searches of the queues of posted receives, and of unexpected messages.
    searches: [Searches; 2],
    unexpected_bytes: u64,
    copied_bytes: u64,
    credit_waits: u64,
    connections: ConnectionCounts,
    /// Bytes of a connection.
    pub connection_bytes: u64,
    /// Registrations that have been made, and messages that have needed none.
    registrations: (u64, u64),
    /// How long all processors have been busy.
    busy: BusyTimes,
    /// Sends less receives.
    unmatched: i64,
    /// Operations of groups that have waited for others before them.
    group_waits: u64,
    /// Some operation of a group was not carried out right.
    unverified: bool,
    /// For how long packets have waited at the combine unit where they have waited for longest, in picoseconds.
    pub longest_wait: u64,
    /// The elements of their results.
    elements: CheckedElements,
}

impl HostCounts {
    /// What a run is warned of in which all operations have ended: messages that nobody has received, which programs with wildcards may have.
    pub fn unreceived(&self) -> Option<Warning> {
        let count = u64::try_from(self.unmatched).ok().filter(|&count| count > 0)?;
        let messages = if count == 1 { "message has" } else { "messages have" };
        let message = format!(
            "{count} {messages} no receive: a run ends when all operations have ended, and neither waits for what nobody receives nor measures it"
        );
        Some(Warning { kind: "unreceived", key: "workload.program", message })
    }

    /// Adds those of an executor.
    pub fn add(&mut self, executor: &Executor) {
        self.searches.iter_mut().zip(executor.searches()).for_each(|(all, own)| all.add(&own));
        self.unexpected_bytes = self.unexpected_bytes.max(executor.most_unexpected_bytes());
        self.copied_bytes = self.copied_bytes.saturating_add(executor.copied_bytes());
        self.credit_waits += executor.credit_waits();
        self.unmatched += executor.unmatched();
        self.connections.add(&executor.connections());
        let (made, spared) = executor.registrations();
        self.registrations = (self.registrations.0 + made, self.registrations.1 + spared);
        executor.busy().for_each(|(_, own)| self.busy.add(own));
        self.group_waits += executor.group_waits();
        self.unverified |= !executor.verified();
        self.elements.add(executor.checked_elements());
    }
}

/// How many groups' operations were to be in routers, which do not have room for them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnservedGroups {
    /// For none of their operations,
    wholly: u32,
    /// or for some.
    partly: u32,
}

impl UnservedGroups {
    /// Of these.
    pub fn of(unserved: &Unserved) -> Self {
        let wholly = unserved.values().filter(|&&service| service == Service::Nothing).count() as u32;
        Self { wholly, partly: unserved.len() as u32 - wholly }
    }
}

/// What has been measured of the groups of a program that took so many picoseconds, if it has any: those that routers serve and those that they
/// have no room for.
pub(crate) fn of_groups(
    counts: &HostCounts,
    (count, unserved): (u32, UnservedGroups),
    (network, time): (&Network, u64),
) -> Option<GroupsResult> {
    if count + unserved.wholly + unserved.partly == 0 {
        return None;
    }
    let units = network.plan.groups().and_then(|groups| groups.units);
    let fullest = network.trees().and_then(|trees| trees.fullest(&*network.topology));
    Some(GroupsResult {
        groups: count,
        groups_verified: !counts.unverified,
        elements_checked: units.and_then(|units| units.elements).map(|_| counts.elements.checked),
        elements_digest: units.and_then(|units| units.elements).map(|_| format!("{:016x}", counts.elements.digest)),
        groups_window: units.map_or(0, |units| units.window),
        groups_in_software: unserved.wholly,
        groups_partly_in_software: unserved.partly,
        outstanding_waits: counts.group_waits,
        stall_share: units.filter(|_| time > 0).map(|_| (counts.longest_wait as f64 / time as f64).min(1.0)),
        table_entries_max: fullest.map_or(0, |(_, memory)| memory.entries),
    })
}

/// What has been measured of a program, given what its executors have counted, how long all processors have been there (none if the
/// ranks have not ended), and whether it was called back.
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
    }
}

/// The times that a program measures itself, if it does.
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
