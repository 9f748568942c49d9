//! Exact expected load of every channel, without simulation.
//!
//! All planes carry equal loads: at load 1 a node fills its injection link of every plane.
//!
//! The unit is an injection link's bandwidth, and the offered load is 1.0: a channel with load 2 and an injection
//! link's bandwidth carries all traffic up to offered load 1/2. The smallest such ratio is a bound on the throughput
//! that no router architecture and no flow control can exceed (Dally and Towles, section 3.3).
//!
//! Candidates of `Choice::Random` share a flow evenly, which is exact. So do the candidates of `Choice::RoundRobin`, as
//! a mean over a long time if turns do not follow a pattern of destinations, and of `Choice::LeastLoaded`.
//! In a fat-tree this is the best that any adaptive choice can reach: the up channels out of a subtree together carry
//! all traffic that leaves it, whatever the choices, and so do the down channels into it. The largest of their loads is
//! at least their mean, which the even split gives to each. For adaptive shortest paths on other topologies it is an
//! estimate.
//!
//! Cost: for each destination, one pass over the (router, state) pairs that its packets can reach, in topological
//! order, with the flows from all sources together. The nodes of a router are one destination if the routing treats
//! them alike; that is at most routers times channels of work. If every node sends alike and the routing is symmetric
//! (`Routing::symmetry`), only one destination of each symmetry class is followed. If each flow has a path
//! (`Routing::fixed_by_flow`), each pair of nodes is followed.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use topology::{ChannelClass, Channels, Endpoint, Topology};
use units::{ChannelId, NodeId, PortId, RouterId, VcClass};

use crate::Routing;
use crate::islands::Island;
use crate::pair_loads::follow_pairs;
use crate::traffic::{Demand, Demands, RouterTraffic, Symmetry, Traffic, alike};
use crate::walk::{Aim, Move, RoutingContractError, Sources, Walk, Wiring};

/// Bandwidth of a channel, in units of an injection link's.
pub type RelativeCapacity<'a> = dyn Fn(ChannelId) -> f64 + 'a;

/// Largest relative difference from the maximum at which a channel's utilisation still counts as binding.
const BINDING: f64 = 1e-9;

/// Largest number of entries of the table of flows that is held at a time: 128 MiB.
const TABLE: usize = 1 << 24;

/// Pieces into which the destinations of a block are divided. Blocks of at most `ALONE` pairs of destinations and
/// sources stay undivided.
pub(crate) const PIECES: usize = 16;
const ALONE: usize = 1 << 14;

/// Load of every channel.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelLoads {
    /// By channel, in units of an injection link's bandwidth, at offered load 1.0.
    pub load: Vec<f64>,
}

/// Loads of the channels of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassLoad {
    /// Class of channels.
    pub class: ChannelClass,
    /// Name of the class.
    pub name: String,
    /// Number of its channels.
    pub channels: u32,
    /// Largest load.
    pub max: f64,
    /// Mean load.
    pub mean: f64,
}

/// Returns the expected load of every channel under a traffic.
///
/// # Errors
/// If the routing breaks its contract.
pub fn channel_loads(
    topology: &dyn Topology,
    routing: &dyn Routing,
    traffic: &Traffic<'_>,
) -> Result<ChannelLoads, RoutingContractError> {
    let demands = |node| Demand { everyone: 0.0, besides: traffic(node) };
    demand_loads(topology, routing, &demands, &|_| true)
}

/// Progress callback of an analysis, called by any thread with the completed part. Returns whether to continue.
pub type Report<'a> = dyn Fn(f64) -> bool + Sync + 'a;

/// Returns the expected load of every channel under demands, which may include traffic of nodes to all others. Uses the
/// routing's own method if it has one, its symmetry if all nodes send alike, and otherwise follows the packets for each
/// destination.
///
/// # Errors
/// If the routing breaks its contract, or the callback ends the analysis.
pub fn demand_loads(
    topology: &dyn Topology,
    routing: &dyn Routing,
    demands: &Demands<'_>,
    report: &Report<'_>,
) -> Result<ChannelLoads, RoutingContractError> {
    let own = routing.parts().first().map_or(routing, |own| &**own);
    network_loads(topology, (0, own), demands, report)
}

