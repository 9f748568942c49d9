//! Run of open traffic: warm-up, measurement, drain.

use std::sync::Arc;

use engine::statistics::{self, Batch as Mean, Estimate, Histogram};
use fabric::{ArrivedMessage, Batch, ChannelUse, MessageKey};
use topology::ChannelSource;
use traffic::InjectionSpec;
use units::NodeId;

use super::Open;
use super::operations::Operations;
use crate::progress::Phase;
use crate::workloads::sources::{SATURATED_BELOW, Sources};
use crate::workloads::steady::FEWEST_BATCHES;
use crate::workloads::{JobCounts, RunContext, RunState, RunTotals, Workload, WorkloadRun, weights};
use ::network::Network;
use ::network::traffic::{GroupTrees, JobTraffic, OpenTraffic, OpenTrafficSpec};
use ::network::{Machine, Part};
use measure::Series;
use measure::{Arrived, MessageTimes};
use measure::{KindResult, Latencies, OpenResult, PointResult, channels};

/// Batches in one observation of the sources' accepted loads: the longest step of a run.
const BATCHES_AN_OBSERVATION: usize = 8;

/// Stage of the run. `check_at` is the number of batches at the next decision; times are in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    WarmUp { check_at: usize },
    Measure { check_at: usize },
    Drain { start: u64, longest: u64 },
    Done,
}

/// State of a run of open traffic.
pub(super) struct OpenRun {
    open: Open,
    context: RunContext,
    stage: Stage,
    /// Accepted load of all sources together at load 1.0, in bytes per batch.
    capacity: f64,
    /// Number of nodes that send.
    senders: usize,
    /// Batches of the warm-up. Used for a job among others: the only results if the run ends during the warm-up.
    warm: Vec<Batch>,
    /// Mean latency and accepted bytes of each batch of the warm-up.
    latencies: Vec<f64>,
    accepted: Vec<f64>,
    /// Start and end of the measured interval, in ticks.
    measured: (u64, u64),
    batches: Vec<Batch>,
    sources: Sources,
    settled: bool,
    converged: bool,
    drained: bool,
    saturated: bool,
    now: u64,
    /// Latencies of messages. None unless messages are measured.
    messages: Option<MessageTimes>,
    /// Collective operations. None unless messages have several destinations.
    operations: Option<Operations>,
    found: FinalCounts,
}

/// Final counts of the machine.
#[derive(Default)]
struct FinalCounts {
    latency: Histogram,
    hops: u64,
    channels: Vec<(ChannelSource, ChannelUse)>,
    series: Series,
}

impl OpenRun {
    pub fn new(open: Open, context: RunContext) -> Self {
        let weights = weights(&open, context.network.topology.nodes());
        let bytes = injection_bytes(&open, &context);
        Self {
            stage: Stage::WarmUp { check_at: FEWEST_BATCHES },
            capacity: weights.iter().sum::<f64>() * bytes,
            senders: weights.iter().filter(|&&weight| weight > 0.0).count(),
            warm: Vec::new(),
            latencies: Vec::new(),
            accepted: Vec::new(),
            measured: (0, 0),
            batches: Vec::new(),
            sources: Sources::new(
                weights,
                open.injection == InjectionSpec::Backlogged,
                bytes * BATCHES_AN_OBSERVATION as f64,
            ),
            settled: false,
            converged: false,
            drained: false,
            saturated: false,
            now: 0,
            operations: open.multicasts.as_ref().map(|_| Operations::new(open.fanout())),
            messages: context.measure.messages.then(|| MessageTimes::new(&context.network, open.packets().packet)),
            found: FinalCounts::default(),
            open,
            context,
        }
    }

    /// Returns the time `batches` batches after `now`. With other jobs, `now` may lie inside a batch.
    fn after(&self, now: u64, batches: usize) -> u64 {
        let batch = self.context.batch;
        let begin = if self.context.shared { now - now % batch } else { now };
        begin.saturating_add(batch.saturating_mul(batches as u64))
    }

    /// Whether the measurement ends after `count` batches even if it is not precise.
    fn measure_ends(&self, count: usize) -> bool {
        count > 0 && (self.context.measure_ends(count) || self.after(self.measured.0, count) >= self.context.last())
    }

