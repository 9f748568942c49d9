//! Benchmarks of message latency: ranks run schedules, and round trips are timed.

use std::sync::Arc;

use host::{Executor, NicParams, RankPlacement, UNTOUCHED};
use units::{TaskId, Time};
use workload::benchmarks::Benchmark;
use workload::schedule::Schedule;
use workload::{PlacedPattern, Placement};

use super::closed::{self, Counted, Ending};
use super::{Counts, Course, Extent, Setting, State, Totals, Workload, weights};
use crate::experiment::{IdealNicSpec, MeasureSpec};
use crate::machine::Machine;
use crate::messages::Arrived;
use crate::network::{Network, Packets};
use crate::results::{BenchmarkResult, ClosedResult, PairResult, PointResult};
use crate::traffic::{JobTraffic, ScheduledTraffic};

/// Ranks that run the schedules of a benchmark.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    pub benchmark: Arc<Benchmark>,
    pub placement: Arc<Placement>,
    pub pattern: Arc<PlacedPattern>,
    /// Bytes of a packet.
    pub packet: u32,
    pub nic: IdealNicSpec,
    /// For each pair the channels that a message crosses.
    pub pair_channels: Vec<u32>,
}

impl Workload for Ranks {
    fn pattern(&self) -> &Arc<PlacedPattern> {
        &self.pattern
    }

    fn placement(&self) -> &Arc<Placement> {
        &self.placement
    }

    fn packets(&self) -> Packets {
        Packets { message: u64::from(self.packet), packet: self.packet }
    }

    fn rests(&self) -> Vec<u64> {
        let rest = |bytes: u64| bytes % u64::from(self.packet);
        let control = self.nic.eager_limit.map(|_| rest(self.nic.control().0));
        std::iter::once(rest(self.benchmark.message_size)).chain(control).collect()
    }

    fn host_times(&self) -> Vec<Time> {
        vec![self.nic.send_overhead, self.nic.receive_overhead]
    }

    fn is_held_by_every_partition(&self) -> bool {
        true
    }

    fn batch(&self, network: &Network, _measure: &MeasureSpec) -> u64 {
        closed::poll_interval(network, self.packets())
    }

    fn extent(&self, _network: &Network, _measure: &MeasureSpec, _batch: u64) -> Extent {
        // A message that asks first has two control messages.
        let controls = |bytes: u64| if self.nic.eager_limit.is_some_and(|limit| bytes > limit.0) { 2 } else { 0 };
        let messages = self.benchmark.schedule.messages();
        let of = |(_, _, bytes): (u32, u32, u64)| bytes.div_ceil(u64::from(self.packet)).max(1) + controls(bytes);
        Extent::Packets(messages.map(of).sum())
    }

    fn course(&self, setting: &Setting) -> Box<dyn Course> {
        let open = self.benchmark.schedule.len() as u64;
        Box::new(RanksCourse {
            longest: setting.longest().min(if setting.shared { setting.span.end } else { u64::MAX }),
            ranks: self.clone(),
            setting: setting.clone(),
            counted: Counted::new(setting, self.packet),
            times: Times::new(0),
            open,
            now: 0,
        })
    }

    fn schedule(&self) -> Option<&Schedule> {
        Some(&self.benchmark.schedule)
    }
}

/// One run of ranks.
struct RanksCourse {
    ranks: Ranks,
    setting: Setting,
    counted: Counted,
    times: Times,
    /// Operations that have not ended.
    open: u64,
    /// When the run ends in any case, in ticks.
    longest: u64,
    now: u64,
}

impl RanksCourse {
    fn poll(&mut self, now: u64, machine: &dyn Machine) {
        let (job, mut open) = (self.setting.job, 0);
        machine.visit_traffic(&mut |traffic| {
            open += traffic.scheduled(job).map_or(0, |ranks| ranks.executor().open());
        });
        (self.open, self.now) = (open, now);
    }

