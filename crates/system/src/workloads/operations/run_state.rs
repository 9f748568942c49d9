//! Run of operations that groups begin at a rate: warm-up, measurement, drain.

use std::sync::Arc;

use engine::statistics::{self, Batch as Mean, Estimate, Histogram};
use fabric::ChannelUse;
use host::{Executor, Groups, HostError};
use mpi::program::Programs;
use topology::ChannelSource;
use units::TaskId;

use super::counters::{Ended, OperationCounters};
use super::described::GroupOperations;
use super::program::{Clock, TimedGroup, TimedGroups, Timing};
use crate::progress::Phase;
use crate::run::outcome::RunError;
use crate::workloads::ranks::{HostCounts, Ranks, arithmetic, of_groups, traffic_of};
use crate::workloads::sources::{SATURATED_BELOW, least_accepted};
use crate::workloads::steady::FEWEST_BATCHES;
use crate::workloads::{JobCounts, RunContext, RunState, RunTotals, WorkloadRun};
use ::network::Packets;
use ::network::traffic::JobTraffic;
use ::network::{Machine, Part};
use measure::Series;
use measure::{KindResult, Latencies, OpenResult, PointResult, channels};

/// Stage of the run. `check_at` is the number of batches at the next decision; times are in ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    WarmUp { check_at: usize },
    Measure { check_at: usize },
    Drain { longest: u64 },
    Done,
}

/// State of a run of operations of groups.
pub(super) struct OperationsRun {
    load: f64,
    packets: Packets,
    ranks: Ranks,
    program: Arc<TimedGroups>,
    timing: Timing,
    context: RunContext,
    groups: Arc<Groups>,
    node_of: Arc<[u32]>,
    /// Operations of all groups in a batch at load 1.
    capacity: f64,
    stage: Stage,
    counters: OperationCounters,
    /// Operations that ended since the last batch.
    ended: Ended,
    batches: Vec<Ended>,
    /// Start and end of the measured interval, in ticks.
    measured: (u64, u64),
    /// Number of finished operations of each group at the start and at the end of the measured interval.
    ended_by: [Vec<u64>; 2],
    settled: bool,
    converged: bool,
    drained: bool,
    saturated: bool,
    now: u64,
    found: Found,
}

/// Final counts of the machine.
#[derive(Default)]
struct Found {
    latency: Histogram,
    hops: u64,
    channels: Vec<(ChannelSource, ChannelUse)>,
    counts: HostCounts,
    series: Series,
}

impl OperationsRun {
    /// Creates the state of a run that is about to begin.
    pub fn new(own: &GroupOperations, context: &RunContext) -> Self {
        // Records of messages and of ranks' time are for programs that end.
        let mut context = context.clone();
        (context.measure.messages, context.measure.timeline) = (false, false);
        let timing = own.timing(&context);
        let program = Arc::new(TimedGroups { set: Arc::clone(&own.set), timing: Some(timing.clone()) });
        let programs: Arc<dyn Programs> = Arc::<TimedGroups>::clone(&program);
        let groups = Groups::of(&*programs).with_elements(arithmetic(&context.network));
        let count = own.set.ranks;
        let batch = context.network.picoseconds(context.batch);
        Self {
            load: own.load,
            packets: own.packets,
            node_of: (0..count).map(|rank| own.ranks.placement.node(TaskId(rank)).0).collect(),
            ranks: Ranks { programs, ..own.ranks.clone() },
            groups: Arc::new(groups),
            capacity: batch as f64 / own.slot(&context.network) as f64 * own.set.groups.len() as f64,
            counters: OperationCounters::new(own.set.groups.len()),
            stage: Stage::WarmUp { check_at: FEWEST_BATCHES },
            ended: Ended::default(),
            batches: Vec::new(),
            measured: (0, 0),
            ended_by: [Vec::new(), Vec::new()],
            settled: false,
            converged: false,
            drained: false,
            saturated: false,
            now: 0,
            found: Found::default(),
            context,
            program,
            timing,
        }
    }

    /// Visits every executor.
    fn each_executor(&self, machine: &dyn Machine, visit: &mut dyn FnMut(&Executor)) {
        machine.visit_traffic(&mut |traffic| {
            if let Some(ranks) = traffic.scheduled(self.context.job) {
                visit(ranks.executor());
            }
        });
    }

