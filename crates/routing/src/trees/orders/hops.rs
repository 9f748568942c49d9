//! Any topology: shortest paths. The class is the number of remaining channels to the root, one less with each hop
//! (buffer classes: Gunther, IEEE Transactions on Communications 29, 1981). A tree of depth d needs d classes toward
//! the root and d from it.

use std::sync::Arc;

use topology::{ChannelClass, Topology};
use units::RouterId;

use super::{Order, TreeRule, Way};
use crate::algorithms::tables::{distances, neighbours};
use crate::trees::load::TreeLoad;
use crate::trees::tree::Step;

/// Shortest paths.
#[derive(Debug)]
pub(in crate::trees) struct Hops(pub Arc<dyn Topology>);

impl Order for Hops {
    /// The number of classes is the depth of the trees, which is not known here.
    fn levels_on(&self, _class: ChannelClass) -> u8 {
        0
    }

    fn reach(&self, load: &TreeLoad, from: RouterId) -> Vec<u32> {
        distances(&*self.0, from, |router, port, _| !load.is_taken(router, port))
    }

    fn way(&self, load: &TreeLoad, root: RouterId, _switches: &[RouterId], _rule: TreeRule) -> Way {
        Way { root, hops: self.reach(load, root), gates: Vec::new() }
    }

    fn steps(&self, load: &TreeLoad, way: &Way, at: RouterId) -> Vec<(RouterId, Step)> {
        let left = way.hops[at.index()];
        // More classes than 255 are refused when they are counted.
        let level = u8::try_from(left - 1).unwrap_or(u8::MAX);
        neighbours(&*self.0, at)
            .filter(|&(port, next)| way.hops[next.index()] == left - 1 && !load.is_taken(at, port))
            .map(|(port, next)| (next, Step { router: at, port, level }))
            .collect()
    }
}
