//! What a message-driven program is made of: entries, what they send and what they deliver.

use super::table::Rows;

/// The most receives that a rank has posted at once.
pub(super) const POSTED: u64 = 64;

/// Why a task graph cannot run message-driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DrivenError {
    /// More messages and deliveries than can be counted.
    #[error("it has more than 2^31 messages and deliveries in an iteration")]
    TooLarge,
    /// More messages of a rank than tags can tell apart.
    #[error(
        "{iterations} iterations are too many: {messages} messages of one iteration come to rank {rank}, and 2^32 can be told apart"
    )]
    Tags {
        /// The rank.
        rank: u32,
        /// Messages that come to it in an iteration.
        messages: u32,
        /// Iterations.
        iterations: u32,
    },
}

/// What a task graph runs on, and how often.
#[derive(Clone, Copy, Debug)]
pub struct DrivenSpec<'a> {
    /// By task, its rank.
    pub rank_of: &'a [u32],
    /// The number of ranks.
    pub ranks: u32,
    /// Picoseconds of a unit of load.
    pub time_per_load: f64,
    /// Iterations, one at least.
    pub iterations: u32,
}

/// What an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Begins an object's iteration.
    Begin,
    /// An entry method.
    Method,
    /// Combines what the members of a reduction send.
    Combine,
}

/// Something that happens once an iteration, when all has been delivered that it waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// Deliveries that it waits for in an iteration.
    pub(super) need: u32,
    /// For how long it computes, in picoseconds.
    pub(super) time: u64,
    /// Of an object's last, the begin of its next iteration; else `NONE`.
    pub(super) again: u32,
}

impl Entry {
    /// Whether it takes no turn on the processor.
    pub(super) fn is_at_once(&self) -> bool {
        self.kind != Kind::Method && self.time == 0
    }
}

/// No entry.
pub(super) const NONE: u32 = u32::MAX;

/// Messages from an entry to a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) to: u32,
    /// Which of the messages of that rank it is.
    pub(super) number: u32,
    /// How many there are, of so many bytes together.
    pub(super) count: u32,
    pub(super) bytes: u64,
}

impl Sent {
    /// The size of each in bytes: the first ones have what is left over.
    pub(super) fn sizes(&self) -> [(u64, u64); 2] {
        let (count, each) = (u64::from(self.count), self.bytes / u64::from(self.count));
        let more = self.bytes % count;
        [(each + 1, more), (each, count - more)]
    }
}

/// A task graph as the program of message-driven ranks.
#[derive(Debug)]
pub struct MessageDriven {
    pub(super) iterations: u32,
    pub(super) entries: Vec<Entry>,
    /// By rank, its first entry; and their number.
    pub(super) first: Vec<u32>,
    /// By entry, what it sends to other ranks,
    pub(super) sent: Rows<Sent>,
    /// and the entries of its own rank that it delivers to.
    pub(super) local: Rows<u32>,
    /// By rank, the first of its messages; and their number.
    pub(super) first_message: Vec<u32>,
    /// By message, the entries that it is delivered to.
    pub(super) delivered: Rows<u32>,
    /// By rank, messages that come to it in an iteration, each of a count.
    pub(super) coming: Vec<u64>,
    /// The largest message in bytes.
    pub(super) largest: u64,
    pub(super) messages: u64,
}

impl MessageDriven {
    /// The number of iterations.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    pub(super) fn entries_of(&self, rank: u32) -> std::ops::Range<u32> {
        self.first[rank as usize]..self.first[rank as usize + 1]
    }

    pub(super) fn messages_of(&self, rank: u32) -> u32 {
        self.first_message[rank as usize + 1] - self.first_message[rank as usize]
    }
}
