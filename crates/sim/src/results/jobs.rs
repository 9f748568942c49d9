//! What the jobs of a run measure, each for itself.

use serde::Serialize;

use super::PointResult;

/// The result of one of several jobs that run at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobResult {
    /// The job's name.
    pub name: String,
    /// Whether the run went on without waiting for it.
    pub background: bool,
    /// The nodes that it has tasks on.
    pub nodes: u32,
    /// When it started.
    pub start_ns: f64,
    /// How many times longer it took than alone in the same places: a workload that ends its time, traffic its mean
    /// latency. Only if that was asked for, and both runs have measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// What it measured: the quantities of a point, of its packets alone.
    #[serde(flatten)]
    pub point: PointResult,
}
