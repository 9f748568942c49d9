//! Trees of minimal depth on any topology. The root is a switch whose farthest member is nearest, and among these one
//! with the smallest sum of distances to all members. Every member reaches it by a shortest path that the order allows,
//! over switches of the tree if possible.
//!
//! The depth is minimal among all trees whose paths toward the root the order allows: with `hops` among all trees.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;

use super::super::orders::kind::OrderKind;
use super::super::orders::{Order, TreeRule};
use super::Builder;
use super::growth::Growth;

/// Any topology: the fewest channels from the farthest member to the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MinimalDepthSpec {
    /// Order that keeps trees from waiting for one another in a cycle. Default: the order that suits the topology.
    pub order: Option<OrderKind>,
}

impl MinimalDepthSpec {
    /// Returns the builder on a topology, by an order that is made for it.
    pub(in super::super) fn build(self, topology: &Arc<dyn Topology>, order: Box<dyn Order>) -> impl Builder + 'static {
        Growth { kind: "minimal-depth", topology: Arc::clone(topology), order, rule: TreeRule::Size, extra_depth: 0 }
    }
}
