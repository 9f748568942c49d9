//! Random streams for draws while a workload is built.

use rand_core::Rng;
use rand_pcg::Pcg64;
use units::Draw;

/// PCG stream selected by the experiment's seed and a purpose. Streams of different purposes are independent.
pub struct Stream(Pcg64);

impl Stream {
    /// Creates the stream of a seed for a purpose.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let stream = purpose.bytes().fold(0_u128, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(0x100_0000_01b3));
        Self(Pcg64::new(u128::from(seed), stream))
    }
}

impl Draw for Stream {
    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}
