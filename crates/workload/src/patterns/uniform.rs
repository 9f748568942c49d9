//! Uniform random: each message goes to any node with the same probability (Dally & Towles, section 3.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, NodeId};

use crate::{Pattern, PatternError};

/// The name in the experiment file.
pub const KIND: &str = "uniform";

/// The keys of `uniform`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UniformSpec {
    /// Whether a node may send to itself, through the network; the theory of switches assumes it.
    pub include_self: bool,
}

/// Every node, or every other node, is as likely.
#[derive(Debug)]
pub struct Uniform {
    nodes: u32,
    include_self: bool,
}

impl Uniform {
    /// The pattern for a number of nodes.
    ///
    /// # Errors
    /// If no node has a destination: one node, which may not send to itself.
    pub fn new(spec: &UniformSpec, nodes: u32) -> Result<Self, PatternError> {
        if nodes < 2 && !(nodes == 1 && spec.include_self) {
            let message =
                format!("`{KIND}` needs 2 nodes or more, or include_self = true on 1; this topology has {nodes}");
            return Err(PatternError::new("kind", message));
        }
        Ok(Self { nodes, include_self: spec.include_self })
    }
}

/// Any node of `0..nodes` but `src`, which takes at least two nodes.
#[inline]
pub(super) fn other_node(src: NodeId, nodes: u32, draw: &mut dyn Draw) -> NodeId {
    let other = draw.below(nodes - 1);
    NodeId(other + u32::from(other >= src.0))
}

impl Pattern for Uniform {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn sends(&self, _src: NodeId) -> bool {
        true
    }

    fn destination(&self, src: NodeId, draw: &mut dyn Draw) -> NodeId {
        if self.include_self { NodeId(draw.below(self.nodes)) } else { other_node(src, self.nodes, draw) }
    }

    fn probability(&self, src: NodeId, dst: NodeId) -> f64 {
        match (self.include_self, src == dst) {
            (true, _) => 1.0 / f64::from(self.nodes),
            (false, true) => 0.0,
            (false, false) => 1.0 / f64::from(self.nodes - 1),
        }
    }

    fn distribution(&self, src: NodeId) -> Vec<(NodeId, f64)> {
        let each = 1.0 / f64::from(if self.include_self { self.nodes } else { self.nodes - 1 });
        (0..self.nodes).filter(|&dst| self.include_self || dst != src.0).map(|dst| (NodeId(dst), each)).collect()
    }
}