/// Returns the expected load of every channel of a network under its demands, given the routing of an island. Channels
/// of other networks have none. Loads are in units of the network's injection links.
///
/// # Errors
/// If the routing breaks its contract, or the callback ends the analysis.
pub fn network_loads(
    topology: &dyn Topology,
    (network, routing): (usize, &dyn Routing),
    demands: &Demands<'_>,
    report: &Report<'_>,
) -> Result<ChannelLoads, RoutingContractError> {
    let all = Channels::new(topology);
    let mut load = vec![0.0; all.count() as usize];
    let islands = Island::all(topology, (network, routing));
    let count = islands.len() as f64;
    for (number, island) in (0_u32..).zip(islands) {
        let part = |done: f64| report((f64::from(number) + done) / count);
        let own = island_loads((island.topology, routing), &|node| island.demand(node, demands), &part)?;
        island.add(&all, &own, &mut load);
    }
    Ok(ChannelLoads { load })
}

/// Returns the expected load of every channel of an island.
fn island_loads(
    (topology, routing): (&dyn Topology, &dyn Routing),
    demands: &Demands<'_>,
    report: &Report<'_>,
) -> Result<Vec<f64>, RoutingContractError> {
    if let Some(method) = routing.output_loads() {
        return Ok(RouterTraffic::gather(topology, demands).loads(topology, method));
    }
    let symmetry = routing.symmetry().and_then(|found| Some((found, alike(topology.nodes(), demands)?)));
    let mut load = match symmetry {
        _ if routing.fixed_by_flow() => follow_pairs(topology, routing, demands, report)?,
        Some((symmetry, each)) => symmetric_loads(topology, routing, (&symmetry, each))?,
        None => follow_demands(topology, routing, demands, report)?,
    };
    Ends::new(topology, demands).set(topology, &mut load);
    Ok(load)
}

