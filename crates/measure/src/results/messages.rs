//! Latencies and slowdowns of messages.

use schemars::JsonSchema;
use serde::Serialize;
use units::NodeId;

/// Messages of a point or a job (`measure.messages`). A message is `message_size` bytes of open traffic, all that a
/// node sends to another in a phase of volumes, or the data of one send of a rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MessageResult {
    /// Latencies and slowdowns of all sizes together.
    #[serde(flatten)]
    pub figures: MessageFigures,
    /// Latencies and slowdowns by size, in ascending order: each size that occurs or, if there are more than 16,
    /// classes by powers of two.
    pub sizes: Vec<MessageSize>,
    /// Distribution of latencies and slowdowns. Null unless all measured messages arrived.
    pub distribution: Option<Distribution>,
    /// Each message that has arrived. Empty unless a run is compared with another model.
    #[serde(skip)]
    pub log: Vec<LoggedMessage>,
}

/// Message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedMessage {
    /// Source.
    pub from: NodeId,
    /// Destination.
    pub to: NodeId,
    /// Size, in bytes.
    pub bytes: u64,
    /// Latency, in picoseconds.
    pub latency: u64,
    /// Time of arrival, in picoseconds.
    pub at: u64,
}
units::record!(LoggedMessage { from, to, bytes, latency, at });

/// Latencies and slowdowns of messages. Percentiles and maxima are null unless all measured messages arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MessageFigures {
    /// Number of arrived messages among those generated in the measured interval. For workloads that finish: among all
    /// messages.
    pub count: u64,
    /// Mean latency, from generation to the arrival of the last byte, in nanoseconds. It includes the source queue and
    /// excludes network interfaces.
    pub latency_mean_ns: Option<f64>,
    /// Median of the latency, in nanoseconds.
    pub latency_p50_ns: Option<f64>,
    /// 90th percentile of the latency, in nanoseconds.
    pub latency_p90_ns: Option<f64>,
    /// 99th percentile of the latency, in nanoseconds.
    pub latency_p99_ns: Option<f64>,
    /// 99.9th percentile of the latency, in nanoseconds.
    pub latency_p999_ns: Option<f64>,
    /// Maximum of the latency, in nanoseconds.
    pub latency_max_ns: Option<f64>,
    /// Mean slowdown. The slowdown of a message is its latency over the time that it takes alone in the network.
    pub slowdown_mean: Option<f64>,
    /// Median of the slowdown.
    pub slowdown_p50: Option<f64>,
    /// 90th percentile of the slowdown.
    pub slowdown_p90: Option<f64>,
    /// 99th percentile of the slowdown.
    pub slowdown_p99: Option<f64>,
    /// 99.9th percentile of the slowdown.
    pub slowdown_p999: Option<f64>,
    /// Maximum of the slowdown.
    pub slowdown_max: Option<f64>,
}

/// Messages of one size, or of one class of sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MessageSize {
    /// Size of the smallest message, in bytes.
    #[serde(rename = "smallest_B")]
    pub smallest_bytes: u64,
    /// Size of the largest message, in bytes.
    #[serde(rename = "largest_B")]
    pub largest_bytes: u64,
    /// Latencies and slowdowns of these messages.
    #[serde(flatten)]
    pub figures: MessageFigures,
}

/// Distributions of latency and of slowdown, separately: the values that a given part of the messages does not exceed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Distribution {
    /// Parts of the messages, from 0 to 1.
    pub part: Vec<f64>,
    /// Latency that each part does not exceed, in nanoseconds.
    pub latency_ns: Vec<f64>,
    /// Slowdown that each part does not exceed.
    pub slowdown: Vec<f64>,
}
