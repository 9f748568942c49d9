//! `dfsssp`: deadlock-free single-source shortest paths (Domke, Hoefler and Nagel, "Deadlock-free oblivious routing for
//! arbitrary topologies", IPDPS 2011).
//!
//! Node by node, each router sends by a path of the fewest hops whose wires have the fewest nodes so far. The wires
//! then count the nodes that send over them. Unlike OpenSM, which adds up these counts, the cost of a path is the sum
//! of their squares, routers see the paths of nearer routers to the same node, and two more rounds route each node
//! again past the paths to all others. All packets start on lane 0. While waiting channels of a lane form a cycle, the
//! paths of the dependency that the fewest paths of the cycle share move to the next lane.
//!
//! OpenSM afterwards spreads paths over all lanes that a fabric has; here lanes stay as few as found. The paper leaves
//! the order of destinations open: routers with the most nodes come first, as in OpenSM.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use units::{KeyError, NodeId, RouterId};

use super::Subnet;
use super::cycles::Lane;
use super::lanes::too_many_lanes;
use crate::Routing;
use crate::algorithms::shortest_path::MAX_CLASSES;
use crate::algorithms::table::{Forwarding, NO_PORT};
use crate::algorithms::tables::UNREACHED;

/// Any topology: OpenSM's `dfsssp`, shortest paths that are balanced over wires by the number of nodes, on as many
/// lanes as keep them free of deadlock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DfssspSpec {}

/// Mark of a router that sends nothing to a destination.
pub(super) const NO_WIRE: u32 = u32::MAX;

impl DfssspSpec {
    /// Builds the routing on a topology.
    ///
    /// # Errors
    /// If routers cannot reach one another, if more than 64 lanes are needed, if the paths from all routers with nodes
    /// to all nodes have more than 2^28 hops together, or if the table would have more than 2^28 entries.
    pub fn build(&self, topology: &dyn Topology) -> Result<impl Routing + use<>, KeyError> {
        let subnet = Subnet::new(topology, "dfsssp")?;
        subnet.check_connected()?;
        refuse_too_many_hops(&subnet)?;
        let steps = steps(&subnet);
        let lanes = assign_lanes(&subnet, &steps)?;
        let port = |&wire: &u32| if wire == NO_WIRE { NO_PORT } else { subnet.wires.at(wire as usize).0.0 };
        Forwarding { ports: steps.iter().map(port).collect(), lanes }.build("dfsssp", topology)
    }
}

/// Wires of paths, and the number of nodes that send over each wire.
struct Balance<'a> {
    subnet: &'a Subnet<'a>,
    /// Wire by which each router sends to each node, by router and node.
    steps: Vec<u32>,
    /// By wire, the pairs of nodes whose packets take it.
    used: Vec<u64>,
}

/// Largest number of hops of all paths.
const MAX_HOPS: u64 = 1 << 28;

/// Number of times that each node is routed: later times know the paths to all other nodes.
const ROUNDS: usize = 3;

/// Checks the number of hops of all paths. The assignment of lanes keeps each dependency of a path: one fewer than
/// hops.
fn refuse_too_many_hops(subnet: &Subnet<'_>) -> Result<(), KeyError> {
    let homes: Vec<RouterId> = subnet.routers().filter(|at| !subnet.nodes[at.index()].is_empty()).collect();
    let hops = workers::map(&homes, |target| {
        let distances = subnet.distances(&[*target]);
        let sum: u64 = homes.iter().map(|from| u64::from(distances[from.index()])).sum();
        sum * subnet.nodes[target.index()].len() as u64
    });
    let all: u64 = hops.into_iter().sum();
    if all <= MAX_HOPS {
        return Ok(());
    }
    let message = format!(
        "dfsssp keeps the hops of the paths from each router that has nodes to each node, at most {MAX_HOPS} (2^28); \
         this topology needs {all}"
    );
    Err(KeyError::new("kind", message))
}