/// Returns the loads of channels between routers if each node sends `each` to every other.
fn symmetric_loads(
    topology: &dyn Topology,
    routing: &dyn Routing,
    (symmetry, each): (&Symmetry<'_>, f64),
) -> Result<Vec<f64>, RoutingContractError> {
    let wiring = Wiring::new(topology);
    let sources = Sources::of(topology, routing, None);
    let (targets, counts) = (Targets::new(topology, routing, None), sources.counts());
    let mut flows = Flows::new(&wiring, routing);
    for set in &symmetry.flows {
        let sends = |router| set.from.as_ref().is_none_or(|from| from.contains(&router));
        for (&dst, &nodes) in targets.nodes.iter().zip(&targets.counts) {
            let home = topology.attachment(dst).0;
            if !set.to.contains(&home) {
                continue;
            }
            let weight = each * f64::from(nodes) * set.copies;
            let of = |(&(_, router, _), &count): (&(NodeId, RouterId, PortId), &u32)| {
                if router != home && sends(router) { weight * f64::from(count) } else { 0.0 }
            };
            let row: Vec<f64> = sources.groups.iter().zip(&counts).map(of).collect();
            flows.send(&sources, dst, &row)?;
        }
    }
    let between =
        || wiring.between_routers().map(|(router, port, channel)| (channel, (symmetry.orbit)(router, port) as usize));
    let mut orbits: Vec<(f64, u32)> = vec![(0.0, 0); between().map(|(_, orbit)| orbit + 1).max().unwrap_or(0)];
    for (channel, orbit) in between() {
        orbits[orbit].0 += flows.load[channel.index()];
        orbits[orbit].1 += 1;
    }
    let mut load = vec![0.0; flows.load.len()];
    for (channel, orbit) in between() {
        load[channel.index()] = orbits[orbit].0 / f64::from(orbits[orbit].1);
    }
    Ok(load)
}

/// Returns the loads of channels between routers by following the packets for each destination, those for the nodes of
/// a router together if the routing allows it. Destinations are divided into fixed pieces, whose loads are added in
/// order, so that the result does not depend on the number of threads.
fn follow_demands(
    topology: &dyn Topology,
    routing: &dyn Routing,
    demands: &Demands<'_>,
    report: &Report<'_>,
) -> Result<Vec<f64>, RoutingContractError> {
    let wiring = Wiring::new(topology);
    let sources = Sources::of(topology, routing, None);
    let targets = Targets::new(topology, routing, None);
    let groups = sources.groups.len().max(1);
    let all = targets.nodes.len();
    let block = (TABLE / groups).clamp(1, all.max(1));
    let pieces = if all * groups < ALONE { 1 } else { PIECES };
    let (mut load, done) = (vec![0.0; wiring.channels.count() as usize], AtomicUsize::new(0));
    for first in (0..all).step_by(block) {
        let end = all.min(first + block);
        let table = gather(topology, (&sources, &targets), demands, first..end);
        let length = (end - first).div_ceil(pieces);
        let follow = |piece: usize| {
            let mut flows = Flows::new(&wiring, routing);
            for place in (piece * length..(end - first).min((piece + 1) * length)).map(|place| first + place) {
                let row = &table[(place - first) * groups..][..groups];
                flows.send(&sources, targets.nodes[place], row)?;
                let part = (done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / all as f64;
                if !report(part) {
                    return Err(RoutingContractError::Stopped);
                }
            }
            Ok(flows.load)
        };
        for found in workers::map(0..pieces, follow) {
            load.iter_mut().zip(found?).for_each(|(sum, own)| *sum += own);
        }
    }
    Ok(load)
}

/// Returns the traffic of each group of sources to some of the targets: a row for each target.
fn gather(
    topology: &dyn Topology,
    (sources, targets): (&Sources, &Targets),
    demands: &Demands<'_>,
    wanted: Range<usize>,
) -> Vec<f64> {
    let groups = sources.groups.len();
    let (mut even, mut table) = (vec![0.0; groups], vec![0.0; groups * wanted.len()]);
    for (node, &group) in (0..topology.nodes()).map(NodeId).zip(&sources.of_node) {
        let Demand { everyone, besides } = demands(node);
        even[group as usize] += everyone;
        for (dst, weight) in besides {
            let place = targets.of_node[dst.index()] as usize;
            if wanted.contains(&place) {
                table[(place - wanted.start) * groups + group as usize] += weight;
            }
        }
    }
    for (row, &count) in table.chunks_mut(groups).zip(&targets.counts[wanted]) {
        row.iter_mut().zip(&even).for_each(|(weight, even)| *weight += even * f64::from(count));
    }
    table
}

/// Nodes that represent all destinations, with the number of nodes that each represents.
pub(crate) struct Targets {
    pub nodes: Vec<NodeId>,
    pub counts: Vec<u32>,
    /// By node, the index of its representative. `NONE` for nodes that are left out.
    pub of_node: Vec<u32>,
}

impl Targets {
    /// Chooses the representatives of some nodes: one of each router if the routing treats the nodes of a router alike.
    /// `None`: of all nodes.
    pub fn new(topology: &dyn Topology, routing: &dyn Routing, nodes: Option<&[NodeId]>) -> Self {
        let all = Sources::new(topology, !routing.same_for_router(), nodes);
        let counts = all.counts();
        Self { nodes: all.groups.iter().map(|&(node, ..)| node).collect(), counts, of_node: all.of_node }
    }
}

/// Traffic that every node sends and receives: the loads of the channels from and to nodes.
struct Ends(Vec<(f64, f64)>);

impl Ends {
    fn new(topology: &dyn Topology, demands: &Demands<'_>) -> Self {
        let nodes = topology.nodes();
        let (mut ends, mut to_everyone) = (vec![(0.0, 0.0); nodes as usize], 0.0);
        for node in (0..nodes).map(NodeId) {
            let Demand { everyone, besides } = demands(node);
            let sent: f64 = besides.iter().map(|&(_, share)| share).sum();
            ends[node.index()].0 = everyone * f64::from(nodes) + sent;
            besides.iter().for_each(|&(dst, share)| ends[dst.index()].1 += share);
            to_everyone += everyone;
        }
        ends.iter_mut().for_each(|(_, received)| *received += to_everyone);
        Self(ends)
    }

    fn set(&self, topology: &dyn Topology, load: &mut [f64]) {
        let channels = Channels::new(topology);
        for (node, &(sent, received)) in (0..).map(NodeId).zip(&self.0) {
            let (router, port) = topology.attachment(node);
            load[channels.injection(node).index()] = sent;
            load[channels.output(router, port).index()] = received;
        }
    }
}

/// Returns the expected load of every channel by following every packet, whatever shortcuts the routing offers.
///
/// # Errors
/// If the routing breaks its contract.
pub fn follow_packets(
    topology: &dyn Topology,
    routing: &dyn Routing,
    traffic: &Traffic<'_>,
) -> Result<ChannelLoads, RoutingContractError> {
    let all = Channels::new(topology);
    let mut load = vec![0.0; all.count() as usize];
    for island in Island::first(topology, routing).iter().take(1) {
        let wiring = Wiring::new(island.topology);
        let mut flows = Flows::new(&wiring, island.routing);
        flows.follow(island.topology, traffic)?;
        island.add(&all, &flows.load, &mut load);
    }
    Ok(ChannelLoads { load })
}

/// Load that passes from one channel to another inside a router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransitLoad {
    /// Channel by which packets come.
    pub input: ChannelId,
    /// Class of virtual channels that they hold on it.
    pub vc_class: VcClass,
    /// Channel by which they leave.
    pub output: ChannelId,
    /// Load in units of an injection link's bandwidth, at offered load 1.0.
    pub load: f64,
}

/// Returns the expected load of every pair of consecutive channels of packets, in the order of their numbers. Follows
/// every packet, and keeps packets of different inputs apart: for networks of moderate size.
///
/// # Errors
/// If the routing breaks its contract.
pub fn transit_loads(
    topology: &dyn Topology,
    routing: &dyn Routing,
    traffic: &Traffic<'_>,
) -> Result<Vec<TransitLoad>, RoutingContractError> {
    let all = Channels::new(topology);
    let Some(island) = Island::first(topology, routing).into_iter().next() else { return Ok(Vec::new()) };
    let Island { topology, routing, .. } = island;
    let wiring = Wiring::new(topology);
    let mut flows = Flows::new(&wiring, routing);
    flows.walk.keep_inputs_apart();
    flows.transits = Some(BTreeMap::new());
    flows.follow(topology, traffic)?;
    let input = |(router, port): (RouterId, PortId)| match topology.endpoint(router, port) {
        Endpoint::Router(from, port) => Some(wiring.channels.output(from, port)),
        Endpoint::Node(node) => Some(wiring.channels.injection(node)),
        Endpoint::Unconnected => None,
    };
    let transit = |(&(router, port, vc_class, output), &load): (&Transit, &f64)| {
        input((router, port)).map(|input| TransitLoad { input, vc_class, output, load })
    };
    let of_one: Vec<TransitLoad> = flows.transits.iter().flatten().filter_map(transit).collect();
    let copies = |channel| {
        let mut copies = Vec::new();
        island.copies((&wiring.channels, &all), channel, |copy| copies.push(copy));
        copies
    };
    let of_planes = of_one.iter().map(|of| (of, copies(of.input), copies(of.output)));
    let of_planes = of_planes.flat_map(|(of, inputs, outputs)| {
        let ends = inputs.into_iter().zip(outputs).enumerate();
        ends.map(|(plane, (input, output))| (plane, TransitLoad { input, output, ..*of }))
    });
    let mut loads: Vec<(usize, TransitLoad)> = of_planes.collect();
    loads.sort_by_key(|&(plane, _)| plane);
    Ok(loads.into_iter().map(|(_, load)| load).collect())
}

/// Input router and port of packets, their class of virtual channels, and their output channel.
type Transit = (RouterId, PortId, VcClass, ChannelId);

struct Flows<'a> {
    routing: &'a dyn Routing,
    wiring: &'a Wiring,
    walk: Walk<'a>,
    load: Vec<f64>,
    /// By stop, the flow that has come to it.
    flow: Vec<f64>,
    /// By stop, the number of moves to it that have not been made.
    pending: Vec<u32>,
    /// Stops to which all flows have come.
    ready: Vec<u32>,
    /// Flows from input to output, if requested.
    transits: Option<BTreeMap<Transit, f64>>,
}

