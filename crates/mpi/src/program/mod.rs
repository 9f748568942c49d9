//! Programs: what each rank of a parallel program does, generated while it runs.
//!
//! The simulator requests the operations of a rank as its earlier operations end, so that only outstanding operations
//! need memory. The answer of a program may depend on the rank, on which operations have ended and on their times, and
//! on nothing else. A run therefore has identical operations whatever the number of threads.
//!
//! A [`crate::schedule::Schedule`] is a program that is written out beforehand. A [`Script`] is a program written as
//! the sequence of calls of one rank: nonblocking sends and receives, and waits. [`calls::Calls`] are scripts that are
//! written out.

mod burst;
pub mod calls;
mod deferred;
mod posts;
mod running;
mod script;
mod scripted;
mod scripts;
mod sizes;

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::collectives::{CalledPlace, CollectiveError, Fastest};
pub use crate::collectives::{GroupCall, GroupNumbers, ProgramGroup};
pub use crate::communicator::{Communicator, Context};
use crate::schedule::ScheduleError;

pub use burst::Burst;
pub use script::{Request, Script, ScriptCall, Seen};
pub use scripted::ScriptedRank;
pub use scripts::Scripts;
pub use sizes::Sizes;

/// Action of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends a message. Ends when the message has been handed to the network interface. With rendezvous by write, that
    /// is after the receiver's answer; with rendezvous by read, it ends when the receiver's notice has been read.
    Send {
        /// Destination rank. May be the sending rank.
        to: u32,
        /// Size in bytes.
        bytes: u64,
        /// Tag.
        tag: u32,
        /// Communicator context of the message.
        context: Context,
    },
    /// Receives a message. Ends when the whole message has arrived.
    Recv {
        /// Source rank. `None`: any source.
        from: Option<u32>,
        /// Largest message accepted, in bytes.
        bytes: u64,
        /// Tag. `None`: any tag.
        tag: Option<u32>,
        /// Communicator context of the message.
        context: Context,
    },
    /// Enters the progress engine of the library, which handles what has arrived. Ends when the call returns.
    Poll,
    /// Probes for a message that a receive would match, and leaves it in the queue (`MPI_Probe`). Ends with the first
    /// matching message that has arrived and has not been received.
    Probe {
        /// Source rank. `None`: any source.
        from: Option<u32>,
        /// Tag. `None`: any tag.
        tag: Option<u32>,
        /// Communicator context of the message.
        context: Context,
        /// Whether the probe blocks until a message matches. If not, it ends without a message when none has arrived
        /// (`MPI_Iprobe`).
        waits: bool,
    },
    /// Takes part in an in-switch operation of the group that the rank knows by the call's context. Ends when the rank
    /// has received its whole result. A rank without a result ends when its contribution has been handed to the network
    /// interface. All members of a group call its operations in one order.
    Group(GroupCall),
    /// Step of a collective operation that is offloaded to the processor of the network interface. Messages of the
    /// operation are operations besides.
    OnNic(NicStep),
    /// Occupies the rank's processor. Calculations of a rank run in sequence.
    Calc {
        /// Duration in picoseconds.
        time: u64,
    },
    /// Occupies an accelerator and leaves the rank's processor free. Several kernels may run at once.
    Kernel {
        /// Duration in picoseconds.
        time: u64,
    },
}
units::record!(match Action {
    0 => Send { to: to, bytes: bytes, tag: tag, context: context },
    1 => Recv { from: from, bytes: bytes, tag: tag, context: context },
    2 => Poll {},
    3 => Probe { from: from, tag: tag, context: context, waits: waits },
    4 => Group { 0: call },
    5 => OnNic { 0: step },
    6 => Calc { time: time },
    7 => Kernel { time: time },
});