    /// Collects the operations that have ended.
    fn collect(&mut self, machine: &mut dyn Machine) {
        let (counters, ended, set, job) = (&mut self.counters, &mut self.ended, &self.program.set, self.context.job);
        machine.change_traffic(&mut |traffic, _| {
            if let Some(JobTraffic::Scheduled(ranks)) = traffic.of_job_mut(job) {
                ranks.executor_mut().take_intervals(&mut |rank, own| counters.add(set, (rank, own), ended));
            }
        });
    }

    fn warm_up(&mut self, now: u64, check_at: usize, machine: &mut dyn Machine) {
        if let Some(end) = self.context.fixed_warm_up() {
            if now >= end {
                self.settled = true;
                self.start_measuring(now, machine);
            }
            return;
        }
        let mut check_at = check_at;
        if self.batches.len() >= check_at {
            self.settled = self.is_settled();
            check_at += check_at / 2;
        }
        self.stage = Stage::WarmUp { check_at };
        if self.settled || self.context.warm_up_ends(self.batches.len(), now) {
            self.start_measuring(now, machine);
        }
    }

    /// Whether times and numbers of operations have stopped drifting.
    fn is_settled(&self) -> bool {
        let mut last = 0.0;
        // A batch without ended operations says nothing about the time: it repeats the previous value.
        let time = |own: &Ended| {
            last = if own.count > 0 { own.time as f64 / own.count as f64 } else { last };
            last
        };
        let times: Vec<f64> = self.batches.iter().map(time).collect();
        let counts: Vec<f64> = self.batches.iter().map(|own| own.count as f64).collect();
        statistics::mser5(&times).settled && statistics::mser5(&counts).settled
    }

    fn start_measuring(&mut self, now: u64, machine: &mut dyn Machine) {
        self.measured = (now, now);
        self.batches.clear();
        self.ended_by[0] = self.counters.by_group().to_vec();
        self.counters.keep_from(self.context.network.picoseconds(now));
        machine.measure_from(self.context.job, now);
        self.stage = Stage::Measure { check_at: FEWEST_BATCHES };
    }

    /// Whether the measurement ends after the present batches even if it is not precise.
    fn measure_ends(&self, now: u64) -> bool {
        self.context.measure_ends(self.batches.len()) || now >= self.context.last()
    }

    fn measure(&mut self, now: u64, check_at: usize, machine: &mut dyn Machine) {
        if self.batches.len() >= check_at && self.context.is_long_enough(self.batches.len()) {
            self.converged = self.is_precise();
            self.stage = Stage::Measure { check_at: check_at + check_at / 4 };
        }
        if self.converged || self.measure_ends(now) {
            self.measured.1 = now;
            self.ended_by[1] = self.counters.by_group().to_vec();
            self.counters.keep_until(self.context.network.picoseconds(now));
            machine.measure_until(self.context.job, now);
            self.saturated = self.is_saturated();
            let longest = self.context.longest_drain(self.measured);
            self.stage = Stage::Drain { longest };
            self.drain(now, longest);
        }
    }

    /// Waits for the operations that began in the measured interval. Past saturation the last of them never would end.
    fn drain(&mut self, now: u64, longest: u64) {
        self.drained = self.counters.kept() == self.begun();
        if self.drained || self.saturated || now > longest {
            self.stage = Stage::Done;
        }
    }

    /// Returns the accepted load of the group with the least progress. Operations of a group end in order.
    fn least(&self, accepted: f64) -> Option<f64> {
        let (from, to) = (self.measured.0, self.measured.1);
        let [from, to] = [from, to].map(|ticks| self.context.network.picoseconds(ticks));
        let [before, after] = &self.ended_by;
        let of = |((group, &before), &after): ((&TimedGroup, &u64), &u64)| {
            let mut clock = Clock::new(&self.timing, group);
            let begins = std::iter::from_fn(|| clock.next(&self.timing)).map(|begin| begin.at);
            // Begin of the first unfinished operation, or the present if none is due.
            let (mut first, mut last) = (from, to);
            for (number, at) in (0..).zip(begins.take_while(|&at| at < to)).take_while(|own| own.0 <= after) {
                first = if number == before { at.min(from) } else { first };
                last = if number == after { at } else { last };
            }
            last.saturating_sub(first) as f64 / (to - from).max(1) as f64
        };
        let all = self.program.set.groups.iter().zip(before).zip(after).map(of);
        let progress = all.map(|share| (1.0, share.min(1.0) * self.load));
        if to > from { least_accepted(progress, accepted) } else { None }
    }

