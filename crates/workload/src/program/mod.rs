//! Programs: what each rank of a parallel program does, generated while it runs.
//!
//! A program is asked for the operations of a rank as the operations before them end, so that only those that are outstanding
//! need memory. What it answers may depend on the rank, on what has ended and on when that was, and on nothing else: the same
//! run then has the same operations, whatever the number of threads.
//!
//! A [`crate::schedule::Schedule`] is a program that is written out beforehand. A [`Script`] is a program that is written as
//! the calls of one rank, one after the other: sends and receives that do not block, and waiting for them. [`calls::Calls`] are
//! scripts that are written out.

mod burst;
pub mod calls;
pub mod chakra;
mod deferred;
mod pattern;
mod posts;
mod running;
mod script;
mod scripted;
mod scripts;
mod sizes;
pub mod trace;

use std::fmt::Debug;
use std::sync::Arc;

use crate::collectives::{CalledPlace, CollectiveError, Fastest};
pub use crate::collectives::{GroupCall, ProgramGroup};
pub use crate::communicator::{Communicator, Context};
use crate::schedule::ScheduleError;

pub use burst::Burst;
pub use pattern::pattern_of;
pub use script::{Request, Script, Seen, Step};
pub use scripted::ScriptedRank;
pub use scripts::Scripts;
pub use sizes::Sizes;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends a message. It ends when the message has been handed to the network interface; by rendezvous, when the receiver
    /// has answered.
    Send {
        /// The rank that it is for; may be the rank that sends.
        to: u32,
        /// Its size in bytes.
        bytes: u64,
        /// Its tag.
        tag: u32,
        /// Of which communicator it is.
        context: Context,
    },
    /// Receives a message. It ends when all of the message has arrived.
    Recv {
        /// The rank that sends it; none for any.
        from: Option<u32>,
        /// The largest size in bytes that it takes.
        bytes: u64,
        /// The message's tag; none for any.
        tag: Option<u32>,
        /// Of which communicator it is.
        context: Context,
    },
    /// Enters the library, which handles what has arrived, and ends when it returns.
    Poll,
    /// Searches for a message that a receive would meet, and leaves it where it is: ends with the first one that has come and that
    /// nothing has received (MPI's probe).
    Probe {
        /// The rank that sends it; none for any.
        from: Option<u32>,
        /// The message's tag; none for any.
        tag: Option<u32>,
        /// Of which communicator it is.
        context: Context,
        /// Whether it waits until there is one; otherwise it ends without one if none has come (MPI's iprobe).
        waits: bool,
    },
    /// Takes part in an operation in the switches, of the group that the rank knows by the call's context. It ends when the rank has all that
    /// it gets, or, if it gets nothing, when all that it gives has been handed to the network interface. All members of a group call its
    /// operations in the same order.
    Group(GroupCall),
    /// A step of a collective operation that the processor of the network interface carries out, beside its messages.
    OnNic(NicStep),
    /// Keeps the rank's processor busy, one calculation after the other.
    Calc {
        /// For how long, in picoseconds.
        time: u64,
    },
    /// Keeps an accelerator busy, beside the rank's processor. Several may be under way.
    Kernel {
        /// Duration in picoseconds.
        time: u64,
    },
}

/// A step of a collective operation that the processors of network interfaces carry out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicStep {
    /// The rank hands the operation, and what it gives, over to its interface, which takes its processor the send overhead.
    Begin,
    /// The interface combines so many bytes that have come with those that it has.
    Combine {
        /// The bytes.
        bytes: u64,
    },
    /// The rank is notified that what it gets is there, which takes its library the receive overhead.
    End,
}

impl Action {
    /// Sends a rank a message of so many bytes under a tag, in the communicator of all ranks.
    pub const fn send(to: u32, bytes: u64, tag: u32) -> Self {
        Self::Send { to, bytes, tag, context: Context::WORLD }
    }

    /// Receives a message of at most so many bytes, from a rank or from any, under a tag or under any, in the communicator of all
    /// ranks.
    pub const fn recv(from: Option<u32>, bytes: u64, tag: Option<u32>) -> Self {
        Self::Recv { from, bytes, tag, context: Context::WORLD }
    }

