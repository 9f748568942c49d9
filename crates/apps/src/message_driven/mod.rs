//! Message-driven programs: a task graph whose tasks are objects. Each processor has several objects, which compute
//! when messages arrive (the execution model of Charm++).
//!
//! An object has one *entry method* per phase in which it receives. In every iteration, the entry method of a phase
//! runs when all messages of the phase to the object have arrived and the object's previous entry method has run. Then
//! the object sends its messages of the later phases, up to and including the next phase in which it receives. Messages
//! that precede its first receiving phase are sent when its iteration begins. The first iteration begins at once, each
//! other one when the last entry method of the previous iteration has run. No barrier separates phases or iterations.
//!
//! Assumptions of the model:
//! - The entry methods of an object share its load equally. An object that receives nothing computes when its iteration
//!   begins.
//! - An entry method sends after it has computed, and is not preempted.
//! - A processor runs its entry methods one at a time, in the order in which they become ready (Charm++'s queue without
//!   priorities). The sends of a begin that computes nothing, and the combining of a reduction, bypass this queue.
//! - Objects of one processor exchange messages in zero time. A multicast sends one message to each processor with
//!   members. A reduction receives one message from each, as soon as the last member there has contributed.
//!   Alternatively both are in-switch operations, in which each processor takes part once, as a member of the group
//!   (`served`).
//! - Messages of an arc differ in size by at most 1 byte. Each task begins its messages of a phase at a different
//!   target, so that no target is the first of all.
//!
//! A processor is a rank. It keeps wildcard receives posted while messages are to come, at most `POSTED` at once, and
//! handles messages in their order of arrival. The tag of a message identifies it among the rank's messages, and its
//! iteration. Everything that a phase needs has been sent in that or an earlier phase before anything is waited for, so
//! that every program ends.
//!
//! Memory for all ranks together: 24 bytes per message of an iteration, 4 per delivery of a message, about 50 per entry
//! method. A group in the switches takes 32 bytes, and 16 per rank of it.

mod build;
mod entries;
mod rank;
mod served;
mod table;

use std::sync::Arc;

pub use entries::MessageDriven;
use entries::{EntryOutput, sizes};
use mpi::communicator::Interconnect;
use mpi::program::{GroupCall, Messages, ProgramGroup, Programs, RankProgram};
use rank::DrivenRank;

/// Reason why a task graph cannot run as a message-driven program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DrivenError {
    /// The number of messages and deliveries exceeds the limit.
    #[error("it has more than 2^31 messages and deliveries in an iteration")]
    TooLarge,
    /// A rank has more messages than tags can distinguish.
    #[error(
        "{iterations} iterations are too many: {messages} messages of one iteration come to rank {rank}, and 2^32 can be distinguished"
    )]
    Tags {
        /// Rank.
        rank: u32,
        /// Messages to the rank per iteration.
        messages: u32,
        /// Number of iterations.
        iterations: u32,
    },
}

/// Ranks, iterations and time scale of a message-driven program.
#[derive(Clone, Copy, Debug)]
pub struct DrivenSpec<'a> {
    /// Rank of each task.
    pub rank_of: &'a [u32],
    /// Number of ranks.
    pub ranks: u32,
    /// Picoseconds per unit of load.
    pub time_per_load: f64,
    /// Number of iterations, at least 1.
    pub iterations: u32,
    /// Groups that the switches have no room for, if switches carry out multicasts and reductions. `None`: all
    /// communication uses messages.
    pub interconnect: Option<&'a Interconnect>,
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
        let parts = self.served.ranks.items() as u64;
        (2 * self.messages + parts).saturating_mul(u64::from(self.iterations))
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
                let &EntryOutput::Messages { to, count, bytes, .. } = sent else { continue };
                for (bytes, count) in sizes(count, bytes).into_iter().filter(|&(_, count)| count > 0) {
                    visit(Messages { from: rank, to, bytes, count: count * u64::from(self.iterations) });
                }
            }
        }
    }
}
