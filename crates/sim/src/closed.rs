//! Closed workloads: a given volume is sent and the run ends when all of it has arrived.
//!
//! A nearest-neighbour exchange goes dimension by dimension. In a phase every task sends the volume to each of its
//! neighbours in the phase's dimension, packets for the two in turn, as fast as its link takes them; a node sends the
//! packets of its tasks in turn. A phase begins when the one before has ended everywhere: the barrier between them takes
//! no time, and finds the network empty, so that each phase is a run of its own.
//!
//! A step of an application goes through the phases of its task graph in the same way, after every node has computed its
//! tasks' loads. What tasks of one node send one another stays there; a multicast sends one copy to each node that has
//! members, and a reduction one from each.

use std::collections::BTreeSet;

use engine::statistics::{Estimate, Histogram};
use fabric::Batch;
use serde::Serialize;
use topology::ChannelSource;
use units::{NodeId, TaskId};
use workload::Placement;
use workload::tasks::{GroupKind, Phase};

use crate::application::{self, ApplicationResult, computation};
use crate::benchmark::BenchmarkResult;
use crate::clock::Stopwatch;
use crate::looks::Looks;
use crate::machine;
use crate::progress::Phase as Doing;
use crate::result::{Measured, PointResult};
use crate::run::{RunError, RunOptions, weights};
use crate::system::{System, Volumes};
use crate::traffic::{Flow, NodeTraffic, VolumeTraffic};

/// One phase of a closed workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseResult {
    /// The dimension, from 0, in which tasks exchange; of an application, the number of the phase.
    pub dimension: u32,
    /// What the phase is called.
    pub name: String,
    /// From the phase's begin to the last arrival; null if the run ended before.
    pub time_ns: Option<f64>,
    /// Bytes that crossed the network.
    pub bytes: u64,
    /// Throughput of the phase: what the nodes that send have sent, over what their links could have in that time.
    pub throughput: f64,
}

/// What a closed workload has, and open traffic has not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClosedResult {
    /// From the begin to the last arrival of the last phase; null if the run ended before.
    pub time_ns: Option<f64>,
    /// Bytes delivered over that time, of all nodes together.
    #[serde(rename = "bandwidth_B_per_s")]
    pub bandwidth_bytes_per_s: f64,
    /// By task, when it has received all that its node has to receive, computation included: the sum over phases, in
    /// nanoseconds. Of ranks, when each has done its last operation.
    pub per_rank: Vec<f64>,
    /// The phases, in order; none of ranks that send and receive.
    pub phases: Vec<PhaseResult>,
    /// What an application has besides.
    #[serde(flatten)]
    pub application: Option<ApplicationResult>,
    /// What a benchmark has besides.
    #[serde(flatten)]
    pub benchmark: Option<BenchmarkResult>,
}

/// What a phase has counted, in ticks and bytes.
struct Counted {
    dimension: u32,
    name: String,
    /// The last arrival, or the end if that came before.
    time: u64,
    finished: bool,
    bytes: u64,
    senders: u64,
    counts: Batch,
    channels: Vec<(ChannelSource, u64)>,
    /// By node.
    arrivals: Vec<u64>,
}

/// Runs phases of volumes to their end.
pub(crate) fn run(system: &System, closed: &Volumes, options: &RunOptions) -> Result<PointResult, RunError> {
    let watch = Stopwatch::start();
    let compute = (computation(system) / system.plan.tick().0 as f64).ceil() as u64;
    let longest = system.spec.measure.max_time.map_or(u64::MAX, |time| time.0 / system.plan.tick().0);
    let mut left = longest.saturating_sub(compute);
    let mut phases = Vec::new();
    for done in 0..closed.phases() {
        let share = |part: f64| (done as f64 + part) / closed.phases() as f64;
        let counted = phase(system, closed, done, left, options, &share)?;
        left -= counted.time.min(left);
        let finished = counted.finished;
        phases.push(counted);
        if !finished {
            break;
        }
    }
    options.progress.set(Doing::Done, 1.0);
    Ok(result(system, closed, (compute.min(longest), &phases), watch.seconds()))
}

