//! What collective traffic measures besides.

use schemars::JsonSchema;
use serde::Serialize;

use super::GroupsResult;

/// What collective traffic has, and other traffic has not.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CollectiveResult {
    /// Operations measured: those begun in the measured interval.
    pub operations: u64,
    /// Mean time of a collective operation, or of a training step: of collective traffic from the begin of an operation until its last node
    /// has ended, of a program from a rank's begin to its end, over ranks and repetitions; null if none has ended, and of multicasts not all of
    /// whose measured packets have arrived. Of reductions and barriers past saturation, where not all that were measured end, of those that have
    /// ended in the measured interval.
    pub operation_time_mean_ns: Option<f64>,
    /// Half-width of the confidence interval of that mean, of operations of groups that begin at a rate (`operation` is `reduce`, `allreduce` or
    /// `barrier`); infinite, which is null in JSON, if too little was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub operation_time_ci_ns: Option<f64>,
    /// 99th percentile of the times of operations, of collective traffic.
    pub operation_time_p99_ns: Option<f64>,
    /// Messages that have arrived of these operations, one at each destination: each node that has a result.
    pub copies: u64,
    /// Destinations of an operation, on average; if not all measured packets arrived, what the file says.
    pub fanout_mean: f64,
    /// Mean time from the begin of an operation until one of its nodes has its whole message.
    pub completion_mean_ns: Option<f64>,
    /// Mean time from the begin of an operation until its last member begins, where members may be late (`workload.late`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_begin_mean_ns: Option<f64>,
    /// What operations have besides that all members of a group take part in.
    #[serde(flatten)]
    pub groups: Option<GroupsResult>,
}
