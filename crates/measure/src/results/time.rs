//! Breakdown of the time of ranks: states of each rank, the critical path, and a timeline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Explanation of the time of ranks. Requires `measure.timeline`, and that all ranks have ended.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Explained {
    /// Time of ranks by state. Requires `measure.timeline`, and that all ranks have ended.
    pub breakdown: BreakdownResult,
    /// Critical path. Requires `measure.timeline`, and that all ranks have ended.
    pub critical_path: CriticalPathResult,
    /// Timeline of ranks. Requires `measure.timeline`, and that all ranks have ended.
    pub timeline: TimelineResult,
}

/// Time of ranks by state, until the last rank has ended (`measure.timeline`). The times of a rank add up to the time
/// of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct BreakdownResult {
    /// Times by state, mean over ranks.
    #[serde(flatten)]
    pub mean: BreakdownMean,
    /// Times by state, for each rank.
    pub ranks: BreakdownRanks,
}

/// Time in each state, mean over ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct BreakdownMean {
    /// Time in which a calculation has the processor, in nanoseconds.
    pub computing_ns: f64,
    /// Time in the overhead of an operation, without a simultaneous calculation, in nanoseconds.
    pub overhead_ns: f64,
    /// Time in which the rank is blocked and the message that it waits for has not been sent (late sender), in
    /// nanoseconds.
    pub late_sender_ns: f64,
    /// Time in which the rank is blocked in a send whose receive has not been posted (late receiver), in nanoseconds.
    pub late_receiver_ns: f64,
    /// Time in which the rank is blocked and the message that it waits for is on its way, in nanoseconds.
    pub transfer_ns: f64,
    /// Time in which noise has the processor, in nanoseconds.
    pub noise_ns: f64,
    /// Time after the end of the rank's last operation, while other ranks have not ended, in nanoseconds.
    pub ended_ns: f64,
}

/// Time in each state, by rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct BreakdownRanks {
    /// Time in which a calculation has the processor, in nanoseconds.
    pub computing_ns: Vec<f64>,
    /// Time in the overhead of an operation, without a simultaneous calculation, in nanoseconds.
    pub overhead_ns: Vec<f64>,
    /// Time in which the rank is blocked and the message that it waits for has not been sent (late sender), in
    /// nanoseconds.
    pub late_sender_ns: Vec<f64>,
    /// Time in which the rank is blocked in a send whose receive has not been posted (late receiver), in nanoseconds.
    pub late_receiver_ns: Vec<f64>,
    /// Time in which the rank is blocked and the message that it waits for is on its way, in nanoseconds.
    pub transfer_ns: Vec<f64>,
    /// Time in which noise has the processor, in nanoseconds.
    pub noise_ns: Vec<f64>,
    /// Time after the end of the rank's last operation, while other ranks have not ended, in nanoseconds.
    pub ended_ns: Vec<f64>,
}

/// Critical path: the chain of work and messages that the end of the run has waited for (`measure.timeline`). Its parts
/// add up to the time of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CriticalPathResult {
    /// Time of calculations on the path, in nanoseconds.
    pub computing_ns: f64,
    /// Time of overheads of operations on the path, in nanoseconds.
    pub overhead_ns: f64,
    /// Time by which noise lengthens calculations and overheads on the path, in nanoseconds.
    pub noise_ns: f64,
    /// Time in the network and the interfaces, in nanoseconds. Sum of `serialization_ns`, `propagation_ns`,
    /// `routers_ns`, `queueing_ns`, `host_ns` and `unresolved_ns`.
    pub network_ns: f64,
    /// Time of sending, in nanoseconds: at the source, of the packets of a message before the last; at the end, of the
    /// last packet.
    pub serialization_ns: f64,
    /// Delays of channels, in nanoseconds.
    pub propagation_ns: f64,
    /// Time in the pipelines of routers, in nanoseconds.
    pub routers_ns: f64,
    /// Time of waiting for channels behind other messages, in nanoseconds.
    pub queueing_ns: f64,
    /// Time between a processor and the network, and behind earlier messages of the pair of ranks, in nanoseconds.
    pub host_ns: f64,
    /// Time in the network that is not divided further, in nanoseconds: there were too many transmissions for a log, or
    /// switches executed the operation.
    pub unresolved_ns: f64,
    /// Number of messages on the path. Requests and answers count as messages.
    pub messages: u64,
    /// Number of ranks that the path visits.
    pub ranks: u64,
    /// Parts of the path by class of channels.
    pub classes: Vec<PathClass>,
}

/// Share of the critical path in the channels of one class.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PathClass {
    /// Name of the class.
    pub class: String,
    /// Number of channels that the path crosses.
    pub crossed: u64,
    /// Time of sending, in nanoseconds: at the source, of the packets of a message before the last; at the end, of the
    /// last packet.
    pub serialization_ns: f64,
    /// Delays of channels, in nanoseconds.
    pub propagation_ns: f64,
    /// Time of waiting for channels behind other messages, in nanoseconds.
    pub queueing_ns: f64,
    /// Time of this class on the path, as a share of the time of the run.
    pub share: f64,
}

/// Timeline of ranks and their messages (`measure.timeline`). If there are many ranks, only every second, fourth, ...
/// rank is kept, so that there are at most 262,144 intervals and 262,144 messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineResult {
    /// Time at which the ranks began, in nanoseconds.
    pub start_ns: f64,
    /// Time at which the last rank ended, in nanoseconds.
    pub end_ns: f64,
    /// Distance of the ranks that are kept: ranks 0, `every`, 2 `every` and so on.
    pub every: u32,
    /// Names of states, by their number.
    pub states: Vec<String>,
    /// Rank of each interval. Intervals are in ascending order of ranks and times.
    pub rank: Vec<u32>,
    /// Number of the state of each interval.
    pub state: Vec<u8>,
    /// Begin of each interval, in nanoseconds.
    pub begin_ns: Vec<f64>,
    /// End of each interval, in nanoseconds.
    pub interval_end_ns: Vec<f64>,
    /// Messages between ranks that are kept.
    pub messages: TimelineMessages,
    /// Steps of the critical path.
    pub path: TimelinePath,
}

/// Messages of a timeline, by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineMessages {
    /// Rank that sends the message.
    pub from: Vec<u32>,
    /// Rank that receives the message.
    pub to: Vec<u32>,
    /// Size of the message, in bytes.
    #[serde(rename = "bytes_B")]
    pub bytes: Vec<u64>,
    /// Time at which the overhead of the send begins, in nanoseconds.
    pub sent_ns: Vec<f64>,
    /// Time at which the data are handed over to the interface, in nanoseconds.
    pub handed_ns: Vec<f64>,
    /// Time at which the last byte arrives, in nanoseconds.
    pub arrived_ns: Vec<f64>,
    /// Time at which the matching receive ends, in nanoseconds. Null if there is none.
    pub received_ns: Vec<Option<f64>>,
}

/// Steps of a critical path in order of time, by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelinePath {
    /// Kind of the step (0 computing, 1 overhead, 2 message, 3 noise).
    pub kind: Vec<u8>,
    /// Rank at the begin of the step.
    pub from: Vec<u32>,
    /// Rank at the end of the step.
    pub to: Vec<u32>,
    /// Begin of the step, in nanoseconds.
    pub begin_ns: Vec<f64>,
    /// End of the step, in nanoseconds.
    pub end_ns: Vec<f64>,
}
