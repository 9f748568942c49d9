//! Random bits of a topology, from a key of it. They do not depend on the seed of the experiment.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use units::Draw;

/// Stream of random bits.
pub(crate) struct Stream(Pcg64Mcg);

impl Stream {
    /// Creates the stream of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }
}

impl Draw for Stream {
    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}
