//! Patterns in which every node has one fixed destination.

use units::{Draw, NodeId};

use crate::{Pattern, PatternError};

/// One destination a node, kept as a table of 4 bytes a node. A node that is its own destination does not send.
#[derive(Debug)]
pub struct Permutation {
    kind: &'static str,
    to: Vec<u32>,
}

impl Permutation {
    /// Tabulates a permutation of the nodes. `to` must be a bijection of `0..nodes`.
    ///
    /// # Errors
    /// If no node would send.
    pub(crate) fn new(kind: &'static str, nodes: u32, to: impl Fn(u32) -> u32) -> Result<Self, PatternError> {
        let to: Vec<u32> = (0..nodes).map(to).collect();
        if to.iter().zip(0..).all(|(&dst, src)| dst == src) {
            let message = format!("`{kind}` on {nodes} nodes makes every node its own destination, so that none sends");
            return Err(PatternError::new("kind", message));
        }
        Ok(Self { kind, to })
    }
}

impl Pattern for Permutation {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn sends(&self, src: NodeId) -> bool {
        self.to[src.index()] != src.0
    }

    fn destination(&self, src: NodeId, _draw: &mut dyn Draw) -> NodeId {
        NodeId(self.to[src.index()])
    }

    fn distribution(&self, src: NodeId) -> Vec<(NodeId, f64)> {
        if self.sends(src) { vec![(NodeId(self.to[src.index()]), 1.0)] } else { Vec::new() }
    }
}
