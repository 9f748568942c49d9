//! Results of benchmarks and of programs of ranks.

use schemars::JsonSchema;
use serde::Serialize;

/// Results of a benchmark of message latency. The time of a message is half of its round trip: overheads, path and
/// length of the message. Null if the run ended before any round trip.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BenchmarkResult {
    /// Size of a message, in bytes.
    #[serde(rename = "message_size_B")]
    pub message_size_bytes: u64,
    /// Mean time of a message, in nanoseconds: mean over the pairs on different nodes.
    pub message_time_mean_ns: Option<f64>,
    /// Mean time of a message of the fastest pair, in nanoseconds. Pairs on different nodes only.
    pub message_time_min_ns: Option<f64>,
    /// Mean time of a message of the slowest pair, in nanoseconds. Pairs on different nodes only.
    pub message_time_max_ns: Option<f64>,
    /// Relative difference between the slowest and the fastest pair: (max - min) / min. Pairs on different nodes only.
    pub message_time_spread: Option<f64>,
    /// Mean number of links between the two ranks of a pair. Pairs on different nodes only.
    pub pair_channels_mean: f64,
    /// Results of each pair.
    pub pairs: Vec<PairResult>,
}

/// Results of a benchmark with a table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TableResult {
    /// Name of the benchmark.
    pub benchmark_kind: String,
    /// Number of ranks that take part.
    pub benchmark_ranks: u32,
    /// Least `time_max_ns` of any row, in nanoseconds: the time of a short message.
    pub least_time_ns: Option<f64>,
    /// Greatest bandwidth of any row, in bytes per second.
    #[serde(rename = "peak_bandwidth_B_per_s")]
    pub peak_bandwidth_bytes_per_s: Option<f64>,
    /// Greatest message rate of any row, in messages per second.
    pub peak_messages_per_s: Option<f64>,
    /// Rows of the table: one for each message size, or for each polling interval.
    pub benchmark_rows: Vec<RowResult>,
}

/// A row of a benchmark's table. Values are null if the run ended before the row was measured, and if the benchmark
/// does not have the quantity.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowResult {
    /// Size of a message, in bytes. For collective operations: the size as the benchmark counts it.
    #[serde(rename = "size_B")]
    pub size_bytes: u64,
    /// Number of measured iterations.
    pub repetitions: u32,
    /// Time of an iteration at the fastest rank, in nanoseconds: half of the iteration if a message goes there and
    /// back. For polling: the time of all work.
    pub time_min_ns: Option<f64>,
    /// Time of an iteration at the slowest rank, in nanoseconds: half of the iteration if a message goes there and
    /// back. For polling: the time of all work.
    pub time_max_ns: Option<f64>,
    /// Time of an iteration, mean over the ranks that measure, in nanoseconds: half of the iteration if a message goes
    /// there and back. For polling: the time of all work.
    pub time_mean_ns: Option<f64>,
    /// Bytes moved in an iteration over its time at the slowest rank, in bytes per second. `sendrecv` and
    /// `imb-exchange` count the bytes that a rank sends and receives, other benchmarks the bytes of all messages. For
    /// polling: bytes that a rank receives over its time.
    #[serde(rename = "bandwidth_B_per_s")]
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Messages of an iteration over its time at the slowest rank, per second. `streaming` and `osu-mbw-mr` only. For
    /// polling: messages that a rank receives over its time.
    pub messages_per_s: Option<f64>,
    /// Time between two polls, in nanoseconds. Polling only.
    pub interval_ns: Option<f64>,
    /// Share of the time in which ranks have computed. Polling only.
    pub availability: Option<f64>,
}

/// Results of a program of ranks: its messages and their matching. A search visits the entries of a queue from the
/// front to the matching entry, or all entries if none matches. Visits are counted, and take the time of
/// `nic.matching`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProgramResult {
    /// Whether the program was called back during the run, on one thread, because its calls depended on received
    /// messages.
    pub program_called_back: bool,
    /// Number of messages that have arrived at their ranks.
    pub program_messages: u64,
    /// Greatest length of a rank's queue of unexpected messages.
    pub unexpected_max: u32,
    /// Greatest number of bytes of unexpected messages that a rank has held at once. Messages of the rendezvous
    /// protocol hold none.
    #[serde(rename = "unexpected_max_B")]
    pub unexpected_max_bytes: u64,
    /// Mean number of entries visited by a search for a posted receive. Null without messages.
    pub posted_search_mean: Option<f64>,
    /// Mean number of entries visited by a search for an unexpected message. Null without receives.
    pub unexpected_search_mean: Option<f64>,
    /// Greatest number of entries visited by any search.
    pub search_max: u32,
    /// Bytes copied between ranks of a node. Bytes that are copied twice count twice. 0 without `node.memory`.
    #[serde(rename = "copied_B")]
    pub copied_bytes: u64,
    /// Number of sends without an eager credit (`nic.eager_credits`). They have waited, or used the rendezvous
    /// protocol.
    pub credit_waits: u64,
    /// Greatest number of connections of a rank at once. 0 without `nic.connections`.
    pub connections_max: u64,
    /// Greatest memory of all connections of a node's ranks together, in bytes.
    #[serde(rename = "connection_memory_max_B")]
    pub connection_memory_max_bytes: u64,
    /// Number of messages, stripes and control messages that have waited for the state of their connection.
    pub connection_misses: u64,
    /// Number of memory registrations, at both ends of messages. 0 without `nic.registration`.
    pub registrations: u64,
    /// Number of messages whose memory was already registered, at both ends of messages.
    pub registration_hits: u64,
    /// Share of the time that a rank's processor computes, mean over ranks. Time lost to noise does not count. Null if
    /// the ranks have not ended.
    pub computing_share: Option<f64>,
    /// Share of the time that a rank's processor is occupied by library work (overheads, searches, registrations,
    /// interrupts), mean over ranks. Time lost to noise does not count. Null if the ranks have not ended.
    pub library_share: Option<f64>,
    /// Share of the time that noise lengthens calculations and library work, mean over ranks. Null if the ranks have
    /// not ended.
    pub noise_share: Option<f64>,
    /// Results of programs that measure times.
    #[serde(flatten)]
    pub times: Option<MeasuredTimes>,
    /// Results of programs whose collective operations are executed by routers.
    #[serde(flatten)]
    pub groups: Option<GroupsResult>,
    /// Results of programs whose messages pass relays.
    #[serde(flatten)]
    pub relays: Option<RelaysResult>,
}

