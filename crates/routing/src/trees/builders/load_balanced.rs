//! Trees on any topology that avoid one another: `leastLoadedParent` without the fat-tree. Among the roots that are
//! nearest to all members (or at most `extra_depth` farther) it takes the one with the fewest trees through it. Among
//! the steps up, except for steps to switches of the tree, it takes the one whose wire, and then whose switch, the
//! fewest trees use.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;

use super::super::orders::kind::OrderKind;
use super::super::orders::{Order, TreeRule};
use super::Builder;
use super::growth::Growth;

/// Any topology: among trees of equal depth, the channels with the fewest trees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoadBalancedSpec {
    /// Order that keeps trees from waiting for one another in a cycle. Default: the order that suits the topology.
    pub order: Option<OrderKind>,
    /// Number of channels by which the farthest member may be farther from the root than necessary, so that more
    /// switches can be roots.
    pub extra_depth: u32,
}

impl LoadBalancedSpec {
    /// Returns the builder on a topology, by an order that is made for it.
    pub(in super::super) fn build(self, topology: &Arc<dyn Topology>, order: Box<dyn Order>) -> impl Builder + 'static {
        Growth {
            kind: "load-balanced",
            topology: Arc::clone(topology),
            order,
            rule: TreeRule::Load,
            extra_depth: self.extra_depth,
        }
    }
}