    /// Measures the messages that have arrived: from when their data were released to the network, at a tick.
    fn record_messages(&mut self) {
        let Self { ranks, counted: Counted { messages: Some(messages), .. }, times, .. } = self else { return };
        let (schedule, plan) = (&ranks.benchmark.schedule, &self.setting.network.plan);
        let node = |op: u32| ranks.placement.node(TaskId(schedule.rank(op)));
        for (send, &arrived) in (0..).zip(&times.arrived).filter(|&(_, &arrived)| arrived != UNTOUCHED) {
            let released = times.ended[send as usize].div_ceil(plan.tick().0);
            let latency = (arrived - released).saturating_mul(plan.units_per_tick());
            let (from, to) = (node(send), node(schedule.partner(send)));
            messages.record(Arrived { from, to, bytes: schedule.size(send).max(1), latency });
        }
    }

    /// When a run that has ended did so, in the machine's ticks.
    fn last_tick(&self) -> u64 {
        let tick = self.setting.network.plan.tick().0;
        match self.times.ended.iter().copied().max() {
            Some(last) if last != UNTOUCHED && !self.setting.shared => last.div_ceil(tick),
            _ => u64::MAX,
        }
    }
}

impl Course for RanksCourse {
    fn traffic(&self, nodes: &[u32]) -> JobTraffic {
        let Setting { network, seed, span, .. } = &self.setting;
        let Ranks { benchmark, placement, packet, nic, .. } = &self.ranks;
        let tick = network.plan.tick().0;
        let interface = NicParams {
            send_overhead: nic.send_overhead.0,
            receive_overhead: nic.receive_overhead.0,
            eager_limit: nic.eager_limit.map(|limit| limit.0),
            control: nic.control().0.min(u64::from(*packet)) as u32,
            packet: *packet,
            pace: network.slot(self.ranks.packets()),
            tick,
        };
        let schedule = &benchmark.schedule;
        let node_of: Arc<[u32]> = (0..schedule.ranks()).map(|rank| placement.node(TaskId(rank)).0).collect();
        let placed = RankPlacement { node_of, nodes: nodes.to_vec(), machine: network.topology.nodes() };
        let mut executor = Executor::new(Arc::clone(schedule), interface, placed);
        if self.setting.measure.messages {
            executor.note_arrivals();
        }
        let end = if self.setting.shared { span.end } else { u64::MAX };
        JobTraffic::Scheduled(Box::new(ScheduledTraffic::new(executor, &network.routing, (*seed, end), nodes)))
    }

    fn begin(&mut self, machine: &mut dyn Machine) {
        machine.measure_from(self.setting.job, 0);
        self.poll(0, machine);
    }

    fn next_decision(&self, now: u64) -> u64 {
        match self.setting.shared {
            true => self.longest.max(now + 1).min(self.setting.end_of_batch(now)),
            false => self.longest.min(now.saturating_add(self.setting.batch)),
        }
    }

    fn observe(&mut self, counts: &Counts, now: u64, machine: &mut dyn Machine) {
        self.counted.counts.add(&counts.sum);
        self.poll(now, machine);
    }

    fn state(&self) -> State {
        if self.open == 0 || self.now >= self.longest {
            return State::Ended;
        }
        State::Running(1.0 - self.open as f64 / self.ranks.benchmark.schedule.len().max(1) as f64)
    }

    fn leave(&mut self, machine: &mut dyn Machine, now: u64) {
        let (job, mut times) = (self.setting.job, Times::new(self.ranks.benchmark.schedule.len()));
        machine.visit_traffic(&mut |traffic| {
            if let Some(ranks) = traffic.scheduled(job) {
                times.take(ranks.executor());
            }
        });
        self.times = times;
        self.record_messages();
        self.counted.series.extend(machine.samples(), job, (0, self.last_tick()));
        self.longest = self.longest.min(now.max(self.now));
        self.counted.channels = machine.channel_bytes(job);
        self.counted.latency = machine.measured(job).0;
    }