/// Relays between several networks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RelaysResult {
    /// Bytes that relays have passed on, with control messages. Bytes that pass two relays count twice.
    #[serde(rename = "relayed_B")]
    pub relayed_bytes: u64,
    /// Largest number of bytes of data that a relay has held at once.
    #[serde(rename = "relay_held_max_B")]
    pub relay_held_max_bytes: u64,
    /// Number of pieces of messages that have waited for room at a relay (`relay.buffer`).
    pub relay_waits: u64,
    /// Sum of these waits, in nanoseconds.
    pub relay_wait_ns: f64,
}

/// Groups whose operations are executed by routers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GroupsResult {
    /// Number of groups of the program.
    pub groups: u32,
    /// Number of groups without room in routers, whose operations are executed by messages (`in_switch.overflow`).
    pub groups_in_software: u32,
    /// Number of other groups whose operations larger than `in_switch.low_latency.max_message` are executed by
    /// messages.
    pub groups_partly_in_software: u32,
    /// Number of operations of ranks that have waited for the limit of operations of their group in progress
    /// (`outstanding_operations` of `in_switch` and of `in_switch.streaming`).
    pub outstanding_waits: u64,
    /// Whether every result contained each contribution exactly once, and every copy arrived once. Contributions are
    /// counted, and summed in 64 bits.
    pub groups_verified: bool,
    /// Number of results whose elements were computed again and found right. If `groups_verified` is false, some of
    /// them may be wrong. Requires `in_switch.verify`.
    pub elements_checked: Option<u64>,
    /// Digest of the bits of all checked elements. Runs that combine in an identical way have an identical digest.
    /// Requires `in_switch.verify`.
    pub elements_digest: Option<String>,
    /// Number of packets of a group that a member may have in flight before a result is known.
    pub groups_window: u32,
    /// Share of the time for which packets wait at the combine unit with the longest waits, of all jobs together. Upper
    /// bound of the time for which packets behind them, unicasts included, are blocked at an input that they share. Not in
    /// the flow model.
    pub stall_share: Option<f64>,
    /// Greatest number of entries of a router's table: trees of all jobs through the router.
    pub table_entries_max: u32,
}

/// Times that a program measures: of a collective operation, or of a training step and its parts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredTimes {
    /// Mean time of a collective operation, or of a training step, in nanoseconds. For collective traffic: from the
    /// begin of an operation until its last node has ended. For a program: from a rank's begin to its end, mean over
    /// ranks and repetitions. Null if none has ended, and for multicasts unless all measured packets have arrived. For
    /// reductions and barriers past saturation, where some measured operations do not end: mean over the operations
    /// that have ended in the measured interval.
    pub operation_time_mean_ns: Option<f64>,
    /// Greatest time of a collective operation or training step, in nanoseconds.
    pub operation_time_max_ns: Option<f64>,
    /// Time from the first rank's begin to the last rank's end, in nanoseconds: mean over repetitions.
    pub operation_span_mean_ns: Option<f64>,
    /// Lower bound of `operation_span_mean_ns`, in nanoseconds: the time of the shortest message, and of the bytes that
    /// some node has to send or receive at least.
    pub operation_bound_ns: Option<f64>,
    /// Each time that the program measures. The first is that of the operation or the step.
    pub measures: Vec<MeasureResult>,
}

/// A time that a program measures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasureResult {
    /// Name of the time.
    pub name: String,
    /// Number of measurements of all ranks together.
    pub count: u64,
    /// Time from a rank's begin to its end, in nanoseconds: mean over ranks and repetitions. Null if none has ended.
    pub time_mean_ns: Option<f64>,
    /// Greatest time from a rank's begin to its end, in nanoseconds.
    pub time_max_ns: Option<f64>,
    /// Time from the first rank's begin to the last rank's end, in nanoseconds: mean over repetitions.
    pub span_mean_ns: Option<f64>,
    /// Lower bound of `span_mean_ns`, in nanoseconds. Null if none is known.
    pub bound_ns: Option<f64>,
}

/// Results of two ranks that have exchanged messages.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PairResult {
    /// Rank that begins.
    pub rank: u32,
    /// Rank that answers.
    pub partner: u32,
    /// Number of links between the nodes of the two ranks. 0 within a node.
    pub channels: u32,
    /// Number of round trips that have ended.
    pub messages: u32,
    /// Mean time of a message, in nanoseconds.
    pub time_mean_ns: Option<f64>,
    /// Least time of a message, in nanoseconds.
    pub time_min_ns: Option<f64>,
    /// Greatest time of a message, in nanoseconds.
    pub time_max_ns: Option<f64>,
}
