//! Network model of a delay and a bandwidth, without routers.
//!
//! Each node has a link that carries its messages whole, one at a time, as they are handed over: s bytes occupy it for
//! s / B. A message arrives a delay after its last byte has left. The receiver accepts any number of messages at once.
//! Links take the bytes of a message as they come out of the interface (cut-through), so that the slower of the
//! interface and the link counts. Messages of one node to another never overtake one another.

use engine::statistics::Histogram;
use mpi::program::Context;
use units::{Bandwidth, Bytes};

use crate::event::{Event, OpId};
use crate::inbound::Envelope;
use crate::nic::Passage;
use crate::progressions::Progressions;
use crate::slab::Slab;

/// Parameters of all links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireParams {
    /// Time from a byte's departure at a node to its arrival at another, in picoseconds. Above 0.
    pub delay: u64,
    /// Bandwidth of the link of a node.
    pub bandwidth: Bandwidth,
}

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

/// Totals of the carried messages.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Number of messages that have arrived, including control messages.
    pub messages: u64,
    /// Bytes of the messages that have arrived.
    pub bytes: u64,
    /// Latencies from the handing over to the arrival of the last byte, in picoseconds.
    pub latency: Histogram,
    /// By node, the bytes that have been handed over to its link.
    pub by_node: Vec<u64>,
    /// By node, the time for which these bytes occupy the link after the end of the run, in picoseconds.
    pub after: Vec<u64>,
}

impl Carried {
    #[inline]
    pub(crate) fn arrive(&mut self, bytes: u64, latency: u64) {
        self.messages += 1;
        self.bytes += bytes;
        self.latency.record(latency);
    }
}

/// Content of an item in transit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// Eager message, or rendezvous request.
    Announced(Envelope),
    /// Data of a rendezvous message, by its place at the receiver's executor.
    Data(u32),
    /// Answer to a rendezvous request, or notice that the data have been read, by the places of the message at the
    /// sender's and at the receiver's executor.
    Answer(u32, u32),
    /// Credit.
    Credit,
}

/// Links of an executor's nodes, by local node.
#[derive(Debug)]
pub(crate) struct Wire {
    params: WireParams,
    /// Time limit of the run, in picoseconds.
    end: u64,
    /// By node, the time from which its link is free, in picoseconds.
    pub free_at: Vec<u64>,
    /// Last requested size, and its time. Most messages of a program have one of a few sizes.
    last: (u64, u64),
    pub carried: Carried,
    /// Items in transit that stand alone.
    pub arriving: Slab<Arriving>,
    /// Compact messages in transit, by the node of the machine that sends them.
    pub in_transit: CompactQueues,
    /// Compact messages that pass the interface of their receiver, by local rank.
    pub passing: CompactQueues,
}

impl Wire {
    /// Creates the free links of `nodes` nodes of a machine of `all` nodes. The run ends at `end` at the latest.
    pub fn new(params: WireParams, end: u64, (nodes, all): (usize, usize)) -> Self {
        let zeros = || vec![0; nodes];
        let latency = Histogram::new();
        let carried = Carried { messages: 0, bytes: 0, latency, by_node: zeros(), after: zeros() };
        let (flying, passing) = (CompactQueues::new(all), CompactQueues::new(nodes));
        Self {
            params,
            end,
            free_at: vec![0; nodes],
            last: (0, 0),
            carried,
            arriving: Slab::default(),
            in_transit: flying,
            passing,
        }
    }

    /// Sends `bytes` bytes from the interface of a node. Returns the arrival times of the first and the last byte at
    /// another node.
    #[inline]
    pub fn carry(&mut self, node: usize, bytes: u64, at: Passage) -> Passage {
        let time = self.time(bytes);
        let head = self.free_at[node].max(at.head);
        let tail = head.saturating_add(time).max(at.tail);
        self.free_at[node] = tail;
        self.carried.by_node[node] += bytes;
        if tail > self.end {
            // The link counts as busy for the time of the bytes, from the first one on.
            self.carried.after[node] += time - time.min(self.end.saturating_sub(head));
        }
        Passage { head: head.saturating_add(self.params.delay), tail: tail.saturating_add(self.params.delay) }
    }

    /// Returns the time of `bytes` bytes on a link, in picoseconds, rounded up.
    #[inline]
    fn time(&mut self, bytes: u64) -> u64 {
        if self.last.0 != bytes {
            let time = self.params.bandwidth.serialization(Bytes(bytes));
            self.last = (bytes, time.map_or(u64::MAX, |(time, _)| time.0));
        }
        self.last.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_carries_one_message_after_the_other() {
        // Would catch a link that carries two messages at once, one that waits for the last byte of a slow stream, a
        // delay that occupies the link, and time after the end of the run that counts: 1 B/ns, 500 ns.
        let params = WireParams { delay: 500_000, bandwidth: Bandwidth(8_000_000_000) };
        let mut wire = Wire::new(params, 3_000_000, (2, 2));
        let at = |head, tail| Passage { head, tail };
        assert_eq!(wire.carry(0, 1000, at(0, 0)), at(500_000, 1_500_000));
        assert_eq!(wire.carry(0, 10, at(300_000, 300_000)), at(1_500_000, 1_510_000));
        assert_eq!(wire.carry(1, 10, at(300_000, 300_000)), at(800_000, 810_000));
        assert_eq!(wire.carry(1, 10, at(2_000_000, 9_000_000)), at(2_500_000, 9_500_000));
        // Of 2000 B from 1.01 us on, 10 ns are after the end of the run at 3 us, and so are all later bytes.
        assert_eq!(wire.carry(0, 2000, at(0, 0)), at(1_510_000, 3_510_000));
        assert_eq!(wire.carry(0, 5, at(0, 0)), at(3_510_000, 3_515_000));
        assert_eq!(wire.carried.after, [15_000, 0]);
    }
}