    fn result(self: Box<Self>, totals: &Totals) -> PointResult {
        let Self { ranks, setting, counted, times, longest, .. } = *self;
        let (network, benchmark) = (&setting.network, &ranks.benchmark);
        let start = network.picoseconds(if setting.shared { setting.span.start } else { 0 });
        let finished = times.ended.iter().all(|&end| end != UNTOUCHED);
        let end =
            if finished { times.ended.iter().copied().max().unwrap_or(start) } else { network.picoseconds(longest) };
        let time = end.saturating_sub(start);
        let ns = |picoseconds: u64| picoseconds as f64 / 1e3;
        let rate = f64::from(ranks.packet) / network.slot(ranks.packets()) as f64;
        let of_rank = |rank| Some(ns(times.end_of(benchmark, rank)?.saturating_sub(start)));
        let closed = ClosedResult {
            time_ns: finished.then(|| ns(time)),
            bandwidth_bytes_per_s: counted.bandwidth(ns(time), finished),
            per_rank: (0..benchmark.schedule.ranks()).map(of_rank).collect(),
            phases: Vec::new(),
            application: None,
            benchmark: Some(measured(&ranks, &times)),
        };
        let weights = weights(&ranks, network.topology.nodes());
        let ending = Ending {
            time,
            finished,
            rate,
            weights: weights.iter().sum(),
            senders: weights.iter().filter(|&&weight| weight > 0.0).count(),
            packet_hops: totals.packet_hops,
            wall_s: totals.wall_s,
        };
        closed::result(&setting, &counted, &ending, closed)
    }
}

/// By operation, when it started and ended, in picoseconds.
struct Times {
    started: Vec<u64>,
    ended: Vec<u64>,
    /// By send, when the last byte arrived, in ticks; empty unless messages are measured.
    arrived: Vec<u64>,
}

impl Times {
    /// No operation has started.
    fn new(operations: usize) -> Self {
        Self { started: vec![UNTOUCHED; operations], ended: vec![UNTOUCHED; operations], arrived: Vec::new() }
    }

    /// Takes over those of a partition's operations: each operation is in one partition.
    fn take(&mut self, executor: &Executor) {
        let (started, ended) = executor.times();
        let arrived = executor.arrivals();
        self.arrived.resize(arrived.len(), UNTOUCHED);
        for (all, own) in [(&mut self.started, started), (&mut self.ended, ended), (&mut self.arrived, arrived)] {
            all.iter_mut().zip(own).for_each(|(all, &own)| *all = own.min(*all));
        }
    }

    /// When a rank has done its last operation, in picoseconds: 0 if it does nothing, none if it has not.
    fn end_of(&self, benchmark: &Benchmark, rank: u32) -> Option<u64> {
        let mut ends = benchmark.schedule.of(rank).map(|op| self.ended[op as usize]);
        ends.try_fold(0, |last, end| (end != UNTOUCHED).then_some(end.max(last)))
    }
}

fn measured(ranks: &Ranks, times: &Times) -> BenchmarkResult {
    let Ranks { benchmark, pair_channels, .. } = ranks;
    let per_pair = (benchmark.trips.len() / benchmark.pairs.len().max(1)).max(1);
    // Half a round trip, in nanoseconds.
    let half = |&(send, recv): &(u32, u32)| {
        let (start, end) = (times.started[send as usize], times.ended[recv as usize]);
        (end != UNTOUCHED).then(|| (end - start) as f64 / 2e3)
    };
    let pairs = benchmark.pairs.iter().zip(pair_channels).zip(benchmark.trips.chunks(per_pair));
    let pairs: Vec<PairResult> = pairs
        .map(|((&pair, &channels), trips)| {
            pair_result(pair, channels, &trips.iter().filter_map(half).collect::<Vec<f64>>())
        })
        .collect();
    let apart = || pairs.iter().filter(|pair| pair.channels > 0);
    let means: Vec<f64> = apart().filter_map(|pair| pair.time_mean_ns).collect();
    let (least, most) = (means.iter().copied().reduce(f64::min), means.iter().copied().reduce(f64::max));
    let channels: Vec<f64> = apart().map(|pair| f64::from(pair.channels)).collect();
    BenchmarkResult {
        message_size_bytes: benchmark.message_size,
        message_time_mean_ns: mean(&means),
        message_time_min_ns: least,
        message_time_max_ns: most,
        message_time_spread: least.zip(most).map(|(least, most)| (most - least) / least),
        pair_channels_mean: mean(&channels).unwrap_or(0.0),
        pairs,
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
