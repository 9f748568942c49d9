//! Whether a routing can deadlock: the channel dependency graph of Dally and Seitz (IEEE Transactions on Computers 36,
//! 1987).
//!
//! A vertex is a class of virtual channels of a channel between routers; there is an edge from one to the next if some
//! packet that holds the one may wait for the other. Injection channels have no predecessors and ejection channels no
//! successors, so that no cycle contains one, and they are left out. If the graph has no cycle, no set of packets can wait
//! in a circle, whatever the flow control counts (a packet, a queue or a whole row of crosspoints), since a
//! channel may wait for everything that any of its packets may wait for.
//!
//! For an oblivious routing a cycle means that traffic exists which deadlocks. For an adaptive one this graph holds all
//! moves that are allowed, so that its freedom from cycles is sufficient, not necessary: Duato's condition, which asks
//! for it of an escape subset only, would accept more. It is not implemented, since no routing here needs it.
//!
//! Cost: for each destination, one pass over the (router, state) pairs that its packets can reach. Where packets go by
//! way of waypoints their ways are taken apart there (`legs`).

mod legs;

use std::fmt;

use topology::{ChannelSource, Channels, Endpoint, Topology};
use units::{ChannelId, NodeId, PortId, RouterId, VcClass};

use crate::Routing;
use crate::walk::{Aim, Move, RoutingContractError, Sources, Walk};

/// A class of virtual channels of one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldChannel {
    /// The channel.
    pub channel: ChannelId,
    /// The class.
    pub vc_class: VcClass,
    /// Where it leads from and to, with coordinates, and its class of channels, for a reader.
    pub name: String,
}

/// Channels each of which can wait for the next, and the last for the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyCycle {
    /// The channels in order.
    pub channels: Vec<HeldChannel>,
}

impl fmt::Display for DependencyCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for held in &self.channels {
            writeln!(f, "{} waits for", held.name)?;
        }
        write!(f, "the first of these")
    }
}

/// A cycle of the channel dependency graph, if it has one.
///
/// # Errors
/// If the routing breaks its contract.
pub fn dependency_cycle(
    topology: &dyn Topology,
    routing: &dyn Routing,
) -> Result<Option<DependencyCycle>, RoutingContractError> {
    let graph = DependencyGraph::new(topology, routing)?;
    let Some(start) = graph.vertex_on_cycle() else { return Ok(None) };
    let channels = graph.shortest_cycle(start).into_iter().map(|vertex| graph.held(topology, vertex)).collect();
    Ok(Some(DependencyCycle { channels }))
}

/// Channel classes as vertices, channel by channel; a row of bits for each, over the ports and classes of the router at
/// the channel's end.
struct DependencyGraph<'a> {
    walk: Walk<'a>,
    classes: usize,
    /// None if no router is wired to a router: then rows would be long (a single switch) and never read.
    vertices: usize,
    /// Words in a row.
    words: usize,
    rows: Vec<u64>,
}

impl<'a> DependencyGraph<'a> {
    fn new(topology: &dyn Topology, routing: &'a dyn Routing) -> Result<Self, RoutingContractError> {
        let walk = Walk::new(topology, routing);
        let classes = usize::from(routing.classes());
        let most_ports = (0..topology.routers()).map(|router| topology.ports(RouterId(router))).max().unwrap_or(0);
        let words = (usize::from(most_ports) * classes).div_ceil(64);
        let channels = walk.channels().ports();
        let is_link = |channel| matches!(walk.end(ChannelId(channel)), Endpoint::Router(..));
        let vertices = if (0..channels).any(is_link) { channels as usize * classes } else { 0 };
        let mut graph = Self { walk, classes, vertices, words, rows: vec![0; vertices * words] };
        if vertices > 0 && routing.waypoints() > 0 {
            legs::add(&mut graph, topology, routing)?;
        } else {
            graph.follow_all(topology, routing)?;
        }
        Ok(graph)
    }

    /// Follows every packet from its source to its destination.
    fn follow_all(&mut self, topology: &dyn Topology, routing: &dyn Routing) -> Result<(), RoutingContractError> {
        let sources = Sources::new(topology, routing);
        for dst in destinations(topology, routing) {
            self.walk.begin(Aim::Node(dst));
            for &(src, router, port) in &sources.groups {
                for (state, _) in routing.initial_distribution(src, dst) {
                    self.walk.enter(router, port, state);
                }
            }
            self.walk.explore()?;
            if self.vertices > 0 {
                self.add_dependencies();
            }
        }
        Ok(())
    }

    /// Adds what the walk has found: whoever comes to a stop may wait for every move from it. Returns those moves as
    /// rows of bits, stop by stop.
    fn add_dependencies(&mut self) -> Vec<u64> {
        let stops = self.walk.stops.len();
        let mut masks = vec![0_u64; stops * self.words];
        for stop in 0..stops {
            for step in self.walk.moves(stop) {
                let bit = self.bit(self.walk.stops[stop].router, *step);
                masks[stop * self.words + bit / 64] |= 1 << (bit % 64);
            }
        }
        for stop in 0..stops {
            for step in self.walk.moves(stop).iter().filter(|step| step.to != Move::DELIVERED) {
                let row = (step.channel.index() * self.classes + usize::from(step.vc_class.0)) * self.words;
                let mask = &masks[step.to as usize * self.words..][..self.words];
                merge(&mut self.rows[row..row + self.words], mask);
            }
        }
        masks
    }