/// Step of a collective operation that is offloaded to the processors of network interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicStep {
    /// The rank hands the operation and its contribution over to its interface. Costs the rank's processor the send
    /// overhead.
    Begin,
    /// The interface combines `bytes` received bytes with its partial result.
    Combine {
        /// Bytes to combine.
        bytes: u64,
    },
    /// The rank is notified that its result is complete. Costs its library the receive overhead.
    End,
}
units::record!(match NicStep {
    0 => Begin {},
    1 => Combine { bytes: bytes },
    2 => End {},
});

impl Action {
    /// Returns whether the action is a send, a receive or an operation in the switches.
    #[inline]
    pub const fn communicates(&self) -> bool {
        matches!(self, Self::Send { .. } | Self::Recv { .. } | Self::Group(_))
    }

    /// Creates a send of `bytes` bytes to rank `to` with tag `tag`, in the communicator of all ranks.
    pub const fn send(to: u32, bytes: u64, tag: u32) -> Self {
        Self::Send { to, bytes, tag, context: Context::WORLD }
    }

    /// Creates a receive of at most `bytes` bytes, in the communicator of all ranks. `from` = `None` accepts any
    /// source, `tag` = `None` any tag.
    pub const fn recv(from: Option<u32>, bytes: u64, tag: Option<u32>) -> Self {
        Self::Recv { from, bytes, tag, context: Context::WORLD }
    }

    /// Returns the communicator context of a send, a receive or a probe.
    pub const fn context(&self) -> Option<Context> {
        match *self {
            Self::Send { context, .. } | Self::Recv { context, .. } | Self::Probe { context, .. } => Some(context),
            _ => None,
        }
    }

    /// Creates a blocking probe in the communicator of all ranks. `from` = `None` accepts any source, `tag` = `None`
    /// any tag.
    pub const fn probe(from: Option<u32>, tag: Option<u32>) -> Self {
        Self::Probe { from, tag, context: Context::WORLD, waits: true }
    }

    /// Creates a nonblocking probe in the communicator of all ranks. `from` = `None` accepts any source, `tag` = `None`
    /// any tag.
    pub const fn iprobe(from: Option<u32>, tag: Option<u32>) -> Self {
        Self::Probe { from, tag, context: Context::WORLD, waits: false }
    }

    /// Whether this is a send or a receive. Only these can be requests.
    pub const fn is_message(self) -> bool {
        matches!(self, Self::Send { .. } | Self::Recv { .. })
    }

    /// Returns the action in communicator `context`. Ranks keep their numbers in the communicator of all ranks.
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

/// Operations that a rank starts: a single one, or `count` sends or receives with peers at a fixed stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// The program's number for these operations. Reported at the end of each. Need not be unique.
    pub id: u32,
    /// Action of the first operation.
    pub action: Action,
    /// Number of operations, at least 1. It is 1 unless the action is a send or a receive.
    pub count: u32,
    /// Difference between the peer ranks of consecutive operations, modulo the number of ranks. Below the number of
    /// ranks.
    pub stride: u32,
}
units::record!(Op { id, action, count, stride });

impl Op {
    /// Creates a single operation.
    pub fn one(id: u32, action: Action) -> Self {
        Self { id, action, count: 1, stride: 0 }
    }
}

/// Returns the rank `number` strides after `rank`, modulo `ranks`.
#[inline]
pub fn stridden(rank: u32, (stride, number): (u32, u32), ranks: u32) -> u32 {
    match stride {
        0 => rank,
        _ => ((u64::from(rank) + u64::from(stride) * u64::from(number)) % u64::from(ranks.max(1))) as u32,
    }
}

/// Message that a receive has matched or a probe has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matched {
    /// Rank that sent the message.
    pub source: u32,
    /// Tag.
    pub tag: u32,
    /// Size in bytes.
    pub bytes: u64,
}
units::record!(Matched { source, tag, bytes });

/// Completion of an operation: the latest one that a rank has not been notified of yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The program's number for the operation ([`Op::id`]).
    pub id: u32,
    /// Time of completion in picoseconds.
    pub at: u64,
    /// Matched message of a receive or a probe.
    pub matched: Option<Matched>,
    /// Operations that have ended since the previous notification, at least 1. Above 1 only after [`Notify::Last`].
    pub count: u32,
}
units::record!(Ended { id, at, matched, count });

