//! Message-driven programs: a task graph whose tasks are objects, several on a processor, that compute when messages come
//! (Charm++'s model of execution).
//!
//! In every iteration an object has *entry methods*: one for each phase in which something is sent to it. That of a phase runs when
//! all that the phase sends to the object in this iteration has come, and the entry method before it has run. Then the object sends
//! what it sends in the later phases, up to and including the next one in which it receives. What it sends before it has to receive
//! anything it sends when its iteration begins: at once in the first, and in each other when the last entry method of the one before
//! has run. No barrier separates phases or iterations.
//!
//! What the model assumes:
//! - An object's load is spent in equal parts by its entry methods. An object that receives nothing computes as its iteration begins.
//! - An entry method sends when it has computed, and is not interrupted.
//! - A processor runs its entry methods one at a time, in the order in which they have become ready (Charm++'s queue without
//!   priorities). The sends of a begin that computes nothing, and the combining of a reduction, take no turn.
//! - Objects of one processor exchange messages without time. A multicast sends one message to each processor that has members, and
//!   a reduction gets one from each, as soon as the last member there has contributed.
//! - Messages of an arc differ in size by a byte at most. A task's messages of a phase begin at a target of its own, so that no task
//!   is everybody's first.
//!
//! A processor is a rank. It has wildcard receives posted as long as messages are to come, at most `POSTED` at once, and takes
//! whatever comes first. A message says by its tag which of the rank's messages it is, and of which iteration. What phases need has
//! been sent in phases before them or in the same one before anything is waited for, so every program ends.
//!
//! Memory: 16 bytes a message of an iteration, 4 for each delivery of it, some 50 an entry method, for all ranks together.

mod build;
mod rank;
mod table;

use std::sync::Arc;

use crate::program::{Messages, Programs, RankProgram};
use rank::DrivenRank;
use table::Rows;

/// The most receives that a rank has posted at once.
pub(crate) const POSTED: u64 = 64;

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
enum Kind {
    /// Begins an object's iteration.
    Begin,
    /// An entry method.
    Method,
    /// Combines what the members of a reduction send.
    Combine,
}

/// Something that happens once an iteration, when all has been delivered that it waits for.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: Kind,
    /// Deliveries that it waits for in an iteration.
    need: u32,
    /// For how long it computes, in picoseconds.
    time: u64,
    /// Of an object's last, the begin of its next iteration; else `NONE`.
    again: u32,
}

impl Entry {
    /// Whether it takes no turn on the processor.
    fn is_at_once(&self) -> bool {
        self.kind != Kind::Method && self.time == 0
    }
}

/// No entry.
const NONE: u32 = u32::MAX;

/// Messages from an entry to a rank.
#[derive(Clone, Copy, Debug)]
struct Sent {
    to: u32,
    /// Which of the messages of that rank it is.
    number: u32,
    /// How many there are, of so many bytes together.
    count: u32,
    bytes: u64,
}

impl Sent {
    /// The size of each in bytes: the first ones have what is left over.
    fn sizes(&self) -> [(u64, u64); 2] {
        let (count, each) = (u64::from(self.count), self.bytes / u64::from(self.count));
        let more = self.bytes % count;
        [(each + 1, more), (each, count - more)]
    }
}

/// A task graph as the program of message-driven ranks.
#[derive(Debug)]
pub struct MessageDriven {
    iterations: u32,
    entries: Vec<Entry>,
    /// By rank, its first entry; and their number.
    first: Vec<u32>,
    /// By entry, what it sends to other ranks,
    sent: Rows<Sent>,
    /// and the entries of its own rank that it delivers to.
    local: Rows<u32>,
    /// By rank, the first of its messages; and their number.
    first_message: Vec<u32>,
    /// By message, the entries that it is delivered to.
    delivered: Rows<u32>,
    /// By rank, messages that come to it in an iteration, each of a count.
    coming: Vec<u64>,
    /// The largest message in bytes.
    largest: u64,
    messages: u64,
}

impl MessageDriven {
    /// The number of iterations.
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    fn entries_of(&self, rank: u32) -> std::ops::Range<u32> {
        self.first[rank as usize]..self.first[rank as usize + 1]
    }

    fn messages_of(&self, rank: u32) -> u32 {
        self.first_message[rank as usize + 1] - self.first_message[rank as usize]
    }
}

impl Programs for MessageDriven {
    fn ranks(&self) -> u32 {
        self.coming.len() as u32
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        Box::new(DrivenRank::new(self, rank))
    }

    fn operations(&self) -> u64 {
        let calculations = self.entries.iter().filter(|entry| entry.time > 0).count() as u64;
        (2 * self.messages + calculations).saturating_mul(u64::from(self.iterations))
    }

    fn each_message(&self, visit: &mut dyn FnMut(Messages)) {
        for rank in 0..self.ranks() {
            for entry in self.entries_of(rank) {
                for sent in self.sent.of(entry) {
                    for (bytes, count) in sent.sizes().into_iter().filter(|&(_, count)| count > 0) {
                        visit(Messages { from: rank, to: sent.to, bytes, count: count * u64::from(self.iterations) });
                    }
                }
            }
        }
    }
}