    fn warm_up(&mut self, counts: &[Batch], now: u64, check_at: usize, machine: &mut dyn Machine) {
        if self.context.shared && now > self.context.span.start {
            self.warm.extend(counts);
        }
        if let Some(end) = self.context.fixed_warm_up() {
            if now >= end {
                self.settled = true;
                self.start_measuring(now, machine);
            }
            return;
        }
        if now <= self.context.span.start && self.context.shared {
            return;
        }
        for counts in counts {
            // A batch without deliveries says nothing about latency: it repeats the previous value.
            let mean = counts.latency as f64 / counts.packets as f64;
            let before = self.latencies.last().copied().unwrap_or(0.0);
            self.latencies.push(if counts.packets == 0 { before } else { mean });
            self.accepted.push(counts.bytes as f64);
        }
        let mut check_at = check_at;
        if self.latencies.len() >= check_at {
            self.settled = statistics::mser5(&self.latencies).settled && statistics::mser5(&self.accepted).settled;
            check_at += check_at / 2;
        }
        self.stage = Stage::WarmUp { check_at };
        if self.settled || self.context.warm_up_ends(self.latencies.len(), now) {
            self.start_measuring(now, machine);
        }
    }

    fn start_measuring(&mut self, now: u64, machine: &mut dyn Machine) {
        let job = self.context.job;
        self.measured = (now, now);
        machine.measure_from(job, now);
        if self.messages.is_some() || self.operations.is_some() {
            machine.measure_messages(job, MessageKey::Size(self.open.packets().message));
        }
        if let Some(packets) = machine.packets() {
            self.sources.begin(packets.progress_by_source(job), now);
        }
        self.stage = Stage::Measure { check_at: FEWEST_BATCHES };
    }

    fn measure(&mut self, counts: &[Batch], now: u64, check_at: usize, machine: &mut dyn Machine) {
        self.batches.extend(counts);
        let count = self.batches.len();
        let job = self.context.job;
        if let Some(packets) = machine.packets().filter(|_| count.is_multiple_of(BATCHES_AN_OBSERVATION)) {
            self.sources.observe(packets.by_source(job), packets.progress_by_source(job), now);
        }
        if count >= check_at && self.context.is_long_enough(count) {
            self.converged = self.is_precise();
            self.stage = Stage::Measure { check_at: check_at + check_at / 4 };
        }
        if self.converged || self.measure_ends(count) {
            self.measured.1 = now;
            machine.measure_until(job, now);
            self.saturated = self.is_saturated();
            if let Some((entered, packets)) = self.entered(machine, now).zip(machine.packets()) {
                self.sources.end(&entered, &packets.by_source(job));
            }
            let longest = self.context.longest_drain(self.measured);
            self.stage = Stage::Drain { start: now, longest };
            self.drain(now, longest, machine);
        }
    }

    /// Returns the bytes of each source that have entered the network since the measurement began, once for each
    /// destination. None if the copies of a packet are not known.
    fn entered(&self, machine: &dyn Machine, now: u64) -> Option<Vec<f64>> {
        let mut entered = vec![0.0; self.context.network.topology.nodes() as usize];
        for (from, used) in machine.channel_use(self.context.job, now) {
            if let ChannelSource::Node(node, _) = from {
                entered[node.index()] += used.bytes as f64 * self.open.deliveries(node)?;
            }
        }
        Some(entered)
    }

    /// Waits for the measured packets to arrive. Past saturation the last of them never would.
    fn drain(&mut self, now: u64, longest: u64, machine: &mut dyn Machine) {
        let (job, end) = (self.context.job, self.measured.1);
        self.drained = !machine.packets().is_some_and(|packets| packets.outstanding(job, end));
        if self.drained || self.saturated || now > longest {
            self.stage = Stage::Done;
        }
    }

    /// Records the messages that have arrived since the last call.
    fn record_messages(&mut self, machine: &mut dyn Machine) {
        if self.messages.is_none() && self.operations.is_none() {
            return;
        }
        let units = self.context.network.plan.units_per_tick();
        for message in machine.take_messages(self.context.job) {
            let ArrivedMessage { source, dst, bytes, generated_at, at, .. } = message;
            let latency = at.wrapping_mul(units).wrapping_sub(generated_at);
            if let Some(messages) = &mut self.messages {
                messages.record(Arrived { from: source, to: dst, bytes, latency });
            }
            if let Some(operations) = &mut self.operations {
                operations.record(&message, latency);
            }
        }
    }

    /// Returns the progress towards the precision, 0 to 1: the time used as a share of the expected total.
    fn closeness(&self) -> f64 {
        if self.batches.len() < FEWEST_BATCHES {
            return 0.5;
        }
        let ratio = self.context.measure.precision / self.latency().relative_half_width();
        (ratio * ratio).clamp(0.3, 1.0)
    }

    fn is_precise(&self) -> bool {
        let precision = self.context.measure.precision;
        let latency = self.latency();
        if latency.independent && latency.relative_half_width() <= precision {
            return true;
        }
        // Past saturation the latency has no mean, but the accepted load has one.
        let accepted = self.accepted();
        accepted.relative_half_width() <= precision && self.is_saturated()
    }