/// Time interval that a program has measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Number of the measurement, chosen by the program. In a program with [`Programs::measures`] it is `index +
    /// measures * repetition`: the index of the measure, and how often it has been measured before.
    pub key: u32,
    /// Start in picoseconds.
    pub start: u64,
    /// End in picoseconds.
    pub end: u64,
}

units::record!(Interval { key, start, end });

/// Quantity that a program measures: the name of its intervals and a lower bound of their length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// Name.
    pub name: String,
    /// Lower bound of the time from the first rank's start to the last rank's end, in picoseconds. `None` if unknown.
    pub bound: Option<u64>,
}

/// Messages that agree in source, destination and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// Source rank.
    pub from: u32,
    /// Destination rank.
    pub to: u32,
    /// Size of each message in bytes.
    pub bytes: u64,
    /// Number of messages.
    pub count: u64,
}

/// Messages of one size from one rank to another rank, or to every other rank of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FanOut {
    /// Destination ranks. The source receives none of the messages, even if the range contains it.
    pub to: Range<u32>,
    /// Size of each message in bytes.
    pub bytes: u64,
    /// Number of messages to each destination.
    pub count: u64,
}

/// Reason why a program cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// A rank polls without end for a completion or a message while no time passes.
    #[error(
        "it has tested {times} times at one instant: between tests that find nothing, time has to pass (calculate, wait for any of them, or set `nic.poll_overhead`)"
    )]
    Spins {
        /// Number of unsuccessful polls at one instant.
        times: u32,
    },
    /// A rank waits for a request that it has not made.
    #[error("it waits for request {request}, and has made {made}")]
    NoSuchRequest {
        /// Request number, from 0.
        request: u32,
        /// Requests made so far.
        made: u32,
    },
    /// A rank waits for any of its requests while none is outstanding.
    #[error("it waits for any of its requests, and none is outstanding")]
    NothingToWaitFor,
    /// A burst is empty, or its action is neither a send nor a receive.
    #[error("a burst is of at least one send or receive")]
    EmptyBurst,
    /// The program of a rank has failed with an error that the program knows.
    #[error("its program has ended with an error")]
    Failed,
    /// A collective operation cannot be called.
    #[error(transparent)]
    Collective(#[from] CollectiveError),
}

