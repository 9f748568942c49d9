//! Where the time of ranks goes: what each rank does, the critical path, and a timeline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What ranks do until the last of them has ended (`measure.timeline`). The parts of a rank add up to the time of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct BreakdownResult {
    /// The mean over ranks.
    #[serde(flatten)]
    pub mean: BreakdownMean,
    /// Each rank.
    pub ranks: BreakdownRanks,
}

/// What a rank does, mean over ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct BreakdownMean {
    /// A calculation has the processor.
    pub computing_ns: f64,
    /// The overhead of an operation passes, and no calculation.
    pub overhead_ns: f64,
    /// Blocked, and what it waits for has not been sent: the sender is late.
    pub late_sender_ns: f64,
    /// Blocked in a send, and the receive has not been posted: the receiver is late.
    pub late_receiver_ns: f64,
    /// Blocked, and what it waits for is on its way.
    pub transfer_ns: f64,
    /// Noise has the processor.
    pub noise_ns: f64,
    /// Ended, and others have not.
    pub ended_ns: f64,
}

/// What each rank does, by rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct BreakdownRanks {
    /// A calculation has the processor.
    pub computing_ns: Vec<f64>,
    /// The overhead of an operation passes, and no calculation.
    pub overhead_ns: Vec<f64>,
    /// Blocked, and what it waits for has not been sent: the sender is late.
    pub late_sender_ns: Vec<f64>,
    /// Blocked in a send, and the receive has not been posted: the receiver is late.
    pub late_receiver_ns: Vec<f64>,
    /// Blocked, and what it waits for is on its way.
    pub transfer_ns: Vec<f64>,
    /// Noise has the processor.
    pub noise_ns: Vec<f64>,
    /// Ended, and others have not.
    pub ended_ns: Vec<f64>,
}

/// The critical path: the chain of work and messages that the end of the run has waited for (`measure.timeline`). Its parts add
/// up to the time of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CriticalPathResult {
    /// Calculations.
    pub computing_ns: f64,
    /// Overheads of operations.
    pub overhead_ns: f64,
    /// Noise that lengthens either.
    pub noise_ns: f64,
    /// In the network and the interfaces: the sum of what follows.
    pub network_ns: f64,
    /// Sending: at a source the packets of a message before the last one, at the end the length of that one.
    pub serialization_ns: f64,
    /// The delays of channels.
    pub propagation_ns: f64,
    /// The pipelines of routers.
    pub routers_ns: f64,
    /// Waiting for channels, behind other messages.
    pub queueing_ns: f64,
    /// Between a processor and the network, and behind earlier messages of the same pair of ranks.
    pub host_ns: f64,
    /// In the network, without a log that would say more: there were too many transmissions.
    pub unresolved_ns: f64,
    /// Messages on the path, of requests and answers each.
    pub messages: u64,
    /// Ranks that the path visits.
    pub ranks: u64,
    /// By class of channels.
    pub classes: Vec<PathClass>,
}

/// What a class of channels has of the critical path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PathClass {
    /// The class's name.
    pub class: String,
    /// Channels that the path crosses.
    pub crossed: u64,
    /// Sending: at a source the packets of a message before the last one, at the end the length of that one.
    pub serialization_ns: f64,
    /// The delays of channels.
    pub propagation_ns: f64,
    /// Waiting for channels, behind other messages.
    pub queueing_ns: f64,
    /// All of it, as a share of the time of the run.
    pub share: f64,
}

/// What ranks do when, and their messages (`measure.timeline`). Of many ranks every second, fourth, ... one is kept, so that there are
/// at most 262,144 intervals, and as many messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineResult {
    /// When the ranks began.
    pub start_ns: f64,
    /// When the last rank ended.
    pub end_ns: f64,
    /// The ranks that are kept: each of so many, from 0 on.
    pub every: u32,
    /// The names of states, by their numbers.
    pub states: Vec<String>,
    /// By interval, in ascending order of ranks and times, the rank.
    pub rank: Vec<u32>,
    /// By interval, the number of its state.
    pub state: Vec<u8>,
    /// By interval, its begin.
    pub begin_ns: Vec<f64>,
    /// By interval, its end.
    pub interval_end_ns: Vec<f64>,
    /// Messages between ranks that are kept.
    pub messages: TimelineMessages,
    /// The steps of the critical path.
    pub path: TimelinePath,
}

/// The messages of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineMessages {
    /// The rank that sends it.
    pub from: Vec<u32>,
    /// The rank that it is for.
    pub to: Vec<u32>,
    /// Its size.
    #[serde(rename = "bytes_B")]
    pub bytes: Vec<u64>,
    /// When the overhead of its send begins.
    pub sent_ns: Vec<f64>,
    /// When its data are handed over to the interface.
    pub handed_ns: Vec<f64>,
    /// When the last byte arrives.
    pub arrived_ns: Vec<f64>,
    /// When the receive ends that it has met; null if there is none.
    pub received_ns: Vec<Option<f64>>,
}

/// The steps of a critical path, in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelinePath {
    /// What it is: 0 for computing, 1 for overhead, 2 for a message, 3 for noise.
    pub kind: Vec<u8>,
    /// The rank at its begin.
    pub from: Vec<u32>,
    /// The rank at its end.
    pub to: Vec<u32>,
    /// When it begins.
    pub begin_ns: Vec<f64>,
    /// When it ends.
    pub end_ns: Vec<f64>,
}
