//! Interface of random streams.

/// Source of uniform random bits.
///
/// Implemented by the engine's streams. Patterns, injection processes and routings draw from it, so that they do not
/// depend on the generator. The engine decides which component owns which stream.
pub trait Draw {
    /// Returns the next 64 uniform bits.
    fn bits(&mut self) -> u64;

    /// Returns a uniform integer in `0..n`, without bias (Lemire's method). Requires `n >= 1`.
    #[inline]
    fn below(&mut self, n: u32) -> u32 {
        debug_assert!(n > 0, "below(0) has no value to give");
        let n = u64::from(n);
        loop {
            let product = (self.bits() >> 32) * n;
            let low = product & 0xffff_ffff;
            // Rejects the few values that would make the first residues likelier than the others.
            if low >= n || low >= (1_u64 << 32) % n {
                return (product >> 32) as u32;
            }
        }
    }

    /// Returns a uniform real in the open interval (0, 1), on a grid of 2^-52.
    #[inline]
    fn unit(&mut self) -> f64 {
        unit_of(self.bits())
    }
}

/// Returns the real number of [`Draw::unit`] for `bits`; it increases with `bits`.
#[inline]
pub fn unit_of(bits: u64) -> f64 {
    // With one bit more the largest value would round to 1.
    ((bits >> 12) as f64 + 0.5) * (1.0 / (1_u64 << 52) as f64)
}

/// Brings values into a random order (Fisher and Yates).
pub fn shuffle<T>(values: &mut [T], draw: &mut dyn Draw) {
    for last in (1..values.len()).rev() {
        values.swap(last, draw.below(last as u32 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::Draw;

    struct Constant(u64);

    impl Draw for Constant {
        fn bits(&mut self) -> u64 {
            self.0
        }
    }

    #[test]
    fn unit_stays_inside_the_open_interval() {
        // Would catch rounding to 1 at the top, which puts a draw after the last value of a cumulative distribution.
        assert!(Constant(u64::MAX).unit() < 1.0);
        assert!(Constant(0).unit() > 0.0);
    }
}
