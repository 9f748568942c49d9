//! Orders that keep trees of different roots from waiting for one another in a cycle, one file each: paths toward roots
//! whose channels, with their classes, cannot form a cycle for any set of trees.

pub(super) mod dimension_order;
pub(super) mod hops;
pub(super) mod kind;
pub(super) mod local_global;
pub(super) mod up_down;

use std::fmt::Debug;

use topology::ChannelClass;
use units::{PortId, RouterId};

use super::load::TreeLoad;
use super::tree::Step;

/// Paths toward roots.
pub(super) trait Order: Debug {
    /// Returns the number of VC classes toward the root on a class of channels, before any tree is known.
    fn levels_on(&self, class: ChannelClass) -> u8;
    /// Returns whether one order of switches ranks the trees of all roots, so that the classes toward the root also
    /// serve from it.
    fn folds(&self) -> bool {
        false
    }
    /// Returns whether every switch may be the root of any group.
    fn any_root(&self) -> bool {
        true
    }
    /// Returns the number of channels from a switch to each switch as a root, over wires that are not taken.
    /// `UNREACHED`: there is no path.
    fn reach(&self, load: &TreeLoad, from: RouterId) -> Vec<u32>;
    /// Returns the number of channels from the farthest of some switches to a root. `bound` is the value by `reach`.
    fn depth(&self, _load: &TreeLoad, _root: RouterId, _switches: &[RouterId], bound: u32) -> u32 {
        bound
    }
    /// Returns the paths toward a root for a tree of some switches. `rule` makes a choice that binds all paths.
    fn way(&self, load: &TreeLoad, root: RouterId, switches: &[RouterId], rule: TreeRule) -> Way;
    /// Returns the steps from a switch that lead one channel nearer to the root, with their far switches.
    fn steps(&self, load: &TreeLoad, way: &Way, at: RouterId) -> Vec<(RouterId, Step)>;
}

/// Rule that chooses among trees of equal depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeRule {
    /// The smallest tree.
    Size,
    /// The tree on the least loaded wires and switches.
    Load,
}

/// Paths toward a root.
#[derive(Debug)]
pub(super) struct Way {
    /// Root.
    pub root: RouterId,
    /// By router, the number of channels to the root.
    pub hops: Vec<u32>,
    /// By group of routers, the port by which its paths leave it, if the order lets all leave by one.
    pub gates: Vec<Option<(RouterId, PortId)>>,
}
