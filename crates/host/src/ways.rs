//! Ways of messages over several networks: the rails that each message may take, its stripes over networks, and relays.
//!
//! Each network of a node has its own rails, numbered network by network. A node may lack a network, and a network may
//! reach only some nodes, so that the owner of the networks tells which rails lead where ([`Ways`]). If no network
//! joins two nodes, messages pass through other nodes ([`crate::relays`]).

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use crate::nic::PartParams;

/// Way of a message, or of a part of it, to its destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Rails of the sending node that the message may take. Not empty.
    pub rails: Range<u32>,
    /// Node that its packets are sent to: the destination, or a relay. No two ways of a message have the same relay.
    pub to: u32,
    /// Whether the sender claims room at the relay `to`, if that is limited. The relay then belongs to the sender's
    /// executor.
    pub claims: bool,
    /// Bandwidth of each rail, in any unit, by which a message is striped over several ways. 0 counts as 1.
    pub weight: u64,
}

impl Way {
    /// Returns the number of rails.
    pub(crate) fn count(&self) -> u32 {
        (self.rails.end - self.rails.start).max(1)
    }
}

/// Interfaces by which nodes send into one network, if they differ from those into others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RailParts {
    /// Parts of the interface of a rail. The processor writes data (PIO) as to all interfaces.
    pub parts: PartParams,
    /// First rail of the network. Its rails share a bus that is of the node.
    pub first: u32,
}

/// Ways of messages between the nodes of several networks.
pub trait Ways: Debug + Send + Sync {
    /// Appends the ways of a message of `bytes` bytes from a node to another to `ways`: one, or, if the message is
    /// striped over networks, one for each. None if nothing joins the nodes. Depends on the arguments only.
    fn find(&self, ends: (u32, u32), bytes: u64, ways: &mut Vec<Way>);
    /// Returns the way of a packet that a relay passes on to a destination.
    fn onward(&self, ends: (u32, u32)) -> Way;
    /// Returns the time of the largest packet on a node's link of a rail, in ticks.
    fn pace(&self, rail: u32) -> u64;
    /// Returns the parts of a rail's interface. `None`: `NicParams::parts`.
    fn parts(&self, _rail: u32) -> Option<RailParts> {
        None
    }
}

/// Contiguous bytes of a message that take one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub way: Way,
    /// Bytes of the message before the share.
    pub begin: u64,
    /// Bytes of the message up to the end of the share.
    pub end: u64,
}

/// Ways of an executor's messages.
#[derive(Debug)]
pub(crate) struct FoundWays {
    ways: Arc<dyn Ways>,
    /// Buffer for the ways of a message.
    found: Vec<Way>,
    /// Buffer for the packets of each way.
    counts: Vec<u64>,
    /// Buffer for the shares of a message.
    pub shares: Vec<Share>,
}

/// Most relays on the way of a packet. Only a faulty `Ways` has more.
const MOST_RELAYS: usize = 8;

impl FoundWays {
    /// Creates the ways.
    pub fn new(ways: Arc<dyn Ways>) -> Self {
        Self { ways, found: Vec::new(), counts: Vec::new(), shares: Vec::new() }
    }

    /// Returns the way of a packet that a relay passes on to a destination.
    pub fn onward(&self, ends: (u32, u32)) -> Way {
        self.ways.onward(ends)
    }

    /// Finds the shares of a message of `bytes` bytes, in packets of `packet` bytes, in the order of its bytes. A
    /// share uses all rails of its way if `uses_all`, and otherwise one.
    pub fn find_shares(
        &mut self,
        ends: (u32, u32),
        bytes: u64,
        (packet, uses_all): (u32, bool),
        shares: &mut Vec<Share>,
    ) {
        self.found.clear();
        shares.clear();
        self.ways.find(ends, bytes, &mut self.found);
        debug_assert!(!self.found.is_empty(), "nothing joins nodes {ends:?}");
        let (packet, bytes) = (u64::from(packet), bytes.max(1));
        let rails = |way: &Way| if uses_all { way.count() } else { 1 };
        divide(bytes.div_ceil(packet), &self.found, rails, &mut self.counts);
        let mut begin = 0;
        for (way, count) in self.found.drain(..).zip(&self.counts) {
            let end = (begin + count * packet).min(bytes);
            if end > begin {
                shares.push(Share { way, begin, end });
            }
            begin = end;
        }
    }

