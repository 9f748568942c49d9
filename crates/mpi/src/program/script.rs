//! Scripts: programs written as the sequence of calls of one rank.

use std::fmt::Debug;

use super::burst::Burst;
use super::{Action, Interval, Matched};
use crate::collectives::Collective;
use crate::communicator::Communicator;

/// Request number: the n-th send, receive, burst or collective operation of a rank, from 0.
pub type Request = u32;

/// Next call of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptCall {
    /// Send, receive, calculation, poll or probe. A send or a receive is the next request, and the rank continues at
    /// once. After any other action it continues when the action has ended.
    Do(Action),
    /// Several sends or receives with peers at a fixed stride, as a single request. The rank continues at once.
    Burst(Burst),
    /// Blocking collective operation, which is the next request. The rank continues when its part of the operation has
    /// ended.
    Collective(Collective),
    /// Nonblocking collective operation, which is the next request. The rank continues at once. All ranks of a
    /// communicator begin its operations in one order.
    StartCollective(Collective),
    /// Starts a calculation on a unit of the rank, as the next request. The rank continues at once. A unit carries out
    /// one calculation at a time. Of the ready calculations it takes the earliest called.
    StartCalc {
        /// Duration in picoseconds. A calculation of duration 0 occupies no unit.
        time: u64,
        /// Unit. 0 is the rank's processor, higher numbers are streams of accelerators.
        unit: u32,
    },
    /// Makes the next request begin only after this request has ended. The rank continues at once.
    After(Request),
    /// Waits until the request has ended.
    Wait(Request),
    /// Waits until all requests have ended.
    WaitAll,
    /// Waits until any request that has not been waited for has ended. `Seen::request` is that request.
    WaitAny,
    /// Tests without waiting whether any request that has not been waited for has ended. `Seen::request` is `None` if
    /// none has.
    Test,
    /// Ends the calls of the rank. Outstanding operations continue.
    End,
    /// Reports that the rank cannot continue, for a reason that the program knows. The run ends with an error.
    Fail,
}

/// State that a rank sees when it makes its next call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Current time in picoseconds.
    pub now: u64,
    /// Request that the last call has waited for or found.
    pub request: Option<Request>,
    /// Matched message of a receive request; for a burst, its last message. After a probe: the message that it has
    /// found, if any.
    pub matched: Option<Matched>,
}

/// Calls of one rank.
pub trait Script: Debug + Send {
    /// Returns the next call. Not called again after `ScriptCall::End`.
    fn next(&mut self, seen: &Seen) -> ScriptCall;
    /// Returns the communicator that collective operations of this rank refer to by `_number`. Called once per number.
    /// If it returns `None`, number 0 is the communicator of all ranks.
    fn communicator(&self, _number: u32) -> Option<Communicator> {
        None
    }
    /// Handles the end of a request, at a time in picoseconds. Returns whether the script consumes the completion: then
    /// it is not reported to calls that wait for any request.
    fn ended(&mut self, _request: Request, _at: u64) -> bool {
        false
    }
    /// Whether the script handles the ends of its requests. If so, it is notified of each at its time.
    fn notes_ends(&self) -> bool {
        false
    }
    /// Returns the intervals measured since the last reset.
    fn intervals(&self) -> &[Interval] {
        &[]
    }
    /// Drops the measured intervals, which have been recorded elsewhere.
    fn forget_intervals(&mut self) {}
}
