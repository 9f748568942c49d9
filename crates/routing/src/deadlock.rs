//! Deadlock check of a routing by the channel dependency graph of Dally and Seitz (IEEE Transactions on Computers 36,
//! 1987).
//!
//! A vertex is a class of virtual channels of a channel between routers. There is an edge from one vertex to another if
//! some packet that holds the first may wait for the second. Injection channels have no predecessors and ejection
//! channels no successors, so that no cycle contains one, and they are left out. If the graph has no cycle, no set of
//! packets can wait in a cycle, whatever the unit of flow control (a packet, a queue or a whole row of crosspoints),
//! since a channel may wait for everything that any of its packets may wait for.
//!
//! For an oblivious routing a cycle means that some traffic deadlocks. For an adaptive one this graph holds all hops
//! that packets may wait for, so that the absence of cycles is sufficient, not necessary. If a route has an escape
//! (`Choice::Escape`), packets take the adaptive ports only if their credit is certain, and wait for escape channels
//! only. The graph then has only these, for all routers and destinations that packets can reach by any hops (Duato's
//! condition for cut-through, IEEE TPDS 7, 1996).
//!
//! A routing may name another that does all that its packets do and is cheaper to follow (`Routing::covering`).
//!
//! Cost: for each destination, one pass over the (router, state) pairs that its packets can reach. If packets go by way
//! of waypoints their paths are divided there (`legs`). Threads follow destinations in parallel.
//!
//! Packets of trees (`trees::Trees`) follow tables, from entry to entry. Their dependencies are read off these tables
//! and added to the graph.
//!
//! If there are too many pairs, routings that state `Routing::representatives` are checked by these: at each router,
//! the representative packets are followed over two hops, which is linear in routers. The statement is not trusted: a
//! sample of destinations up to the limit, spread over the network, is followed from every source as well, and a
//! dependency that is not in the graph yet is an error of the routing. The tests compare both graphs on small networks
//! of every kind. If the graph has a cycle, the enumeration decides. If a routing states that the class of packets
//! falls with each hop (`Routing::classes_fall`), a cycle is impossible, and only a sample of destinations is followed.

mod follow;
mod graph;
mod legs;
#[cfg(test)]
mod tests;
mod trees;

use std::collections::BTreeSet;
use std::fmt;

use topology::{ChannelSource, Channels, Endpoint, Topology};
use units::{ChannelId, NodeId, RouterId, VcClass};

use crate::Routing;
use crate::islands::Island;
use crate::trees::Trees;
use crate::walk::{RoutingContractError, Wiring};
use follow::{add_destinations, add_representatives, check_classes, check_destinations, destinations, spread};
pub use graph::Stops;
use graph::{DependencyGraph, NEVER};
use trees::IslandTrees;

/// Largest number of pairs of routers and destinations that are all followed: about a quarter of a second.
const EXHAUSTIVE: u64 = 1 << 20;

/// Number of pairs that are followed as a sample in larger networks.
const SAMPLE: u64 = 1 << 20;

/// Sample sizes for routings with waypoints: destinations, and sources of each.
const BY_WAYPOINTS: (u64, u32) = (4, 2);

/// Sample sizes for routings that remember sources: destinations, and sources of each.
const BY_SOURCES: (u64, u32) = (4, 8);

/// Class of virtual channels of one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldChannel {
    /// Channel.
    pub channel: ChannelId,
    /// Class of virtual channels.
    pub vc_class: VcClass,
    /// Description of the channel for a reader: both ends, with coordinates, and its class of channels.
    pub name: String,
    /// Number of a tree whose packets hold this channel and may wait for the next, if there is one.
    pub tree: Option<u32>,
}

/// Cycle of channels, each of which can wait for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyCycle {
    /// Channels in order.
    pub channels: Vec<HeldChannel>,
}

impl fmt::Display for DependencyCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for held in &self.channels {
            match held.tree {
                Some(tree) => writeln!(f, "{} held by packets of tree {tree}, waits for", held.name)?,
                None => writeln!(f, "{} waits for", held.name)?,
            }
        }
        write!(f, "the first of these")
    }
}

