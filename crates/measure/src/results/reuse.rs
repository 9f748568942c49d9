//! What a run with `simulation.reuse` has saved.

use schemars::JsonSchema;
use serde::Serialize;

/// Counts of reuse. All other quantities are those of a run without it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReuseResult {
    /// Messages that have crossed the network, protocol messages included.
    pub messages: u64,
    /// Messages of them whose packets were not simulated for them: their episode was replayed.
    pub replayed_messages: u64,
    /// Messages that have begun an episode. Episodes that meet are merged.
    pub episodes: u64,
    /// Records: different episodes that were simulated.
    pub records: u64,
    /// Records looked up for an episode under way that a message had joined.
    pub joins: u64,
    /// Episodes under way that were merged into others.
    pub merges: u64,
    /// Records whose simulation continued from a saved state.
    pub continued: u64,
    /// Times that the simulation of an episode was paused.
    pub paused: u64,
    /// Records looked up for an episode that began with a moved round-robin pointer.
    pub moved_pointers: u64,
    /// Packet-hops that were simulated, of the `packet_hops` of the point. Those that are simulated again, because a
    /// message has joined an episode, count again.
    pub simulated_packet_hops: u64,
    /// Packet-hops in skipped periods of simulated episodes. Not included in `simulated_packet_hops`.
    pub skipped_packet_hops: u64,
    /// Reason why the run was repeated without reuse. The counts are those until then. Null if it was not.
    pub gave_up: Option<String>,
}
