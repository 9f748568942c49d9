//! Closed workloads: a given volume is sent and the run ends when all of it has arrived.
//!
//! A nearest-neighbour exchange goes dimension by dimension. In a phase every task sends the volume to each of its
//! neighbours in the phase's dimension, packets for the two in turn, as fast as its link takes them; a node sends the
//! packets of its tasks in turn. A phase begins when the one before has ended everywhere: the barrier between them takes
//! no time, and finds the network empty, so that each phase is a run of its own.

use engine::statistics::{Estimate, Histogram};
use fabric::Batch;
use serde::Serialize;
use topology::ChannelSource;
use units::NodeId;

use crate::clock::Stopwatch;
use crate::machine;
use crate::progress::Phase;
use crate::result::{Measured, PointResult};
use crate::run::{RunError, RunOptions, STANDSTILL, deadlock};
use crate::system::{Exchange, System};
use crate::traffic::{Flow, NodeTraffic, VolumeTraffic};

/// Slots between looks at a run.
const LOOK: u64 = 256;

/// One phase of a closed workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseResult {
    /// The dimension, from 0, in which tasks exchange.
    pub dimension: u32,
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
    /// By task, when it has received all that its node has to receive: the sum over phases, in nanoseconds.
    pub per_rank: Vec<f64>,
    /// The phases, in order.
    pub phases: Vec<PhaseResult>,
}

/// What a phase has counted, in ticks and bytes.
struct Counted {
    dimension: u32,
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

/// Runs an exchange to its end.
pub(crate) fn run(system: &System, exchange: &Exchange, options: &RunOptions) -> Result<PointResult, RunError> {
    let watch = Stopwatch::start();
    let mut left = system.spec.measure.max_time.map_or(u64::MAX, |time| time.0 / system.plan.tick().0);
    let mut phases = Vec::new();
    for (done, &dimension) in exchange.phases.iter().enumerate() {
        let share = |part: f64| (done as f64 + part) / exchange.phases.len() as f64;
        let counted = phase(system, exchange, dimension, left, options, &share)?;
        left -= counted.time.min(left);
        let finished = counted.finished;
        phases.push(counted);
        if !finished {
            break;
        }
    }
    options.progress.set(Phase::Done, 1.0);
    Ok(result(system, exchange, &phases, watch.seconds()))
}

/// What each node sends in a phase: the volume for each neighbour of each of its tasks that is on another node.
fn flows(system: &System, exchange: &Exchange, dimension: u32) -> Vec<Vec<Flow>> {
    let placement = &system.placement;
    let of = |node: u32| {
        let tasks = placement.tasks(NodeId(node)).iter();
        let neighbours = tasks.flat_map(|&task| exchange.grid.neighbours(task, dimension as usize));
        let away = neighbours.map(|task| placement.node(task)).filter(|&dst| dst.0 != node);
        away.map(|dst| Flow { dst, left: exchange.volume }).collect()
    };
    (0..system.topology.nodes()).map(of).collect()
}

fn phase(
    system: &System,
    exchange: &Exchange,
    dimension: u32,
    longest: u64,
    options: &RunOptions,
    share: &dyn Fn(f64) -> f64,
) -> Result<Counted, RunError> {
    let flows = flows(system, exchange, dimension);
    let volume: u64 = flows.iter().flatten().map(|flow| flow.left).sum();
    let senders = flows.iter().filter(|flows| !flows.is_empty()).count() as u64;
    let packet = (system.packets().packet, system.slot());
    let traffic = |nodes: &[u32]| {
        let own = nodes.iter().map(|&node| (NodeId(node), flows[node as usize].clone())).collect();
        NodeTraffic::Volume(VolumeTraffic::new(&system.routing, system.spec.seed, packet, own))
    };
    let mut machine = machine::build(system, options.threads.max(1), traffic);
    machine.note_arrivals();
    let step = LOOK * system.slot().max(1);
    let (mut now, mut still, mut counts) = (0, 0, Batch::default());
    while counts.bytes < volume && now < longest {
        if options.progress.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        now = longest.min(now.saturating_add(step));
        machine.advance(now);
        let batch = machine.take_batch();
        still = if batch.packets == 0 && machine.in_flight() > 0 { still + 1 } else { 0 };
        if still > STANDSTILL {
            return Err(deadlock(system, &mut *machine, now));
        }
        counts.add(&batch);
        options.progress.set(Phase::Measuring, share(counts.bytes as f64 / volume.max(1) as f64));
    }
    let arrivals = machine.arrivals();
    let finished = counts.bytes == volume;
    let last = arrivals.iter().copied().max().unwrap_or(0);
    Ok(Counted {
        dimension,
        time: if finished { last } else { longest },
        finished,
        bytes: counts.bytes,
        senders,
        counts,
        channels: machine.channel_bytes(),
        arrivals,
    })
}

fn result(system: &System, exchange: &Exchange, phases: &[Counted], wall_s: f64) -> PointResult {
    let ns = |ticks: u64| ticks as f64 * system.plan.tick().0 as f64 / 1e3;
    // Bytes that a sender's link takes in a tick.
    let rate = f64::from(system.packets().packet) / system.slot() as f64;
    let throughput = |phase: &Counted| match phase.time {
        0 => 0.0,
        time => phase.bytes as f64 / (time as f64 * phase.senders as f64 * rate),
    };
    let total: u64 = phases.iter().map(|phase| phase.time).sum();
    let finished = phases.len() == exchange.phases.len() && phases.iter().all(|phase| phase.finished);
    let mut counts = Batch::default();
    phases.iter().for_each(|phase| counts.add(&phase.counts));
    let capacity: f64 = phases.iter().map(|phase| phase.time as f64 * phase.senders as f64 * rate).sum();
    let accepted = if capacity > 0.0 { counts.bytes as f64 / capacity } else { 0.0 };
    let of_node = |node: NodeId| phases.iter().map(|phase| phase.arrivals[node.index()]).sum();
    let per_rank = (0..system.placement.len()).map(|task| ns(of_node(system.placement.node(task)))).collect();
    let measured = Measured {
        accepted: Estimate { mean: accepted, half_width: f64::INFINITY, batches: 0, independent: false },
        accepted_min: None,
        latency_interval: Estimate { mean: f64::NAN, half_width: f64::NAN, batches: 0, independent: false },
        delivered: counts,
        latency: Histogram::new(),
        hops: counts.hops,
        packet_hops: counts.hops,
        span: (0, total),
        end: total,
        channel_bytes: phases.iter().flat_map(|phase| phase.channels.iter().copied()).collect(),
        measured_to: total.max(1),
        saturated: false,
        settled: true,
        converged: true,
        drained: false,
    };
    let closed = ClosedResult {
        time_ns: finished.then(|| ns(total)),
        bandwidth_bytes_per_s: if total > 0 { counts.bytes as f64 / ns(total) * 1e9 } else { 0.0 },
        per_rank,
        phases: phases
            .iter()
            .map(|phase| PhaseResult {
                dimension: phase.dimension,
                time_ns: phase.finished.then(|| ns(phase.time)),
                bytes: phase.bytes,
                throughput: throughput(phase),
            })
            .collect(),
    };
    let open = PointResult::new(system, measured, wall_s);
    PointResult { drained: finished, steady: finished, closed: Some(closed), ..open }
}
