//! Any topology: up the ranks of all switches, which are common to all trees (up*/down*; on fat-trees the levels). Up
//! channels never wait for anything that waits for down channels, so that one class of virtual channels serves toward
//! the root and from it. A root is a switch that lies above all members, and paths are not always shortest.

use std::sync::Arc;

use topology::{ChannelClass, Topology};
use units::RouterId;

use super::{Order, TreeRule, Way};
use crate::algorithms::tables::{distances, neighbours};
use crate::algorithms::up_down::{Levels, center};
use crate::trees::load::TreeLoad;
use crate::trees::tree::Step;

/// Paths up the ranks.
#[derive(Debug)]
pub(in crate::trees) struct UpDown {
    topology: Arc<dyn Topology>,
    levels: Levels,
}

impl UpDown {
    /// Creates the ranks: the levels of a fat-tree, or of a breadth-first search from the router at which the distance
    /// to the farthest router is smallest.
    pub fn new(topology: &Arc<dyn Topology>) -> Self {
        let levels = match topology.views().hierarchy {
            Some(tree) => {
                let top = tree.levels() - 1;
                Levels::of((0..tree.routers()).map(|router| u32::from(top - tree.level(RouterId(router)))).collect())
            }
            None => Levels::new(&**topology, center(&**topology)),
        };
        Self { topology: Arc::clone(topology), levels }
    }
}

impl Order for UpDown {
    fn levels_on(&self, _class: ChannelClass) -> u8 {
        1
    }

    fn folds(&self) -> bool {
        true
    }

    fn any_root(&self) -> bool {
        false
    }

    fn reach(&self, load: &TreeLoad, from: RouterId) -> Vec<u32> {
        distances(&*self.topology, from, |at, port, next| self.levels.is_up(at, next) && !load.is_taken(at, port))
    }

    fn way(&self, load: &TreeLoad, root: RouterId, _switches: &[RouterId], _rule: TreeRule) -> Way {
        // Backwards from the root, a path up is a path down.
        let may = |at, port, next| self.levels.is_up(next, at) && !load.is_taken(at, port);
        Way { root, hops: distances(&*self.topology, root, may), gates: Vec::new() }
    }

    fn steps(&self, load: &TreeLoad, way: &Way, at: RouterId) -> Vec<(RouterId, Step)> {
        let nearer = |next: RouterId| way.hops[next.index()] == way.hops[at.index()] - 1;
        neighbours(&*self.topology, at)
            .filter(|&(port, next)| nearer(next) && self.levels.is_up(at, next) && !load.is_taken(at, port))
            .map(|(port, next)| (next, Step { router: at, port, level: 0 }))
            .collect()
    }
}
