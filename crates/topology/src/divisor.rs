//! Division by a number that is fixed when a topology is built.

/// A divisor whose quotients cost a multiplication and a shift (Granlund & Montgomery, PLDI 1994).
///
/// Routing asks for digits of node numbers at every packet-hop, where a hardware division would dominate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Divisor {
    multiplier: u64,
    shift: u32,
    divisor: u32,
}

impl Divisor {
    /// Dividends have at most this many bits: the product with a multiplier of one bit more fits in 64.
    const BITS: u32 = 31;

    /// Prepares a divisor, from 1 to 2^31.
    pub(crate) fn new(divisor: u32) -> Self {
        debug_assert!((1..=1 << Self::BITS).contains(&divisor), "divisor {divisor} is out of range");
        let ceil_log2 = u32::BITS - (divisor - 1).leading_zeros();
        let shift = Self::BITS + ceil_log2;
        Self { multiplier: (1_u64 << shift).div_ceil(u64::from(divisor)), shift, divisor }
    }

    /// The quotient, rounded down, of a dividend below 2^31.
    #[inline]
    pub(crate) fn quotient(self, dividend: u32) -> u32 {
        debug_assert!(dividend >> Self::BITS == 0, "dividend {dividend} is out of range");
        ((u64::from(dividend) * self.multiplier) >> self.shift) as u32
    }

    /// The quotient and the remainder of a dividend below 2^31.
    #[inline]
    pub(crate) fn split(self, dividend: u32) -> (u32, u32) {
        let quotient = self.quotient(dividend);
        (quotient, dividend - quotient * self.divisor)
    }

    /// The remainder of a dividend below 2^31.
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
        // Would catch a multiplier that is one too small or a shift that is one too short: both show at the multiples of
        // the divisor next to the largest dividend.
        for divisor in [1, 2, 3, 5, 7, 10, 641, 65_535, 65_536, 65_537, 1 << 24, (1 << 31) - 1, 1 << 31] {
            for dividend in [0, 1, divisor - 1, divisor, (1 << 31) - 1, ((1 << 31) - 1) / divisor * divisor] {
                let dividend = dividend.min((1 << 31) - 1);
                let expected = (dividend / divisor, dividend % divisor);
                assert_eq!(Divisor::new(divisor).split(dividend), expected, "{dividend} / {divisor}");
            }
        }
    }

    proptest! {
        #[test]
        fn quotients_are_those_of_the_hardware(divisor in 1_u32..=1 << 31, dividend in 0_u32..1 << 31) {
            prop_assert_eq!(Divisor::new(divisor).split(dividend), (dividend / divisor, dividend % divisor));
        }
    }
}