    /// Returns the number of operations that began in the measured interval.
    fn begun(&self) -> u64 {
        let (from, to) = (self.measured.0, self.measured.1);
        let [from, to] = [from, to].map(|ticks| self.context.network.picoseconds(ticks));
        let of = |group| {
            let mut clock = Clock::new(&self.timing, group);
            let begins = std::iter::from_fn(|| clock.next(&self.timing)).map(|begin| begin.at);
            begins.take_while(|&at| at < to).filter(|&at| at >= from).count() as u64
        };
        self.program.set.groups.iter().map(of).sum()
    }

    /// Returns the bytes of results in a tick at load 1.
    fn bytes_per_tick(&self) -> f64 {
        let set = &self.program.set;
        let of = |number: u32| {
            let members = &set.groups[number as usize].members;
            (0..members.len()).filter(|&member| set.gets(number, members.rank(member))).count()
        };
        let copies: usize = (0..set.groups.len() as u32).map(of).sum();
        let slot = self.context.network.slot(self.packets).max(1);
        copies as f64 * self.packets.message as f64 / slot as f64
    }

    fn is_precise(&self) -> bool {
        let precision = self.context.measure.precision;
        let time = self.time();
        if time.independent && time.relative_half_width() <= precision {
            return true;
        }
        // Past saturation the time has no mean, but the accepted load has one.
        self.accepted().relative_half_width() <= precision && self.is_saturated()
    }

    fn is_saturated(&self) -> bool {
        let accepted = self.accepted();
        accepted.mean + accepted.half_width < SATURATED_BELOW * self.load
    }

    /// Estimates the mean time of operations that ended in the measured interval, in picoseconds.
    fn time(&self) -> Estimate {
        self.estimate(|own| Mean { sum: own.time as f64, weight: own.count as f64 })
    }

    /// Estimates the accepted load.
    fn accepted(&self) -> Estimate {
        self.estimate(|own| Mean { sum: own.count as f64 / self.capacity, weight: 1.0 })
    }

    fn estimate(&self, of: impl Fn(&Ended) -> Mean) -> Estimate {
        let batches: Vec<Mean> = self.batches.iter().map(of).collect();
        statistics::estimate(&batches, self.context.measure.confidence)
    }
}

impl WorkloadRun for OperationsRun {
    fn traffic(&self, part: Part<'_>) -> JobTraffic {
        traffic_of(&self.ranks, &self.context, (&self.node_of, &self.groups), part)
    }

    fn begin(&mut self, machine: &mut dyn Machine) {
        if self.context.fixed_warm_up() == Some(0)
            || self.context.fixed_warm_up().is_none() && self.context.warm_up_ends(self.batches.len(), 0)
        {
            self.settled = self.context.fixed_warm_up().is_some();
            self.start_measuring(0, machine);
        }
    }

    fn next_decision(&self, now: u64) -> u64 {
        if self.stage == Stage::Done {
            return u64::MAX;
        }
        let next = match self.context.shared {
            true => self.context.end_of_batch(now),
            false => now.saturating_add(self.context.batch),
        };
        match (self.stage, self.context.fixed_warm_up()) {
            (Stage::WarmUp { .. }, Some(end)) => end.max(now + 1).min(next),
            _ => next,
        }
    }

    fn observe(&mut self, counts: &JobCounts, now: u64, machine: &mut dyn Machine) {
        self.now = now;
        self.collect(machine);
        let is_fixed = matches!(self.stage, Stage::WarmUp { .. }) && self.context.fixed_warm_up().is_some();
        // Inside a batch, and before the job begins, there is nothing to decide.
        if counts.batches.is_empty() && !is_fixed || now <= self.context.span.start {
            return;
        }
        self.batches.push(std::mem::take(&mut self.ended));
        match self.stage {
            Stage::WarmUp { check_at } => self.warm_up(now, check_at, machine),
            Stage::Measure { check_at } => self.measure(now, check_at, machine),
            Stage::Drain { longest } => self.drain(now, longest),
            Stage::Done => {}
        }
    }

