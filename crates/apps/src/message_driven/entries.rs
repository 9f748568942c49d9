//! Entries: the units of execution of message-driven ranks, with their inputs and outputs.

use super::served::Served;
use super::table::Rows;

/// Largest number of receives that a rank has posted at once.
pub(super) const POSTED: u64 = 64;

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// Begin of an object's iteration.
    Begin,
    /// Entry method.
    Method,
    /// Combining of the contributions of a reduction's members.
    Combine,
}

/// Unit of execution that runs once per iteration, when all its inputs have been delivered.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryMethod {
    pub(super) kind: EntryKind,
    /// Deliveries needed per iteration.
    pub(super) need: u32,
    /// Computation time in picoseconds.
    pub(super) time: u64,
    /// Begin of the object's next iteration, if this is the object's last entry. Otherwise `NONE`.
    pub(super) again: u32,
}

impl EntryMethod {
    /// Whether the entry runs at once, without queueing for the processor.
    pub(super) fn is_at_once(&self) -> bool {
        self.kind != EntryKind::Method && self.time == 0
    }
}

/// Entry number that means no entry.
pub(super) const NONE: u32 = u32::MAX;

/// Output of an entry, sent after its computation.
#[derive(Clone, Copy, Debug)]
pub(super) enum EntryOutput {
    /// Messages to a rank.
    Messages {
        to: u32,
        /// Number of these messages among all messages to that rank. It determines the tag.
        number: u32,
        /// Number of messages, which have `bytes` bytes in total.
        count: u32,
        bytes: u64,
    },
    /// Part of the rank in an in-switch operation, by group number.
    Operation(u32),
}

/// Returns the two sizes of `count` messages with `bytes` bytes in total, each with its number of messages. The first
/// messages are 1 byte larger if the sizes do not divide.
pub(super) fn sizes(count: u32, bytes: u64) -> [(u64, u64); 2] {
    let count = u64::from(count);
    let (each, more) = (bytes / count, bytes % count);
    [(each + 1, more), (each, count - more)]
}

/// Task graph as a program of message-driven ranks.
#[derive(Debug)]
pub struct MessageDriven {
    pub(super) iterations: u32,
    pub(super) entries: Vec<EntryMethod>,
    /// First entry of each rank, and the number of all entries.
    pub(super) first: Vec<u32>,
    /// Messages and operations that each entry sends.
    pub(super) sent: Rows<EntryOutput>,
    /// Entries of its own rank that each entry delivers to.
    pub(super) local: Rows<u32>,
    /// First message to each rank, and the number of all messages.
    pub(super) first_message: Vec<u32>,
    /// Entries that each message is delivered to.
    pub(super) delivered: Rows<u32>,
    /// Messages to each rank per iteration. Each repetition counts.
    pub(super) coming: Vec<u64>,
    /// Largest message in bytes.
    pub(super) largest: u64,
    pub(super) messages: u64,
    /// Groups that switches serve.
    pub(super) served: Served,
}

impl MessageDriven {
    /// Returns the number of iterations.
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
