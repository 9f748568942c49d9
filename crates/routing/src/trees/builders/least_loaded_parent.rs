//! The paper's `buildTree` ("hardware-collectives", section 2.2): up by the parent with the fewest trees through it,
//! down to all members.
//!
//! As printed the procedure does not make a tree. On the way up it calls itself for the parent and afterwards, at every
//! switch of the climb, goes on to the loop over children, so that each of these switches is entered twice, once from
//! below and once from above, and is in `swlist` twice. And `tlist` is given child ports only: the port up is never
//! stored, so that no member below another child of the top switch can be reached from here, and a combine has no port
//! to send its result to. Here the climb only finds the top switch, the first common ancestor of all members. All
//! switches are then entered once, from above, and store the port that leads back up (`fat_tree::Climb`).
//!
//! The load of a switch is the number of trees through it, ties by the lower port. A climb compares the parents of one
//! switch, as printed; it is greedy. The loads of top switches are within 1 of each other if each choice is among
//! switches that all previous groups have loaded equally: with two levels of switches always, with more for groups that
//! have members below every child of the top.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::views::Hierarchy;

use super::Builder;
use super::fat_tree::{Climb, UpPort};

/// Fat-trees: up by the parent with the fewest trees through it, by the wire with the fewest trees over it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LeastLoadedParentSpec {}

impl LeastLoadedParentSpec {
    /// Returns the builder on a fat-tree.
    pub(in super::super) fn build(self, tree: &Hierarchy) -> impl Builder + 'static {
        Climb { kind: "least-loaded-parent", tree: tree.clone(), up: UpPort::LeastLoaded }
    }
}
