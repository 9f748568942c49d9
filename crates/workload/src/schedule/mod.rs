//! Schedules: what every rank of a parallel program does, and in which order.
//!
//! A rank's program is a graph of operations - send, receive, calculate - of which some require that others have ended, or
//! have begun (the GOAL model of Hoefler, Siebert and Lumsdaine, "Group operation assembly language", ICPP 2009). All
//! programs, collectives and benchmarks come to this form, and one executor runs it.
//!
//! Who receives what is settled when a schedule is built: the n-th message that a rank sends another under a tag meets the
//! n-th receive that the other has for it, in the order in which they are written. (MPI's rule, for programs without
//! wildcards.) So running needs no search.

mod builder;
mod check;

pub use builder::{OpId, ScheduleBuilder};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Sends a message.
    Send,
    /// Receives one.
    Recv,
    /// Keeps the rank's processor busy.
    Calc,
}

/// The programs of all ranks, in flat arrays: the operations of rank 0, of rank 1, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// By rank, its first operation; one entry more.
    first: Vec<u32>,
    /// By operation, its rank.
    rank: Vec<u32>,
    kind: Vec<OpKind>,
    /// Bytes of a message, picoseconds of a calculation.
    size: Vec<u64>,
    /// The other end of a message; of a calculation, itself.
    partner: Vec<u32>,
    /// What each operation waits for: how many.
    waits: Vec<u32>,
    /// By operation, where those that wait for its end begin in `after_end`; one entry more.
    first_after_end: Vec<u32>,
    after_end: Vec<u32>,
    /// Likewise, for its start.
    first_after_start: Vec<u32>,
    after_start: Vec<u32>,
}

/// Why a schedule cannot be built or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// A rank that does not exist.
    #[error("there is no rank {rank}: the schedule has {ranks} ranks")]
    NoSuchRank {
        /// The rank.
        rank: u32,
        /// How many there are.
        ranks: u32,
    },
    /// A rank that sends to itself.
    #[error("rank {rank} sends to itself")]
    ToItself {
        /// The rank.
        rank: u32,
    },
    /// A requirement that joins two ranks: only messages do that.
    #[error("an operation of rank {rank} requires one of rank {other}; only messages join ranks")]
    OtherRank {
        /// The rank whose operation requires.
        rank: u32,
        /// The rank of the operation that is required.
        other: u32,
    },
    /// An operation that does not exist.
    #[error("rank {rank} has no operation {index}")]
    NoSuchOperation {
        /// The rank.
        rank: u32,
        /// Its operation, from 0.
        index: u32,
    },
    /// A message without a receive, or a receive without a message.
    #[error("rank {from} sends rank {to} {sent} messages under tag {tag}, which receives {received}")]
    Unmatched {
        /// The rank that sends.
        from: u32,
        /// The rank that receives.
        to: u32,
        /// The tag.
        tag: u32,
        /// Messages sent.
        sent: usize,
        /// Receives.
        received: usize,
    },
    /// A message and its receive of different sizes.
    #[error("rank {from} sends rank {to} {sent} bytes under tag {tag}, which receives {received}")]
    Sizes {
        /// The rank that sends.
        from: u32,
        /// The rank that receives.
        to: u32,
        /// The tag.
        tag: u32,
        /// Bytes sent.
        sent: u64,
        /// Bytes received.
        received: u64,
    },
    /// An operation that waits, by way of others, for itself.
    #[error(
        "operation {index} of rank {rank} ({what}) would never end: it waits in a cycle, or for an operation that does"
    )]
    Circle {
        /// The rank.
        rank: u32,
        /// Its operation, from 0.
        index: u32,
        /// What it does.
        what: String,
    },
    /// Too many operations to count.
    #[error("a schedule of {operations} operations is too large: up to {most} are supported")]
    TooLarge {
        /// Operations asked for.
        operations: usize,
        /// The most.
        most: usize,
    },
}

impl Schedule {
    /// The most operations of all ranks together.
    pub const MOST: usize = 1 << 28;

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether nobody does anything.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// The operations of a rank, by their numbers.
    pub fn of(&self, rank: u32) -> std::ops::Range<u32> {
        self.first[rank as usize]..self.first[rank as usize + 1]
    }

    /// The number of an operation that the builder has handed out.
    pub fn number(&self, op: OpId) -> u32 {
        self.first[op.rank as usize] + op.index
    }

    /// An operation's rank.
    #[inline]
    pub fn rank(&self, op: u32) -> u32 {
        self.rank[op as usize]
    }

    /// What an operation does.
    #[inline]
    pub fn kind(&self, op: u32) -> OpKind {
        self.kind[op as usize]
    }

    /// The bytes of a message, or the picoseconds of a calculation.
    #[inline]
    pub fn size(&self, op: u32) -> u64 {
        self.size[op as usize]
    }

    /// The other end of a message: the receive of a send, the send of a receive.
    #[inline]
    pub fn partner(&self, op: u32) -> u32 {
        self.partner[op as usize]
    }

    /// For how many others' ends and starts each operation waits.
    pub fn waits(&self) -> &[u32] {
        &self.waits
    }

    /// The operations that wait for an operation's end.
    #[inline]
    pub fn after_end(&self, op: u32) -> &[u32] {
        &self.after_end[self.first_after_end[op as usize] as usize..self.first_after_end[op as usize + 1] as usize]
    }

    /// The operations that wait for an operation's start.
    #[inline]
    pub fn after_start(&self, op: u32) -> &[u32] {
        let (from, to) = (self.first_after_start[op as usize], self.first_after_start[op as usize + 1]);
        &self.after_start[from as usize..to as usize]
    }

    /// All messages: sender's rank, receiver's rank, bytes.
    pub fn messages(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        let sends = (0..self.len() as u32).filter(|&op| self.kind(op) == OpKind::Send);
        sends.map(|op| (self.rank(op), self.rank(self.partner(op)), self.size(op)))
    }
}
