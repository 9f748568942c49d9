//! Time series.

use schemars::JsonSchema;
use serde::Serialize;

/// What was measured at fixed simulated times (`measure.series`), from the start of the run on: a value for each interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SeriesResult {
    /// The longest interval: `measure.series`, or a multiple of it by a power of two where that would be too many intervals. The last
    /// of a run or of a phase may be shorter.
    pub interval_ns: f64,
    /// When each interval ends.
    pub time_ns: Vec<f64>,
    /// Load delivered in the interval, as `accepted_load`.
    pub accepted_load: Vec<f64>,
    /// At the end of the interval, how long packets at the heads of source queues have waited, mean over nodes that send.
    /// It is 0 where none waits. Not of several jobs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_wait_mean_ns: Option<Vec<f64>>,
    /// That of the node that waits longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_wait_max_ns: Option<Vec<f64>>,
    /// What waits in routers at the end of the interval, by class of the channels that it waits for. Of several jobs, only of all
    /// together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueSeries>,
}

/// What waits in routers for the channels of a class: packets that are through the pipeline and whose heads have not left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct QueueSeries {
    /// The class's name.
    pub class: String,
    /// The number of channels.
    pub channels: u64,
    /// Bytes that wait for a channel, mean over channels.
    #[serde(rename = "mean_B")]
    pub mean_bytes: Vec<f64>,
    /// Bytes that wait for the channel with most.
    #[serde(rename = "max_B")]
    pub max_bytes: Vec<u64>,
}
