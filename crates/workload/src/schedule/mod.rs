//! Schedules: what every rank of a parallel program does, and in which order.
//!
//! A rank's program is a graph of operations - send, receive, calculate - of which some require that others have ended, or
//! have begun (the GOAL model of Hoefler, Siebert and Lumsdaine, "Group operation assembly language", ICPP 2009). A schedule
//! is a program ([`crate::program`]) that is written out before it runs.
//!
//! Sends of a rank to another under a tag start in the order in which they are written, as far as what they require allows, and so
//! do receives. So the n-th message meets the n-th receive, and whether every operation ends is known beforehand. Of a
//! schedule with receives that take messages from any rank or under any tag nothing is known beforehand.

mod builder;
mod check;
pub mod goal;
mod run;

pub use builder::ScheduleBuilder;

/// The longest calculation of programs in picoseconds: a thousand seconds.
pub(crate) const LONGEST_CALC: u64 = 1_000_000_000_000_000;

/// Any rank.
const ANY: u32 = u32::MAX;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Sends a message.
    Send,
    /// Receives one.
    Recv,
    /// Receives one from any rank, under any tag, or both.
    RecvAny,
    /// Keeps the rank's processor busy.
    Calc,
}

/// An operation under construction: its rank, and its place among that rank's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpId {
    rank: u32,
    index: u32,
}

/// The programs of all ranks, in flat arrays: the operations of rank 0, of rank 1, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// By rank, its first operation; one entry more.
    first: Vec<u32>,
    /// By operation, its rank.
    rank: Vec<u32>,
    kind: Vec<OpKind>,
    /// Bytes of a message or of the room for one, picoseconds of a calculation.
    size: Vec<u64>,
    /// The rank at the other end of a message; `ANY` for any; of a calculation, its own.
    peer: Vec<u32>,
    tag: Vec<u32>,
    /// Receives of any tag, in ascending order.
    any_tag: Vec<u32>,
    /// By operation, the processor and the interface that it uses; empty if all use number 0.
    lanes: Vec<(u8, u8)>,
    /// The other end of a message; of a calculation, itself. Empty if that is not known beforehand.
    partner: Vec<u32>,
    /// The number of events that each operation waits for.
    waits: Vec<u32>,
    /// By operation, where those that wait for its end begin in `after_end`; one entry more.
    first_after_end: Vec<u32>,
    after_end: Vec<u32>,
    /// Likewise, for its start.
    first_after_start: Vec<u32>,
    after_start: Vec<u32>,
}

/// So many of something, in words.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
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
    #[error("rank {from} sends {} to rank {to} under tag {tag}, which has {} for them", counted(*sent, "message"), counted(*received, "receive"))]
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
    /// Two ranks that do not call the same collective operations.
    #[error(
        "ranks {} and {} do not call the same collective operations: number {number} of communicator {communicator} is {} of rank {}, and {} \
         of rank {}", ranks[0], ranks[1], calls[0], ranks[0], calls[1], ranks[1]
    )]
    Unequal {
        /// The communicator; 0 is that of all ranks.
        communicator: u32,
        /// The operation, counted from 1.
        number: u32,
        /// The ranks.
        ranks: [u32; 2],
        /// What they call.
        calls: [String; 2],
    },
    /// A message that is larger than its receive.
    #[error("rank {from} sends rank {to} {sent} bytes under tag {tag}, which receives at most {received}")]
    Sizes {
        /// The rank that sends.
        from: u32,
        /// The rank that receives.
        to: u32,
        /// The tag.
        tag: u32,
        /// Bytes sent.
        sent: u64,
        /// Bytes that there is room for.
        received: u64,
    },
    /// An operation that waits, possibly through others, for itself.
    #[error(
        "operation {index} of rank {rank} ({what}) would never end: it waits in a cycle, or for an operation that does"
    )]
    Cycle {
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

    /// Whether there are no operations.
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

    /// The bytes of a message or of the room for one, or the picoseconds of a calculation.
    #[inline]
    pub fn size(&self, op: u32) -> u64 {
        self.size[op as usize]
    }

    /// The rank at the other end of a message; none for any.
    #[inline]
    pub fn peer(&self, op: u32) -> Option<u32> {
        Some(self.peer[op as usize]).filter(|&peer| peer != ANY)
    }

    /// The tag of a message; none for any.
    #[inline]
    pub fn tag(&self, op: u32) -> Option<u32> {
        let is_any = self.kind(op) == OpKind::RecvAny && self.any_tag.binary_search(&op).is_ok();
        (!is_any).then(|| self.tag[op as usize])
    }

    /// The numbers of the processor and the interface that an operation uses, as GOAL has them.
    pub fn lanes(&self, op: u32) -> (u8, u8) {
        self.lanes.get(op as usize).copied().unwrap_or_default()
    }

    /// The other end of a message, if that is known beforehand: the receive of a send, the send of a receive.
    #[inline]
    pub fn partner(&self, op: u32) -> Option<u32> {
        self.partner.get(op as usize).copied()
    }

    /// By operation, the number of ends and starts of others that it waits for.
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
        (0..self.ranks()).flat_map(|rank| self.messages_from(rank))
    }

    /// The messages of a rank: sender's rank, receiver's rank, bytes.
    pub fn messages_from(&self, rank: u32) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        let sends = self.of(rank).filter(|&op| self.kind(op) == OpKind::Send);
        sends.map(move |op| (rank, self.peer[op as usize], self.size(op)))
    }
}
