//! Open-loop traffic: what a pattern and an injection process make a node send, regenerated from its stream.

use std::hint::black_box;
use std::sync::Arc;

use engine::{Owner, Stream};
use fabric::{Actions, Demand, Traffic, TrafficEvent};
use host::Executor;
use routing::{RouteState, Routing};
use units::NodeId;
use workload::PlacedPattern;
use workload::{Injection, InjectionSpec, InjectionState};

use crate::scheduled::ScheduledTraffic;

/// How a message is cut into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// Size of a message, in bytes.
    pub message: u64,
    /// Size of every packet of it but the last, in bytes.
    pub packet: u32,
}

/// What all nodes of a run share.
#[derive(Clone)]
pub struct OpenTrafficSpec {
    /// Who sends to whom.
    pub pattern: Arc<PlacedPattern>,
    /// Draws what a packet carries for its routing.
    pub routing: Arc<dyn Routing>,
    /// When nodes generate,
    pub injection: InjectionSpec,
    /// at which load, by node,
    pub load: Arc<dyn Fn(NodeId) -> f64 + Send + Sync>,
    /// and the ticks of a slot.
    pub slot: u64,
    /// How messages are cut.
    pub packets: Packets,
    /// The experiment's seed.
    pub seed: u64,
}

/// A node's place in its stream.
#[derive(Clone, Debug)]
struct Source {
    stream: Stream,
    state: InjectionState,
    node: NodeId,
    /// Where its process is.
    injection: u32,
    /// The generation of the current message, in ticks.
    generated_at: u64,
    /// Bytes of it that are not yet in packets.
    left: u64,
    dst: NodeId,
    started: bool,
}

/// The traffic of one partition's nodes, of either kind.
#[derive(Debug)]
pub enum NodeTraffic {
    /// At a rate, without end.
    Open(OpenTraffic),
    /// Given volumes, as fast as they go.
    Volume(VolumeTraffic),
    /// What ranks send by their schedules.
    Scheduled(Box<ScheduledTraffic>),
}

impl NodeTraffic {
    /// The ranks, if it is theirs.
    pub fn executor(&self) -> Option<&Executor> {
        match self {
            Self::Scheduled(traffic) => Some(traffic.executor()),
            _ => None,
        }
    }
}

impl Traffic for NodeTraffic {
    #[inline]
    fn next(&mut self, node: usize, now: u64) -> Option<Demand> {
        match self {
            Self::Open(traffic) => traffic.next(node, now),
            Self::Volume(traffic) => traffic.next(node, now),
            Self::Scheduled(traffic) => traffic.next(node, now),
        }
    }

    #[inline]
    fn before_next(&self, node: usize) {
        if let Self::Open(traffic) = self {
            traffic.before_next(node);
        }
    }

    fn wants_events(&self) -> bool {
        matches!(self, Self::Scheduled(_))
    }

    fn begin(&mut self, actions: &mut Actions) {
        if let Self::Scheduled(traffic) = self {
            traffic.begin(actions);
        }
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, actions: &mut Actions) {
        if let Self::Scheduled(traffic) = self {
            traffic.on_event(what, now, actions);
        }
    }

    fn source(&self, flow_id: u32) -> NodeId {
        match self {
            Self::Scheduled(traffic) => traffic.source(flow_id),
            _ => NodeId(flow_id),
        }
    }
}

/// What a node still has to send to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The node that it is for.
    pub dst: NodeId,
    /// Bytes that are not yet in packets.
    pub left: u64,
}

/// A node's flows, served in turn packet by packet.
#[derive(Debug)]
struct Sender {
    stream: Stream,
    node: NodeId,
    flows: Vec<Flow>,
    turn: usize,
    /// When the next packet is generated, in ticks: as fast as the link takes them, so that routers that serve the oldest
    /// packet first hold back whoever is ahead.
    generated_at: u64,
}

/// Nodes that send given volumes.
#[derive(Debug)]
pub struct VolumeTraffic {
    senders: Vec<Sender>,
    routing: Arc<dyn Routing>,
    packet: u32,
    slot: u64,
}

