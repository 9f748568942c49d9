//! Up*/down* routing on any topology (Schroeder et al., "Autonet: a high-speed, self-configuring local area network
//! using point-to-point links", IEEE JSAC 9, 1991).
//!
//! Breadth-first search from a root puts every router on a level. Of a wire's two directions, *up* leads to the lower
//! level, or within a level to the lower number. A packet goes up until only down channels lead from its router to the
//! destination, then down, each as directly as it can. So no cycle of waiting channels can form, with one class of
//! virtual channels. In return the routers near the root carry more, and not every path is a shortest one.
//!
//! This is the rule of `adaptive-up-down` and its variants without the fat-tree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use units::{KeyError, PortId, RouterId, VcClass};

use super::shortest_path::TieRule;
use super::tables::{TableBuilder, TableRouting, UNREACHED, distances, in_parts, neighbours, ports_to};
use crate::Routing;

/// Any topology: up and down the levels of a breadth-first search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UpDownSpec {
    /// Root router. Default: a router at which the distance to the farthest router is smallest.
    pub root: Option<u32>,
    /// Rule by which a packet takes one of several equally good ports.
    pub ties: TieRule,
}

impl UpDownSpec {
    /// Builds the routing on a topology.
    ///
    /// # Errors
    /// If there is no such root, if routers cannot reach one another, or if the table would be larger than 1 GiB.
    pub fn build(&self, topology: &dyn Topology) -> Result<impl Routing + 'static, KeyError> {
        let mut table = TableBuilder::new(topology, "up-down", self.ties.choice())?;
        let levels = Levels::new(topology, self.root(topology)?);
        let mut longest = 0;
        for (column, target) in table.targets().to_vec().into_iter().enumerate() {
            let hops_left = levels.hops_left(topology, target);
            for router in levels.upwards.iter().copied().filter(|&router| router != target) {
                let hops = hops_left.left[router.index()];
                if table.has_nodes(router) {
                    longest = longest.max(hops);
                }
                if hops != UNREACHED {
                    table.set(router, column, &self.ports(topology, &levels, &hops_left, router), VcClass(0));
                } else if table.has_nodes(router) {
                    return Err(in_parts(router, target));
                }
            }
        }
        Ok(TableRouting {
            kind: "up-down",
            table: table.finish()?,
            classes: 1,
            adaptive: self.ties == TieRule::LeastLoaded,
            minimal: false,
            classes_fall: false,
            max_routers: longest + 1,
        })
    }

    /// Returns the ports that lead nearer: down if possible, otherwise up.
    fn ports(&self, topology: &dyn Topology, levels: &Levels, hops_left: &HopsLeft, router: RouterId) -> Vec<PortId> {
        let goes_up = hops_left.down[router.index()] == UNREACHED;
        let hops = if goes_up { &hops_left.left } else { &hops_left.down };
        let nearer = |next: RouterId| hops[next.index()] == hops_left.left[router.index()] - 1;
        let wanted = |next| levels.is_up(router, next) == goes_up && nearer(next);
        ports_to(topology, router, wanted, self.ties != TieRule::First)
    }

    fn root(&self, topology: &dyn Topology) -> Result<RouterId, KeyError> {
        let routers = topology.routers();
        match self.root {
            Some(root) if root < routers => Ok(RouterId(root)),
            Some(root) => {
                let message =
                    format!("`root` is {root}; this {} has the routers 0 to {}", topology.kind(), routers - 1);
                Err(KeyError::new("root", message))
            }
            None => Ok(center(topology)),
        }
    }
}

/// Returns the router at which the distance to the farthest router is smallest, the first in a tie.
pub(crate) fn center(topology: &dyn Topology) -> RouterId {
    let farthest = |root: u32| distances(topology, RouterId(root), |_, _, _| true).into_iter().max();
    let farthest = workers::map(0..topology.routers(), farthest);
    RouterId((0..).zip(farthest).min_by_key(|&(_, hops)| hops).map_or(0, |(root, _)| root))
}

/// Levels of the routers, which define the direction up.
#[derive(Debug)]
pub(crate) struct Levels {
    /// Distance of each router from the root.
    levels: Vec<u32>,
    /// Routers from the root on: every router comes after all routers above it.
    upwards: Vec<RouterId>,
}

/// Hops to one destination.
pub(super) struct HopsLeft {
    /// By router, hops by down channels alone.
    pub down: Vec<u32>,
    /// By router, hops as packets go: straight down if possible.
    pub left: Vec<u32>,
}

impl Levels {
    /// Creates the levels of a breadth-first search.
    pub(crate) fn new(topology: &dyn Topology, root: RouterId) -> Self {
        Self::of(distances(topology, root, |_, _, _| true))
    }

    /// Creates given levels, by router. 0 is the top.
    pub(crate) fn of(levels: Vec<u32>) -> Self {
        let mut upwards: Vec<RouterId> = (0..levels.len() as u32).map(RouterId).collect();
        upwards.sort_by_key(|router| (levels[router.index()], *router));
        Self { levels, upwards }
    }

    /// Returns whether a channel leads up.
    pub(crate) fn is_up(&self, from: RouterId, to: RouterId) -> bool {
        (self.levels[to.index()], to) < (self.levels[from.index()], from)
    }

    pub(super) fn hops_left(&self, topology: &dyn Topology, target: RouterId) -> HopsLeft {
        // Backwards from the target, a path down is a path up.
        let down = distances(topology, target, |from, _, to| self.is_up(from, to));
        let mut left = down.clone();
        for &router in &self.upwards {
            if left[router.index()] == UNREACHED {
                let above = neighbours(topology, router).filter(|&(_, next)| self.is_up(router, next));
                let least = above.map(|(_, next)| left[next.index()]).min().unwrap_or(UNREACHED);
                left[router.index()] = least.saturating_add(1);
            }
        }
        HopsLeft { down, left }
    }
}