impl<'a> Flows<'a> {
    fn new(wiring: &'a Wiring, routing: &'a dyn Routing) -> Self {
        Self {
            routing,
            wiring,
            walk: Walk::new(wiring, routing),
            load: vec![0.0; wiring.channels.count() as usize],
            flow: Vec::new(),
            pending: Vec::new(),
            ready: Vec::new(),
            transits: None,
        }
    }

    /// Follows all packets to their destinations.
    fn follow(&mut self, topology: &dyn Topology, traffic: &Traffic<'_>) -> Result<(), RoutingContractError> {
        let sources = Sources::new(topology, self.walk.keeps_inputs_apart() || self.routing.fixed_by_flow(), None);
        let nodes = topology.nodes();
        let block = u32::try_from((TABLE / sources.groups.len().max(1)).max(1)).unwrap_or(u32::MAX);
        let mut first = 0;
        while first < nodes {
            let end = nodes.min(first.saturating_add(block));
            let table = self.gather(&sources, traffic, first..end);
            for (dst, row) in (first..end).zip(table.chunks(sources.groups.len())) {
                self.send(&sources, NodeId(dst), row)?;
            }
            first = end;
        }
        Ok(())
    }

    /// Returns the traffic of each group of sources to each of the destinations: a row for each destination. Charges
    /// the injection channels on the way.
    fn gather(&mut self, sources: &Sources, traffic: &Traffic<'_>, dsts: std::ops::Range<u32>) -> Vec<f64> {
        let groups = sources.groups.len();
        let mut table = vec![0.0; groups * dsts.len()];
        for (node, &group) in (0..).map(NodeId).zip(&sources.of_node) {
            let injection = self.wiring.channels.injection(node).index();
            for (dst, weight) in traffic(node) {
                if dsts.contains(&dst.0) {
                    table[(dst.0 - dsts.start) as usize * groups + group as usize] += weight;
                    self.load[injection] += weight;
                }
            }
        }
        table
    }