    /// The bit of a move, in the rows of the channels that lead to its router.
    fn bit(&self, router: RouterId, step: Move) -> usize {
        let first = self.walk.channels().output(router, PortId(0));
        (step.channel.index() - first.index()) * self.classes + usize::from(step.vc_class.0)
    }

    /// The vertices that a vertex may wait for.
    fn successors(&self, vertex: usize) -> impl Iterator<Item = usize> {
        let base = match self.walk.end(ChannelId((vertex / self.classes) as u32)) {
            Endpoint::Router(router, _) => self.walk.channels().output(router, PortId(0)).index() * self.classes,
            Endpoint::Node(_) | Endpoint::Unconnected => 0,
        };
        let row = &self.rows[vertex * self.words..][..self.words];
        (base..).step_by(64).zip(row).flat_map(|(base, &word)| set_bits(word).map(move |bit| base + bit))
    }

    /// A vertex that lies on a cycle: what is left when vertices without predecessors are taken away one by one leads
    /// there by any path of predecessors.
    fn vertex_on_cycle(&self) -> Option<usize> {
        let vertices = self.vertices;
        let mut predecessors = vec![0_u32; vertices];
        for vertex in 0..vertices {
            for next in self.successors(vertex) {
                predecessors[next] += 1;
            }
        }
        let mut free: Vec<usize> = (0..vertices).filter(|&vertex| predecessors[vertex] == 0).collect();
        while let Some(vertex) = free.pop() {
            for next in self.successors(vertex) {
                predecessors[next] -= 1;
                if predecessors[next] == 0 {
                    free.push(next);
                }
            }
        }
        self.loop_among(&predecessors)
    }

    /// Follows predecessors within what is left until a vertex comes twice.
    fn loop_among(&self, left: &[u32]) -> Option<usize> {
        let start = left.iter().position(|&count| count > 0)?;
        let mut before = vec![usize::MAX; left.len()];
        for vertex in (0..left.len()).filter(|&vertex| left[vertex] > 0) {
            for next in self.successors(vertex) {
                before[next] = vertex;
            }
        }
        let mut seen = vec![false; left.len()];
        let mut vertex = start;
        while !seen[vertex] {
            seen[vertex] = true;
            vertex = before[vertex];
        }
        Some(vertex)
    }

    /// A shortest cycle through a vertex that lies on one, by breadth-first search.
    fn shortest_cycle(&self, start: usize) -> Vec<usize> {
        let mut before = vec![usize::MAX; self.vertices];
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(vertex) = queue.pop_front() {
            for next in self.successors(vertex) {
                if before[next] == usize::MAX {
                    before[next] = vertex;
                    queue.push_back(next);
                }
            }
            if before[start] != usize::MAX {
                break;
            }
        }
        let mut cycle = vec![start];
        let mut vertex = before[start];
        while vertex != start {
            cycle.push(vertex);
            vertex = before[vertex];
        }
        cycle.reverse();
        cycle
    }

    fn held(&self, topology: &dyn Topology, vertex: usize) -> HeldChannel {
        let (channel, vc_class) = (ChannelId((vertex / self.classes) as u32), VcClass((vertex % self.classes) as u8));
        let name =
            format!("{}, virtual-channel class {vc_class},", channel_name(topology, self.walk.channels(), channel));
        HeldChannel { channel, vc_class, name }
    }
}

/// The nodes that stand for all destinations.
fn destinations(topology: &dyn Topology, routing: &dyn Routing) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = (0..topology.nodes()).map(NodeId).collect();
    if routing.same_for_router() {
        nodes.dedup_by_key(|&mut node| topology.attachment(node).0);
    }
    nodes
}

/// Adds bits to a row.
fn merge(row: &mut [u64], more: &[u64]) {
    for (held, wanted) in row.iter_mut().zip(more) {
        *held |= wanted;
    }
}

/// The numbers of the bits that are set, in ascending order.
fn set_bits(word: u64) -> impl Iterator<Item = usize> {
    let left = std::iter::successors(Some(word), |&left| Some(left & left.wrapping_sub(1)));
    left.take_while(|&left| left != 0).map(|left| left.trailing_zeros() as usize)
}

/// A channel in words: `up channel from router 3 (level 0, index 3) port 5 to router 9 (level 1, index 1) port 2`.
pub fn channel_name(topology: &dyn Topology, channels: &Channels, channel: ChannelId) -> String {
    let (router, port) = match channels.source(channel) {
        ChannelSource::Node(node) => {
            let (router, port) = topology.attachment(node);
            return format!("injection channel from node {node} to {} port {port}", router_name(topology, router));
        }
        ChannelSource::Router(router, port) => (router, port),
    };
    let from = format!("from {} port {port}", router_name(topology, router));
    let names = topology.class_names();
    let class = || names[usize::from(topology.class(router, port).0)];
    match topology.endpoint(router, port) {
        Endpoint::Router(next, in_port) => {
            format!("{} channel {from} to {} port {in_port}", class(), router_name(topology, next))
        }
        Endpoint::Node(node) => format!("{} channel {from} to node {node}", class()),
        Endpoint::Unconnected => format!("unconnected channel {from}"),
    }
}

fn router_name(topology: &dyn Topology, router: RouterId) -> String {
    let (names, values) = (topology.coordinate_names(), topology.coordinates(router));
    if names.len() != values.len() || names.len() < 2 {
        return format!("router {router}");
    }
    let coordinates: Vec<String> = names.iter().zip(values).map(|(name, value)| format!("{name} {value}")).collect();
    format!("router {router} ({})", coordinates.join(", "))
}
