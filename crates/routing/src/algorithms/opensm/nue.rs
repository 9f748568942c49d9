//! `nue`: routing on the dependency graph (Domke, Hoefler and Matsuoka, "Routing on the dependency graph: a new
//! approach to deadlock-free high-performance routing", HPDC 2016), which is free of deadlock on any number of lanes.
//!
//! Each lane has the destinations of neighbouring routers, and a graph of the waiting channels of its packets, which
//! stays free of cycles. Node by node, a search outwards from the destination gives each router the wire of the fewest
//! hops that closes no cycle in the graph, and of equal ones that with the least used path. A search that cannot reach
//! all routers is undone, and its node keeps an escape path.
//!
//! The paper reserves the paths of one spanning tree as escapes, mends a failed search by local backtracking, and
//! routes each node once. Here two beginnings are tried: the paths of a spanning tree, reserved until each node is
//! routed; and up*/down* on all wires for every node, which leaves no search to fail. Then `ROUNDS` rounds take the
//! paths of each node out of the graph and search again past the paths to all others, as `dfsssp` does. A search that
//! fails, or makes the sum of the cubes of the nodes that send over each wire larger, is undone: this is the
//! backtracking. Of both the tables whose most used wire is used less are taken. A search for a cycle that visits
//! `VISITED` channels gives up.
//!
//! The root of a lane's tree is the router that is nearest to its destinations on the mean. Lanes have consecutive
//! routers of a depth-first walk, where the paper uses a partitioner of graphs. Entries are deliberately not OpenSM's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use units::{KeyError, RouterId};

use super::Subnet;
use super::dfsssp::NO_WIRE;
use super::lanes::Dependencies;
use crate::Routing;
use crate::algorithms::table::{Forwarding, NO_PORT};

/// Any topology: OpenSM's `nue`, paths that are balanced over wires by the number of nodes, and free of deadlock on any
/// number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NueSpec {
    /// Largest number of lanes: classes of virtual channels over which destinations are divided. 0: 8 lanes. More lanes
    /// allow shorter paths. OpenSM's `nue_max_num_vls`. Default: 1.
    #[schemars(range(max = 8))]
    pub max_lanes: u8,
}

impl Default for NueSpec {
    fn default() -> Self {
        Self { max_lanes: 1 }
    }
}

/// Largest number of lanes.
const MAX_LANES: u8 = 8;

/// Largest number of rounds that search again for the paths to each node. They end when one gains less than 1 %.
const ROUNDS: usize = 4;

/// Number of channels that a search for a cycle may visit. If there are more, the cycle is taken to exist.
const VISITED: usize = 256;

impl NueSpec {
    /// Builds the routing on a topology.
    ///
    /// # Errors
    /// If routers cannot reach one another, or if the table would have more than 2^28 entries.
    pub fn build(&self, topology: &dyn Topology) -> Result<impl Routing + use<>, KeyError> {
        let subnet = Subnet::new(topology, "nue")?;
        subnet.check_connected()?;
        let most = if self.max_lanes == 0 { MAX_LANES } else { self.max_lanes.min(MAX_LANES) };
        let lanes = divide(&subnet, most);
        let tables = workers::map([Beginning::Tree, Beginning::UpDown], |how| Search::new(&subnet).run(&lanes, how));
        let ways = tables.into_iter().flatten().min_by_key(|&(load, _)| load).map_or(Vec::new(), |(_, ways)| ways);
        let port = |wire: u32| if wire == NO_WIRE { NO_PORT } else { subnet.wires.at(wire as usize).0.0 };
        let ports = subnet.routers().flat_map(|at| ways.iter().map(move |by| port(by[at.index()]))).collect();
        let mut lane_of = vec![0; subnet.homes.len()];
        for (number, targets) in (0..).zip(&lanes) {
            subnet.nodes_of(targets).for_each(|(_, node)| lane_of[node.index()] = number);
        }
        let lanes = if lanes.len() < 2 { Vec::new() } else { lane_of.repeat(subnet.nodes.len()) };
        Forwarding { ports, lanes }.build("nue", topology)
    }
}

/// Wire by which each router sends to one destination. `NO_WIRE`: no packet comes by.
type Ways = Vec<u32>;

