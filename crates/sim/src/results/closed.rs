//! What workloads that end measure besides.

use schemars::JsonSchema;
use serde::Serialize;

use super::ranks::{BenchmarkResult, ProgramResult, TableResult};
use super::time::{BreakdownResult, CriticalPathResult, TimelineResult};

/// One phase of a closed workload.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhaseResult {
    /// The dimension, from 0, in which tasks exchange; of an application, the number of the phase.
    pub dimension: u32,
    /// What the phase is called.
    pub name: String,
    /// From the phase's begin to the last arrival; null if the run ended before.
    pub time_ns: Option<f64>,
    /// Bytes that crossed the network.
    pub bytes: u64,
    /// Throughput of the phase: what the nodes that send have sent, over what their links could have in that time; null if the
    /// run ended before anything arrived.
    pub throughput: Option<f64>,
}

/// What a closed workload has, and open traffic has not.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClosedResult {
    /// From the begin to the last arrival of the last phase; null if the run ended before.
    pub time_ns: Option<f64>,
    /// Bytes delivered over the time of the workload, of all nodes together; null if the run ended before anything arrived.
    #[serde(rename = "bandwidth_B_per_s")]
    pub bandwidth_bytes_per_s: Option<f64>,
    /// By task, when it has received all that its node has to receive, computation included: the sum over phases, in
    /// nanoseconds. Of ranks, when each has done its last operation; the nodes with
    /// tasks are the ranks of a message-driven application. Null for what the run did not see end.
    pub per_rank: Vec<Option<f64>>,
    /// The phases, in order; none of ranks that send and receive, and of message-driven applications.
    pub phases: Vec<PhaseResult>,
    /// What an application has besides.
    #[serde(flatten)]
    pub application: Option<ApplicationResult>,
    /// What a message-driven application has besides.
    #[serde(flatten)]
    pub steps: Option<StepsResult>,
    /// What a benchmark of message latency has besides.
    #[serde(flatten)]
    pub benchmark: Option<BenchmarkResult>,
    /// What a benchmark has besides that gives a table.
    #[serde(flatten)]
    pub table: Option<TableResult>,
    /// What a program of ranks has besides, and a benchmark that gives a table.
    #[serde(flatten)]
    pub program: Option<ProgramResult>,
    /// What ranks do, if `measure.timeline` asks for it and all have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<BreakdownResult>,
    /// What the end of the run has waited for, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<CriticalPathResult>,
    /// What ranks do when, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeline: Option<TimelineResult>,
}

/// What an application has besides, of one step.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ApplicationResult {
    /// Computation of the node with most of it; bulk-synchronous, before the first phase.
    pub compute_ns: f64,
    /// How far its bytes travel.
    #[serde(flatten)]
    pub mapping: Option<MappingFigures>,
}

/// What a message-driven application has besides. A step ends when its last object has.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepsResult {
    /// Steps that have ended.
    pub steps: u32,
    /// The time of a step: that of all over their number; null if the run ended before. While a step ends, others have begun.
    pub step_time_ns: Option<f64>,
    /// The time until all objects have ended the first step; null if the run ended before.
    pub first_step_ns: Option<f64>,
}

/// The figures of a mapping. None where the machine has too many routers for a table of hops.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MappingFigures {
    /// Bytes times links, summed over messages; of a multicast or reduction once for each member.
    pub hop_bytes: f64,
    /// Links that a mean byte crosses.
    pub hops_per_byte: f64,
    /// Hop-bytes where a multicast reaches every node once, and a reduction leaves it once.
    pub multicast_hop_bytes: f64,
    /// Pairs of a multicast or reduction and a node other than its root's.
    pub proxies: u64,
    /// The largest load of a node over the mean of the nodes that tasks can fill: at most one for each task.
    pub imbalance: f64,
}