    fn is_saturated(&self) -> bool {
        let (load, confidence) = (self.open.load(), self.context.measure.confidence);
        let accepted = self.accepted();
        accepted.mean + accepted.half_width < SATURATED_BELOW * load || self.sources.held_back(confidence)
    }

    /// Estimates the mean latency of packets delivered in the measured interval, in the unit of generation times.
    fn latency(&self) -> Estimate {
        self.estimate(|batch: &Batch| Mean { sum: batch.latency as f64, weight: batch.packets as f64 })
    }

    /// Estimates the accepted load.
    fn accepted(&self) -> Estimate {
        self.estimate(|batch: &Batch| Mean { sum: batch.bytes as f64 / self.capacity, weight: 1.0 })
    }

    fn estimate(&self, of: impl Fn(&Batch) -> Mean) -> Estimate {
        let batches: Vec<Mean> = self.batches.iter().map(of).collect();
        statistics::estimate(&batches, self.context.measure.confidence)
    }
}

impl WorkloadRun for OpenRun {
    fn traffic(&self, part: Part<'_>) -> JobTraffic {
        let nodes = part.nodes;
        let RunContext { network, seed, span, .. } = &self.context;
        let (open, load) = (self.open.clone(), self.open.load);
        let spec = OpenTrafficSpec {
            pattern: Arc::clone(&open.pattern),
            routing: Arc::clone(&network.routing),
            multicasts: open.multicasts.clone(),
            groups: GroupTrees::of(network, self.context.first_group),
            injection: open.injection,
            slot: network.slot(open.packets()),
            units_per_tick: network.plan.units_per_tick(),
            packets: open.packets(),
            load: Arc::new(move |node: NodeId| load * open.weight(node)),
            seed: *seed,
            planes: network.planes(),
            span: span.clone(),
        };
        JobTraffic::Open(OpenTraffic::new(&spec, nodes))
    }

    fn begin(&mut self, machine: &mut dyn Machine) {
        if self.context.fixed_warm_up() == Some(0)
            || self.context.fixed_warm_up().is_none() && self.context.warm_up_ends(0, 0)
        {
            self.settled = self.context.fixed_warm_up().is_some();
            self.start_measuring(0, machine);
        }
    }

    fn next_decision(&self, now: u64) -> u64 {
        let count = self.batches.len();
        let batches = match self.stage {
            Stage::WarmUp { check_at } => {
                if let Some(end) = self.context.fixed_warm_up() {
                    return end.max(now + 1).min(self.after(now, BATCHES_AN_OBSERVATION));
                }
                let before = self.latencies.len();
                let decides = |n| before + n >= check_at || self.context.warm_up_ends(before + n, self.after(now, n));
                first(|n| n >= BATCHES_AN_OBSERVATION || decides(n))
            }
            Stage::Measure { check_at } => first(|n| {
                let count = count + n;
                count.is_multiple_of(BATCHES_AN_OBSERVATION)
                    || count >= check_at && self.context.is_long_enough(count)
                    || self.measure_ends(count)
            }),
            // If batches are short, several at once: the last packet is under way for some time.
            Stage::Drain { .. } => (self.context.network.longest_path() / 4 / self.context.batch).max(1) as usize,
            Stage::Done => return u64::MAX,
        };
        self.after(now, batches)
    }

    fn observe(&mut self, counts: &JobCounts, now: u64, machine: &mut dyn Machine) {
        self.now = now;
        self.record_messages(machine);
        let counts = &counts.batches[..];
        match self.stage {
            Stage::WarmUp { check_at } if self.context.fixed_warm_up().is_some() => {
                self.warm_up(counts, now, check_at, machine)
            }
            // Inside a batch there is nothing to decide.
            _ if counts.is_empty() => {}
            Stage::WarmUp { check_at } => self.warm_up(counts, now, check_at, machine),
            Stage::Measure { check_at } => self.measure(counts, now, check_at, machine),
            Stage::Drain { longest, .. } => self.drain(now, longest, machine),
            Stage::Done => {}
        }
    }

    fn state(&self) -> RunState {
        RunState::Running(match self.stage {
            Stage::WarmUp { check_at } => match self.context.fixed_warm_up() {
                Some(end) => 0.2 * self.now as f64 / end.max(1) as f64,
                None => 0.2 * self.latencies.len() as f64 / check_at as f64,
            },
            Stage::Measure { check_at } => {
                0.2 + 0.7 * (self.batches.len() as f64 / check_at as f64).min(1.0) * self.closeness()
            }
            Stage::Drain { start, longest } => {
                0.9 + 0.1 * self.now.saturating_sub(start) as f64 / (longest - start) as f64
            }
            Stage::Done => return RunState::Steady,
        })
    }