/// Divides the routers that have nodes over lanes, with about equal numbers of nodes.
fn divide(subnet: &Subnet<'_>, most: u8) -> Vec<Vec<RouterId>> {
    let targets = subnet.by_load();
    let Some(&first) = targets.first() else { return Vec::new() };
    let hops = subnet.distances(&[first]);
    let mut seen = vec![false; subnet.nodes.len()];
    let mut open = vec![first];
    let mut lanes = vec![Vec::new(); most.into()];
    let mut before = 0;
    while let Some(router) = open.pop() {
        if std::mem::replace(&mut seen[router.index()], true) {
            continue;
        }
        let nodes = subnet.nodes[router.index()].len();
        if nodes > 0 {
            lanes[before * usize::from(most) / subnet.homes.len()].push(router);
            before += nodes;
        }
        let beyond = subnet.wires.of(router).iter().map(|&(_, next)| next);
        open.extend(beyond.filter(|next| hops[next.index()] > hops[router.index()]));
    }
    lanes.retain(|targets| !targets.is_empty());
    lanes
}

/// Paths that every node has before the first search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// Paths of a spanning tree, reserved for searches that fail.
    Tree,
    /// Paths up and then down toward the root of a spanning tree, by all wires.
    UpDown,
}

/// Waiting channels of the packets of one lane.
struct Lane {
    graph: Dependencies,
    /// By dependency, the number of destinations with it.
    held: Vec<u32>,
}

/// Paths that are being searched.
struct Search<'a> {
    subnet: &'a Subnet<'a>,
    /// First dependency of each wire, one for each wire of the router beyond.
    first: Vec<usize>,
    /// By wire, the pairs of nodes whose packets take it.
    used: Vec<u64>,
    /// Sum of the cubes of `used`.
    crowding: u128,
}

impl<'a> Search<'a> {
    fn new(subnet: &'a Subnet<'a>) -> Self {
        let mut first = vec![0];
        for wire in 0..subnet.wires.len() {
            first.push(first[wire] + subnet.wires.of(subnet.wires.at(wire).1).len());
        }
        Self { subnet, first, used: vec![0; subnet.wires.len()], crowding: 0 }
    }

    /// Returns the paths to each node, and their load: the pairs of nodes on the most used wire, and the crowding.
    fn run(mut self, lanes: &[Vec<RouterId>], how: Beginning) -> Option<((u64, u128), Vec<Ways>)> {
        let mut ways = vec![Ways::new(); self.subnet.homes.len()];
        let mut graphs = Vec::new();
        for targets in lanes {
            graphs.push(self.begin(targets, how, &mut ways)?);
        }
        for _ in 0..ROUNDS {
            let before = self.crowding;
            for (lane, targets) in graphs.iter_mut().zip(lanes) {
                for (target, node) in self.subnet.nodes_of(targets) {
                    self.improve(lane, target, &mut ways[node.index()]);
                }
            }
            if self.crowding > before - before / 100 {
                break;
            }
        }
        let most = self.used.iter().copied().max().unwrap_or(0);
        Some(((most, self.crowding), ways))
    }

    /// Sets the first paths to the nodes of a lane.
    fn begin(&mut self, targets: &[RouterId], how: Beginning, ways: &mut [Ways]) -> Option<Lane> {
        let wires = self.subnet.wires.len();
        let mut lane = Lane { graph: Dependencies::new(wires), held: vec![0; self.first[wires]] };
        let (tree, up) = self.spanning_tree(targets);
        if how == Beginning::UpDown {
            let may = |wire: usize, next: u32| next == NO_WIRE || up[wire] || !up[next as usize];
            for (target, node) in self.subnet.nodes_of(targets) {
                ways[node.index()] = self.find(&mut lane, target, may)?;
            }
            return Some(lane);
        }
        let mut escapes = vec![Ways::new(); self.subnet.nodes.len()];
        for &target in targets {
            escapes[target.index()] = self.find(&mut lane, target, |wire, _| tree[wire])?;
            // An escape is no load.
            self.count(&escapes[target.index()], false);
        }
        for (target, node) in self.subnet.nodes_of(targets) {
            ways[node.index()] = match self.search(&mut lane, target) {
                Some(found) => found,
                None => {
                    self.put(&mut lane, &escapes[target.index()]);
                    escapes[target.index()].clone()
                }
            };
        }
        targets.iter().for_each(|target| self.release(&mut lane, &escapes[target.index()]));
        Some(lane)
    }

