//! The interface of traffic patterns.

use std::fmt::Debug;

use units::{Draw, TaskId};

/// Which task sends to which. A placement decides where tasks run; `PlacedPattern` is the same over nodes. Pure: a
/// random permutation is drawn when the pattern is built.
pub trait Pattern: Debug + Send + Sync {
    /// The pattern's name as the experiment file writes it.
    fn kind(&self) -> &'static str;
    /// Whether a task sends at all (a fixed point of a permutation does not).
    fn sends(&self, src: TaskId) -> bool;
    /// The destination of the source's next message, drawn from the source's stream. Called only for tasks that send.
    fn destination(&self, src: TaskId, draw: &mut dyn Draw) -> TaskId;
    /// The exact distribution of `destination`: each task and its probability. They sum to 1, or there are none if the
    /// task does not send.
    fn distribution(&self, src: TaskId) -> Vec<(TaskId, f64)>;
    /// The probability of one destination.
    fn probability(&self, src: TaskId, dst: TaskId) -> f64 {
        self.distribution(src).into_iter().find(|&(task, _)| task == dst).map_or(0.0, |(_, probability)| probability)
    }
    /// What the reader of its file has left out, one sentence each.
    fn notes(&self) -> &[String] {
        &[]
    }
    /// A task's share of the offered load, 1 for most patterns; a matrix may give others (at most 1).
    fn weight(&self, src: TaskId) -> f64 {
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