impl Volumes {
    /// The number of phases.
    pub fn phases(&self) -> usize {
        match self {
            Self::Exchange(exchange) => exchange.phases.len(),
            Self::Application(graph) => graph.phases.len(),
        }
    }

    /// A phase's dimension, or its number, and its name.
    fn phase(&self, phase: usize) -> (u32, String) {
        match self {
            Self::Exchange(exchange) => (exchange.phases[phase], format!("dimension {}", exchange.phases[phase])),
            Self::Application(graph) => (phase as u32, graph.phases[phase].name.clone()),
        }
    }

    /// What each node sends others in a phase.
    pub fn flows(&self, phase: usize, placement: &Placement, nodes: u32) -> Vec<Vec<Flow>> {
        match self {
            Self::Exchange(exchange) => {
                let of = |node: u32| {
                    let tasks = placement.tasks(NodeId(node)).iter();
                    let dimension = exchange.phases[phase] as usize;
                    let neighbours = tasks.flat_map(|&task| exchange.grid.neighbours(task, dimension));
                    let away = neighbours.map(|task| placement.node(task)).filter(|&dst| dst.0 != node);
                    away.map(|dst| Flow { dst, left: exchange.volume }).collect()
                };
                (0..nodes).map(of).collect()
            }
            Self::Application(graph) => application_flows(&graph.phases[phase], placement, nodes),
        }
    }
}

fn application_flows(phase: &Phase, placement: &Placement, nodes: u32) -> Vec<Vec<Flow>> {
    let mut flows: Vec<Vec<Flow>> = vec![Vec::new(); nodes as usize];
    let mut send = |from: NodeId, dst: NodeId, left: u64| {
        if from != dst && left > 0 {
            flows[from.index()].push(Flow { dst, left });
        }
    };
    for (from, to, bytes, _) in phase.arcs.iter() {
        send(placement.node(TaskId(from)), placement.node(TaskId(to)), bytes);
    }
    for group in &phase.groups {
        let root = placement.node(TaskId(group.root));
        let members: BTreeSet<NodeId> = group.members.iter().map(|&member| placement.node(TaskId(member))).collect();
        for node in members {
            match group.kind {
                GroupKind::Multicast => send(root, node, group.bytes),
                GroupKind::Reduction => send(node, root, group.bytes),
            }
        }
    }
    flows
}

fn phase(
    system: &System,
    closed: &Volumes,
    number: usize,
    longest: u64,
    options: &RunOptions,
    share: &dyn Fn(f64) -> f64,
) -> Result<Counted, RunError> {
    let flows = closed.flows(number, &system.placement, system.topology.nodes());
    let (dimension, name) = closed.phase(number);
    let volume: u64 = flows.iter().flatten().map(|flow| flow.left).sum();
    let senders = flows.iter().filter(|flows| !flows.is_empty()).count() as u64;
    let packet = (system.packets().packet, system.slot());
    let traffic = |nodes: &[u32]| {
        let own = nodes.iter().map(|&node| (NodeId(node), flows[node as usize].clone())).collect();
        NodeTraffic::Volume(VolumeTraffic::new(&system.routing, system.spec.seed, packet, own))
    };
    let mut machine = machine::build(system, options, traffic);
    machine.note_arrivals();
    let mut looks = Looks::new(system, longest, &options.progress);
    while looks.counts.bytes < volume && !looks.is_over() {
        looks.next(&mut *machine)?;
        options.progress.set(Doing::Measuring, share(looks.counts.bytes as f64 / volume.max(1) as f64));
    }
    let counts = looks.counts;
    let arrivals = machine.arrivals();
    let finished = counts.bytes == volume;
    let last = arrivals.iter().copied().max().unwrap_or(0);
    Ok(Counted {
        dimension,
        name,
        time: if finished { last } else { longest },
        finished,
        bytes: counts.bytes,
        senders,
        counts,
        channels: machine.channel_bytes(),
        arrivals,
    })
}