    fn state(&self) -> RunState {
        let share = |check_at: usize| (self.batches.len() as f64 / check_at as f64).min(1.0);
        RunState::Running(match self.stage {
            Stage::WarmUp { check_at } => match self.context.fixed_warm_up() {
                Some(end) => 0.2 * self.now as f64 / end.max(1) as f64,
                None => 0.2 * share(check_at),
            },
            Stage::Measure { check_at } => 0.2 + 0.7 * share(check_at),
            Stage::Drain { .. } => 0.9,
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

    fn error(&self, machine: &dyn Machine) -> Option<RunError> {
        let mut errors: Vec<HostError> = Vec::new();
        self.each_executor(machine, &mut |executor| errors.extend(executor.error().cloned()));
        errors.into_iter().min_by_key(HostError::rank).map(RunError::from)
    }

    fn may_be_stuck(&self) -> bool {
        self.stage == Stage::Done && !self.drained
    }

    fn leave(&mut self, machine: &mut dyn Machine, now: u64) {
        if matches!(self.stage, Stage::Measure { .. }) {
            self.measured.1 = now;
            self.saturated = self.is_saturated();
            self.counters.keep_until(self.context.network.picoseconds(now));
        }
        self.collect(machine);
        if matches!(self.stage, Stage::Measure { .. }) {
            self.ended_by[1] = self.counters.by_group().to_vec();
        }
        let mut counts = HostCounts::default();
        self.each_executor(machine, &mut |executor| counts.add(executor));
        counts.longest_wait = self.context.network.picoseconds(machine.longest_wait());
        let (latency, hops) = machine.measured(self.context.job);
        let mut series = Series::default();
        series.extend(machine.samples(now), self.context.job, (0, u64::MAX));
        let channels = machine.channel_use(self.context.job, now);
        self.found = Found { latency, hops, channels, counts, series };
        self.now = now;
    }

    fn result(self: Box<Self>, totals: &RunTotals) -> PointResult {
        let network = &self.context.network;
        let accepted = self.accepted();
        let packets = self.found.latency.count();
        let latency = if self.drained { Latencies::of(&self.found.latency, network) } else { Latencies::default() };
        let used = channels::utilization(network, &self.found.channels, (totals.end - self.measured.0).max(1) as f64);
        let served = self.ranks.programs.groups().len() as u32;
        let time = network.picoseconds(totals.end);
        let groups = of_groups(&self.found.counts, (served, self.ranks.offload_limits), (network, time));
        let collective = self.counters.result(self.time(), (self.drained, self.timing.late.is_some()), groups);
        let finite = |value: f64| value.is_finite().then_some(value);
        let open = OpenResult {
            offered_load: self.load,
            accepted_load: if self.batches.is_empty() { f64::NAN } else { accepted.mean.min(1.0) },
            accepted_load_ci: finite(accepted.half_width),
            accepted_load_min: self.least(accepted.mean),
            saturated: self.saturated,
            steady: self.settled && self.converged && self.drained,
            converged: self.converged,
            drained: self.drained,
            warm_up_ns: network.ns(self.measured.0),
            collective: Some(collective),
            ..OpenResult::default()
        };
        PointResult {
            kind: KindResult::Open(Box::new(open)),
            latency_mean_ns: latency.mean,
            latency_p50_ns: latency.p50,
            latency_p99_ns: latency.p99,
            latency_max_ns: latency.max,
            hops_mean: (packets > 0).then(|| self.found.hops as f64 / packets as f64),
            packets,
            packet_hops: totals.packet_hops,
            measured_ns: network.ns(self.measured.1.saturating_sub(self.measured.0)),
            sim_time_ns: network.ns(totals.end),
            wall_s: totals.wall_s,
            series: self.found.series.result(network, self.bytes_per_tick(), self.program.set.groups.len()),
            ..PointResult::of_channels(network, used)
        }
    }
}
