//! Links of nodes. Each carries the messages of its node whole, one at a time, as they are handed over: s bytes occupy
//! it for s / B.
//!
//! A message arrives a delay after its last byte has left. The receiver accepts any number of messages at once. Links
//! take the bytes of a message as they come out of the interface (cut-through), so that the slower of the interface and
//! the link counts.

use engine::statistics::Histogram;
use host::Passage;
use units::{Bandwidth, Bytes};

/// Parameters of all links.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkParams {
    /// Time from a byte's departure at a node to its arrival at another, in picoseconds. Above 0.
    pub delay: u64,
    /// Bandwidth of the link of a node.
    pub bandwidth: Bandwidth,
}

/// Links of a worker's nodes, which its jobs share.
pub(super) struct Links {
    pub params: LinkParams,
    /// Time from which each node's link is free, in picoseconds.
    pub free_at: Vec<u64>,
    /// Last requested size, and its time. Most messages of a program have one of a few sizes.
    last: (u64, u64),
}

/// Messages of a job that a worker's nodes have sent and received.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    /// Time at which the job ends at the latest, in picoseconds.
    pub end: u64,
    /// Number of messages that have arrived, including control messages.
    pub messages: u64,
    /// Bytes of the messages that have arrived.
    pub bytes: u64,
    /// Latencies from the handing over to the arrival of the last byte, in picoseconds.
    pub latency: Histogram,
    /// By node, the bytes that have been handed over to its link.
    pub by_node: Vec<u64>,
    /// By node, the time for which these bytes occupy the link after `end`, in picoseconds.
    pub after: Vec<u64>,
}

impl Carried {
    /// Creates the counts of `nodes` nodes before any message.
    pub fn new(end: u64, nodes: usize) -> Self {
        let latency = Histogram::new();
        Self { end, messages: 0, bytes: 0, latency, by_node: vec![0; nodes], after: vec![0; nodes] }
    }
}

impl Links {
    /// Creates the free links of `nodes` nodes.
    pub fn new(params: LinkParams, nodes: usize) -> Self {
        Self { params, free_at: vec![0; nodes], last: (0, 0) }
    }

    /// Sends `bytes` bytes of a job from a node. Returns the arrival times of the first and the last byte.
    #[inline]
    pub fn carry(&mut self, node: usize, bytes: u64, at: Passage, carried: &mut Carried) -> Passage {
        let (time, delay) = (self.time(bytes), self.params.delay);
        let head = self.free_at[node].max(at.head);
        let tail = head.saturating_add(time).max(at.tail);
        self.free_at[node] = tail;
        carried.by_node[node] += bytes;
        if tail > carried.end {
            // The link counts as busy for the time of the bytes, from the first one on.
            carried.after[node] += time - time.min(carried.end.saturating_sub(head));
        }
        Passage { head: head.saturating_add(delay), tail: tail.saturating_add(delay) }
    }

    /// Returns the time of `bytes` bytes on a link, in picoseconds, rounded up.
    #[inline]
    pub fn time(&mut self, bytes: u64) -> u64 {
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
        let params = LinkParams { delay: 500_000, bandwidth: Bandwidth(8_000_000_000) };
        let (mut links, mut carried) = (Links::new(params, 2), Carried::new(3_000_000, 2));
        let mut carry = |node, bytes, head, tail| links.carry(node, bytes, Passage { head, tail }, &mut carried);
        let at = |head, tail| Passage { head, tail };
        assert_eq!(carry(0, 1000, 0, 0), at(500_000, 1_500_000));
        assert_eq!(carry(0, 10, 300_000, 300_000), at(1_500_000, 1_510_000));
        assert_eq!(carry(1, 10, 300_000, 300_000), at(800_000, 810_000));
        assert_eq!(carry(1, 10, 2_000_000, 9_000_000), at(2_500_000, 9_500_000));
        // Of 2000 B from 1.01 us on, 10 ns are after the end of the run at 3 us, and so are all later bytes.
        assert_eq!(carry(0, 2000, 0, 0), at(1_510_000, 3_510_000));
        assert_eq!(carry(0, 5, 0, 0), at(3_510_000, 3_515_000));
        assert_eq!(carried.after, [15_000, 0]);
    }
}
