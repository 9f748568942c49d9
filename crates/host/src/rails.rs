//! Rails: the interfaces of a node, one for each plane of each network, and the choice of a message's rail.
//!
//! MPI libraries send each small message by one rail and cut large ones into a stripe for every rail (Liu, Vishnu and
//! Panda, "Building multirail InfiniBand clusters", 2004). A stripe is a run of whole packets. The packets of a message
//! are divided evenly over the rails; the first rails have one packet more if the division leaves a rest. Control
//! messages are small.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::groups::mixed;
use crate::rank_pair::RankEnds;

/// Rule that selects the rail of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RailPolicySpec")]
pub enum RailPolicy {
    /// The messages of a node take rails in turn.
    #[default]
    RoundRobin,
    /// Rank i of a node, in ascending order, has rail i modulo the number of rails, as where each GPU has an interface.
    ByRank,
    /// Messages to node d take rail d modulo the number of rails.
    ByDestination,
    /// Messages take the rail that a hash of their source and destination ranks selects.
    Hash,
}

/// Rails of every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RailParams {
    /// Number of rails, at least 1: planes of all networks.
    pub count: u32,
    /// Rule that chooses the rail of a message.
    pub policy: RailPolicy,
    /// Messages with more bytes are striped over all rails of their way. `None`: no message is striped.
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

/// Part of a message that is sent by one rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// Rail.
    pub rail: u32,
    /// Bytes of the message before the stripe.
    pub before: u64,
    /// Size of the stripe in bytes.
    pub bytes: u64,
}

/// Iterates over the stripes of `bytes` bytes in packets of `packet` bytes, over `rails` rails. All arguments are at
/// least 1. No stripe is empty.
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

/// Rails of an executor's nodes.
#[derive(Debug)]
pub(crate) struct Rails {
    params: RailParams,
    /// By source, the rail of the next message whose first rail has this source, less that rail. Empty unless the
    /// policy is round robin.
    turns: Vec<u32>,
}
units::state!(Rails { turns; rebuilt params });

impl Rails {
    /// Creates the rails of `nodes` nodes.
    pub fn new(params: RailParams, nodes: usize) -> Self {
        let takes_turns = params.count > 1 && params.policy == RailPolicy::RoundRobin;
        Self { params, turns: vec![0; if takes_turns { nodes * params.count as usize } else { 0 }] }
    }

    /// Returns the number of rails of a node.
    #[inline]
    pub fn count(&self) -> u32 {
        self.params.count
    }

    /// Returns whether `bytes` bytes of data are striped.
    #[inline]
    pub fn stripes(&self, bytes: u64) -> bool {
        self.params.count > 1 && self.params.stripe_above.is_some_and(|limit| bytes > limit)
    }

    /// Returns the rail of a message, less the first of the `count` rails that it may take. That rail belongs to source
    /// `first`. `number` returns the number by which a policy without turns selects the rail.
    #[inline]
    pub fn choose(&mut self, first: usize, count: u32, number: impl FnOnce(RailPolicy) -> u32) -> u32 {
        if count <= 1 {
            return 0;
        }
        match self.params.policy {
            RailPolicy::RoundRobin => {
                let turn = &mut self.turns[first];
                let rail = *turn;
                *turn = if rail + 1 >= count { 0 } else { rail + 1 };
                // Ways with the same first rail may have different numbers of rails.
                if rail < count { rail } else { 0 }
            }
            policy => number(policy) % count,
        }
    }
}

/// Returns the number by which two ranks select a rail. The numbers of consecutive ranks are unrelated.
pub(crate) fn hash_of(RankEnds { from, to }: RankEnds) -> u32 {
    (mixed(u64::from(from) << 32 | u64::from(to)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_are_whole_packets_and_make_up_the_message() {
        // Would catch a stripe that is cut within a packet, one that is lost, and rails that are more than a packet
        // apart.
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