    /// Returns the bytes of a message that pass a relay, if it has the given shares.
    pub fn through(&self, relay: u32, dst: u32, shares: &[Share]) -> u64 {
        let passes = |share: &&Share| {
            let onward = |&at: &u32| (at != dst).then(|| self.ways.onward((at, dst)).to);
            std::iter::successors(Some(share.way.to), onward).take(MOST_RELAYS).any(|at| at == relay)
        };
        shares.iter().filter(passes).map(|share| share.end - share.begin).sum()
    }
}

/// Divides `packets` packets over ways so that the last rail ends as early as possible: with n packets on a rail of
/// weight w, it ends at n / w. `rails` is the number of rails that a way uses.
///
/// The end is at least `packets` over the sum of weights. Each rail takes the packets that it can send until then,
/// rounded down. The others, fewer than there are rails, take the rails on which they end first.
fn divide(packets: u64, ways: &[Way], rails: impl Fn(&Way) -> u32, counts: &mut Vec<u64>) {
    let weight = |way: &Way| u128::from(way.weight.max(1));
    let all: u128 = ways.iter().map(|way| weight(way) * u128::from(rails(way))).sum();
    let of_rail = |way: &Way| (u128::from(packets) * weight(way) / all.max(1)) as u64;
    counts.clear();
    counts.extend(ways.iter().map(|way| of_rail(way) * u64::from(rails(way))));
    let mut left = packets - counts.iter().sum::<u64>();
    while left > 0 {
        // Packets of a rail with one more, over its weight: the least is the next to end.
        let next = |at: usize| (counts[at] / u64::from(rails(&ways[at])) + 1, weight(&ways[at]));
        let earlier = |&one: &usize, &other: &usize| {
            let ((one, w_one), (other, w_other)) = (next(one), next(other));
            (u128::from(one) * w_other).cmp(&(u128::from(other) * w_one))
        };
        let Some(first) = (0..ways.len()).min_by(earlier) else { return };
        counts[first] += 1;
        left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(rails: u32, weight: u64) -> Way {
        Way { rails: 0..rails, to: 1, claims: false, weight }
    }

    fn counts(packets: u64, ways: &[Way]) -> Vec<u64> {
        let mut counts = Vec::new();
        divide(packets, ways, |way| way.rails.end, &mut counts);
        counts
    }

    /// Returns the end of the last rail, as a fraction.
    fn end(counts: &[u64], ways: &[Way]) -> (u64, u64) {
        let of = |(&count, way): (&u64, &Way)| (count.div_ceil(u64::from(way.rails.end)), way.weight);
        counts.iter().zip(ways).map(of).max_by(|one, other| (one.0 * other.1).cmp(&(other.0 * one.1))).unwrap()
    }

    #[test]
    fn no_division_ends_earlier() {
        // Would catch shares by bandwidth that are rounded so that a slow rail gets a packet too many, rails of a way
        // that are forgotten, and packets that are lost: all divisions over three ways are tried.
        let sets = [
            [way(1, 1), way(1, 1), way(1, 1)],
            [way(1, 10), way(1, 1), way(2, 1)],
            [way(3, 2), way(1, 7), way(2, 3)],
            [way(1, 450), way(8, 50), way(1, 25)],
        ];
        for ways in sets {
            for packets in 1..60 {
                let found = counts(packets, &ways);
                assert_eq!(found.iter().sum::<u64>(), packets);
                let (time, weight) = end(&found, &ways);
                for first in 0..=packets {
                    for second in 0..=packets - first {
                        let (other, of) = end(&[first, second, packets - first - second], &ways);
                        assert!(time * of <= other * weight, "{found:?} for [{first}, {second}, ..] of {packets}");
                    }
                }
            }
        }
    }

    #[test]
    fn equal_ways_are_divided_like_rails() {
        // Would catch a rest that goes to the last rails.
        assert_eq!(counts(11, &[way(1, 5), way(1, 5), way(1, 5)]), [4, 4, 3]);
        assert_eq!(counts(0, &[way(1, 5), way(2, 5)]), [0, 0]);
        assert_eq!(counts(1, &[way(1, 0), way(1, 3)]), [0, 1]);
    }
}
