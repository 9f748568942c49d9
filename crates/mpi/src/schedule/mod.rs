//! Schedules: dependency graphs of the operations of every rank of a parallel program.
//!
//! The program of a rank is a graph of operations: sends, receives and calculations. An operation may require that
//! others have ended, or have begun (the GOAL model of Hoefler, Siebert and Lumsdaine, "Group operation assembly
//! language", ICPP 2009). A schedule is a program ([`crate::program`]) that is written out before it runs.
//!
//! Sends from one rank to another with one tag start in the order in which they are written, as far as their
//! requirements allow. Receives do too. The n-th message therefore matches the n-th receive, and it is known beforehand
//! whether every operation ends. With wildcard receives (any source or any tag), neither is known beforehand.

mod builder;
mod check;
pub mod goal;
mod run;

use units::counted;

pub use builder::ScheduleBuilder;

/// Longest calculation of programs in picoseconds: 1000 s.
pub const LONGEST_CALC: u64 = 1_000_000_000_000_000;

/// Rank number that means any rank.
const ANY: u32 = u32::MAX;

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Send.
    Send,
    /// Receive from a given source with a given tag.
    Recv,
    /// Wildcard receive: from any source, with any tag, or both.
    RecvAny,
    /// Calculation on the rank's processor.
    Calc,
}

/// Operation under construction: its rank, and its index among the operations of that rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpId {
    rank: u32,
    index: u32,
}

/// Operations of all ranks, in flat arrays: first those of rank 0, then those of rank 1, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// First operation of each rank, and the number of all operations.
    first: Vec<u32>,
    /// Rank of each operation.
    rank: Vec<u32>,
    kind: Vec<OpKind>,
    /// Bytes of a message or of a receive's buffer, or picoseconds of a calculation.
    size: Vec<u64>,
    /// Peer rank of a message. `ANY` for any source. The own rank for a calculation.
    peer: Vec<u32>,
    tag: Vec<u32>,
    /// Receives of any tag, in ascending order.
    any_tag: Vec<u32>,
    /// Processor and interface of each operation. Empty if all use number 0.
    lanes: Vec<(u8, u8)>,
    /// Matching operation of a message, or the operation itself for a calculation. Empty if matching is not known
    /// beforehand.
    partner: Vec<u32>,
    /// Number of events that each operation waits for.
    waits: Vec<u32>,
    /// Start of each operation's range in `after_end`, which lists the operations that wait for its end; and the length
    /// of `after_end`.
    first_after_end: Vec<u32>,
    after_end: Vec<u32>,
    /// Start of each operation's range in `after_start`, which lists the operations that wait for its start; and the
    /// length of `after_start`.
    first_after_start: Vec<u32>,
    after_start: Vec<u32>,
    /// Omissions and assumptions of its reader, and operations that a run refuses, one sentence each.
    notes: Vec<String>,
}

/// Reason why a schedule cannot be built or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// A rank does not exist.
    #[error("there is no rank {rank}: the schedule has {}", counted((*.ranks).into(), ["rank", "ranks"]))]
    NoSuchRank {
        /// Rank.
        rank: u32,
        /// Number of ranks.
        ranks: u32,
    },
    /// A requirement joins operations of two ranks. Only messages may join ranks.
    #[error("an operation of rank {rank} requires one of rank {other}; only messages join ranks")]
    OtherRank {
        /// Rank of the waiting operation.
        rank: u32,
        /// Rank of the required operation.
        other: u32,
    },
    /// An operation does not exist.
    #[error("rank {rank} has no operation {index}")]
    NoSuchOperation {
        /// Rank.
        rank: u32,
        /// Operation of the rank, from 0.
        index: u32,
    },
    /// A message has no receive, or a receive has no message.
    #[error("rank {from} sends {} to rank {to} under tag {tag}, which has {} for them", counted(*.sent as u64, ["message", "messages"]), counted(*.received as u64, ["receive", "receives"]))]
    Unmatched {
        /// Sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
        /// Tag.
        tag: u32,
        /// Number of messages sent.
        sent: usize,
        /// Number of receives.
        received: usize,
    },
    /// Two ranks of a communicator call different collective operations.
    #[error(
        "ranks {} and {} do not call the same collective operations: number {number} of communicator {communicator} is {} of rank {}, and {} \
         of rank {}", ranks[0], ranks[1], calls[0], ranks[0], calls[1], ranks[1]
    )]
    Unequal {
        /// Communicator number. 0 is the communicator of all ranks.
        communicator: u32,
        /// Number of the operation in the communicator, from 1.
        number: u32,
        /// Both ranks.
        ranks: [u32; 2],
        /// Calls of both ranks, as text.
        calls: [String; 2],
    },
    /// A message is larger than its receive.
    #[error("rank {from} sends rank {to} {sent} bytes under tag {tag}, which receives at most {received}")]
    Sizes {
        /// Sending rank.
        from: u32,
        /// Receiving rank.
        to: u32,
        /// Tag.
        tag: u32,
        /// Bytes sent.
        sent: u64,
        /// Largest size accepted, in bytes.
        received: u64,
    },
    /// An operation waits for itself, possibly through other operations.
    #[error(
        "operation {index} of rank {rank} ({what}) would never end: it waits in a cycle, or for an operation that does"
    )]
    Cycle {
        /// Rank.
        rank: u32,
        /// Operation of the rank, from 0.
        index: u32,
        /// Description of the operation.
        what: String,
    },
    /// The number of operations exceeds the limit.
    #[error("a schedule of {operations} operations is too large: up to {most} are supported")]
    TooLarge {
        /// Number of operations.
        operations: usize,
        /// Largest number allowed.
        most: usize,
    },
}

