//! Reports on the ranks of an executor during a run: errors, waits, messages and progress.

use mpi::collectives::Operation;
use mpi::program::{Context, ProgramError};

/// Error that stops the ranks of an executor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The program of a rank cannot go on.
    #[error("rank {rank}: {error}")]
    Program {
        /// Rank.
        rank: u32,
        /// Error of the program.
        error: ProgramError,
    },
    /// A message is larger than the receive that it has matched.
    #[error(
        "rank {rank} receives at most {received} bytes from rank {source_rank} under tag {tag}{}, which sends {sent}",
        of(*context)
    )]
    Truncated {
        /// Receiving rank.
        rank: u32,
        /// Sending rank.
        source_rank: u32,
        /// Tag of the message.
        tag: u32,
        /// Communicator of the message.
        context: Context,
        /// Size of the message in bytes.
        sent: u64,
        /// Size of the receive in bytes.
        received: u64,
    },
    /// An operation in the switches of a group that was not known before the run.
    #[error(
        "rank {rank} calls {} by `in-switch` in {context}, which the switches have no group for: groups are those of the calls that are known \
         before the run", operation.name()
    )]
    NoGroup {
        /// Rank.
        rank: u32,
        /// Operation that the rank calls.
        operation: Operation,
        /// Context by which the rank would know the group.
        context: Context,
    },
    /// An operation in the switches with too many packets.
    #[error(
        "rank {rank} calls {} in the switches, up to packet {segments} of its group: at most 2^30 packets of an operation and 2^32 - 1 of a run \
         are allowed",
        operation.name()
    )]
    Segments {
        /// Rank.
        rank: u32,
        /// Operation that the rank calls.
        operation: Operation,
        /// Number of packets of the operation, or, if the run has too many, of the group's operations so far.
        segments: u64,
    },
    /// An operation names a rank that does not exist.
    #[error("rank {rank} names rank {other}, of {}", units::counted((*.ranks).into(), ["rank", "ranks"]))]
    NoSuchRank {
        /// Rank that has started the operation.
        rank: u32,
        /// Rank that the operation names.
        other: u32,
        /// Number of ranks.
        ranks: u32,
    },
}

impl HostError {
    /// Returns the rank that cannot go on. Of several errors, that of the lowest rank is reported.
    pub fn rank(&self) -> u32 {
        match self {
            Self::Program { rank, .. }
            | Self::Truncated { rank, .. }
            | Self::NoGroup { rank, .. }
            | Self::Segments { rank, .. }
            | Self::NoSuchRank { rank, .. } => *rank,
        }
    }
}

/// Event that a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// Message.
    Message {
        /// Source rank. `None`: any source.
        from: Option<u32>,
        /// Tag. `None`: any tag.
        tag: Option<u32>,
        /// Communicator.
        context: Context,
    },
    /// Message that the rank probes for, and does not receive.
    Probe {
        /// Source rank. `None`: any source.
        from: Option<u32>,
        /// Tag. `None`: any tag.
        tag: Option<u32>,
        /// Communicator.
        context: Context,
    },
    /// Answer to a rendezvous request.
    Answer {
        /// Destination rank.
        to: u32,
        /// Tag of the message.
        tag: u32,
        /// Communicator of the message.
        context: Context,
    },
    /// Credit for an eager message, or for an earlier one of the pair.
    Credit {
        /// Destination rank.
        to: u32,
        /// Tag of the message.
        tag: u32,
        /// Communicator of the message.
        context: Context,
    },
    /// Other members of a group, in an operation in the switches.
    Group {
        /// Operation.
        operation: Operation,
        /// Number of the group.
        group: u32,
    },
}

/// Returns the text that names a communicator, unless it is that of all ranks.
fn of(context: Context) -> String {
    if context == Context::WORLD { String::new() } else { format!(" of {context}") }
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let message = |what: &str, from: Option<u32>| match from {
            Some(rank) => format!("{what} from rank {rank}"),
            None => format!("{what} from any rank"),
        };
        let (rank, tag, context) = match self {
            Self::Message { from, tag, context } => (message("a message", *from), *tag, context),
            Self::Probe { from, tag, context } => (message("a probe to find a message", *from), *tag, context),
            Self::Answer { to, tag, context } => (format!("rank {to} to receive its message"), Some(*tag), context),
            Self::Group { operation, group } => {
                return write!(f, "the in-switch {} of group {group}", operation.name());
            }
            Self::Credit { to, tag, context } => (format!("credits of rank {to} for its message"), Some(*tag), context),
        };
        match tag {
            Some(tag) => write!(f, "{rank} under tag {tag}{}", of(*context)),
            None => write!(f, "{rank} under any tag{}", of(*context)),
        }
    }
}

/// Message whose data have been released to the network, as its sender knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Released {
    /// Source rank.
    pub source: u32,
    /// Number of operations that the source had started before the send.
    pub number: u32,
    /// Release time, in ticks.
    pub at: u64,
    /// Destination rank.
    pub to: u32,
    /// Size in bytes.
    pub bytes: u64,
}

units::record!(Released { source, number, at, to, bytes });

/// Message whose last byte has arrived, as its receiver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Completed {
    /// Source rank.
    pub source: u32,
    /// Number of operations that the source had started before the send.
    pub number: u32,
    /// Arrival time, in ticks.
    pub at: u64,
}

units::record!(Completed { source, number, at });

/// Progress of the ranks of an executor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of ranks that have not ended.
    pub open: u64,
    /// Number of operations that have ended.
    pub ended: u64,
    /// Number of operations that have started and do not communicate: calculations, polls, probes,
    /// and steps that interfaces take in collective operations.
    pub local: u64,
    /// Packets given to the network, less those received from it. Summed over all executors: packets in the network.
    pub packets: i64,
    /// Contributions to results of groups given to the network, less those whose results have come from it. They are in
    /// the network, or are held there until other members contribute.
    pub combining: i64,
    /// Whether an event is pending here, or a message waits to be sent.
    pub is_busy: bool,
}
units::record!(Progress { open, ended, local, packets, combining, is_busy });

impl Progress {
    /// Adds the progress of other ranks.
    pub fn add(&mut self, other: &Self) {
        self.open += other.open;
        self.ended += other.ended;
        self.local += other.local;
        self.packets += other.packets;
        self.combining += other.combining;
        self.is_busy |= other.is_busy;
    }

    /// Returns the number of sends, receives and operations in the switches that have ended. Too low by at most the
    /// number of ranks while these calculate.
    pub fn communicated(&self) -> u64 {
        self.ended.saturating_sub(self.local)
    }

    /// Returns whether ranks wait and nothing will ever arrive.
    pub fn stands_still(&self) -> bool {
        self.waits_for_members() && self.combining == 0
    }

    /// Returns whether ranks wait, and nothing will ever arrive if the network holds only contributions that wait for
    /// other members: these will never contribute.
    pub fn waits_for_members(&self) -> bool {
        self.open > 0 && self.packets == 0 && !self.is_busy
    }
}
