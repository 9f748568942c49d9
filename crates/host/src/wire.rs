//! A network that is a delay and a bandwidth: what a message takes from one node to another where there are no routers.
//!
//! Each node has a link that carries its messages whole, one after the other, as they are handed over: s bytes keep it for s / B.
//! A message has arrived a delay after its last byte has left. The receiver takes whatever comes, at once. Links take the bytes of
//! a message as they come out of the interface (cut-through), so that of the interface and the link the slower one counts. Messages of
//! one node to another never overtake one another.

use engine::statistics::Histogram;
use units::{Bandwidth, Bytes};
use workload::program::Context;

use crate::event::{Event, OpId};
use crate::inbound::Envelope;
use crate::nic::Passage;
use crate::progressions::Progressions;
use crate::slab::Slab;

/// What all links are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireParams {
    /// From the moment that a byte leaves a node to its arrival at another, in picoseconds; above 0.
    pub delay: u64,
    /// Of the link of a node.
    pub bandwidth: Bandwidth,
}

/// A message, or a part of the protocol, on its way to a node of another executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// When its last byte arrives, in picoseconds.
    pub(crate) at: u64,
    /// The rank that sends it, and the number of the send that it is of: arrivals of an instant are in this order.
    pub(crate) op: OpId,
    /// The rank that it is for.
    pub(crate) to: u32,
    pub(crate) cargo: Cargo,
    pub(crate) way: Way,
}

/// What is known of a message where it arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    /// The bytes that come: of the message, or of a control message.
    pub bytes: u64,
    /// From the arrival of the first byte to that of the last, in picoseconds.
    pub span: u64,
    /// When it was handed over, in picoseconds.
    pub since: u64,
}

/// What is on its way to a rank of an executor, and what is to be done when it has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    pub to: u32,
    pub event: Event,
    pub way: Way,
}

/// What eager messages of a progression have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub tag: u32,
    pub context: Context,
    pub bytes: u64,
    /// From the arrival of the first byte to that of the last, in picoseconds.
    pub span: u64,
}

/// An eager message that is carried whole, and that no protocol needs to know more of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Light {
    /// When it arrives, or has passed the interface of its receiver, and when it was handed over, in picoseconds.
    pub at: u64,
    pub since: u64,
    /// The send.
    pub op: OpId,
    pub to: u32,
    pub shape: Shape,
}

impl Light {
    /// As an entry of a progression.
    #[inline]
    pub fn numbers(&self) -> [u64; 4] {
        [self.at, self.since, self.op.packed(), u64::from(self.to)]
    }

    /// From an entry of a progression.
    #[inline]
    pub fn of(shape: Shape, [at, since, op, to]: [u64; 4]) -> Self {
        Self { at, since, op: OpId::of_packed(op), to: to as u32, shape }
    }
}

/// Queues of messages.
pub(crate) type Lights = Progressions<Shape, 4>;

impl Lights {
    /// The first message of a progression.
    #[inline]
    pub fn light(&self, place: u32) -> Light {
        let (&shape, &numbers) = self.first(place);
        Light::of(shape, numbers)
    }

    /// When the first message of a progression is to come, and of which send it is.
    #[inline]
    pub fn due(&self, place: u32) -> (u64, OpId) {
        let &[at, _, op, _] = self.first(place).1;
        (at, OpId::of_packed(op))
    }
}

/// What has been carried.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Messages that have arrived, control messages included,
    pub messages: u64,
    /// and their bytes.
    pub bytes: u64,
    /// Their times from the handing over to the arrival of the last byte, in picoseconds.
    pub latency: Histogram,
    /// By node, the bytes that have been handed over to its link.
    pub by_node: Vec<u64>,
    /// By node, the time that these bytes keep the link after the end of the run, in picoseconds.
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

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cargo {
    /// A message, or its request if it is one that asks first.
    Announced(Envelope),
    /// The data of a message that has asked, by its place at the receiver's executor.
    Data(u32),
    /// The answer to a request, or the notice that the data have been read, by the place of the message at the sender's executor, and
    /// at the receiver's.
    Answer(u32, u32),
    /// A credit.
    Credit,
}

/// The links of an executor's nodes, by their numbers here.
#[derive(Debug)]
pub(crate) struct Wire {
    params: WireParams,
    /// When the run ends in any case, in picoseconds.
    end: u64,
    /// When each is free, in picoseconds.
    pub free_at: Vec<u64>,
    /// The last size asked for, and its time: most messages of a program have one of a few sizes.
    last: (u64, u64),
    pub carried: Carried,
    /// What is on its way that stands by itself,
    pub arriving: Slab<Arriving>,
    /// messages on their way, by node of the machine that sends them,
    pub flying: Lights,
    /// and those that pass the interface of their receiver, by its number here.
    pub passing: Lights,
}

impl Wire {
    /// Free links of `nodes` nodes, of a machine of `all` nodes, whose run ends at `end` in any case.
    pub fn new(params: WireParams, end: u64, (nodes, all): (usize, usize)) -> Self {
        let zeros = || vec![0; nodes];
        let latency = Histogram::new();
        let carried = Carried { messages: 0, bytes: 0, latency, by_node: zeros(), after: zeros() };
        let (flying, passing) = (Lights::new(all), Lights::new(nodes));
        Self { params, end, free_at: vec![0; nodes], last: (0, 0), carried, arriving: Slab::default(), flying, passing }
    }

    /// A message of so many bytes leaves the interface of a node: when its first and its last byte arrive at another node.
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

    /// The time of so many bytes on a link, in picoseconds, rounded up.
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
        // Would catch a link that carries two at once, one that waits for the last byte of what comes slowly, and a delay that keeps
        // the link; time after the end of the run that counts: 1 B/ns, 500 ns.
        let params = WireParams { delay: 500_000, bandwidth: Bandwidth(8_000_000_000) };
        let mut wire = Wire::new(params, 3_000_000, (2, 2));
        let at = |head, tail| Passage { head, tail };
        assert_eq!(wire.carry(0, 1000, at(0, 0)), at(500_000, 1_500_000));
        assert_eq!(wire.carry(0, 10, at(300_000, 300_000)), at(1_500_000, 1_510_000));
        assert_eq!(wire.carry(1, 10, at(300_000, 300_000)), at(800_000, 810_000));
        assert_eq!(wire.carry(1, 10, at(2_000_000, 9_000_000)), at(2_500_000, 9_500_000));
        // Of 2000 B from 1.01 us on, 10 ns are after the end of the run at 3 us, and so is all of what follows.
        assert_eq!(wire.carry(0, 2000, at(0, 0)), at(1_510_000, 3_510_000));
        assert_eq!(wire.carry(0, 5, at(0, 0)), at(3_510_000, 3_515_000));
        assert_eq!(wire.carried.after, [15_000, 0]);
    }
}
