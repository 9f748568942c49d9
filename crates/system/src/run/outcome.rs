//! Options of a run, and the reasons why it may end without a result.

use std::path::PathBuf;
use std::sync::Arc;

use engine::{Alone, Exchange};
use fabric::Grain;
use network::ReuseCounts;
use units::{KeyError, Time, counted};

use super::checkpoints::CheckpointPlace;
use crate::progress::Progress;

/// Reason why a run ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The experiment cannot be built.
    #[error(transparent)]
    System(#[from] KeyError),
    /// Deadlock: no packet can move.
    #[error("deadlock at {at_ns} ns: {} in the network and none moves\n{cycle}", counted((*.in_flight).unsigned_abs(), ["packet is", "packets are"]))]
    Deadlock {
        /// Simulated time, in nanoseconds.
        at_ns: u64,
        /// Number of packets in the network.
        in_flight: i64,
        /// Cycle of packets, with the buffer that each holds and the buffer that it waits for.
        cycle: String,
    },
    /// Ranks wait for events that will never occur.
    #[error("ranks stand still, and no operation has ended since {since}: {waits}")]
    Standstill {
        /// Time at which the last operation ended, or the ranks began.
        since: Time,
        /// Ranks that wait, with the operation that each waits for.
        waits: String,
    },
    /// The run lasts longer than the clock holds.
    #[error(
        "the run has not ended by {last} of simulated time (104 days), the last that the clock holds: shorten what it does, or end it \
         earlier with `measure.max_time`"
    )]
    Clock {
        /// Last time that the clock holds.
        last: Time,
    },
    /// A rank cannot continue.
    #[error(transparent)]
    Rank(#[from] host::HostError),
    /// A rank of another process cannot continue.
    #[error("{0}")]
    Elsewhere(String),
    /// The run has failed in another process.
    #[error("process {rank}: {message}")]
    Process {
        /// Rank of the process.
        rank: usize,
        /// Message of its error.
        message: String,
    },
    /// The run is repeated without `simulation.reuse`. `run` and `simulate` do so themselves.
    #[error("the run cannot go on with `simulation.reuse`: {reason}")]
    GaveUp {
        /// Reason why it cannot go on.
        reason: String,
        /// Counts until then.
        counts: Box<ReuseCounts>,
    },
    /// Records of reuse cannot be used in this run.
    #[error(transparent)]
    Records(KeyError),
    /// A checkpoint cannot be written, or cannot be gone on from.
    #[error("{0}")]
    Checkpoint(String),
    /// The user has cancelled the run.
    #[error("the run was cancelled")]
    Cancelled,
}

impl RunError {
    /// Adds the counts of earlier machines of the run.
    pub(super) fn after(mut self, before: &ReuseCounts) -> Self {
        if let Self::GaveUp { counts, .. } = &mut self {
            counts.add(before);
        }
        self
    }
}

/// Options of a run that do not affect its result.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Number of threads of each process, at least 1.
    pub threads: usize,
    /// Number of partitions of a thread.
    pub grain: Grain,
    /// Progress of the run, and its cancellation.
    pub progress: Progress,
    /// Exchange between the processes of the run.
    pub exchange: Arc<dyn Exchange>,
    /// Paths of the files that the experiment names, and hashes of their contents, which all processes have to agree on.
    pub inputs: Vec<(String, String)>,
    /// Place of checkpoints, which a run with `measure.checkpoint` requires.
    pub checkpoints: Option<CheckpointPlace>,
    /// Files of records of episodes. Requires `simulation.reuse`.
    pub reuse: ReuseFiles,
}

/// Files of records of episodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReuseFiles {
    /// File that an earlier run has written. `None`: the run begins without records.
    pub from: Option<PathBuf>,
    /// File to write. May be the one that was read. `None`: records are not kept.
    pub to: Option<PathBuf>,
    /// Version and build of the simulator, whose records others may not read.
    pub simulator: String,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: 0,
            grain: Grain::default(),
            progress: Progress::default(),
            exchange: Arc::new(Alone),
            inputs: Vec::new(),
            checkpoints: None,
            reuse: ReuseFiles::default(),
        }
    }
}
