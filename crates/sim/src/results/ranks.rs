//! What benchmarks of message latency and programs of ranks measure besides.

use schemars::JsonSchema;
use serde::Serialize;

/// What a benchmark of message latency measures. A message's time is half of its round trip's: overheads, the path and the
/// message's length. Null if the run ended before a round trip had.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BenchmarkResult {
    /// Bytes of a message.
    #[serde(rename = "message_size_B")]
    pub message_size_bytes: u64,
    /// Time of a message: the mean over pairs. Here and below, of those on different nodes.
    pub message_time_mean_ns: Option<f64>,
    /// Time of a message of the fastest pair, by its mean.
    pub message_time_min_ns: Option<f64>,
    /// Time of a message of the slowest pair, by its mean.
    pub message_time_max_ns: Option<f64>,
    /// How far the slowest pair is above the fastest, as a share of that.
    pub message_time_spread: Option<f64>,
    /// Links between the two of a pair, on average.
    pub pair_channels_mean: f64,
    /// The pairs.
    pub pairs: Vec<PairResult>,
}

/// What a benchmark has that gives a table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TableResult {
    /// The benchmark.
    pub benchmark_kind: String,
    /// The ranks that take part.
    pub benchmark_ranks: u32,
    /// The shortest time of a row, as `time_max_ns` of rows has it: that of a short message.
    pub least_time_ns: Option<f64>,
    /// The most bandwidth of a row.
    #[serde(rename = "peak_bandwidth_B_per_s")]
    pub peak_bandwidth_bytes_per_s: Option<f64>,
    /// The highest rate of messages of a row.
    pub peak_messages_per_s: Option<f64>,
    /// Its rows: one for each size of messages, or for each time between two polls.
    pub benchmark_rows: Vec<RowResult>,
}

/// A row of a benchmark's table. Null if the run ended before, and where the benchmark has no such quantity.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowResult {
    /// Bytes of a message; of a collective operation, as the benchmark counts them.
    #[serde(rename = "size_B")]
    pub size_bytes: u64,
    /// Iterations that were measured.
    pub repetitions: u32,
    /// Time of an iteration, or of half of it where a message goes there and back: that of the rank for which it is shortest. Of polling,
    /// the time of all work.
    pub time_min_ns: Option<f64>,
    /// The same of the rank for which it is longest.
    pub time_max_ns: Option<f64>,
    /// The mean over the ranks that measure.
    pub time_mean_ns: Option<f64>,
    /// Bytes of an iteration as the benchmark counts them, over its longest time. Of `sendrecv` and `imb-exchange` those that a rank sends and
    /// receives, of others those of all messages. Of polling, what a rank receives over its time.
    #[serde(rename = "bandwidth_B_per_s")]
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Messages over the same time, of `streaming` and `osu-mbw-mr`; of polling, those that a rank receives.
    pub messages_per_s: Option<f64>,
    /// Of polling: the time between two polls.
    pub interval_ns: Option<f64>,
    /// Of polling: the share of the time in which ranks have computed.
    pub availability: Option<f64>,
}

/// What a program of ranks measures: its messages and how they have been matched. A search of a queue visits its entries from the
/// front to the one that it finds, or at all; searches are counted, and take the time of `nic.matching`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProgramResult {
    /// Whether the program was called back while it ran, on one thread, since what it did depended on what it had received.
    pub program_called_back: bool,
    /// Messages that have come to their ranks.
    pub program_messages: u64,
    /// The most messages that a rank had before it was ready for them.
    pub unexpected_max: u32,
    /// The most bytes of such messages that a rank held at a time; of those that asked first, none.
    #[serde(rename = "unexpected_max_B")]
    pub unexpected_max_bytes: u64,
    /// Entries that a search for a posted receive visits, on average; null without messages.
    pub posted_search_mean: Option<f64>,
    /// Entries that a search for an unexpected message visits, on average; null without receives.
    pub unexpected_search_mean: Option<f64>,
    /// The most entries that a search has visited.
    pub search_max: u32,
    /// Bytes copied by ranks of one node for one another, each as often as it has been copied; 0 without `node.memory`.
    #[serde(rename = "copied_B")]
    pub copied_bytes: u64,
    /// Sends that have found no credit (`nic.eager_credits`): they have waited, or asked their receivers first.
    pub credit_waits: u64,
    /// The most connections of a rank at a time, by `nic.connections`; 0 without.
    pub connections_max: u64,
    /// The most memory that the connections of a node's ranks take together.
    #[serde(rename = "connection_memory_max_B")]
    pub connection_memory_max_bytes: u64,
    /// Messages, stripes and control messages that have waited for the state of their connection.
    pub connection_misses: u64,
    /// Registrations of memory, at both ends, by `nic.registration`; 0 without.
    pub registrations: u64,
    /// Messages that have found their memory registered, at both ends.
    pub registration_hits: u64,
    /// Share of the time that a rank's processor computes, on average; null if the ranks have not ended. Time lost to noise apart.
    pub computing_share: Option<f64>,
    /// The same of library work that occupies the processor: overheads, searches, registrations, interrupts.
    pub library_share: Option<f64>,
    /// The same of noise that has lengthened either.
    pub noise_share: Option<f64>,
    /// What a program has besides that measures times itself.
    #[serde(flatten)]
    pub times: Option<MeasuredTimes>,
    /// What a program has besides whose collective operations routers carry out.
    #[serde(flatten)]
    pub groups: Option<GroupsResult>,
}

