//! Programs written as the calls of one rank after the other.

use std::fmt::Debug;

use super::burst::Burst;
use super::{Action, Interval, Matched};
use crate::collectives::Collective;
use crate::communicator::Communicator;

/// A request: the n-th send, receive, burst or collective operation of a rank, from 0.
pub type Request = u32;

/// What a rank calls next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A send, a receive, a calculation, a poll or a probe. The rank goes on at once after a send or a receive, which is its next
    /// request, and when it has ended after the others.
    Do(Action),
    /// Sends or receives of one shape, which are one request.
    Burst(Burst),
    /// A collective operation, which is the next request; the rank goes on when its part of it has ended.
    Collective(Collective),
    /// The same; the rank goes on at once. All ranks of a communicator begin its operations in the same order.
    StartCollective(Collective),
    /// Starts a calculation on a unit of the rank, which is the next request; the rank goes on at once. A unit carries out one calculation
    /// at a time; of those that are ready it takes the first that was called.
    StartCalc {
        /// Duration in picoseconds. A calculation of no time needs no unit.
        time: u64,
        /// Unit: 0 is the rank's processor, others are streams of accelerators.
        unit: u32,
    },
    /// The next request begins when this request has ended; the rank goes on at once.
    After(Request),
    /// Waits until a request has ended.
    Wait(Request),
    /// Waits until all requests have ended.
    WaitAll,
    /// Waits until one of the requests that have not been waited for has ended; `Seen::request` is that request.
    WaitAny,
    /// The same without waiting: `Seen::request` is none if none has ended.
    Test,
    /// The rank calls nothing any more. What is outstanding goes on.
    End,
    /// The rank cannot go on, for a reason that the program knows: the run ends with an error.
    Fail,
}

/// What a rank sees when it is asked for its next call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The time, in picoseconds.
    pub now: u64,
    /// The request that the last call has waited for or found.
    pub request: Option<Request>,
    /// If that is a receive, its message; of a burst, the last one. After a probe the message that it has found, if it has.
    pub matched: Option<Matched>,
}

/// What one rank calls.
pub trait Script: Debug + Send {
    /// The next call. Not asked again after `Step::End`.
    fn next(&mut self, seen: &Seen) -> Step;
    /// The communicator that its collective operations name by a number, as this rank knows it; asked once for each number. None
    /// for the communicator of all ranks, which is number 0 if nothing else is.
    fn communicator(&self, _number: u32) -> Option<Communicator> {
        None
    }
    /// A request has ended, at a time in picoseconds. Returns whether the script has taken note of that: then
    /// it will not be given to those who wait for any request.
    fn ended(&mut self, _request: Request, _at: u64) -> bool {
        false
    }
    /// Whether it takes note of requests that end: then it is notified of each when that ends.
    fn notes_ends(&self) -> bool {
        false
    }
    /// What it has measured so far, since it was last reset.
    fn intervals(&self) -> &[Interval] {
        &[]
    }
    /// Forgets what it has measured, which has been taken note of.
    fn forget_intervals(&mut self) {}
}
