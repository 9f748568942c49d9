//! What is known of the ranks of an executor while they run, and why they may not go on.

use workload::collectives::Operation;
use workload::program::{Context, ProgramError};

/// Why the ranks of an executor cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// A rank whose program cannot go on.
    #[error("rank {rank}: {error}")]
    Program {
        /// The rank.
        rank: u32,
        /// Why.
        error: ProgramError,
    },
    /// A message that is larger than the receive that it has met.
    #[error(
        "rank {rank} receives at most {received} bytes from rank {source_rank} under tag {tag}{}, which sends {sent}",
        of(*context)
    )]
    Truncated {
        /// The rank that receives.
        rank: u32,
        /// The rank that sends.
        source_rank: u32,
        /// The tag.
        tag: u32,
        /// The communicator.
        context: Context,
        /// Bytes sent.
        sent: u64,
        /// Bytes that there is room for.
        received: u64,
    },
    /// An operation in the switches of a group that was not known before the run.
    #[error(
        "rank {rank} calls {} by `in-switch` in {context}, which the switches have no group for: groups are those of the calls that are known \
         before the run", operation.name()
    )]
    NoGroup {
        /// The rank.
        rank: u32,
        /// What it calls.
        operation: Operation,
        /// By which it would know the group.
        context: Context,
    },
    /// An operation in the switches of too many packets.
    #[error("rank {rank} calls {} by `in-switch` of {segments} packets: at most 2^30 are allowed", operation.name())]
    Segments {
        /// The rank.
        rank: u32,
        /// What it calls.
        operation: Operation,
        /// How many packets the operation has in all.
        segments: u64,
    },
    /// A rank that does not exist.
    #[error("rank {rank} names rank {other}: there are {ranks} ranks")]
    NoSuchRank {
        /// The rank.
        rank: u32,
        /// The rank that it names.
        other: u32,
        /// How many there are.
        ranks: u32,
    },
}

impl HostError {
    /// The rank that cannot go on: of several errors, that of the lowest rank is reported.
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

/// What a rank waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// A message.
    Message {
        /// From a rank, or from any.
        from: Option<u32>,
        /// Under a tag, or under any.
        tag: Option<u32>,
        /// In a communicator.
        context: Context,
    },
    /// A message that it probes for, and does not receive.
    Probe {
        /// From a rank, or from any.
        from: Option<u32>,
        /// Under a tag, or under any.
        tag: Option<u32>,
        /// In a communicator.
        context: Context,
    },
    /// The answer to a message that waits for its receiver.
    Answer {
        /// The rank that it is for.
        to: u32,
        /// Its tag.
        tag: u32,
        /// Its communicator.
        context: Context,
    },
    /// A credit for an eager message, or for one before it.
    Credit {
        /// The rank that it is for.
        to: u32,
        /// Its tag.
        tag: u32,
        /// Its communicator.
        context: Context,
    },
    /// The other members of a group, in an operation in the switches.
    Group {
        /// The operation.
        operation: Operation,
        /// The number of the group.
        group: u32,
    },
}

/// Which communicator a tag is of, unless it is that of all ranks.
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

/// A message whose data have been released to the network, as its sender knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Released {
    /// The rank that sends it.
    pub source: u32,
    /// How many operations that rank had started before it.
    pub number: u32,
    /// When, in ticks.
    pub at: u64,
    /// The rank that it is for.
    pub to: u32,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A message of which the last byte has arrived, as its receiver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Completed {
    /// The rank that sends it.
    pub source: u32,
    /// How many operations that rank had started before it.
    pub number: u32,
    /// When, in ticks.
    pub at: u64,
}

/// How far the ranks of an executor are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Ranks that have not ended.
    pub open: u64,
    /// Operations that have ended.
    pub ended: u64,
    /// Packets given to the network, less those that have come from it: of all executors together, packets in the network.
    pub packets: i64,
    /// Contributions to results of groups given to the network, less those whose results have come from it: they are in the network, or
    /// are held there until other members contribute.
    pub combining: i64,
    /// Whether anything happens here by itself, or waits to be sent.
    pub is_busy: bool,
}

impl Progress {
    /// Adds that of other ranks.
    pub fn add(&mut self, other: &Self) {
        self.open += other.open;
        self.ended += other.ended;
        self.packets += other.packets;
        self.combining += other.combining;
        self.is_busy |= other.is_busy;
    }

    /// Whether ranks wait and nothing will ever come.
    pub fn stands_still(&self) -> bool {
        self.waits_for_members() && self.combining == 0
    }

    /// Whether ranks wait, and nothing will ever come if all that is in the network is contributions that it holds until other members
    /// contribute: these never will.
    pub fn waits_for_members(&self) -> bool {
        self.open > 0 && self.packets == 0 && !self.is_busy
    }
}
