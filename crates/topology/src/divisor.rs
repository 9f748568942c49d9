//! Division by a number that is fixed when a topology is built.

/// Divisor whose quotients cost a multiplication: n / d is the upper half of (n + 1) floor((2^64 - 1) / d).
///
/// With m = (2^64 - 1 - r) / d and n = q d + s, the product over 2^64 is (q + (s + 1) / d) (1 - (1 + r) / 2^64). It is
/// below q + 1 because s < d, and not below q because (n + 1) (1 + r) <= 2^64 for all n and d of 32 bits. Routing takes
/// digits of node numbers at every packet-hop, where a hardware division would dominate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divisor {
    multiplier: u64,
    divisor: u32,
}

impl Divisor {
    /// Prepares a divisor. Requires `divisor > 0`.
    pub(crate) fn new(divisor: u32) -> Self {
        debug_assert!(divisor > 0, "division by 0");
        Self { multiplier: u64::MAX / u64::from(divisor), divisor }
    }

    /// Returns the divisor.
    #[inline]
    pub(crate) fn get(self) -> u32 {
        self.divisor
    }

    /// Returns the quotient, rounded down.
    #[inline]
    pub(crate) fn quotient(self, dividend: u32) -> u32 {
        ((u128::from(u64::from(dividend) + 1) * u128::from(self.multiplier)) >> 64) as u32
    }

    /// Returns the quotient and the remainder.
    #[inline]
    pub(crate) fn split(self, dividend: u32) -> (u32, u32) {
        let quotient = self.quotient(dividend);
        (quotient, dividend - quotient * self.divisor)
    }

    /// Returns the remainder.
    #[inline]
    pub(crate) fn remainder(self, dividend: u32) -> u32 {
        self.split(dividend).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_edges_of_the_range_are_exact() {
        // Would catch a multiplier or a dividend that is off by one: both show at the multiples of the divisor next to
        // the largest dividend.
        for divisor in [1, 2, 3, 5, 7, 10, 641, 65_535, 65_536, 65_537, 1 << 24, (1 << 31) - 1, 1 << 31, u32::MAX] {
            for dividend in [0, 1, divisor - 1, divisor, u32::MAX, u32::MAX / divisor * divisor] {
                let expected = (dividend / divisor, dividend % divisor);
                assert_eq!(Divisor::new(divisor).split(dividend), expected, "{dividend} / {divisor}");
            }
        }
    }

    proptest! {
        #[test]
        fn quotients_are_those_of_the_hardware(divisor in 1_u32.., dividend: u32) {
            prop_assert_eq!(Divisor::new(divisor).split(dividend), (dividend / divisor, dividend % divisor));
        }
    }
}