    /// The communicator of a message that is sent, received or searched for.
    pub const fn context(&self) -> Option<Context> {
        match *self {
            Self::Send { context, .. } | Self::Recv { context, .. } | Self::Probe { context, .. } => Some(context),
            _ => None,
        }
    }

    /// Waits for a message from a rank or from any, under a tag or under any, in the communicator of all ranks, and does not receive it.
    pub const fn probe(from: Option<u32>, tag: Option<u32>) -> Self {
        Self::Probe { from, tag, context: Context::WORLD, waits: true }
    }

    /// The same without waiting.
    pub const fn iprobe(from: Option<u32>, tag: Option<u32>) -> Self {
        Self::Probe { from, tag, context: Context::WORLD, waits: false }
    }

    /// Whether it is a send or a receive: what a request can be of.
    pub const fn is_message(self) -> bool {
        matches!(self, Self::Send { .. } | Self::Recv { .. })
    }

    /// The same in another communicator; ranks stay those of all.
    #[must_use]
    pub const fn within(self, context: Context) -> Self {
        match self {
            Self::Send { to, bytes, tag, .. } => Self::Send { to, bytes, tag, context },
            Self::Recv { from, bytes, tag, .. } => Self::Recv { from, bytes, tag, context },
            Self::Probe { from, tag, waits, .. } => Self::Probe { from, tag, context, waits },
            Self::Group(call) => Self::Group(GroupCall { context, ..call }),
            Self::Poll | Self::OnNic(_) | Self::Calc { .. } | Self::Kernel { .. } => self,
        }
    }
}

/// Operations of a rank that start: one, or as many of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What the program knows it by, and each that ends of it; need not be unique.
    pub id: u32,
    /// What the first of them does.
    pub action: Action,
    /// How many there are, at least 1; of what is no send and no receive 1.
    pub count: u32,
    /// How far the rank at the other end of each is from that of the one before, modulo the number of ranks; below that.
    pub stride: u32,
}

impl Op {
    /// One operation.
    pub fn one(id: u32, action: Action) -> Self {
        Self { id, action, count: 1, stride: 0 }
    }
}

/// The rank that is so many strides from another, among so many ranks.
#[inline]
pub fn stridden(rank: u32, (stride, number): (u32, u32), ranks: u32) -> u32 {
    match stride {
        0 => rank,
        _ => ((u64::from(rank) + u64::from(stride) * u64::from(number)) % u64::from(ranks.max(1))) as u32,
    }
}

/// The message that a receive has met, or a probe has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// The rank that has sent it.
    pub source: u32,
    /// Its tag.
    pub tag: u32,
    /// Its size in bytes.
    pub bytes: u64,
}

/// An operation that has ended, the last one of those that a rank has not been notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What the program knows it by.
    pub id: u32,
    /// When, in picoseconds.
    pub at: u64,
    /// Of a receive or a probe, the message.
    pub matched: Option<Matched>,
    /// How many have ended since the rank was notified before, at least 1: more than that only if it asked for [`Notify::Last`].
    pub count: u32,
}

/// A time that a program has measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// What has been measured, as the program numbers it; of a program with measures, the number of its measure, and so many times
    /// their number as it has been measured before.
    pub key: u32,
    /// When it began, in picoseconds.
    pub start: u64,
    /// When it ended.
    pub end: u64,
}

/// What a program measures: the name of intervals, and how long each takes at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Its name.
    pub name: String,
    /// From the first rank's begin to the last one's end at least, in picoseconds; none if that is not known.
    pub bound: Option<u64>,
}

/// Messages of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// The rank that sends them.
    pub from: u32,
    /// The rank that receives them.
    pub to: u32,
    /// The size of each in bytes.
    pub bytes: u64,
    /// How many there are.
    pub count: u64,
}