    /// Searches again for the paths to a node.
    fn improve(&mut self, lane: &mut Lane, target: RouterId, ways: &mut Ways) {
        let before = self.crowding;
        self.take_out(lane, ways);
        match self.search(lane, target) {
            Some(found) if self.crowding <= before => *ways = found,
            found => {
                found.iter().for_each(|found| self.take_out(lane, found));
                self.put(lane, ways);
            }
        }
    }

    /// Returns, by wire, whether it is in a spanning tree around some routers, and whether it leads up toward the root.
    fn spanning_tree(&self, targets: &[RouterId]) -> (Vec<bool>, Vec<bool>) {
        let Subnet { wires, nodes, .. } = self.subnet;
        let mut sums = vec![0_u64; nodes.len()];
        for distances in workers::map(targets, |&target| self.subnet.distances(&[target])) {
            sums.iter_mut().zip(distances).for_each(|(sum, hops)| *sum += u64::from(hops));
        }
        let root = self.subnet.routers().min_by_key(|at| sums[at.index()]);
        let hops = self.subnet.distances(root.as_slice());
        let other_ends = self.subnet.other_ends();
        let (mut tree, mut up) = (vec![false; wires.len()], vec![false; wires.len()]);
        for router in self.subnet.routers() {
            let height = |at: RouterId| (hops[at.index()], at);
            wires.range(router).for_each(|wire| up[wire] = height(wires.at(wire).1) < height(router));
            let is_nearer = |&wire: &usize| hops[wires.at(wire).1.index()] < hops[router.index()];
            if let Some(wire) = wires.range(router).find(is_nearer) {
                (tree[wire], tree[other_ends[wire]]) = (true, true);
            }
        }
        (tree, up)
    }

    /// Searches for the paths to a router by all wires, and puts them on a lane.
    fn search(&mut self, lane: &mut Lane, target: RouterId) -> Option<Ways> {
        lane.graph.limit = VISITED;
        let found = self.find(lane, target, |_, _| true);
        lane.graph.limit = usize::MAX;
        found
    }

    /// Searches for the paths to a router, and puts them on a lane. `may` allows a wire before the next wire of a path.
    /// `None`: there are none from some router with nodes.
    fn find(&mut self, lane: &mut Lane, target: RouterId, may: impl Fn(usize, u32) -> bool) -> Option<Ways> {
        let Subnet { wires, nodes, .. } = self.subnet;
        let mut ways = vec![NO_WIRE; nodes.len()];
        // Routers that were reached at the last hop.
        let mut last = vec![target];
        let mut hops = vec![u32::MAX; nodes.len()];
        hops[target.index()] = 0;
        let mut number = 0;
        while !last.is_empty() {
            let mut beyond: Vec<RouterId> = last.iter().flat_map(|&at| wires.of(at)).map(|&(_, next)| next).collect();
            beyond.retain(|next| hops[next.index()] == u32::MAX);
            beyond.sort_unstable();
            beyond.dedup();
            last.clear();
            for router in beyond {
                let nearer = |&wire: &usize| {
                    hops[wires.at(wire).1.index()] == number && may(wire, ways[wires.at(wire).1.index()])
                };
                let mut choices: Vec<(u128, usize)> =
                    wires.range(router).filter(nearer).map(|wire| (self.cost(wire, &ways), wire)).collect();
                choices.sort_unstable();
                if let Some(&(_, wire)) = choices.iter().find(|&&(_, wire)| self.hold(lane, wire, &ways)) {
                    ways[router.index()] = wire as u32;
                    self.count_from(router, &ways, true);
                    hops[router.index()] = number + 1;
                    last.push(router);
                }
            }
            // Routers of this hop are seen by the next.
            number += 1;
        }
        self.leave_out_unused(lane, &mut ways);
        let is_lost = |at: RouterId| hops[at.index()] == u32::MAX && !nodes[at.index()].is_empty();
        if self.subnet.routers().any(is_lost) {
            self.take_out(lane, &ways);
            return None;
        }
        Some(ways)
    }

