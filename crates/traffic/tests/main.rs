//! Stochastic traffic: patterns and placements.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

mod catalogue;
mod patterns;
mod placement;

use units::Draw;

/// Weak but sufficient source of bits for these tests (SplitMix64).
struct Bits(u64);

impl Draw for Bits {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
