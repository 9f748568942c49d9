//! Sampler of operations that groups begin at a rate: counts operations from their begin to the end of the last member.

use std::sync::Arc;

use engine::statistics::Batch as Mean;
use fabric::Batch;
use host::{Executor, Groups, HostError};
use mpi::program::Programs;
use units::TaskId;

use super::counters::{Ended, OperationCounters};
use super::described::GroupOperations;
use super::program::{Clock, TimedGroup, TimedGroups, Timing};
use crate::run::outcome::RunError;
use crate::workloads::ranks::{HostCounts, Ranks, arithmetic, first_error, of_groups, traffic_of};
use crate::workloads::sources::least_accepted;
use crate::workloads::steady::{IntervalEnd, Sampler, SteadyRun};
use crate::workloads::{RunContext, RunTotals};
use ::network::Packets;
use ::network::traffic::JobTraffic;
use ::network::{Machine, Part};
use measure::{OpenResult, PointResult};

/// Sampler of operations of groups.
pub(super) struct OperationsSampler {
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
    counters: OperationCounters,
    /// Operations that ended since the last batch.
    ended: Ended,
    /// Number of finished operations of each group at the start and at the end of the measured interval.
    ended_by: [Vec<u64>; 2],
    /// Final counts of the machine.
    counts: HostCounts,
}
units::state!(OperationsSampler {
    counters, ended;
    each ended_by;
    rebuilt load, packets, ranks, program, timing, context, groups, node_of, capacity, counts
});

impl OperationsSampler {
    /// Creates the sampler of a run that is about to begin.
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
            ended: Ended::default(),
            ended_by: [Vec::new(), Vec::new()],
            counts: HostCounts::default(),
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

    /// Returns the accepted load of the group with the least progress. Operations of a group end in order.
    fn least(&self, (from, to): (u64, u64), accepted: f64) -> Option<f64> {
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
    fn begun(&self, (from, to): (u64, u64)) -> u64 {
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
}

impl Sampler for OperationsSampler {
    type Counts = Ended;
    /// Ends are collected batch by batch.
    const STEP: usize = 1;
    const IS_EXACT: bool = false;

    /// Returns the times of the operations, in picoseconds.
    fn time_of(own: &Ended) -> Mean {
        Mean { sum: own.time as f64, weight: own.count as f64 }
    }

    fn amount(own: &Ended) -> f64 {
        own.count as f64
    }

    fn context(&self) -> &RunContext {
        &self.context
    }

    fn load(&self) -> f64 {
        self.load
    }

    fn capacity(&self) -> f64 {
        self.capacity
    }

    fn traffic(&self, part: Part<'_>) -> JobTraffic {
        traffic_of(&self.ranks, &self.context, (&self.node_of, &self.groups), part)
    }

    fn collect(&mut self, machine: &mut dyn Machine) {
        let (counters, ended, set, job) = (&mut self.counters, &mut self.ended, &self.program.set, self.context.job);
        // Intervals are copied for other processes only.
        let (mut all, is_alone) = (Vec::new(), machine.exchange().is_alone());
        machine.change_traffic(&mut |traffic, _| {
            if let Some(JobTraffic::Scheduled(ranks)) = traffic.of_job_mut(job) {
                ranks.executor_mut().take_intervals(&mut |rank, own| match is_alone {
                    true => counters.add(set, (rank, own), ended),
                    false => all.extend((!own.is_empty()).then(|| (rank, own.to_vec()))),
                });
            }
        });
        for (rank, own) in machine.exchange().share(all) {
            counters.add(set, (rank, &own), ended);
        }
    }

    fn take(&mut self, _ended: &[Batch], counts: &mut Vec<Ended>) {
        counts.push(std::mem::take(&mut self.ended));
    }

    fn begin(&mut self, now: u64, _machine: &mut dyn Machine) {
        self.ended_by[0] = self.counters.by_group().to_vec();
        self.counters.keep_from(self.context.network.picoseconds(now));
    }

    fn end(&mut self, (_, now): (u64, u64), _machine: &dyn Machine, _end: IntervalEnd) {
        self.ended_by[1] = self.counters.by_group().to_vec();
        self.counters.keep_until(self.context.network.picoseconds(now));
    }

    fn has_drained(&self, interval: (u64, u64), _machine: &dyn Machine) -> bool {
        self.counters.kept() == self.begun(interval)
    }

    fn error(&self, machine: &dyn Machine) -> Option<RunError> {
        let mut errors: Vec<HostError> = Vec::new();
        self.each_executor(machine, &mut |executor| errors.extend(executor.error().cloned()));
        first_error(errors, machine.exchange())
    }

    fn leave(&mut self, machine: &dyn Machine) {
        let mut counts = HostCounts::default();
        self.each_executor(machine, &mut |executor| counts.add(&HostCounts::of(executor)));
        counts = counts.of_processes(machine.exchange());
        counts.longest_wait = self.context.network.picoseconds(machine.longest_wait());
        self.counts = counts;
    }

    fn complete(run: &SteadyRun<Self>, totals: &RunTotals, (open, point): (&mut OpenResult, &mut PointResult)) {
        let (own, accepted) = (&run.sampler, run.accepted().mean);
        let network = &own.context.network;
        let served = own.ranks.programs.groups().len() as u32;
        let time = network.picoseconds(totals.end);
        let groups = of_groups(&own.counts, (served, own.ranks.interconnect), (network, time));
        open.collective = Some(own.counters.result(run.time(), (run.drained, own.timing.late.is_some()), groups));
        open.accepted_load_min = own.least(run.measured, accepted);
        point.series = run.found.series.result(network, own.bytes_per_tick(), own.program.set.groups.len());
    }
}