/// Program of all ranks.
pub trait Programs: Debug + Send + Sync {
    /// Returns the number of ranks.
    fn ranks(&self) -> u32;
    /// Returns the program of one rank, which has not begun.
    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram>;
    /// Returns the number of sends, receives and operations in the switches of all ranks together, as far as they are
    /// known beforehand. Used for progress reports.
    fn operations(&self) -> u64;
    /// Visits the messages that a rank sends, as far as they are known beforehand. Messages of one pair may be split
    /// over several visits.
    fn messages_of(&self, rank: u32, visit: &mut dyn FnMut(Messages));
    /// Visits the messages that a rank sends to others. Programs whose ranks send equally to all ranks of a range need
    /// one visit for the range, so that the traffic of an alltoall is known without a list of all pairs.
    fn fan_outs_of(&self, rank: u32, visit: &mut dyn FnMut(FanOut)) {
        self.messages_of(rank, &mut |Messages { to, bytes, count, .. }| visit(FanOut { to: to..to + 1, bytes, count }));
    }
    /// Visits the messages of all ranks, in ascending order of the source.
    fn each_message(&self, visit: &mut dyn FnMut(Messages)) {
        (0..self.ranks()).for_each(|rank| self.messages_of(rank, visit));
    }
    /// Visits the sizes of the messages that a rank sends, in bytes, each with a number of messages. A size may be
    /// visited more than once. Programs that know sizes without their destinations need fewer visits than messages.
    fn sizes_of(&self, rank: u32, visit: &mut dyn FnMut(u64, u64)) {
        self.messages_of(rank, &mut |messages| visit(messages.bytes, messages.count));
    }
    /// Visits the sizes of the messages of all ranks, in bytes, each with a number of messages. A size may be visited
    /// more than once.
    fn each_size(&self, visit: &mut dyn FnMut(u64, u64)) {
        let ranks = u64::from(self.ranks());
        match self.is_symmetric() {
            true => self.sizes_of(0, &mut |bytes, count| visit(bytes, count.saturating_mul(ranks))),
            false => (0..self.ranks()).for_each(|rank| self.sizes_of(rank, visit)),
        }
    }
    /// Whether all ranks send equal numbers of messages of equal sizes. `false` if unknown.
    fn is_symmetric(&self) -> bool {
        false
    }
    /// Returns what the program's intervals measure. Bounds hold on any machine that is no faster than `_fastest`.
    /// Empty if the measures are defined elsewhere.
    fn measures(&self, _fastest: &Fastest) -> Vec<Measure> {
        Vec::new()
    }
    /// Whether a rank may probe for messages. `true` if unknown. Without probes the simulator keeps less information on
    /// messages that have not been received.
    fn may_probe(&self) -> bool {
        true
    }
    /// Returns the omissions and assumptions of the reader of the program's files, one sentence each.
    fn notes(&self) -> &[String] {
        &[]
    }
    /// Whether ranks call back into a language whose code runs in one thread. Messages are then not known beforehand.
    fn is_called_back(&self) -> bool {
        false
    }
    /// Returns the program bound to the nodes that it runs on. Only for programs that are called back; all others are
    /// built for their nodes.
    fn placed(self: Arc<Self>, _place: &CalledPlace<'_>) -> Option<Arc<dyn Programs>> {
        None
    }
    /// Returns every group of ranks that calls in-switch operations. Each rank of a group is on a different node. A
    /// rank belongs to at most one group per context.
    fn groups(&self) -> Vec<ProgramGroup> {
        Vec::new()
    }
    /// Visits the operations of the groups, as far as they are known beforehand. Arguments of `_visit`: the index of
    /// the group in [`Programs::groups`], a call of which only the operation and the sizes matter, and how often all
    /// members make it.
    fn each_group_call(&self, _visit: &mut dyn FnMut(usize, &GroupCall, u64)) {}
    /// Checks that every operation ends, as far as that can be known beforehand. Messages of more than `eager_limit`
    /// bytes wait for their receivers (rendezvous); with `None`, no message does.
    ///
    /// # Errors
    /// An operation that waits in a cycle, or that waits for such an operation.
    fn check_progress(&self, _eager_limit: Option<u64>) -> Result<(), ScheduleError> {
        Ok(())
    }
}

/// Completions that the program of a rank requests notification of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notify {
    /// Every completion.
    #[default]
    Each,
    /// Only the completion of the last outstanding operation: the program starts nothing before it. Notification of
    /// every completion is also correct.
    Last,
}

/// Program of one rank, with its state.
pub trait RankProgram: Debug + Send {
    /// Begins at time `now`, in picoseconds. Appends the operations that start then to `starts`, in their order.
    /// `starts` may hold operations of other ranks.
    ///
    /// # Errors
    /// If the program cannot continue.
    fn begin(&mut self, now: u64, starts: &mut Vec<Op>) -> Result<Notify, ProgramError>;
    /// Handles the completion of an operation, or of all outstanding operations. Appends the operations that start then
    /// to `starts`, in their order.
    ///
    /// # Errors
    /// If the program cannot continue.
    fn ended(&mut self, ended: &Ended, starts: &mut Vec<Op>) -> Result<Notify, ProgramError>;
    /// Returns the intervals measured since the last reset.
    fn intervals(&self) -> &[Interval] {
        &[]
    }
    /// Drops the measured intervals, which have been recorded elsewhere. Used for ranks that measure without end and
    /// are not traced.
    fn forget_intervals(&mut self) {}
}
