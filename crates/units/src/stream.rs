//! Random streams for draws while a workload is built.

use crate::Draw;
use rand_core::Rng;
use rand_pcg::Pcg64;

/// PCG stream selected by the experiment's seed and a purpose. Streams of different purposes are independent.
pub struct NamedStream(Pcg64);

impl NamedStream {
    /// Creates the stream of a seed for a purpose.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let stream = purpose.bytes().fold(0_u128, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(0x100_0000_01b3));
        Self(Pcg64::new(u128::from(seed), stream))
    }
}

impl Draw for NamedStream {
    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}
