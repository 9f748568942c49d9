//! Messages in transit on a network that carries them whole, as executors hold them until they have arrived.
//!
//! The network determines when a message arrives (`HostContext::transmit`). Messages of one node to another never
//! overtake one another.

use mpi::program::Context;

use crate::event::{Event, OpId};
use crate::inbound::Envelope;
use crate::progressions::Progressions;
use crate::slab::Slab;
use crate::slots::{MessageSlot, SendSlot};

/// Message, or part of a protocol, on its way to a node of another executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageInTransit {
    /// Arrival time of the last byte, in picoseconds.
    pub(crate) at: u64,
    /// Source rank and number of the send. Arrivals of an instant are in this order.
    pub(crate) op: OpId,
    /// Destination rank.
    pub(crate) to: u32,
    pub(crate) payload: Payload,
    pub(crate) transmission: Transmission,
}

/// Transmission data of a message at its destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// Bytes that arrive: of the message, or of a control message.
    pub bytes: u64,
    /// Time from the arrival of the first byte to that of the last, in picoseconds.
    pub span: u64,
    /// Time at which it was handed over, in picoseconds.
    pub since: u64,
}

/// Item on its way to a rank of an executor, with the event of its arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    pub to: u32,
    pub event: Event,
    pub transmission: Transmission,
}

/// Properties common to the eager messages of a progression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompactShape {
    pub tag: u32,
    pub context: Context,
    pub bytes: u64,
    /// Time from the arrival of the first byte to that of the last, in picoseconds.
    pub span: u64,
}

/// Eager message that is carried whole, and of which no protocol needs to know more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompactMessage {
    /// Time at which it arrives, or has passed the interface of its receiver, in picoseconds.
    pub at: u64,
    /// Time at which it was handed over, in picoseconds.
    pub since: u64,
    /// Send of the message.
    pub op: OpId,
    pub to: u32,
    pub shape: CompactShape,
}

impl CompactMessage {
    /// Returns the message as an entry of a progression.
    #[inline]
    pub fn numbers(&self) -> [u64; 4] {
        [self.at, self.since, self.op.packed(), u64::from(self.to)]
    }

    /// Creates the message from an entry of a progression.
    #[inline]
    pub fn of(shape: CompactShape, [at, since, op, to]: [u64; 4]) -> Self {
        Self { at, since, op: OpId::of_packed(op), to: to as u32, shape }
    }
}

/// Queues of compact messages.
pub(crate) type CompactQueues = Progressions<CompactShape, 4>;

impl CompactQueues {
    /// Returns the first message of a progression.
    #[inline]
    pub fn first_message(&self, place: u32) -> CompactMessage {
        let (&shape, &numbers) = self.first(place);
        CompactMessage::of(shape, numbers)
    }

    /// Returns the time of the first message of a progression, and its send.
    #[inline]
    pub fn due(&self, place: u32) -> (u64, OpId) {
        let &[at, _, op, _] = self.first(place).1;
        (at, OpId::of_packed(op))
    }
}

/// Content of an item in transit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// Eager message, or rendezvous request.
    Announced(Envelope),
    /// Data of a rendezvous message, by its place at the receiver's executor.
    Data(MessageSlot),
    /// Answer to a rendezvous request, or notice that the data have been read, by the places of the message at the
    /// sender's and at the receiver's executor.
    Answer(SendSlot, MessageSlot),
    /// Credit.
    Credit,
}

/// Messages in transit to an executor.
#[derive(Debug)]
pub(crate) struct Transit {
    /// Items in transit that stand alone.
    pub arriving: Slab<Arriving>,
    /// Compact messages in transit, by the node of the machine that sends them.
    pub compact: CompactQueues,
    /// Compact messages that pass the interface of their receiver, by local rank.
    pub passing: CompactQueues,
}

impl Transit {
    /// Creates the state without messages, for an executor of `nodes` nodes of a machine of `all` nodes.
    pub fn new((nodes, all): (usize, usize)) -> Self {
        Self { arriving: Slab::default(), compact: CompactQueues::new(all), passing: CompactQueues::new(nodes) }
    }
}