/// The result of so much computation and the phases after it.
fn result(system: &System, closed: &Volumes, (compute, phases): (u64, &[Counted]), wall_s: f64) -> PointResult {
    let ns = |ticks: u64| ticks as f64 * system.plan.tick().0 as f64 / 1e3;
    // Bytes that a sender's link takes in a tick.
    let rate = f64::from(system.packets().packet) / system.slot() as f64;
    let throughput = |phase: &Counted| match phase.time {
        0 => 0.0,
        time => phase.bytes as f64 / (time as f64 * phase.senders as f64 * rate),
    };
    let total: u64 = compute + phases.iter().map(|phase| phase.time).sum::<u64>();
    let finished = phases.len() == closed.phases() && phases.iter().all(|phase| phase.finished);
    let mut counts = Batch::default();
    phases.iter().for_each(|phase| counts.add(&phase.counts));
    let capacity = total as f64 * rate * weights(system).iter().sum::<f64>();
    let of_node = |node: NodeId| compute + phases.iter().map(|phase| phase.arrivals[node.index()]).sum::<u64>();
    let tasks = match closed {
        Volumes::Exchange(_) => system.placement.len(),
        Volumes::Application(graph) => graph.tasks(),
    };
    let per_rank = (0..tasks).map(|task| ns(of_node(system.placement.node(TaskId(task))))).collect();
    let totals = Totals {
        time: total,
        finished,
        counts,
        capacity,
        channels: phases.iter().flat_map(|phase| phase.channels.iter().copied()).collect(),
    };
    let closed = ClosedResult {
        time_ns: finished.then(|| ns(total)),
        bandwidth_bytes_per_s: if total > 0 { counts.bytes as f64 / ns(total) * 1e9 } else { 0.0 },
        per_rank,
        phases: phases
            .iter()
            .map(|phase| PhaseResult {
                dimension: phase.dimension,
                name: phase.name.clone(),
                time_ns: phase.finished.then(|| ns(phase.time)),
                bytes: phase.bytes,
                throughput: throughput(phase),
            })
            .collect(),
        application: application::graph(system)
            .map(|_| ApplicationResult { compute_ns: ns(compute), mapping: application::figures(system) }),
        benchmark: None,
    };
    totals.point(system, closed, wall_s)
}

/// What a closed workload has counted in all.
pub(crate) struct Totals {
    /// In ticks.
    pub time: u64,
    pub finished: bool,
    pub counts: Batch,
    /// Bytes that those that send could have sent, in what analyses take the workload for.
    pub capacity: f64,
    pub channels: Vec<(ChannelSource, u64)>,
}

impl Totals {
    /// The result of the point.
    pub fn point(self, system: &System, closed: ClosedResult, wall_s: f64) -> PointResult {
        let Self { time, finished, counts, capacity, channels } = self;
        let accepted = if capacity > 0.0 { counts.bytes as f64 / capacity } else { 0.0 };
        let measured = Measured {
            accepted: Estimate { mean: accepted, half_width: f64::INFINITY, batches: 0, independent: false },
            accepted_min: None,
            latency_interval: Estimate { mean: f64::NAN, half_width: f64::NAN, batches: 0, independent: false },
            delivered: counts,
            latency: Histogram::new(),
            hops: counts.hops,
            packet_hops: counts.hops,
            span: (0, time),
            end: time,
            channel_bytes: channels,
            measured_to: time.max(1),
            saturated: false,
            settled: true,
            converged: true,
            drained: false,
        };
        let open = PointResult::new(system, measured, wall_s);
        PointResult { drained: finished, steady: finished, closed: Some(closed), ..open }
    }
}
