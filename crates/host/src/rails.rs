//! Rails: the channels of a node into the planes of a network, each with an interface of its own, and by which of them a message
//! goes.
//!
//! MPI libraries send small messages by one rail each and cut large ones into a stripe for every rail (Liu, Vishnu and Panda,
//! "Building multirail InfiniBand clusters", 2004). A stripe is a run of whole packets; of the packets of a message each rail has
//! as many as any other, or one more, the first rails first. Control messages are small.

use crate::placed::RankPlacement;

/// By which rail a message goes that is not striped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RailPolicy {
    /// By the rail after that of the node's message before.
    #[default]
    RoundRobin,
    /// By the rail of its rank: the ranks of a node take rails in turn, in ascending order.
    ByRank,
    /// By the rail of the destination: nodes take rails in turn, in the order of their numbers.
    ByDestination,
}

/// The rails of every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RailParams {
    /// How many there are, at least 1.
    pub count: u32,
    /// By which of them a message goes.
    pub policy: RailPolicy,
    /// Messages of more bytes are striped over all; none: no message is.
    pub stripe_above: Option<u64>,
}

impl RailParams {
    /// One rail.
    pub const ONE: Self = Self { count: 1, policy: RailPolicy::RoundRobin, stripe_above: None };
}

impl Default for RailParams {
    fn default() -> Self {
        Self::ONE
    }
}

/// The part of a message that goes by one rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// The rail.
    pub rail: u32,
    /// Bytes of the message before it.
    pub before: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// The stripes of so many bytes in packets of a size, at least 1 each, over some rails; none is empty.
pub fn stripes(bytes: u64, packet: u32, rails: u32) -> impl Iterator<Item = Stripe> {
    let (packet, count) = (u64::from(packet), u64::from(rails));
    let packets = bytes.div_ceil(packet);
    let begin =
        move |rail: u64| (rail * (packets / count) + rail.min(packets % count)).saturating_mul(packet).min(bytes);
    let of = move |rail: u32| {
        let (before, end) = (begin(u64::from(rail)), begin(u64::from(rail) + 1));
        Stripe { rail, before, bytes: end - before }
    };
    (0..rails).map(of).filter(|stripe| stripe.bytes > 0)
}

/// The rails of an executor's nodes.
#[derive(Debug)]
pub(crate) struct Rails {
    params: RailParams,
    /// By node, by its number here, the rail of its next message; empty unless they take turns.
    turns: Vec<u32>,
}

impl Rails {
    /// Rails of so many nodes that have carried nothing.
    pub fn new(params: RailParams, nodes: usize) -> Self {
        let takes_turns = params.count > 1 && params.policy == RailPolicy::RoundRobin;
        Self { params, turns: vec![0; if takes_turns { nodes } else { 0 }] }
    }

    /// Rails of a node.
    #[inline]
    pub fn count(&self) -> u32 {
        self.params.count
    }

    /// Whether so many bytes of data are striped.
    #[inline]
    pub fn stripes(&self, bytes: u64) -> bool {
        self.params.count > 1 && self.params.stripe_above.is_some_and(|limit| bytes > limit)
    }

    /// The rail of a message from a rank of this executor, on its node by its number here, to a node of the machine.
    #[inline]
    pub fn choose(&mut self, (node, rank): (usize, u32), dst: u32, placed: &RankPlacement) -> u32 {
        let count = self.params.count;
        if count == 1 {
            return 0;
        }
        match self.params.policy {
            RailPolicy::RoundRobin => {
                let turn = &mut self.turns[node];
                let rail = *turn;
                *turn = if rail + 1 == count { 0 } else { rail + 1 };
                rail
            }
            RailPolicy::ByRank => placed.place_on_node(rank) % count,
            RailPolicy::ByDestination => dst % count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_are_whole_packets_and_make_up_the_message() {
        // Would catch a stripe that is cut within a packet, one that is lost, and rails that are more than a packet apart.
        for rails in 1..=5 {
            for bytes in (1..2500).step_by(7) {
                let all: Vec<Stripe> = stripes(bytes, 100, rails).collect();
                let mut before = 0;
                for (number, stripe) in (0..).zip(&all) {
                    assert_eq!((stripe.rail, stripe.before), (number, before));
                    before += stripe.bytes;
                    assert!(before == bytes || stripe.bytes.is_multiple_of(100), "{stripe:?} of {bytes}");
                }
                assert_eq!(before, bytes);
                assert_eq!(all.len() as u64, u64::from(rails).min(bytes.div_ceil(100)));
                let packets = all.iter().map(|stripe| stripe.bytes.div_ceil(100));
                assert!(packets.clone().max() <= packets.min().map(|least| least + 1));
            }
        }
    }
}