    /// Iterates over the wires of a path, from one on.
    fn path<'b>(&'b self, first: u32, ways: &'b Ways) -> impl Iterator<Item = usize> + 'b {
        let wire = |wire: u32| Some(wire as usize).filter(|_| wire != NO_WIRE);
        std::iter::successors(wire(first), move |&held| wire(ways[self.subnet.wires.at(held).1.index()]))
    }

    /// Returns the cost of a path: squares make a few busy wires cost more than many others.
    fn cost(&self, first: usize, ways: &Ways) -> u128 {
        self.path(first as u32, ways).map(|wire| u128::from(self.used[wire]).pow(2)).sum()
    }

    /// Returns the dependency of a wire on the next of a path. `None`: the path ends there.
    fn dependency(&self, wire: usize, ways: &Ways) -> Option<(usize, (u32, u32))> {
        let beyond = self.subnet.wires.at(wire).1;
        let next = ways[beyond.index()];
        let number = (next as usize).checked_sub(self.subnet.wires.range(beyond).start)?;
        (next != NO_WIRE).then_some((self.first[wire] + number, (wire as u32, next)))
    }

    /// Adds the dependency of a wire on the next of a path. Returns whether no cycle forbids it.
    fn hold(&self, lane: &mut Lane, wire: usize, ways: &Ways) -> bool {
        let Some((number, edge)) = self.dependency(wire, ways) else { return true };
        let is_free = lane.held[number] > 0 || lane.graph.add_all(&[edge]);
        lane.held[number] += u32::from(is_free);
        is_free
    }

    /// Removes the dependency of a wire on the next of a path.
    fn drop(&self, lane: &mut Lane, wire: usize, ways: &Ways) {
        let Some((number, edge)) = self.dependency(wire, ways) else { return };
        lane.held[number] -= 1;
        if lane.held[number] == 0 {
            lane.graph.remove(edge);
        }
    }

    /// Removes the dependencies of paths.
    fn release(&self, lane: &mut Lane, ways: &Ways) {
        let taken = ways.iter().filter(|&&wire| wire != NO_WIRE);
        taken.for_each(|&wire| self.drop(lane, wire as usize, ways));
    }

    /// Removes paths from a lane and from the load of wires.
    fn take_out(&mut self, lane: &mut Lane, ways: &Ways) {
        self.count(ways, false);
        self.release(lane, ways);
    }

    /// Puts paths back whose dependencies close no cycle.
    fn put(&mut self, lane: &mut Lane, ways: &Ways) {
        self.count(ways, true);
        for &wire in ways.iter().filter(|&&wire| wire != NO_WIRE) {
            self.hold(lane, wire as usize, ways);
        }
    }

    /// Adds the senders of all routers to the wires of their paths, or subtracts them.
    fn count(&mut self, ways: &Ways, is_added: bool) {
        self.subnet.routers().for_each(|from| self.count_from(from, ways, is_added));
    }

    /// Adds the senders of a router to the wires of its path, or subtracts them.
    fn count_from(&mut self, from: RouterId, ways: &Ways, is_added: bool) {
        let senders = self.subnet.nodes[from.index()].len() as u64;
        let mut wire = if senders == 0 { NO_WIRE } else { ways[from.index()] };
        while wire != NO_WIRE {
            let used = &mut self.used[wire as usize];
            self.crowding -= u128::from(*used).pow(3);
            *used = if is_added { *used + senders } else { *used - senders };
            self.crowding += u128::from(*used).pow(3);
            wire = ways[self.subnet.wires.at(wire as usize).1.index()];
        }
    }

    /// Removes the wires, and their dependencies, of routers by which no packet comes.
    fn leave_out_unused(&self, lane: &mut Lane, ways: &mut Ways) {
        let mut passed = vec![false; ways.len()];
        for from in self.subnet.routers().filter(|at| !self.subnet.nodes[at.index()].is_empty()) {
            let mut at = from;
            while ways[at.index()] != NO_WIRE && !std::mem::replace(&mut passed[at.index()], true) {
                at = self.subnet.wires.at(ways[at.index()] as usize).1;
            }
        }
        let unused: Vec<usize> = (0..ways.len()).filter(|&at| !passed[at] && ways[at] != NO_WIRE).collect();
        for &at in &unused {
            self.drop(lane, ways[at] as usize, ways);
        }
        unused.into_iter().for_each(|at| ways[at] = NO_WIRE);
    }
}
