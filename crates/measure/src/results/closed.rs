//! Results of workloads that finish.

use schemars::JsonSchema;
use serde::Serialize;

use super::quantiles::Quantiles;
use super::ranks::{BenchmarkResult, ProgramResult, TableResult};
use super::time::Explained;

/// Results of one phase of a workload that finishes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhaseResult {
    /// Dimension in which tasks exchange, from 0. For an application: number of the phase.
    pub dimension: u32,
    /// Name of the phase.
    pub name: String,
    /// Time from the begin of the phase to its last arrival, in nanoseconds. Null if the run ended earlier.
    pub time_ns: Option<f64>,
    /// Bytes that crossed the network.
    pub bytes: u64,
    /// Throughput: bytes sent by the nodes that send, over the bytes that their links could carry in the time of the
    /// phase. Null if the run ended before anything arrived.
    pub throughput: Option<f64>,
}

/// Results of workloads that finish: time, phases, and times of ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ClosedResult {
    /// Time from the begin of the workload to the last arrival of its last phase, in nanoseconds. Null if the run ended
    /// earlier.
    pub time_ns: Option<f64>,
    /// Bytes delivered to all nodes together over the time of the workload, in bytes per second. Null if the run ended
    /// before anything arrived.
    #[serde(rename = "bandwidth_B_per_s")]
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Throughput: delivered bytes over the bytes that the links of the nodes that send could carry in the time of the
    /// workload. Null if the run ended before anything arrived.
    pub throughput: Option<f64>,
    /// For each task, the time until its node had computed and had received everything: the sum over phases, in
    /// nanoseconds. For ranks: the time at which the last operation of each rank ended. The ranks of a message-driven
    /// application are the nodes with tasks. Null for tasks and ranks that had not ended. Empty if they are summarized.
    pub per_rank: Vec<Option<f64>>,
    /// Distribution of the times of `per_rank` over the tasks and ranks that had ended. Omitted if `per_rank` has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_rank_ns: Option<Quantiles>,
    /// Results of phases, in order. Empty for ranks and for message-driven applications.
    pub phases: Vec<PhaseResult>,
    /// Results of applications.
    #[serde(flatten)]
    pub application: Option<ApplicationResult>,
    /// Results of message-driven applications.
    #[serde(flatten)]
    pub steps: Option<StepsResult>,
    /// Results of benchmarks of message latency.
    #[serde(flatten)]
    pub benchmark: Option<BenchmarkResult>,
    /// Results of benchmarks with a table.
    #[serde(flatten)]
    pub table: Option<TableResult>,
    /// Results of programs, and of benchmarks with a table.
    #[serde(flatten)]
    pub program: Option<ProgramResult>,
    /// Explanation of the time of ranks. Requires `measure.timeline`, and that all ranks have ended.
    #[serde(flatten)]
    pub explained: Option<Explained>,
}

impl ClosedResult {
    /// Replaces the times of single ranks by their distribution, if there are more than `most`. Returns the number of
    /// ranks if it does.
    pub(super) fn summarize(&mut self, most: usize) -> Option<usize> {
        let ranks = self.per_rank.len();
        if ranks <= most {
            return None;
        }
        let mut ended: Vec<f64> = std::mem::take(&mut self.per_rank).into_iter().flatten().collect();
        self.per_rank_ns = Quantiles::of(&mut ended);
        Some(ranks)
    }
}

/// Results of one step of an application.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ApplicationResult {
    /// Computation time of the node with the most computation, in nanoseconds. In a bulk-synchronous execution it
    /// precedes the first phase.
    pub compute_ns: f64,
    /// Distances that the bytes of the application travel.
    #[serde(flatten)]
    pub mapping: Option<MappingFigures>,
}

/// Results of a message-driven application. A step ends when its last object has ended it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepsResult {
    /// Number of steps that have ended.
    pub steps: u32,
    /// Time of a step, in nanoseconds: the time of all steps over their number. Steps overlap. Null if the run ended
    /// earlier.
    pub step_time_ns: Option<f64>,
    /// Time until all objects have ended the first step, in nanoseconds. Null if the run ended earlier.
    pub first_step_ns: Option<f64>,
}

/// Quality of a mapping. Absent if the machine has too many routers for a table of hops.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MappingFigures {
    /// Bytes times links, summed over messages. A multicast or reduction counts once for each member.
    pub hop_bytes: f64,
    /// Mean number of links that a byte crosses.
    pub hops_per_byte: f64,
    /// Hop-bytes in which a multicast counts once for each node that it reaches, and a reduction once for each node
    /// that it leaves.
    pub multicast_hop_bytes: f64,
    /// Number of pairs of a multicast or reduction and a node with members, other than the root's node.
    pub proxies: u64,
    /// Greatest load of a node over the mean load of the nodes that tasks can fill (at most one node for each task).
    pub imbalance: f64,
}
