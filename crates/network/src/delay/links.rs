//! Links of nodes. Each carries the messages of its node whole, one at a time, as they are handed over: s bytes occupy
//! it for s / B.
//!
//! A message arrives a delay after its last byte has left: that of the link, or of the idle path to its destination.
//! The receiver accepts any number of messages at once. Links take the bytes of a message as they come out of the
//! interface (cut-through), so that the slower of the interface and the link counts.

use std::sync::Arc;

use engine::statistics::Histogram;
use fabric::Plan;
use host::Passage;
use units::{Bandwidth, Bytes, NodeId, RouterId};

use crate::network::{hop_delay, path_by_ports, path_of_equal_hops};

/// Parameters of all links.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkParams<'a> {
    /// Least time from a byte's departure at a node to its arrival at another, in picoseconds. Above 0.
    pub delay: u64,
    /// Bandwidth of the link of a node.
    pub bandwidth: Bandwidth,
    /// Routers whose paths determine the delays of messages. None if all messages take `delay`.
    pub routers: Option<&'a Arc<Plan>>,
}

/// Delays of idle paths from the nodes of a worker.
struct Paths {
    plan: Arc<Plan>,
    /// Router of each node of the worker.
    routers: Vec<RouterId>,
    hops: Hops,
}

/// Delays of the channels between routers.
enum Hops {
    /// All channels have one delay: the ticks of a channel and of the router behind it.
    Equal(u64),
    /// Channels have different delays: the latest pairs of routers, and the delays between them. A pair has one place,
    /// which it shares with others.
    Different(Vec<(u64, u64)>),
}

/// Largest number of places for pairs of routers.
pub(super) const MOST_PLACES: usize = 1 << 14;

impl Paths {
    fn new(plan: &Arc<Plan>, nodes: &[u32]) -> Self {
        let routers: Vec<_> = nodes.iter().map(|&node| plan.topology().attachment(NodeId(node)).0).collect();
        let places = || {
            let pairs = routers.len().saturating_mul(plan.topology().routers() as usize);
            pairs.clamp(2, MOST_PLACES).next_power_of_two()
        };
        let hops = hop_delay(plan).map_or_else(|| Hops::Different(vec![(u64::MAX, 0); places()]), Hops::Equal);
        Self { plan: Arc::clone(plan), routers, hops }
    }

    fn delay(&mut self, from: usize, to: u32) -> u64 {
        let ends = (self.routers[from], self.plan.topology().attachment(NodeId(to)).0);
        let places = match &mut self.hops {
            Hops::Equal(hop) => return path_of_equal_hops(&self.plan, *hop, ends),
            Hops::Different(places) => places,
        };
        let pair = u64::from(ends.0.0) << 32 | u64::from(ends.1.0);
        let hash = pair.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = hash >> (u64::BITS - places.len().trailing_zeros());
        let known = &mut places[place as usize];
        if known.0 != pair {
            *known = (pair, path_by_ports(&self.plan, ends));
        }
        known.1
    }
}

/// Links of a worker's nodes, which its jobs share.
pub(super) struct Links {
    delay: u64,
    bandwidth: Bandwidth,
    paths: Option<Paths>,
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
    /// Creates the free links of the given nodes of the machine.
    pub fn new(LinkParams { delay, bandwidth, routers }: LinkParams<'_>, nodes: &[u32]) -> Self {
        let paths = routers.map(|plan| Paths::new(plan, nodes));
        Self { delay, bandwidth, paths, free_at: vec![0; nodes.len()], last: (0, 0) }
    }

    /// Returns the delay from a node of the worker to a node of the machine, in picoseconds.
    #[inline]
    pub fn delay(&mut self, from: usize, to: u32) -> u64 {
        self.paths.as_mut().map_or(self.delay, |paths| paths.delay(from, to))
    }

    /// Sends `bytes` bytes of a job from a node of the worker to a node of the machine. Returns the arrival times of the
    /// first and the last byte.
    #[inline]
    pub fn carry(&mut self, (node, to): (usize, u32), bytes: u64, at: Passage, carried: &mut Carried) -> Passage {
        let (time, delay) = (self.time(bytes), self.delay(node, to));
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
            let time = self.bandwidth.serialization(Bytes(bytes));
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
        let params = LinkParams { delay: 500_000, bandwidth: Bandwidth(8_000_000_000), routers: None };
        let (mut links, mut carried) = (Links::new(params, &[0, 1]), Carried::new(3_000_000, 2));
        let mut carry = |node, bytes, head, tail| links.carry((node, 5), bytes, Passage { head, tail }, &mut carried);
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