impl Schedule {
    /// Largest number of operations of all ranks together.
    pub const MOST: usize = 1 << 28;

    /// Adds notes of the reader of the file.
    #[must_use]
    pub fn with_notes(mut self, notes: &[String]) -> Self {
        self.notes.extend_from_slice(notes);
        self
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Returns the operations of a rank, by number.
    pub fn of(&self, rank: u32) -> std::ops::Range<u32> {
        self.first[rank as usize]..self.first[rank as usize + 1]
    }

    /// Returns the number of an operation that the builder has created.
    pub fn number(&self, op: OpId) -> u32 {
        self.first[op.rank as usize] + op.index
    }

    /// Returns the rank of an operation.
    #[inline]
    pub fn rank(&self, op: u32) -> u32 {
        self.rank[op as usize]
    }

    /// Returns the kind of an operation.
    #[inline]
    pub fn kind(&self, op: u32) -> OpKind {
        self.kind[op as usize]
    }

    /// Returns the bytes of a message or of a receive's buffer, or the picoseconds of a calculation.
    #[inline]
    pub fn size(&self, op: u32) -> u64 {
        self.size[op as usize]
    }

    /// Returns the peer rank of a message. `None` for any source.
    #[inline]
    pub fn peer(&self, op: u32) -> Option<u32> {
        Some(self.peer[op as usize]).filter(|&peer| peer != ANY)
    }

    /// Returns the tag of a message. `None` for any tag.
    #[inline]
    pub fn tag(&self, op: u32) -> Option<u32> {
        let is_any = self.kind(op) == OpKind::RecvAny && self.any_tag.binary_search(&op).is_ok();
        (!is_any).then(|| self.tag[op as usize])
    }

    /// Returns the numbers of the processor and the interface of an operation, as written in GOAL.
    pub fn lanes(&self, op: u32) -> (u8, u8) {
        self.lanes.get(op as usize).copied().unwrap_or_default()
    }

    /// Returns the matching operation of a send or a receive, if matching is known beforehand.
    #[inline]
    pub fn partner(&self, op: u32) -> Option<u32> {
        self.partner.get(op as usize).copied()
    }

    /// Returns the number of ends and starts that each operation waits for.
    pub fn waits(&self) -> &[u32] {
        &self.waits
    }

    /// Returns the operations that wait for an operation's end.
    #[inline]
    pub fn after_end(&self, op: u32) -> &[u32] {
        &self.after_end[self.first_after_end[op as usize] as usize..self.first_after_end[op as usize + 1] as usize]
    }

    /// Returns the operations that wait for an operation's start.
    #[inline]
    pub fn after_start(&self, op: u32) -> &[u32] {
        let (from, to) = (self.first_after_start[op as usize], self.first_after_start[op as usize + 1]);
        &self.after_start[from as usize..to as usize]
    }

    /// Iterates over all messages: sending rank, receiving rank, bytes.
    pub fn messages(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        (0..self.ranks()).flat_map(|rank| self.messages_from(rank))
    }

    /// Iterates over the messages of a rank: sending rank, receiving rank, bytes.
    pub fn messages_from(&self, rank: u32) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        let sends = self.of(rank).filter(|&op| self.kind(op) == OpKind::Send);
        sends.map(move |op| (rank, self.peer[op as usize], self.size(op)))
    }
}