/// Returns the wire by which each router sends to each node, by router and node.
fn steps(subnet: &Subnet<'_>) -> Vec<u32> {
    let steps = vec![NO_WIRE; subnet.nodes.len() * subnet.homes.len()];
    let mut balance = Balance { subnet, steps, used: vec![0; subnet.wires.len()] };
    for _ in 0..ROUNDS {
        for target in subnet.by_load() {
            let hops = subnet.distances(&[target]);
            let mut outwards: Vec<RouterId> =
                subnet.routers().filter(|&at| at != target && hops[at.index()] != UNREACHED).collect();
            outwards.sort_by_key(|at| hops[at.index()]);
            for &node in &subnet.nodes[target.index()] {
                for &at in &outwards {
                    balance.count(at, node, |used, senders| *used -= senders);
                }
                for &at in &outwards {
                    balance.route(at, node, &hops);
                    balance.count(at, node, |used, senders| *used += senders);
                }
            }
        }
    }
    balance.steps
}

impl Balance<'_> {
    /// Iterates over the wires on the way from a router to a node.
    fn path(&self, from: RouterId, node: NodeId) -> impl Iterator<Item = usize> + '_ {
        let (wires, nodes) = (&self.subnet.wires, self.subnet.homes.len());
        let step = move |at: RouterId| {
            Some(self.steps[at.index() * nodes + node.index()])
                .filter(|&wire| wire != NO_WIRE)
                .map(|wire| wire as usize)
        };
        std::iter::successors(step(from), move |&wire| step(wires.at(wire).1))
    }

    /// Routes the packets of a router to a node. All nearer routers have been routed.
    fn route(&mut self, at: RouterId, node: NodeId, hops: &[u32]) {
        let wires = &self.subnet.wires;
        let nearer = wires.range(at).filter(|&wire| hops[wires.at(wire).1.index()] < hops[at.index()]);
        // Squares make a few busy wires cost more than many others.
        let square = |wire: usize| u128::from(self.used[wire]).pow(2);
        let cost = |wire: usize| square(wire) + self.path(wires.at(wire).1, node).map(square).sum::<u128>();
        if let Some(wire) = nearer.min_by_key(|&wire| (cost(wire), wire)) {
            self.steps[at.index() * self.subnet.homes.len() + node.index()] = wire as u32;
        }
    }

    /// Adds the nodes of a router to the wires on their way to a node, or subtracts them.
    fn count(&mut self, at: RouterId, node: NodeId, change: impl Fn(&mut u64, u64)) {
        let (wires, nodes) = (&self.subnet.wires, self.subnet.homes.len());
        let senders = self.subnet.nodes[at.index()].len() as u64;
        let mut at = at;
        while let Some(wire) = self.steps.get(at.index() * nodes + node.index()).filter(|&&wire| wire != NO_WIRE) {
            change(&mut self.used[*wire as usize], senders);
            at = wires.at(*wire as usize).1;
        }
    }
}

/// Returns the lane of each path, by source router and destination node.
fn assign_lanes(subnet: &Subnet<'_>, steps: &[u32]) -> Result<Vec<u8>, KeyError> {
    let mut lanes = vec![0_u8; steps.len()];
    let sources = subnet.routers().filter(|at| !subnet.nodes[at.index()].is_empty());
    let mut paths: Vec<(RouterId, NodeId)> =
        sources.flat_map(|at| (0..subnet.homes.len() as u32).map(move |node| (at, NodeId(node)))).collect();
    let mut lane = Lane::new(subnet, steps);
    for number in 0.. {
        for &(from, to) in &paths {
            lanes[from.index() * subnet.homes.len() + to.index()] = number;
        }
        paths = lane.without_cycles(paths);
        if paths.is_empty() {
            break;
        }
        if u32::from(number) + 1 >= MAX_CLASSES {
            return Err(too_many_lanes("dfsssp"));
        }
    }
    Ok(lanes)
}
