//! Error of the flow model, measured on a sample by the packet model.

use schemars::JsonSchema;
use serde::Serialize;

/// Comparison of messages of a sample in the flow model and in the packet model. The error of a message is the absolute
/// relative difference of its latencies, `|t_flow / t_packet - 1|`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ValidationResult {
    /// What was simulated packet by packet.
    pub sample: String,
    /// Packets of the sample.
    pub packets: u64,
    /// Messages of the sample.
    pub messages: u64,
    /// Messages of the sample that have not arrived in the packet model when its run ends. A lower bound stands for the
    /// error of each of them.
    pub late_messages: u64,
    /// Mean error of the messages. Null without messages.
    pub error_mean: Option<f64>,
    /// Largest error of a message. Null without messages.
    pub error_max: Option<f64>,
    /// Time of all messages in the flow model over their time in the packet model, summed over the messages that arrive
    /// in both. Null without such messages.
    pub time_ratio: Option<f64>,
}
