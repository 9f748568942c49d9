//! Time series.

use schemars::JsonSchema;
use serde::Serialize;

/// Time series (`measure.series`): a value for each interval between two samples, from the start of the run on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SeriesResult {
    /// Longest interval, in nanoseconds: `measure.series`, or that period times a power of two if there would be too
    /// many intervals. The last interval of a run or of a phase may be shorter.
    pub interval_ns: f64,
    /// End of each interval, in nanoseconds.
    pub time_ns: Vec<f64>,
    /// Load delivered in each interval, in the unit of the point's `accepted_load`.
    pub accepted_load: Vec<f64>,
    /// Time that packets at the heads of source queues have waited at the end of each interval, in nanoseconds: mean
    /// over the nodes that send. 0 for nodes where no packet waits. Absent for several jobs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_wait_mean_ns: Option<Vec<f64>>,
    /// Time that the packet at the head of a source queue has waited at the end of each interval, in nanoseconds:
    /// maximum over nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_wait_max_ns: Option<Vec<f64>>,
    /// Packets waiting in routers at the end of each interval, by class of the channels that they wait for. For several
    /// jobs: only for all of them together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueSeries>,
}

/// Packets waiting in routers for the channels of one class. A packet waits from the end of the router's pipeline until
/// its head leaves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct QueueSeries {
    /// Name of the class.
    pub class: String,
    /// Number of channels of the class.
    pub channels: u64,
    /// Bytes that wait for a channel at the end of each interval, mean over channels.
    #[serde(rename = "mean_B")]
    pub mean_bytes: Vec<f64>,
    /// Bytes that wait for the channel with the longest queue at the end of each interval.
    #[serde(rename = "max_B")]
    pub max_bytes: Vec<u64>,
}
