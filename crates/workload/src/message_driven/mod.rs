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
//!   a reduction gets one from each, as soon as the last member there has contributed. Or both are operations in the switches, in which a
//!   processor takes part once, as a member of the group (`served`).
//! - Messages of an arc differ in size by a byte at most. A task's messages of a phase begin at a target of its own, so that no task
//!   is everybody's first.
//!
//! A processor is a rank. It has wildcard receives posted as long as messages are to come, at most `POSTED` at once, and takes
//! whatever comes first. A message says by its tag which of the rank's messages it is, and of which iteration. What phases need has
//! been sent in phases before them or in the same one before anything is waited for, so every program ends.
//!
//! Memory: 24 bytes a message of an iteration, 4 for each delivery of it, some 50 an entry method, for all ranks together; of a group in
//! the switches 32, and 16 for each of its ranks.

mod build;
mod entries;
mod rank;
mod served;
mod table;

use std::sync::Arc;

use crate::communicator::Unserved;
use crate::program::{GroupCall, Messages, ProgramGroup, Programs, RankProgram};
pub use entries::MessageDriven;
use entries::{Sent, sizes};
use rank::DrivenRank;

/// Why a task graph cannot run message-driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DrivenError {
    /// More messages and deliveries than can be counted.
    #[error("it has more than 2^31 messages and deliveries in an iteration")]
    TooLarge,
    /// More messages of a rank than tags can distinguish.
    #[error(
        "{iterations} iterations are too many: {messages} messages of one iteration come to rank {rank}, and 2^32 can be distinguished"
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
    /// Where switches carry multicasts and reductions out: the groups that they have no room for. Without it all are messages.
    pub unserved: Option<&'a Unserved>,
}

impl Programs for MessageDriven {
    fn may_probe(&self) -> bool {
        false
    }

    fn ranks(&self) -> u32 {
        self.coming.len() as u32
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        Box::new(DrivenRank::new(self, rank))
    }

    fn operations(&self) -> u64 {
        let calculations = self.entries.iter().filter(|entry| entry.time > 0).count() as u64;
        let parts = self.served.ranks.items() as u64;
        (2 * self.messages + parts + calculations).saturating_mul(u64::from(self.iterations))
    }

    fn groups(&self) -> Vec<ProgramGroup> {
        self.served.groups()
    }

    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        for (place, call) in self.served.calls.iter().enumerate() {
            visit(place, call, u64::from(self.iterations));
        }
    }

    fn messages_of(&self, rank: u32, visit: &mut dyn FnMut(Messages)) {
        for entry in self.entries_of(rank) {
            for sent in self.sent.of(entry) {
                let &Sent::Messages { to, count, bytes, .. } = sent else { continue };
                for (bytes, count) in sizes(count, bytes).into_iter().filter(|&(_, count)| count > 0) {
                    visit(Messages { from: rank, to, bytes, count: count * u64::from(self.iterations) });
                }
            }
        }
    }
}
