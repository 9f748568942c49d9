//! Run of ranks.

use std::sync::Arc;

use engine::Exchange;
use fabric::Batch;
use host::{Completed, Executor, Groups, HostError, LocalRanks, MOST_TRACED, Progress, Released};
use mpi::collectives::{Fastest, FastestNetwork, FastestWithin};
use mpi::program::{FanOut, Interval};
use units::{Arithmetic, NodeId, TaskId, Time};

use super::described::Ranks;
use super::interface;
use super::measured::{HostCounts, Measured, Steps, measured_times, of_groups, of_program, steps_result};
use super::table::table;
use crate::run::outcome::RunError;
use crate::workloads::closed::{self, ClosedCounts, Ending};
use crate::workloads::{JobCounts, RunContext, RunState, RunTotals, Workload, WorkloadRun};
use ::network::Network;
use ::network::traffic::{GroupTrees, JobTraffic, RankContext, ScheduledTraffic};
use ::network::{Feature, Machine, Part};
use measure::Arrived;
use measure::activity::{Gathered, Wires, explain};
use measure::{ClosedResult, Explained, PointResult};

/// Largest number of waiting ranks that an error names.
const MOST_NAMED: usize = 8;

/// State of a run of ranks.
pub(super) struct RanksRun {
    ranks: Ranks,
    context: RunContext,
    counted: ClosedCounts,
    /// Node of each rank.
    node_of: Arc<[u32]>,
    /// Groups whose operations routers carry out.
    groups: Arc<Groups>,
    progress: Progress,
    /// Expected numbers of operations that communicate, and of packets.
    expected: (u64, u64),
    /// Time since which nothing has changed while the network holds only contributions of this job, in ticks. None
    /// otherwise.
    held_since: Option<u64>,
    /// Time before which nothing happens, in ticks. 0 if something is under way.
    idle_until: u64,
    ended: RankEnds,
    /// Explanation of the ranks' time. None unless it was recorded and all ranks have ended.
    explained: Option<Explained>,
    /// Latest end of the run, in ticks.
    longest: u64,
    now: u64,
}
units::state!(RanksRun {
    counted, progress, held_since, idle_until, longest, now;
    rebuilt ranks, context, node_of, groups, expected, ended, explained
});

/// State of a run's executors at its end.
#[derive(Debug, Default)]
struct RankEnds {
    /// End of each rank's last operation, in picoseconds. 0 for a rank without operations, none for a rank that has not
    /// ended.
    ranks: Vec<Option<u64>>,
    /// Measured intervals, in ascending order of ranks.
    intervals: Vec<Interval>,
    counts: HostCounts,
}

impl RankEnds {
    /// Returns the end of the last rank, in picoseconds. None unless all ranks have ended.
    fn last(&self) -> Option<u64> {
        self.ranks.iter().copied().collect::<Option<Vec<u64>>>()?.into_iter().max()
    }
}

