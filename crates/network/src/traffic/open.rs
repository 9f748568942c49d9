//! Open-loop traffic: packets of a pattern and an injection process, regenerated from each node's stream.

use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;

use engine::Stream;
use fabric::{Actions, Demand, Member, Target, Traffic, TreePacket};
use routing::{RouteState, Routing};
use traffic::{Injection, InjectionSpec, InjectionState, PlacedPattern};
use units::NodeId;

use super::groups::GroupTrees;
use super::multicasts::{Current, MulticastSources, Multicasts};
use super::sources::{owner, sources};
use super::span::Span;
use crate::network::Packets;

/// Parameters shared by all nodes of a run.
#[derive(Clone)]
pub struct OpenTrafficSpec {
    /// Pattern of destinations.
    pub pattern: Arc<PlacedPattern>,
    /// Destination sets of multicasts, in place of the pattern's destinations. None for messages with one destination.
    pub multicasts: Option<Multicasts>,
    /// Trees of the job's groups. None without groups.
    pub groups: Option<GroupTrees>,
    /// Routing that draws the initial state of packets.
    pub routing: Arc<dyn Routing>,
    /// Injection process.
    pub injection: InjectionSpec,
    /// Load of each node.
    pub load: Arc<dyn Fn(NodeId) -> f64 + Send + Sync>,
    /// Slot: serialization time of a message, in ticks.
    pub slot: u64,
    /// Units of generation times in a tick (`Plan::units_per_tick`).
    pub units_per_tick: u64,
    /// Division of messages into packets.
    pub packets: Packets,
    /// Seed of the nodes' random streams.
    pub seed: u64,
    /// Number of planes of all networks together.
    pub planes: u32,
    /// Planes of the job's network. A node has a separate process for each, so that it sends equally on every plane.
    pub own_planes: Range<u32>,
    /// Period in which messages are generated, in ticks.
    pub span: Span,
}

/// Position of a node in its stream. A clone is a cursor, which draws again the packets that the node has drawn since.
#[derive(Clone, Debug)]
pub(super) struct Source {
    stream: Stream,
    state: InjectionState,
    node: NodeId,
    /// Index of the node's injection process.
    injection: u32,
    /// Generation time of the current message, in parts of a tick.
    generated_at: u64,
    /// Bytes of the current message that are not yet in packets.
    left: u64,
    dst: NodeId,
    started: bool,
}
units::record!(Source { stream, state, node, injection, generated_at, left, dst, started });

/// Number of nodes with one load for which a table is worth its cost.
const MANY: usize = 8;

/// Sources of one partition.
#[derive(Debug)]
pub struct OpenTraffic {
    sources: Vec<Source>,
    /// State of the multicasts. None for messages with one destination.
    multicasts: Option<Box<MulticastSources>>,
    process: Process,
}
units::state!(OpenTraffic { sources; each multicasts; rebuilt process });

/// Process by which all sources of a partition draw packets.
#[derive(Debug)]
struct Process {
    /// Injection processes, one for each distinct load.
    injections: Vec<Injection>,
    pattern: Arc<PlacedPattern>,
    routing: Arc<dyn Routing>,
    packets: Packets,
    units_per_tick: u64,
    /// Period in which messages are generated, in parts of a tick.
    span: Span,
}

impl OpenTraffic {
    /// Memory of a source, in bytes.
    pub const BYTES_A_NODE: u64 = size_of::<Source>() as u64;

    /// Creates the sources of some nodes, which have generated nothing yet.
    pub fn new(spec: &OpenTrafficSpec, nodes: &[u32]) -> Self {
        let load = |(node, plane): (NodeId, u32)| {
            if spec.own_planes.contains(&plane) { (spec.load)(node) } else { 0.0 }
        };
        let is_idle = spec.own_planes.len() < spec.planes as usize;
        let of_nodes = nodes.iter().map(|&node| (spec.load)(NodeId(node)));
        let mut all: Vec<f64> = of_nodes.chain(is_idle.then_some(0.0)).collect();
        all.sort_unstable_by(f64::total_cmp);
        let process = |alike: &[f64]| {
            let process = Injection::new(spec.injection, alike[0], spec.slot.saturating_mul(spec.units_per_tick));
            if alike.len() >= MANY { process.for_many() } else { process }
        };
        let injections = all.chunk_by(f64::eq).map(process).collect();
        let mut loads = all;
        loads.dedup();
        let in_units = |ticks: u64| ticks.saturating_mul(spec.units_per_tick);
        let source = |(node, plane): (NodeId, u32)| Source {
            stream: Stream::new(spec.seed, owner(node, plane)),
            state: InjectionState::default(),
            node,
            injection: loads.partition_point(|&other| other < load((node, plane))) as u32,
            generated_at: 0,
            left: 0,
            dst: NodeId(0),
            started: false,
        };
        let sources: Vec<Source> = sources(nodes, spec.planes).map(source).collect();
        let multicasts = |own| Box::new(MulticastSources::new(own, spec.groups.clone(), (sources.len(), spec.planes)));
        let multicasts = spec.multicasts.as_ref().map(multicasts);
        Self {
            sources,
            multicasts,
            process: Process {
                injections,
                pattern: Arc::clone(&spec.pattern),
                routing: Arc::clone(&spec.routing),
                packets: spec.packets,
                units_per_tick: spec.units_per_tick,
                span: in_units(spec.span.start)..in_units(spec.span.end),
            },
        }
    }