/// Why a program cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// A rank that asks again and again whether something has ended or come, while no time passes.
    #[error(
        "it has tested {times} times at one instant: between tests that find nothing, time has to pass (calculate, wait for any of them, or set `nic.poll_overhead`)"
    )]
    Spins {
        /// How often.
        times: u32,
    },
    /// A rank that waits for a request that it has not made.
    #[error("it waits for request {request}, and has made {made}")]
    NoSuchRequest {
        /// The request, from 0.
        request: u32,
        /// Requests made.
        made: u32,
    },
    /// A rank that waits for any of its requests, and has none.
    #[error("it waits for any of its requests, and none is outstanding")]
    NothingToWaitFor,
    /// A burst without operations, or of calculations.
    #[error("a burst is of at least one send or receive")]
    EmptyBurst,
    /// A rank whose program has ended with an error of its own.
    #[error("its program has ended with an error")]
    Failed,
    /// A collective operation that cannot be called.
    #[error(transparent)]
    Collective(#[from] CollectiveError),
}

/// What all ranks do.
pub trait Programs: Debug + Send + Sync {
    /// The number of ranks.
    fn ranks(&self) -> u32;
    /// What a rank does, before it begins.
    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram>;
    /// The number of operations of all ranks, at most; to report how far a run is.
    fn operations(&self) -> u64;
    /// Visits the messages that a rank sends, as far as they are known beforehand. Messages of one pair may come in several visits.
    fn messages_of(&self, rank: u32, visit: &mut dyn FnMut(Messages));
    /// Visits those of all ranks, in ascending order of the ranks that send them.
    fn each_message(&self, visit: &mut dyn FnMut(Messages)) {
        (0..self.ranks()).for_each(|rank| self.messages_of(rank, visit));
    }
    /// What its intervals measure, on a machine of which nothing is faster than this; none if that is said elsewhere.
    fn measures(&self, _fastest: &Fastest) -> Vec<Measure> {
        Vec::new()
    }
    /// Whether a rank may probe for messages; `true` if that is not known. Where none does, what has to be known of messages before they
    /// are received is less.
    fn may_probe(&self) -> bool {
        true
    }
    /// What the reader of the program's files has left out or assumed, one sentence each.
    fn notes(&self) -> &[String] {
        &[]
    }
    /// Whether ranks call back into a language whose code runs in one thread, so that messages are not known beforehand.
    fn is_called_back(&self) -> bool {
        false
    }
    /// The same program where it runs, if it is called back: others are built for their nodes.
    fn placed(self: Arc<Self>, _place: &CalledPlace<'_>) -> Option<Arc<dyn Programs>> {
        None
    }
    /// Every group of ranks that calls operations in the switches, each rank on a node of its own. A rank is in no two groups of one context.
    fn groups(&self) -> Vec<ProgramGroup> {
        Vec::new()
    }
    /// Visits the operations of those groups, as far as they are known beforehand: the place of a group, a call, of which only the
    /// operation and the sizes matter, and how often all its members make it.
    fn each_group_call(&self, _visit: &mut dyn FnMut(usize, &GroupCall, u64)) {}
    /// Checks that every operation ends, where messages of more than `eager_limit` bytes wait for their receivers (none: no
    /// message does), as far as that can be known beforehand.
    ///
    /// # Errors
    /// An operation that waits in a cycle, or for one that does.
    fn check_progress(&self, _eager_limit: Option<u64>) -> Result<(), ScheduleError> {
        Ok(())
    }
}

/// Of which ends the program of a rank asks to be notified next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notify {
    /// Of the end of each operation.
    #[default]
    Each,
    /// Of the end of the last of all that are outstanding: nothing starts before. Being notified of each does as well.
    Last,
}

/// What one rank does: the state of its program.
pub trait RankProgram: Debug + Send {
    /// Begins at a time in picoseconds: adds the operations that start then, in the order in which they start, behind those that are
    /// there, which are of other ranks.
    ///
    /// # Errors
    /// If the program cannot go on.
    fn begin(&mut self, now: u64, starts: &mut Vec<Op>) -> Result<Notify, ProgramError>;
    /// An operation has ended, or all that were outstanding have: adds those that start then likewise.
    ///
    /// # Errors
    /// If the program cannot go on.
    fn ended(&mut self, ended: &Ended, starts: &mut Vec<Op>) -> Result<Notify, ProgramError>;
    /// What it has measured so far, since it was last reset.
    fn intervals(&self) -> &[Interval] {
        &[]
    }
    /// Forgets what it has measured, which has been taken note of: of ranks that measure without end, and are not traced.
    fn forget_intervals(&mut self) {}
}