impl RanksRun {
    /// Creates the state of a run that is about to begin.
    pub fn new(ranks: &Ranks, context: &RunContext) -> Self {
        let count = ranks.programs.ranks();
        let stripe_above = ranks.nic.host().rails(context.network.planes()).stripe_above;
        Self {
            longest: context.longest().min(if context.shared { context.span.end } else { u64::MAX }),
            node_of: (0..count).map(|rank| ranks.placement.node(TaskId(rank)).0).collect(),
            groups: Arc::new(Groups::of(&*ranks.programs).with_elements(arithmetic(&context.network))),
            context: context.clone(),
            counted: ClosedCounts::new(context, ranks.packet, stripe_above),
            progress: Progress { open: u64::from(count), ..Progress::default() },
            expected: expected(ranks, &context.network),
            held_since: None,
            idle_until: 0,
            ended: RankEnds::default(),
            explained: None,
            ranks: ranks.clone(),
            now: 0,
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

    fn poll(&mut self, now: u64, machine: &dyn Machine) {
        let (mut progress, mut next) = (Progress::default(), Some(u64::MAX));
        self.each_executor(machine, &mut |executor| {
            progress.add(&executor.progress());
            next = next.zip(executor.idle_until()).map(|(next, own)| next.min(own));
        });
        let progress = progress_of_processes(&progress, machine.exchange());
        let next = earliest(next.unwrap_or(0), machine.exchange());
        let is_idle = progress.packets == 0 && progress.combining == 0;
        self.idle_until = if is_idle { next / self.context.network.plan.tick().0 } else { 0 };
        let Batch { entered, copies, packets, ended, .. } = self.counted.counts;
        let is_still = entered + copies == packets + ended && !machine.is_moving(self.context.job);
        let is_held = progress.waits_for_members() && progress.combining > 0 && is_still;
        self.held_since = self.held_since.filter(|_| progress == self.progress).or(Some(now)).filter(|_| is_held);
        (self.progress, self.now) = (progress, now);
    }

    /// Returns the finished share of the run: of its operations that communicate and of its packets. A calculation costs
    /// little time to simulate. 0 if nothing is known beforehand.
    fn share(&self) -> f64 {
        let (operations, packets) = self.expected;
        let done = self.progress.communicated().min(operations) + self.counted.counts.packets.min(packets);
        // The run has not ended.
        done as f64 / (operations.saturating_add(packets)).max(done + 1) as f64
    }

    /// Records the messages that have arrived. Their latency begins when their data are released to the network.
    fn record_messages(&mut self, machine: &dyn Machine) {
        let (mut released, mut completed) = (Vec::new(), Vec::new());
        self.each_executor(machine, &mut |executor| {
            let noted = executor.noted();
            released.extend_from_slice(noted.0);
            completed.extend_from_slice(noted.1);
        });
        let Some(messages) = &mut self.counted.messages else { return };
        let (mut released, mut completed) =
            (machine.exchange().collect(released), machine.exchange().collect(completed));
        released.sort_unstable();
        completed.sort_unstable();
        let node = |rank: u32| self.ranks.placement.node(TaskId(rank));
        let units = self.context.network.plan.units_per_tick();
        let key = |message: &Released| (message.source, message.number);
        for Completed { source, number, at } in completed {
            // A message that has arrived has been released.
            let Ok(sent) = released.binary_search_by_key(&(source, number), key) else { continue };
            let Released { to, bytes, at: begin, .. } = released[sent];
            let [latency, at] = [at - begin, at].map(|time| time.saturating_mul(units));
            messages.record(Arrived { from: node(source), to: node(to), bytes: bytes.max(1), latency, at });
        }
    }

    /// Explains the ranks' time if it was recorded.
    fn explain_time(&mut self, machine: &dyn Machine) {
        let RunContext { network, job, measure, .. } = &self.context;
        if !measure.timeline || self.ended.last().is_none() {
            return;
        }
        let mut gathered = Gathered::new(self.node_of.len(), self.start());
        self.each_executor(machine, &mut |executor| gathered.add(executor));
        let exchange = machine.exchange();
        let gathered = gathered.of_processes(exchange);
        // The log of all processes too is at process 0, which alone explains.
        let transmissions = machine.packets().and_then(|packets| packets.transmissions());
        let Some(activity) = gathered.finish(MOST_TRACED).filter(|_| exchange.rank() == 0) else { return };
        let wires = Wires::new(network, &self.node_of, *job, transmissions);
        self.explained = Some(explain(&activity, &wires, &network.topology.class_names()));
    }

    /// Returns the begin of the ranks, in picoseconds.
    fn start(&self) -> u64 {
        self.context.network.picoseconds(if self.context.shared { self.context.span.start } else { 0 })
    }

    /// Returns the end of a finished run, in the machine's ticks.
    fn last_tick(&self) -> u64 {
        let tick = self.context.network.plan.tick().0;
        match self.ended.last() {
            Some(last) if !self.context.shared => last.div_ceil(tick),
            _ => u64::MAX,
        }
    }

    /// Whether ranks wait for events that will never occur. This includes a network that has held only contributions
    /// for longer than a packet's path, for members that do not call the operation. (A packet is counted as delivered
    /// when its head leaves the last router.)
    fn stands_still(&self) -> bool {
        let patience = 2 * self.context.network.longest_path();
        self.progress.stands_still() || self.held_since.is_some_and(|since| self.now - since > patience)
    }

    /// Returns the error that names the waiting ranks.
    fn standstill(&self, machine: &dyn Machine) -> RunError {
        let (mut waits, mut since) = (Vec::new(), self.start());
        self.each_executor(machine, &mut |executor| {
            waits.extend(executor.waits());
            since = since.max(executor.last_end());
        });
        waits.sort_unstable();
        let exchange = machine.exchange();
        let (count, since) = (exchange.total(waits.len() as u64), exchange.largest(since));
        // Each rank is of one process, so that the waits of a rank keep their order.
        let first = waits.iter().take(MOST_NAMED).map(|(rank, wait)| (*rank, wait.to_string()));
        let mut first = exchange.share(first.collect());
        first.sort_by_key(|&(rank, _)| rank);
        let named = first.iter().take(MOST_NAMED).map(|(rank, wait)| format!("rank {rank} waits for {wait}"));
        let mut named: Vec<String> = named.collect();
        if count > MOST_NAMED as u64 {
            named.push(format!("and {} more wait", count - MOST_NAMED as u64));
        }
        RunError::Standstill { since: Time(since), waits: named.join("; ") }
    }
}

/// Creates the traffic of a partition's ranks. `node_of` is the node of each rank, and `groups` the groups whose
/// operations routers carry out.
pub(crate) fn traffic_of(
    ranks: &Ranks,
    own: &RunContext,
    (node_of, groups): (&Arc<[u32]>, &Arc<Groups>),
    part: Part<'_>,
) -> JobTraffic {
    let RunContext { network, job, seed, span, .. } = own;
    let division = part.division;
    let places = (Arc::clone(&division.partition_of), Arc::clone(&division.number_of));
    let placed = LocalRanks::new(Arc::clone(node_of), places, part.number as u16, part.nodes.len());
    let mut executor = Executor::new(&ranks.programs, interface::parameters(ranks, network), placed);
    if let Some(ways) = &network.ways {
        executor = executor.with_ways(Arc::clone(ways) as _, ways.relays());
    }
    if !network.has(Feature::Packets) {
        executor.carry_whole();
    }
    if network.trees().is_some() {
        executor = executor.with_groups(Arc::clone(groups));
        if let Some(trees) = GroupTrees::of(network, own.first_group).filter(|_| network.topology.planes() > 1) {
            executor = executor.with_group_rails(|group, rank| trees.rails(NodeId(node_of[rank as usize]), group));
        }
    }
    if ranks.processors.differ() {
        executor = executor.with_nodes(|node| ranks.processors.node(node));
    }
    if own.measure.messages {
        executor.note_messages();
    }
    if own.measure.timeline {
        executor.trace();
    }
    if own.measure.checkpoint.is_some() {
        executor = executor.with_checkpoints();
    }
    let context = RankContext {
        job: *job,
        acks: own.acks,
        seed: *seed,
        end: if own.shared { span.end } else { u64::MAX },
        routing: Arc::clone(&network.routing),
        planes: network.topology.planes(),
        division: division.clone(),
        groups: GroupTrees::of(network, own.first_group),
    };
    JobTraffic::Scheduled(Box::new(ScheduledTraffic::new(executor, context, part.nodes)))
}

/// Returns the arithmetic of the elements in packets of reductions. None if packets carry no elements.
pub(crate) fn arithmetic(network: &Network) -> Option<Arithmetic> {
    Some(network.plan.groups()?.units?.elements?.arithmetic)
}

/// Returns a lower bound of the time of messages between ranks: overheads, the least delay between two nodes, and the
/// time of the bytes on the faster of two nodes' links, of all planes together. Links that do not limit receivers carry
/// bytes in no time. Within a node: overheads, and the copies of the bytes.
fn fastest(ranks: &Ranks, network: &Network) -> Fastest {
    let plan = &network.plan;
    let per_byte = |network: &Network| {
        let ends =
            [Some(network.injection()), Some(network.ejection()).filter(|_| network.has(Feature::ReceiverLinks))];
        let packet = ends.into_iter().flatten().map(|end| plan.serialization(end, ranks.packet)).min().unwrap_or(0);
        network.picoseconds(packet) as f64 / f64::from(ranks.packet) / f64::from(network.planes())
    };
    let of_networks = network.ways.iter().flat_map(|ways| {
        (0..network.networks()).map(|part| {
            let island = |rank: u32| ways.island(part, ranks.placement.node(TaskId(rank)));
            FastestNetwork {
                rate: 1.0 / per_byte(&network.on(part)),
                islands: (0..ranks.programs.ranks()).map(island).collect(),
                takes_all: ways.takes_all(part),
            }
        })
    });
    let networks: Vec<FastestNetwork> = of_networks.collect();
    let all: f64 = networks.iter().map(|own| own.rate).sum();
    let host = ranks.nic.host();
    let (send, receive) = match ranks.on_nic {
        true => (host.forwarding().send, host.forwarding().receive),
        false => (host.send_overhead.0, host.receive_overhead.0),
    };
    Fastest {
        latency: network.picoseconds(network.least_delay()) + send + receive,
        per_byte: if networks.is_empty() { per_byte(network) } else { 1.0 / all },
        rails: interface::rail_use(ranks, network),
        limits_receivers: network.has(Feature::ReceiverLinks),
        within: FastestWithin {
            latency: send + receive,
            per_byte: ranks.memory.map_or(0.0, |memory| memory.least_per_byte()),
        },
        networks,
    }
}

/// Returns the expected numbers of operations of all ranks that communicate, and of their packets. 0 packets if
/// messages are not divided into packets.
fn expected(ranks: &Ranks, network: &Network) -> (u64, u64) {
    let programs = &*ranks.programs;
    let mut packets = 0_u64;
    if network.has(Feature::Packets) && !network.has(Feature::Flows) {
        let node = |rank: u32| ranks.placement.node(TaskId(rank));
        for rank in 0..programs.ranks() {
            programs.fan_outs_of(rank, &mut |FanOut { to, bytes, count }| {
                // Of a range of ranks, those on the own node are few.
                let far = if to.len() > 1 || node(to.start) != node(rank) { to.len() as u64 } else { 0 };
                packets = packets.saturating_add(ranks.packets_of(bytes).saturating_mul(count).saturating_mul(far));
            });
        }
    }
    (programs.operations(), packets)
}

/// Returns the progress of the ranks of all processes.
fn progress_of_processes(own: &Progress, exchange: &dyn Exchange) -> Progress {
    let Progress { open, ended, local, packets, combining, is_busy } = *own;
    let mut sums = [open, ended, local, packets as u64, combining as u64, is_busy.into()];
    exchange.sum(&mut sums);
    let [open, ended, local, packets, combining, busy] = sums;
    Progress { open, ended, local, packets: packets as i64, combining: combining as i64, is_busy: busy > 0 }
}

/// Returns the least of a number over all processes.
fn earliest(own: u64, exchange: &dyn Exchange) -> u64 {
    let mut values = [own];
    exchange.min(&mut values);
    values[0]
}

/// Fills in the ends of ranks of other processes.
fn share_ends(ends: &mut [Option<u64>], exchange: &dyn Exchange) {
    // 0 stands for a rank that has not ended, or is of another process.
    let mut shared: Vec<u64> = ends.iter().map(|end| end.map_or(0, |end| end + 1)).collect();
    exchange.max(&mut shared);
    ends.iter_mut().zip(shared).for_each(|(end, shared)| *end = shared.checked_sub(1));
}

/// Returns the error of the lowest rank that has one, in any process.
pub(crate) fn first_error(errors: Vec<HostError>, exchange: &dyn Exchange) -> Option<RunError> {
    let own = errors.into_iter().min_by_key(HostError::rank);
    let rank = own.as_ref().map_or(u64::MAX, |error| error.rank().into());
    let lowest = earliest(rank, exchange);
    if lowest == u64::MAX {
        return None;
    }
    let own = own.filter(|_| rank == lowest);
    let messages = exchange.share(own.iter().map(ToString::to_string).collect());
    own.map(RunError::from).or_else(|| messages.into_iter().next().map(RunError::Elsewhere))
}

impl WorkloadRun for RanksRun {
    fn traffic(&self, part: Part<'_>) -> JobTraffic {
        traffic_of(&self.ranks, &self.context, (&self.node_of, &self.groups), part)
    }

    fn begin(&mut self, machine: &mut dyn Machine) {
        machine.measure_from(self.context.job, 0);
        if let Some(packets) = machine.packets_mut().filter(|_| self.context.measure.timeline) {
            packets.log_transmissions(self.context.job);
        }
        self.poll(0, machine);
    }

    fn next_decision(&self, now: u64) -> u64 {
        match self.context.shared {
            true => self.longest.max(now + 1).min(self.context.end_of_batch(now)),
            false => self.longest.min(now.saturating_add(self.context.batch)),
        }
    }

    fn idle_until(&self) -> u64 {
        // Other jobs, and the end of this job, have further decision times.
        if self.context.shared { 0 } else { self.idle_until.min(self.longest) }
    }

    fn observe(&mut self, counts: &JobCounts, now: u64, machine: &mut dyn Machine) {
        self.counted.counts.add(&counts.sum);
        self.poll(now, machine);
    }

    fn state(&self) -> RunState {
        if self.progress.open == 0 || self.now >= self.longest {
            return RunState::Ended;
        }
        RunState::Running(self.share())
    }

    fn error(&self, machine: &dyn Machine) -> Option<RunError> {
        let mut errors: Vec<HostError> = Vec::new();
        self.each_executor(machine, &mut |executor| errors.extend(executor.error().cloned()));
        first_error(errors, machine.exchange()).or_else(|| self.stands_still().then(|| self.standstill(machine)))
    }

    fn leave(&mut self, machine: &mut dyn Machine, now: u64) {
        let mut ended = RankEnds { ranks: vec![None; self.node_of.len()], ..RankEnds::default() };
        let mut measured: Vec<(u32, Vec<Interval>)> = Vec::new();
        self.each_executor(machine, &mut |executor| {
            executor.ends().for_each(|(rank, end)| ended.ranks[rank as usize] = end);
            ended.counts.add(&HostCounts::of(executor));
            let own = executor.intervals().filter(|(_, intervals)| !intervals.is_empty());
            measured.extend(own.map(|(rank, intervals)| (rank, intervals.to_vec())));
        });
        let exchange = machine.exchange();
        share_ends(&mut ended.ranks, exchange);
        ended.counts = ended.counts.of_processes(exchange);
        let mut measured = exchange.collect(measured);
        ended.counts.longest_wait = self.context.network.picoseconds(machine.longest_wait());
        ended.counts.connection_bytes = self.ranks.nic.connection_bytes();
        measured.sort_unstable_by_key(|&(rank, _)| rank);
        ended.intervals = measured.into_iter().flat_map(|(_, intervals)| intervals).collect();
        self.counted.relayed = ended.counts.relays.bytes;
        self.ended = ended;
        self.record_messages(machine);
        self.explain_time(machine);
        self.counted.series.extend(machine.samples(now), self.context.job, (0, self.last_tick()));
        self.longest = self.longest.min(now.max(self.now));
        let tick = self.context.network.plan.tick().0;
        let end = self.ended.last().map_or(self.longest, |last| last.div_ceil(tick));
        self.counted.channels = machine.channel_use(self.context.job, end);
        if self.ended.last().is_none() {
            self.counted.under_way = machine.under_way(self.context.job);
        }
        self.counted.latency = machine.measured(self.context.job).0;
    }

    fn result(self: Box<Self>, totals: &RunTotals) -> PointResult {
        let start = self.start();
        let Self { ranks, context, counted, ended, explained, longest, .. } = *self;
        let network = &context.network;
        let last = ended.last();
        let time = last.unwrap_or_else(|| network.picoseconds(longest)).saturating_sub(start);
        let ns = |picoseconds: u64| picoseconds as f64 / 1e3;
        let (benchmark, program) = match &ranks.measured {
            Measured::Benchmark(pairs) => (Some(pairs.result(&ended.intervals)), None),
            Measured::Program | Measured::Steps(_) | Measured::Table(_) => {
                let all = last.map(|_| time.saturating_mul(ended.ranks.len() as u64));
                let mut program = of_program(&ended.counts, all, ranks.programs.is_called_back());
                let measures = ranks.programs.measures(&fastest(&ranks, network));
                program.times = measured_times(&measures, &ended.intervals);
                program.groups = of_groups(
                    &ended.counts,
                    (ranks.programs.groups().len() as u32, ranks.interconnect),
                    (network, time),
                );
                (None, Some(program))
            }
        };
        let rows = match &ranks.measured {
            Measured::Table(benchmark) => Some(table(benchmark, &ended.intervals)),
            _ => None,
        };
        let count = ranks.programs.ranks();
        let of_steps = |_: &Steps| steps_result(&ended.intervals, count, (start, last.is_some()));
        let closed = ClosedResult {
            time_ns: last.map(|_| ns(time)),
            bandwidth_bytes_per_s: counted.bandwidth(ns(time), last.is_some()),
            throughput: None,
            per_rank: ended.ranks.iter().map(|end| end.map(|end| ns(end.saturating_sub(start)))).collect(),
            per_rank_ns: None,
            phases: Vec::new(),
            application: ranks.measured.steps().map(Steps::application),
            steps: ranks.measured.steps().map(of_steps),
            benchmark,
            table: rows,
            program,
            explained,
        };
        let (offered, senders) = ranks.demand().offered(network.topology.nodes());
        let ending = Ending {
            time,
            finished: last.is_some(),
            rate: f64::from(network.planes()) * f64::from(ranks.packet) / network.slot(ranks.packets()) as f64,
            offered,
            senders,
            packet_hops: totals.packet_hops,
            wall_s: totals.wall_s,
        };
        let mut point = closed::result(&context, &counted, &ending, closed);
        point.warnings.extend(ended.counts.unreceived().filter(|_| last.is_some()));
        point
    }
}
