//! The questions that every traffic pattern answers.

use std::fmt::Debug;

use units::{Draw, NodeId};

/// Who sends to whom. The nodes of a pattern are tasks, until a placement (`placed`) says where they run; with one task
/// on each node, in order, they are the machine's nodes. Pure: a random permutation is drawn when the pattern is built.
pub trait Pattern: Debug + Send + Sync {
    /// The pattern's name as the experiment file writes it.
    fn kind(&self) -> &'static str;
    /// Whether a node sends at all (a fixed point of a permutation does not).
    fn sends(&self, src: NodeId) -> bool;
    /// The destination of the source's next message, drawn from the source's stream. Asked only of nodes that send.
    fn destination(&self, src: NodeId, draw: &mut dyn Draw) -> NodeId;
    /// The exact distribution of `destination`: each node and its probability. They sum to 1, or there are none if the
    /// node does not send.
    fn distribution(&self, src: NodeId) -> Vec<(NodeId, f64)>;
    /// The probability of one destination.
    fn probability(&self, src: NodeId, dst: NodeId) -> f64 {
        self.distribution(src).into_iter().find(|&(node, _)| node == dst).map_or(0.0, |(_, probability)| probability)
    }
    /// A node's share of the offered load, 1 for most patterns; a matrix may give others (at most 1).
    fn weight(&self, src: NodeId) -> f64 {
        if self.sends(src) { 1.0 } else { 0.0 }
    }
}

/// Why a pattern cannot be built. `key` is the key under `[workload.pattern]` that is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// The key under `[workload.pattern]`.
    pub key: &'static str,
    /// What is wrong and what is allowed, as one sentence.
    pub message: String,
}

impl PatternError {
    /// An error at a key.
    pub fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { key, message: message.into() }
    }
}
