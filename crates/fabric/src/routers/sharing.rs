//! What messages share in routers, besides channels and the buffers behind them: by this table, groups of messages that
//! share nothing are told apart, and their outcome is replayed where an equal group recurs.
//!
//! While a router is idle, only the pointers of its arbiters tell what has happened before.

use crate::catalogue::Arbitration;
use crate::fabric::Fabric;

/// State of routers by which messages affect one another.
pub trait SharedState {
    /// Returns what messages share in the routers.
    fn sharing(&self) -> Sharing;
    /// Returns the candidate that an arbiter has served last ([`ChannelFacts::candidate`](crate::ChannelFacts::candidate)).
    /// `None`: its pointer has not moved since it was set or since the begin.
    fn last_served(&self, arbiter: Arbiter) -> Option<usize>;
    /// Lets an arbiter continue behind a candidate. `None`: at the lowest. Its router has to be idle.
    fn set_last_served(&mut self, arbiter: Arbiter, candidate: Option<usize>);
    /// Returns whether the router that has a port holds nothing that its channels do not account for.
    fn is_empty(&self, _fabric: &Fabric, _port: usize) -> bool {
        true
    }
    /// Appends how full the queues of an output are that no credit tells of, if a router moves packets between queues.
    fn append_backlog(&self, _fabric: &Fabric, _output: usize, _to: &mut Vec<i64>) {}
}

/// What messages share in the routers of an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Arbiter of each output.
    pub output: Option<ArbiterFacts>,
    /// Arbiter of each input.
    pub input: Option<ArbiterFacts>,
    /// Arbiter of the router as a whole. Messages then share the router, such as its memory.
    pub router: Option<ArbiterFacts>,
    /// Whether an input may be busy for the time of a packet after its buffer is free.
    pub has_sides: bool,
}

/// What an arbiter decides between. A candidate is a port, shifted by the bits of a virtual channel, and a virtual
/// channel or class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArbiterFacts {
    /// Port of the candidate.
    pub port: CandidatePort,
    /// Virtual channel or class of the candidate.
    pub lane: CandidateLane,
    /// Whether the arbiter serves the next candidate behind the one that was served last. Otherwise a tie goes to the
    /// lowest candidate.
    pub has_pointer: bool,
}

impl ArbiterFacts {
    /// Returns the facts of an arbiter by inputs and their virtual channels.
    pub(crate) fn of_inputs(arbitration: Arbitration) -> Self {
        Self::of((CandidatePort::Input, CandidateLane::Vc), arbitration)
    }

    /// Returns the facts of an arbiter by a rule, which does not draw.
    pub(crate) fn of((port, lane): (CandidatePort, CandidateLane), arbitration: Arbitration) -> Self {
        Self { port, lane, has_pointer: arbitration != Arbitration::OldestFirst }
    }
}

/// Port by which an arbiter tells candidates apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidatePort {
    /// None: candidates have port 0.
    None,
    /// Port by which packets come into the router.
    Input,
    /// Port by which packets leave the router.
    Output,
}

/// Virtual channel or class by which an arbiter tells candidates apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateLane {
    /// None: candidates have virtual channel 0.
    None,
    /// Virtual channel on which packets come into the router.
    Vc,
    /// Class of virtual channels on which packets leave the router.
    Class,
}

/// Arbiter, by a port of its router in the partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbiter {
    /// Arbiter of an output.
    Output(usize),
    /// Arbiter of an input.
    Input(usize),
    /// Arbiter of the router that has a port.
    Router(usize),
}
