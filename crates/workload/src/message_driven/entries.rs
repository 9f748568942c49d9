//! What happens on ranks that are message-driven: entries, what each waits for, and what it sends.

use super::served::Served;
use super::table::Rows;

/// The most receives that a rank has posted at once.
pub(super) const POSTED: u64 = 64;

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

/// What an entry sends when it has computed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent {
    /// Messages to a rank.
    Messages {
        to: u32,
        /// Which of the messages of that rank it is.
        number: u32,
        /// How many there are, of so many bytes together.
        count: u32,
        bytes: u64,
    },
    /// The rank's part of the operation of a group that switches serve, by its number.
    Operation(u32),
}

/// The sizes of so many messages of so many bytes together, and how many have each: the first ones have what is left over.
pub(super) fn sizes(count: u32, bytes: u64) -> [(u64, u64); 2] {
    let count = u64::from(count);
    let (each, more) = (bytes / count, bytes % count);
    [(each + 1, more), (each, count - more)]
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
    /// Groups that switches serve.
    pub(super) served: Served,
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