    /// Sends the flows to one destination, by the group of their sources.
    fn send(&mut self, sources: &Sources, dst: NodeId, row: &[f64]) -> Result<(), RoutingContractError> {
        self.walk.begin(Aim::Node(dst));
        self.flow.clear();
        for (&(src, router, port), &weight) in sources.groups.iter().zip(row) {
            if weight > 0.0 {
                self.enter((src, router, port), dst, weight);
            }
        }
        self.walk.explore()?;
        self.flow.resize(self.walk.stops.len(), 0.0);
        self.push()
    }

    fn enter(&mut self, (src, router, port): (NodeId, RouterId, PortId), dst: NodeId, weight: f64) {
        for (state, probability) in self.routing.initial_distribution(src, dst) {
            let stop = self.walk.enter(router, port, state) as usize;
            if stop >= self.flow.len() {
                self.flow.resize(stop + 1, 0.0);
            }
            self.flow[stop] += weight * probability;
        }
    }

    /// Moves all flows on, each stop once, when all flows to it have come.
    fn push(&mut self) -> Result<(), RoutingContractError> {
        let stops = self.walk.stops.len();
        self.pending.clear();
        self.pending.resize(stops, 0);
        for stop in 0..stops {
            for step in self.walk.moves(stop).iter().filter(|step| step.to != Move::DELIVERED) {
                self.pending[step.to as usize] += 1;
            }
        }
        self.ready.clear();
        self.ready.extend((0..stops as u32).filter(|&stop| self.pending[stop as usize] == 0));
        let mut done = 0;
        while let Some(stop) = self.ready.pop() {
            done += 1;
            self.push_from(stop as usize);
        }
        if done == stops {
            return Ok(());
        }
        // A stop that still waits for a flow lies on a loop, or behind one.
        let stuck = self.pending.iter().position(|&pending| pending > 0).unwrap_or(0);
        Err(self.walk.wanders(self.walk.stops[stuck].router))
    }