/// Returns a cycle of the channel dependency graph, if it has one.
///
/// # Errors
/// If the routing breaks its contract.
pub fn dependency_cycle(
    topology: &dyn Topology,
    routing: &dyn Routing,
) -> Result<Option<DependencyCycle>, RoutingContractError> {
    dependency_cycle_unless((topology, routing), None, NEVER)
}

/// Returns a cycle of the dependencies of a routing's packets and trees' packets together. They wait for one another if
/// they use common classes of virtual channels, or change between their classes.
///
/// # Errors
/// If the routing breaks its contract.
pub fn dependency_cycle_with_trees(
    topology: &dyn Topology,
    routing: &dyn Routing,
    trees: &Trees,
) -> Result<Option<DependencyCycle>, RoutingContractError> {
    dependency_cycle_unless((topology, routing), Some(trees), NEVER)
}

/// Returns a cycle with or without trees, and asks many times a second whether to stop.
///
/// # Errors
/// If the routing breaks its contract. `RoutingContractError::Stopped` if the check was stopped.
pub fn dependency_cycle_unless(
    (topology, routing): (&dyn Topology, &dyn Routing),
    trees: Option<&Trees>,
    stops: &Stops<'_>,
) -> Result<Option<DependencyCycle>, RoutingContractError> {
    // Islands of a network are equal, or have fewer nodes, and packets do not leave theirs. So one island is followed for
    // each set of dependencies of trees.
    for island in Island::first(topology, routing) {
        let covering = island.routing.covering();
        let routing = covering.as_deref().unwrap_or(island.routing);
        let mut followed = BTreeSet::new();
        for first in island.first_routers() {
            let own = trees.map(|trees| IslandTrees { trees, first, routers: island.topology.routers() });
            if !followed.insert(own.map_or_else(Vec::new, |own| own.dependencies())) {
                continue;
            }
            if let Some(cycle) = find_dependency_cycle((island.topology, routing), own, (EXHAUSTIVE, stops))? {
                return Ok(Some(cycle));
            }
        }
    }
    Ok(None)
}

/// Returns a cycle. If more than `limit` pairs of routers and destinations would have to be followed, uses
/// representatives.
fn find_dependency_cycle(
    (topology, routing): (&dyn Topology, &dyn Routing),
    trees: Option<IslandTrees<'_>>,
    (limit, stops): (u64, &Stops<'_>),
) -> Result<Option<DependencyCycle>, RoutingContractError> {
    let wiring = Wiring::new(topology);
    let classes = trees.map_or(0, |own| own.trees.classes()).max(routing.classes());
    let add_trees = |graph: &DependencyGraph<'_>| {
        if let Some(trees) = trees.filter(|_| graph.vertices > 0) {
            trees::add(graph, &trees);
        }
    };
    if trees.is_none() && falls(&wiring, (topology, routing), (limit, stops))? {
        return Ok(None);
    }
    // Representatives may do more than packets can: the enumeration decides whether a cycle among them is real.
    if let Some(by_few) = by_representatives(&wiring, (topology, routing), (classes, limit, stops))? {
        add_trees(&by_few);
        if by_few.cycle().is_none() {
            return Ok(None);
        }
    }
    let graph = DependencyGraph::new(&wiring, classes).stopped_by(stops);
    if graph.vertices > 0 && routing.waypoints() > 0 {
        legs::add(&graph, topology, routing)?;
    } else {
        add_destinations(&graph, (topology, routing), &destinations(topology, routing))?;
    }
    add_trees(&graph);
    Ok(graph.cycle().map(|channels| name_cycle(topology, (&graph, trees.as_ref()), &channels)))
}

