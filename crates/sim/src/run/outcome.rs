//! How a run is asked for, and why it may end without a result.

use fabric::Grain;
use units::Time;

use crate::error::SystemError;
use crate::progress::Progress;

/// Why a run ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The experiment cannot be built.
    #[error(transparent)]
    System(#[from] SystemError),
    /// Nothing moves any more.
    #[error("deadlock at {at_ns} ns: {in_flight} packets are in the network and none moves\n{cycle}")]
    Deadlock {
        /// Simulated time, in nanoseconds.
        at_ns: u64,
        /// Packets in the network.
        in_flight: i64,
        /// Which packet holds which buffer and waits for which.
        cycle: String,
    },
    /// Ranks wait for what will never come.
    #[error("ranks stand still, and no operation has ended since {since}: {waits}")]
    Standstill {
        /// When the last operation ended, or the ranks began.
        since: Time,
        /// Which rank waits for what.
        waits: String,
    },
    /// It goes on for longer than the clock holds.
    #[error(
        "the run has not ended by {last} of simulated time (104 days), the last that the clock holds: shorten what it does, or end it \
         earlier with `measure.max_time`"
    )]
    Clock {
        /// The last time that the clock holds.
        last: Time,
    },
    /// A rank cannot go on.
    #[error(transparent)]
    Rank(#[from] host::HostError),
    /// The user has cancelled it.
    #[error("the run was cancelled")]
    Cancelled,
}

/// How a run is carried out; of no consequence for its result.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Threads, at least 1.
    pub threads: usize,
    /// Partitions of a thread.
    pub grain: Grain,
    /// Reports how far the run is, and may cancel it.
    pub progress: Progress,
}
