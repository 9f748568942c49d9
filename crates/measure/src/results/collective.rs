//! Results of collective traffic.

use schemars::JsonSchema;
use serde::Serialize;

use super::GroupsResult;

/// Results of collective traffic.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CollectiveResult {
    /// Number of measured operations: begun in the measured interval.
    pub operations: u64,
    /// Mean time of a collective operation, or of a training step, in nanoseconds. For collective traffic: from the
    /// begin of an operation until its last node has ended. For a program: from a rank's begin to its end, mean over
    /// ranks and repetitions. Null if none has ended, and for multicasts unless all measured packets have arrived. For
    /// reductions and barriers past saturation, where some measured operations do not end: mean over the operations
    /// that have ended in the measured interval.
    pub operation_time_mean_ns: Option<f64>,
    /// Half-width of the confidence interval of `operation_time_mean_ns`, in nanoseconds. Reductions and barriers only
    /// (`operation` is `reduce`, `allreduce` or `barrier`). Infinite (null in JSON) if too little was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub operation_time_ci_ns: Option<f64>,
    /// 99th percentile of the times of operations, in nanoseconds.
    pub operation_time_p99_ns: Option<f64>,
    /// Number of arrived messages of the measured operations: one at each node that gets a result.
    pub copies: u64,
    /// Mean number of destinations of an operation. If not all measured packets arrived: the mean given in the
    /// experiment.
    pub fanout_mean: f64,
    /// Mean time from the begin of an operation until the whole message is at a destination, in nanoseconds.
    pub completion_mean_ns: Option<f64>,
    /// Mean time from the begin of an operation until its last member begins, in nanoseconds. Requires `workload.late`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_begin_mean_ns: Option<f64>,
    /// Results of operations in which all members of a group take part.
    #[serde(flatten)]
    pub groups: Option<GroupsResult>,
}