impl VolumeTraffic {
    /// The flows of some nodes, cut into packets of a size in bytes that take a slot, in ticks, on an injection link.
    pub fn new(
        routing: &Arc<dyn Routing>,
        seed: u64,
        (packet, slot): (u32, u64),
        flows: Vec<(NodeId, Vec<Flow>)>,
    ) -> Self {
        let sender = |(node, flows): (NodeId, Vec<Flow>)| Sender {
            stream: Stream::new(seed, Owner::Node(node.0)),
            node,
            flows: flows.into_iter().filter(|flow| flow.left > 0).collect(),
            turn: 0,
            generated_at: 0,
        };
        Self { senders: flows.into_iter().map(sender).collect(), routing: Arc::clone(routing), packet, slot }
    }
}

impl Traffic for VolumeTraffic {
    fn next(&mut self, node: usize, _now: u64) -> Option<Demand> {
        let sender = &mut self.senders[node];
        if sender.turn >= sender.flows.len() {
            sender.turn = 0;
        }
        let flow = sender.flows.get_mut(sender.turn)?;
        let bytes = flow.left.min(u64::from(self.packet));
        flow.left -= bytes;
        let dst = flow.dst;
        if flow.left == 0 {
            sender.flows.remove(sender.turn);
        } else {
            sender.turn += 1;
        }
        let state = self.routing.start(sender.node, dst, &mut sender.stream);
        let generated_at = sender.generated_at;
        sender.generated_at += host::time_of(bytes, self.packet, self.slot);
        Some(Demand { generated_at, dst, bytes: bytes as u32, state, flow_id: sender.node.0 })
    }
}

/// Nodes of one load for which a table pays.
const MANY: usize = 8;

/// The sources of one partition.
#[derive(Debug)]
pub struct OpenTraffic {
    sources: Vec<Source>,
    /// One for each load that occurs.
    injections: Vec<Injection>,
    pattern: Arc<PlacedPattern>,
    routing: Arc<dyn Routing>,
    packets: Packets,
}

impl OpenTraffic {
    /// Bytes of a node's source.
    pub(crate) const BYTES_A_NODE: u64 = size_of::<Source>() as u64;

    /// The sources of some nodes, at time 0.
    pub fn new(spec: &OpenTrafficSpec, nodes: &[u32]) -> Self {
        let load = |&node: &u32| (spec.load)(NodeId(node));
        let mut all: Vec<f64> = nodes.iter().map(load).collect();
        all.sort_unstable_by(f64::total_cmp);
        let process = |alike: &[f64]| {
            let process = Injection::new(spec.injection, alike[0], spec.slot);
            if alike.len() >= MANY { process.for_many() } else { process }
        };
        let injections = all.chunk_by(f64::eq).map(process).collect();
        let mut loads = all;
        loads.dedup();
        let source = |node: &u32| Source {
            stream: Stream::new(spec.seed, Owner::Node(*node)),
            state: InjectionState::default(),
            node: NodeId(*node),
            injection: loads.partition_point(|&other| other < load(node)) as u32,
            generated_at: 0,
            left: 0,
            dst: NodeId(0),
            started: false,
        };
        Self {
            sources: nodes.iter().map(source).collect(),
            injections,
            pattern: Arc::clone(&spec.pattern),
            routing: Arc::clone(&spec.routing),
            packets: spec.packets,
        }
    }
}

impl Traffic for OpenTraffic {
    #[inline]
    fn next(&mut self, node: usize, now: u64) -> Option<Demand> {
        let source = &mut self.sources[node];
        if source.left == 0 {
            let injection = &self.injections[source.injection as usize];
            let previous = if injection.is_backlogged() { now } else { source.generated_at };
            source.generated_at = if source.started {
                injection.next(&mut source.state, previous, &mut source.stream)?
            } else {
                source.started = true;
                injection.first(&mut source.state, &mut source.stream)?
            };
            source.left = self.packets.message;
            source.dst = self.pattern.destination(source.node, &mut source.stream);
        }
        let bytes = source.left.min(u64::from(self.packets.packet));
        source.left -= bytes;
        let state: RouteState = self.routing.start(source.node, source.dst, &mut source.stream);
        Some(Demand {
            generated_at: source.generated_at,
            dst: source.dst,
            bytes: bytes as u32,
            state,
            flow_id: source.node.0,
        })
    }

    #[inline]
    fn before_next(&self, node: usize) {
        let source = &self.sources[node];
        black_box((source.left, source.node));
    }
}