    fn push_from(&mut self, stop: usize) {
        for step in self.walk.moves(stop) {
            let share = self.flow[stop] * step.share;
            self.load[step.channel.index()] += share;
            if let Some(transits) = self.transits.as_mut().filter(|_| share > 0.0) {
                let (in_port, vc_class) = self.walk.stops[stop].came_by();
                *transits.entry((self.walk.stops[stop].router, in_port, vc_class, step.channel)).or_insert(0.0) +=
                    share;
            }
            if step.to == Move::DELIVERED {
                continue;
            }
            let to = step.to as usize;
            self.flow[to] += share;
            self.pending[to] -= 1;
            if self.pending[to] == 0 {
                self.ready.push(step.to);
            }
        }
    }
}

impl ChannelLoads {
    /// Returns the largest and the mean load of each class of channels, by class. Classes without channels are left
    /// out.
    pub fn class_summary(&self, topology: &dyn Topology) -> Vec<ClassLoad> {
        let empty = |(class, name): (u8, &str)| ClassLoad {
            class: ChannelClass(class),
            name: name.into(),
            channels: 0,
            max: 0.0,
            mean: 0.0,
        };
        let mut classes: Vec<ClassLoad> = (0..).zip(topology.class_names()).map(empty).collect();
        let channels = Channels::new(topology);
        for (channel, &load) in (0..).map(ChannelId).zip(&self.load) {
            let Some(class) = topology.class_of(channels.source(channel)) else { continue };
            let class = &mut classes[usize::from(class.0)];
            class.channels += 1;
            class.max = class.max.max(load);
            class.mean += load;
        }
        classes.retain(|class| class.channels > 0);
        for class in &mut classes {
            class.mean /= f64::from(class.channels);
        }
        classes
    }

    /// Returns the largest offered load, at most 1, at which no channel is loaded above its capacity.
    pub fn throughput_bound(&self, capacity: &RelativeCapacity<'_>) -> f64 {
        1.0 / self.utilisation(capacity).fold(1.0, f64::max)
    }

    /// Returns the channels that saturate first as the offered load grows. Empty if nothing is sent.
    pub fn binding_channels(&self, capacity: &RelativeCapacity<'_>) -> Vec<ChannelId> {
        let most = self.utilisation(capacity).fold(0.0, f64::max);
        let binds = |&(_, utilisation): &(ChannelId, f64)| utilisation > 0.0 && utilisation >= most * (1.0 - BINDING);
        (0..).map(ChannelId).zip(self.utilisation(capacity)).filter(binds).map(|(channel, _)| channel).collect()
    }

    /// Iterates over load over capacity, channel by channel.
    fn utilisation(&self, capacity: &RelativeCapacity<'_>) -> impl Iterator<Item = f64> {
        let ratio = move |(channel, &load): (ChannelId, &f64)| if load > 0.0 { load / capacity(channel) } else { 0.0 };
        (0..).map(ChannelId).zip(&self.load).map(ratio)
    }
}