    fn doing(&self) -> Phase {
        match self.stage {
            Stage::WarmUp { .. } => Phase::WarmUp,
            Stage::Measure { .. } => Phase::Measuring,
            Stage::Drain { .. } | Stage::Done => Phase::Draining,
        }
    }

    fn origin(&self) -> u64 {
        self.measured.0
    }

    fn may_be_stuck(&self) -> bool {
        self.stage == Stage::Done && !self.drained
    }

    fn leave(&mut self, machine: &mut dyn Machine, now: u64) {
        if let Stage::WarmUp { .. } = self.stage {
            self.batches = std::mem::take(&mut self.warm);
            self.measured = (now - (self.batches.len() as u64 * self.context.batch).min(now), now);
        } else if let Stage::Measure { .. } = self.stage {
            self.measured.1 = now;
            self.saturated = self.is_saturated();
        }
        self.record_messages(machine);
        let (latency, hops) = machine.measured(self.context.job);
        let mut series = Series::default();
        series.extend(machine.samples(now), self.context.job, (0, u64::MAX));
        self.found = FinalCounts { latency, hops, channels: machine.channel_use(self.context.job, now), series };
        self.now = now;
    }

    fn result(self: Box<Self>, totals: &RunTotals) -> PointResult {
        let network = &self.context.network;
        let (accepted, interval) = (self.accepted(), self.latency());
        let mut delivered = Batch::default();
        self.batches.iter().for_each(|batch| delivered.add(batch));
        let (packets, hops) = match self.drained {
            true => (self.found.latency.count(), self.found.hops),
            false => (delivered.packets, delivered.hops),
        };
        // Packets that have not arrived would be missing in the tail. If there are any, only the mean of the delivered
        // ones is reported.
        let latency = match self.drained {
            true => Latencies::of(&self.found.latency, network),
            false => Latencies { mean: finite(ns(network, interval.mean)), ..Latencies::default() },
        };
        // No arrival says nothing about an interval that is shorter than a packet's path.
        let is_measured =
            delivered.bytes > 0 || self.measured.1.saturating_sub(self.measured.0) >= network.longest_path();
        // The ends of the interval may add a packet. No source sends more than its channel carries.
        let accepted_load = if is_measured { accepted.mean.min(1.0) } else { f64::NAN };
        let least = self.sources.least(self.open.load(), accepted_load).filter(|_| is_measured);
        let used = channels::utilization(network, &self.found.channels, (totals.end - self.measured.0).max(1) as f64);
        let open = OpenResult {
            offered_load: self.open.load(),
            accepted_load,
            accepted_load_ci: finite(accepted.half_width),
            accepted_load_min: least,
            latency_ci_ns: finite(ns(network, interval.half_width)),
            saturated: self.saturated,
            steady: self.settled && self.converged && self.drained,
            converged: self.converged,
            drained: self.drained,
            warm_up_ns: network.ns(self.measured.0),
            collective: self.operations.as_ref().map(|operations| operations.result(network, self.drained)),
            ..OpenResult::default()
        };
        PointResult {
            kind: KindResult::Open(Box::new(open)),
            latency_mean_ns: latency.mean,
            latency_p50_ns: latency.p50,
            latency_p99_ns: latency.p99,
            latency_max_ns: latency.max,
            nic_overhead_ns: self.context.nic_overhead_ns,
            hops_mean: (packets > 0).then(|| hops as f64 / packets as f64),
            packets,
            packet_hops: totals.packet_hops,
            measured_ns: network.ns(self.measured.1 - self.measured.0),
            sim_time_ns: network.ns(totals.end),
            wall_s: totals.wall_s,
            messages: self.messages.as_ref().map(|messages| messages.result(self.drained)),
            series: self.found.series.result(network, self.capacity / self.context.batch as f64, self.senders),
            ..PointResult::of_channels(network, used)
        }
    }
}

/// Converts a latency to nanoseconds.
fn ns(network: &Network, units: f64) -> f64 {
    units * network.plan.generation_unit().0 as f64 / 1e3
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Returns the first number, from 1 on, for which `holds` is true.
fn first(holds: impl Fn(usize) -> bool) -> usize {
    (1..).find(|&count| holds(count)).unwrap_or(1)
}

/// Returns the bytes of one node that arrive in a batch at load 1.0, sent over all of its injection links. Multicasts
/// count at each destination.
fn injection_bytes(open: &Open, context: &RunContext) -> f64 {
    let sent = context.batch as f64 * open.packets().message as f64 / context.network.slot(open.packets()) as f64;
    f64::from(context.network.planes()) * sent * open.fanout()
}