/// Returns whether the network is large and the routing states that classes fall, which is checked on a sample of
/// destinations from every source.
fn falls(
    wiring: &Wiring,
    (topology, routing): (&dyn Topology, &dyn Routing),
    (limit, stops): (u64, &Stops<'_>),
) -> Result<bool, RoutingContractError> {
    let nodes = destinations(topology, routing);
    let routers = u64::from(topology.routers());
    if !routing.classes_fall() || routers * nodes.len() as u64 <= limit {
        return Ok(false);
    }
    let graph = DependencyGraph::new(wiring, 0).stopped_by(stops);
    let step = spread(nodes.len(), (SAMPLE / routers).max(2) as usize);
    let some: Vec<NodeId> = nodes.iter().copied().step_by(step).collect();
    check_classes(&graph, (topology, routing), &some)?;
    Ok(true)
}

/// Returns the channels of a cycle in words, each with a tree that depends on the next, if there is one.
fn name_cycle(
    topology: &dyn Topology,
    (graph, trees): (&DependencyGraph<'_>, Option<&IslandTrees<'_>>),
    channels: &[(ChannelId, VcClass)],
) -> DependencyCycle {
    let named = |(&(channel, vc_class), &next): (&(ChannelId, VcClass), &(ChannelId, VcClass))| {
        let channels = &graph.wiring.channels;
        let name = format!("{}, virtual-channel class {vc_class},", channel_name(topology, channels, channel));
        let tree = match (trees, channels.source(channel)) {
            (Some(trees), ChannelSource::Router(from, _)) => {
                trees::holder(graph, trees, from, ((channel, vc_class), next))
            }
            _ => None,
        };
        HeldChannel { channel, vc_class, name, tree }
    };
    let next = channels.iter().cycle().skip(1);
    DependencyCycle { channels: channels.iter().zip(next).map(named).collect() }
}

/// Returns the graph by representatives, if the network is large and the routing states them, checked against a sample
/// of destinations, which the enumeration follows from every source.
fn by_representatives<'a>(
    wiring: &'a Wiring,
    (topology, routing): (&dyn Topology, &dyn Routing),
    (classes, limit, stops): (u8, u64, &'a Stops<'a>),
) -> Result<Option<DependencyGraph<'a>>, RoutingContractError> {
    let nodes = destinations(topology, routing);
    let (routers, all) = (u64::from(topology.routers()), nodes.len() as u64);
    let stated = !routing.uses_input_port() && routing.representatives(RouterId(0)).is_some();
    let apart = if routing.remembers_source() { all } else { 1 };
    if routers * all * apart <= limit || !stated {
        return Ok(None);
    }
    let graph = DependencyGraph::new(wiring, classes).stopped_by(stops);
    add_representatives(&graph, routing)?;
    let (sample, sources) = match routing.waypoints() {
        0 if routing.remembers_source() => BY_SOURCES,
        0 => ((SAMPLE / routers).max(2), u32::MAX),
        // From each source by way of every waypoint.
        _ => (BY_WAYPOINTS.0, BY_WAYPOINTS.1),
    };
    let some: Vec<NodeId> = nodes.iter().copied().step_by(spread(nodes.len(), sample as usize)).collect();
    check_destinations(&graph, (topology, routing), (&some, sources))?;
    Ok(Some(graph))
}

/// Returns a channel in words: `up channel from router 3 (level 0, index 3) port 5 to router 9 (level 1, index 1) port
/// 2`.
pub fn channel_name(topology: &dyn Topology, channels: &Channels, channel: ChannelId) -> String {
    let (router, port) = match channels.source(channel) {
        ChannelSource::Node(node, plane) => {
            let Some((router, port)) = topology.attachment_on(node, plane) else {
                return format!("unconnected injection channel of node {node}");
            };
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

/// Returns a router in words: its number, and its coordinates if they add information.
pub fn router_name(topology: &dyn Topology, router: RouterId) -> String {
    let (names, values) = (topology.coordinate_names(), topology.coordinates(router));
    if names.len() != values.len() || names.len() < 2 {
        return format!("router {router}");
    }
    let coordinates: Vec<String> = names.iter().zip(values).map(|(name, value)| format!("{name} {value}")).collect();
    format!("router {router} ({})", coordinates.join(", "))
}
