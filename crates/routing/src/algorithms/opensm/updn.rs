//! `updn`: OpenSM's up*/down* engine. Ranks are the distances from the nearest root. A step leads up to a lower rank,
//! and within a rank to a lower number; between two roots every step leads up. Packets go up and then down, by the
//! fewest hops, balanced over ports as by `minhop`.
//!
//! As in OpenSM, a search from the destination keeps for each router the direction of one step that leads there, also
//! if paths of several directions do. In networks with many wires within a rank this can leave a path that goes down
//! and up again, and thereby a cycle of waiting channels, which the check for deadlock finds.
//!
//! If no roots are given, a router is a root if its distance to the nodes has one value for more than 90 % of the nodes
//! and no other for more than 5 %: the top of a full tree.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use units::{KeyError, RouterId};

use super::{Subnet, balance};
use crate::Routing;
use crate::algorithms::table::{Forwarding, NO_PORT};
use crate::algorithms::tables::UNREACHED;

/// Trees, and any topology with given roots: OpenSM's `updn`, up and down the ranks below roots, balanced over ports
/// by the number of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UpdnSpec {
    /// Root routers. Default: found as OpenSM does, which works in trees only.
    pub roots: Option<Vec<u32>>,
}

impl UpdnSpec {
    /// Builds the routing on a topology.
    ///
    /// # Errors
    /// If a root does not exist, if no root is given and none is found, if no path up and down connects two routers, or
    /// if the table would have more than 2^28 entries.
    pub fn build(&self, topology: &dyn Topology) -> Result<impl Routing + use<>, KeyError> {
        let subnet = Subnet::new(topology, "updn")?;
        let roots = match &self.roots {
            Some(roots) => check_roots(topology, roots)?,
            None => find_roots(&subnet)?,
        };
        subnet.check_connected()?;
        let search = Search { subnet: &subnet, ranks: subnet.distances(&roots), other_ends: subnet.other_ends() };
        let made = balance::by_nodes(&subnet, |target| search.allowed(target));
        check_paths(&subnet, &made)?;
        made.build("updn", topology)
    }
}

/// Mark of a wire by which no path is known.
const NO_PATH: u32 = u32::MAX;

/// Searches from destinations, up and then down.
struct Search<'a> {
    subnet: &'a Subnet<'a>,
    /// Distance of each router from the nearest root.
    ranks: Vec<u32>,
    /// By wire, the wire's other end.
    other_ends: Vec<usize>,
}

impl Search<'_> {
    /// Returns whether a step leads up.
    fn is_up(&self, from: RouterId, to: RouterId) -> bool {
        let (below, above) = (self.ranks[from.index()], self.ranks[to.index()]);
        (below, above) == (0, 0) || (above, to) < (below, from)
    }

    /// Returns, by wire, whether it leads to the target by the fewest hops.
    fn allowed(&self, target: RouterId) -> Vec<bool> {
        let hops = self.hops(target);
        let of = |router| {
            let hops = &hops[self.subnet.wires.range(router)];
            let least = hops.iter().copied().min().filter(|&least| least != NO_PATH);
            hops.iter().map(move |&hops| Some(hops) == least)
        };
        self.subnet.routers().flat_map(of).collect()
    }

    /// Returns the hops to a target by each wire. A router remembers the direction of the step by which it last entered
    /// the queue, and enters it again whenever one of its wires becomes shorter.
    fn hops(&self, target: RouterId) -> Vec<u32> {
        let Subnet { wires, nodes, .. } = self.subnet;
        let mut hops = vec![NO_PATH; wires.len()];
        // By router: hops, whether the last step to it led down, and whether it is in the queue.
        let mut reached = vec![(NO_PATH, false, false); nodes.len()];
        reached[target.index()] = (0, false, true);
        let mut queue = VecDeque::from([target]);
        while let Some(router) = queue.pop_front() {
            let (so_far, down, _) = reached[router.index()];
            reached[router.index()].2 = false;
            for wire in wires.range(router) {
                let next = wires.at(wire).1;
                let (up, back) = (self.is_up(router, next), &mut hops[self.other_ends[wire]]);
                if next == target || (down && up) || so_far + 1 >= *back {
                    continue;
                }
                *back = so_far + 1;
                let next = (&mut reached[next.index()], next);
                next.0.0 = next.0.0.min(so_far + 1);
                if !next.0.2 {
                    (next.0.1, next.0.2) = (!up, true);
                    queue.push_back(next.1);
                }
            }
        }
        hops
    }
}

/// Returns an error unless every router with nodes has a path to every other.
fn check_paths(subnet: &Subnet<'_>, made: &Forwarding) -> Result<(), KeyError> {
    let homes: Vec<RouterId> = subnet.routers().filter(|at| !subnet.nodes[at.index()].is_empty()).collect();
    let nodes = subnet.homes.len();
    // All nodes of a router have the same wires to choose from.
    let is_lost = |from: RouterId, to: RouterId| {
        let node = subnet.nodes[to.index()][0];
        from != to && made.ports[from.index() * nodes + node.index()] == NO_PORT
    };
    let lost_on_way = |&to: &RouterId| Some((homes.iter().copied().find(|&from| is_lost(from, to))?, to));
    let Some((from, to)) = homes.iter().find_map(lost_on_way) else { return Ok(()) };
    let message = format!(
        "updn finds no path up and then down from router {from} to router {to}; give other `roots`, or use \"up-down\", \
         which finds one in every connected network"
    );
    Err(KeyError::new("roots", message))
}

/// Returns given roots.
///
/// # Errors
/// If there is none, or one does not exist.
pub(super) fn check_roots(topology: &dyn Topology, roots: &[u32]) -> Result<Vec<RouterId>, KeyError> {
    let (kind, last) = (topology.kind(), topology.routers() - 1);
    if roots.is_empty() {
        return Err(KeyError::new("roots", format!("`roots` is empty; this {kind} has the routers 0 to {last}")));
    }
    match roots.iter().find(|&&root| root > last) {
        Some(root) => {
            Err(KeyError::new("roots", format!("`roots` has {root}; this {kind} has the routers 0 to {last}")))
        }
        None => Ok(roots.iter().copied().map(RouterId).collect()),
    }
}

/// Returns the routers from which nearly all nodes are equally far.
fn find_roots(subnet: &Subnet<'_>) -> Result<Vec<RouterId>, KeyError> {
    let nodes = subnet.homes.len();
    let found = workers::map(0..subnet.wires.routers(), |router| {
        let hops = subnet.distances(&[RouterId(router)]);
        let mut at_distance = Vec::new();
        for (&hops, nodes) in hops.iter().zip(&subnet.nodes).filter(|&(&hops, _)| hops != UNREACHED) {
            at_distance.resize(at_distance.len().max(hops as usize + 1), 0);
            at_distance[hops as usize] += nodes.len();
        }
        let above = |percent: usize| at_distance.iter().filter(|&&count| 100 * count > percent * nodes).count();
        (above(90), above(5)) == (1, 1)
    });
    let roots: Vec<RouterId> = (0..).map(RouterId).zip(found).filter(|&(_, found)| found).map(|(at, _)| at).collect();
    if roots.is_empty() {
        let message = "updn finds no root: from no router nearly all nodes are equally far, as from the top of a tree; \
                       give `roots` (OpenSM falls back to minhop)";
        return Err(KeyError::new("roots", message));
    }
    Ok(roots)
}
