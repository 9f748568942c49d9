//! How long messages took.

use schemars::JsonSchema;
use serde::Serialize;

/// The messages of a point or a job (`measure.messages`). A message is, of open traffic, `message_size` bytes; of volumes, all that a
/// node sends to another in a phase; of ranks, the data of a send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MessageResult {
    /// Of all sizes together.
    #[serde(flatten)]
    pub figures: MessageFigures,
    /// By size, in ascending order: each size that occurs, or classes of powers of two of more than 16.
    pub sizes: Vec<MessageSize>,
    /// How they are distributed; null if not all measured messages arrived.
    pub distribution: Option<Distribution>,
}

/// Latencies and slowdowns of messages. Percentiles and maxima are null if not all measured messages arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MessageFigures {
    /// Messages that arrived, of those generated in the measured interval; of a closed workload, of all.
    pub count: u64,
    /// From generation to the arrival of the last byte, mean; source queue included and network interfaces apart.
    pub latency_mean_ns: Option<f64>,
    /// Its median.
    pub latency_p50_ns: Option<f64>,
    /// Its 90th percentile.
    pub latency_p90_ns: Option<f64>,
    /// Its 99th percentile.
    pub latency_p99_ns: Option<f64>,
    /// Its 99.9th percentile.
    pub latency_p999_ns: Option<f64>,
    /// The largest.
    pub latency_max_ns: Option<f64>,
    /// Latency over the time of the same message alone in the network, mean of the messages' ratios.
    pub slowdown_mean: Option<f64>,
    /// Its median.
    pub slowdown_p50: Option<f64>,
    /// Its 90th percentile.
    pub slowdown_p90: Option<f64>,
    /// Its 99th percentile.
    pub slowdown_p99: Option<f64>,
    /// Its 99.9th percentile.
    pub slowdown_p999: Option<f64>,
    /// The largest.
    pub slowdown_max: Option<f64>,
}

/// The messages of a size, or of a class of sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MessageSize {
    /// Bytes of the smallest message.
    #[serde(rename = "smallest_B")]
    pub smallest_bytes: u64,
    /// Bytes of the largest.
    #[serde(rename = "largest_B")]
    pub largest_bytes: u64,
    /// What they took.
    #[serde(flatten)]
    pub figures: MessageFigures,
}

/// Distributions of latency and slowdown, each for itself: the value that a part of the messages does not exceed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Distribution {
    /// The parts, from 0 to 1.
    pub part: Vec<f64>,
    /// By part, the latency.
    pub latency_ns: Vec<f64>,
    /// By part, the slowdown.
    pub slowdown: Vec<f64>,
}