    /// Returns the next packet of a node.
    #[inline]
    pub(super) fn draw(&mut self, node: usize, now: u64) -> Option<Demand> {
        let source = &mut self.sources[node];
        match &mut self.multicasts {
            // Compiled separately, so that traffic without multicasts does not test for them.
            None => self.process.draw(source, None, now),
            Some(own) => self.process.draw(source, Some(own.current(node)), now),
        }
    }

    /// Whether a node's message is generated when the previous one has left, not by the clock.
    pub(super) fn is_backlogged(&self, node: usize) -> bool {
        self.process.injections[self.sources[node].injection as usize].is_backlogged()
    }

    /// Returns a cursor at the node's current position.
    pub(super) fn cursor(&self, node: usize) -> Source {
        self.sources[node].clone()
    }

    /// Returns the next packet after a cursor, which the node has drawn before. Not for backlogged sources, whose
    /// generation times are not in their streams, and not for multicasts.
    pub(super) fn redraw(&self, cursor: &mut Source) -> Option<Demand> {
        self.process.draw(cursor, None, 0)
    }
}

/// Splits a generation time into its tick and the parts of a tick after it.
#[inline]
fn split(generated_at: u64, units_per_tick: u64) -> (u64, u64) {
    match units_per_tick {
        // Avoids a division if generation times are ticks.
        1 => (generated_at, 0),
        units => (generated_at / units, generated_at % units),
    }
}

impl Process {
    #[inline(always)]
    fn draw(&self, source: &mut Source, mut to: Option<Current<'_>>, now: u64) -> Option<Demand> {
        let is_same = source.left == 0 && source.started && self.goes_on(source, to.as_mut());
        if source.left == 0 && !is_same {
            let injection = &self.injections[source.injection as usize];
            let previous = if injection.is_backlogged() { now * self.units_per_tick } else { source.generated_at };
            source.generated_at = if source.started {
                injection.next(&mut source.state, previous, &mut source.stream)?
            } else {
                source.started = true;
                injection.first(&mut source.state, &mut source.stream)?.checked_add(self.span.start)?
            };
            if source.generated_at >= self.span.end {
                return None;
            }
            source.left = self.packets.message;
            source.dst = match &mut to {
                Some(to) => to.draw(source.node, &mut source.stream),
                None => self.pattern.destination(source.node, &mut source.stream),
            };
        }
        let bytes = source.left.min(u64::from(self.packets.packet));
        source.left -= bytes;
        let (target, state) = self.start(source, to);
        let flow_id = source.node.0;
        let (generated_at, part) = split(source.generated_at, self.units_per_tick);
        Some(Demand {
            generated_at,
            part,
            release: generated_at + u64::from(part > 0),
            to: target,
            bytes: bytes as u32,
            state,
            flow_id,
            mark: 0,
        })
    }
}

impl Process {
    /// Returns the target of the next packet, and its initial routing state.
    #[inline(always)]
    fn start(&self, source: &mut Source, to: Option<Current<'_>>) -> (Target, RouteState) {
        match to {
            Some(mut to) if to.is_by_routers() => {
                let target = to.start(&*self.routing, source.node, &mut source.stream);
                (target, RouteState::default())
            }
            _ => (Target::Node(source.dst), self.routing.start(source.node, source.dst, &mut source.stream)),
        }
    }

    /// Advances a message that has been sent as a whole to its next destination. Returns whether there is one.
    #[inline(always)]
    fn goes_on(&self, source: &mut Source, to: Option<&mut Current<'_>>) -> bool {
        let Some(next) = to.and_then(|to| to.next(source.node)) else { return false };
        (source.left, source.dst) = (self.packets.message, next);
        true
    }
}

impl Traffic for OpenTraffic {
    #[inline]
    fn next(&mut self, node: usize, now: u64, _actions: &mut Actions) -> Option<Demand> {
        self.draw(node, now)
    }

    fn members(&self, node: usize) -> &[Member] {
        self.multicasts.as_ref().map_or(&[], |own| own.members(node))
    }

    fn tree_packet(&self, node: usize) -> Option<TreePacket> {
        self.multicasts.as_ref()?.tree_packet(node, self.sources[node].node)
    }

    #[inline]
    fn before_next(&self, node: usize) {
        let source = &self.sources[node];
        black_box((source.left, source.node));
    }
}