/// Groups whose operations routers carry out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GroupsResult {
    /// The groups of the program.
    pub groups: u32,
    /// Groups for which routers have no room, and whose operations are made of messages (`in_switch.overflow`).
    pub groups_in_software: u32,
    /// Other groups whose operations larger than `in_switch.low_latency.max_message` are made of messages.
    pub groups_partly_in_software: u32,
    /// Operations of ranks that have waited, since no more of their group may be under way (`in_switch.outstanding_operations`, that of
    /// `in_switch.streaming`).
    pub outstanding_waits: u64,
    /// Whether every result had each contribution exactly once, and every copy came once: counted, and summed in 64 bits.
    pub groups_verified: bool,
    /// With `in_switch.verify`: results whose elements have been computed again and found right, or, if `groups_verified` is false, not all of
    /// them.
    pub elements_checked: Option<u64>,
    /// With `in_switch.verify`: a number that stands for the bits of all these elements. Runs that combine alike have the same.
    pub elements_digest: Option<String>,
    /// Packets of a group that a member may have under way before a result is known.
    pub groups_window: u32,
    /// Share of the time for which packets wait at the combine unit where they wait for longest, of all jobs together: for so long at most the
    /// packets behind them, unicasts among them, are held up at an input that they share.
    pub stall_share: Option<f64>,
    /// The most entries that a router's table has: trees of all jobs that pass through it.
    pub table_entries_max: u32,
}

/// Times that a program measures itself: of a collective operation or, of a training step, of the step and of its parts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredTimes {
    /// Mean time of a collective operation, or of a training step: of collective traffic from the begin of an operation until its last node
    /// has ended, of a program from a rank's begin to its end, over ranks and repetitions; null if none has ended, and of multicasts not all of
    /// whose measured packets have arrived. Of reductions and barriers past saturation, where not all that were measured end, of those that have
    /// ended in the measured interval.
    pub operation_time_mean_ns: Option<f64>,
    /// The longest of these times.
    pub operation_time_max_ns: Option<f64>,
    /// From the first rank's begin to the last one's end: the mean over repetitions.
    pub operation_span_mean_ns: Option<f64>,
    /// A lower bound of that: the time of the shortest message, and of the bytes that some node has to send or receive at least.
    pub operation_bound_ns: Option<f64>,
    /// The same of everything that the program measures, the operation or the step first.
    pub measures: Vec<MeasureResult>,
}

/// A time that a program measures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasureResult {
    /// What is measured.
    pub name: String,
    /// How often ranks have measured it, all together.
    pub count: u64,
    /// From a rank's begin to its end: the mean; null if none has ended.
    pub time_mean_ns: Option<f64>,
    /// The longest of these times.
    pub time_max_ns: Option<f64>,
    /// From the first rank's begin to the last one's end: the mean over repetitions.
    pub span_mean_ns: Option<f64>,
    /// A lower bound of that; null if none is known.
    pub bound_ns: Option<f64>,
}

/// Two ranks that have exchanged messages.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PairResult {
    /// The rank that begins.
    pub rank: u32,
    /// The rank that answers.
    pub partner: u32,
    /// Links between their nodes; 0 in one node.
    pub channels: u32,
    /// Round trips that have ended.
    pub messages: u32,
    /// Time of a message, on average.
    pub time_mean_ns: Option<f64>,
    /// Time of the fastest message.
    pub time_min_ns: Option<f64>,
    /// Time of the slowest message.
    pub time_max_ns: Option<f64>,
}
