//! Random streams: one for each component, derived from (seed, owner).
//!
//! No stream is shared. One more draw in one component changes nothing in another, and the order in which components
//! are visited cannot change a result.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use units::{Draw, Record};

/// Component that owns a stream. Its number is part of the stream's seed and never changes meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Arbitration and adaptive choices of a router.
    Router(u32),
    /// Traffic of a node.
    Node(u32),
    /// Random choices among the virtual channels of a node's injection channel.
    Injector(u32),
    /// Acknowledgements of a node: the random part of their routing state.
    Acknowledger(u32),
    /// A traffic pattern that is drawn once, before the run.
    Pattern,
    /// Noise of a rank's processor.
    Noise(u32),
    /// Destination group of a node's multicasts, which is drawn once.
    Group(u32),
    /// Times at which the group of a node begins its operations.
    Operations(u32),
    /// Delays with which a member of a group joins its operations.
    Late(u32),
    /// Random pairing of the nodes, by number.
    Pairing(u32),
}

/// Stream of random bits (PCG XSL 128/64 MCG: 16 bytes of state, one multiplication a draw).
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// Creates the stream of `owner` under an experiment's `seed`.
    pub fn new(seed: u64, owner: Owner) -> Self {
        let (kind, number) = match owner {
            Owner::Router(id) => (1, u64::from(id)),
            Owner::Node(id) => (2, u64::from(id)),
            Owner::Pattern => (3, 0),
            Owner::Injector(id) => (4, u64::from(id)),
            Owner::Acknowledger(id) => (5, u64::from(id)),
            Owner::Noise(rank) => (6, u64::from(rank)),
            Owner::Group(id) => (7, u64::from(id)),
            Owner::Operations(id) => (8, u64::from(id)),
            Owner::Late(member) => (9, u64::from(member)),
            Owner::Pairing(number) => (10, u64::from(number)),
        };
        let mut state = seed;
        let mut mix = |input: u64| {
            state = split_mix(state ^ input);
            state
        };
        mix(kind);
        let high = mix(number);
        let low = mix(kind);
        Self(Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)))
    }
}

impl Record for Stream {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.state().put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u128::take(from).map(|state| Self(Pcg64Mcg::new(state)))
    }
}

impl Draw for Stream {
    #[inline]
    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// Returns `input` through the finaliser of SplitMix64 (Steele, Lea and Flood 2014): every input bit changes every
/// output bit.
pub const fn split_mix(input: u64) -> u64 {
    let mut z = input.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_owners_and_seeds_differ() {
        // Would catch a seed that ignores the kind or the number of its owner.
        let owners = [Owner::Router(0), Owner::Router(1), Owner::Node(0), Owner::Node(1), Owner::Pattern];
        let mut first: Vec<u64> = (0..3).flat_map(|seed| owners.map(|owner| Stream::new(seed, owner).bits())).collect();
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), 15);
    }

    #[test]
    fn below_is_uniform() {
        // Would catch a biased reduction: 6 faces, 60,000 throws, each within 5 standard deviations.
        let mut stream = Stream::new(7, Owner::Pattern);
        let mut faces = [0_i32; 6];
        for _ in 0..60_000 {
            faces[stream.below(6) as usize] += 1;
        }
        assert!(faces.iter().all(|&count| (count - 10_000).abs() < 456), "{faces:?}");
    }
}
