//! Receives of one shape that are posted together: one entry of a queue, and a bit for each outstanding receive.

use crate::match_key::ANY_SOURCE;
use crate::order::Order;

/// Sources of the receives of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sources {
    /// Source of the first receive, or `ANY_SOURCE`.
    pub first: u32,
    /// Distance between the sources of neighbours, modulo the number of ranks. 0: all receives have one source, or any
    /// source.
    pub stride: u32,
    /// Number of ranks.
    pub ranks: u32,
}
units::record!(Sources { first, stride, ranks });

impl Sources {
    /// Returns the source of a receive, by its number in the burst.
    pub fn of(self, number: u32) -> u32 {
        match self.stride {
            0 => self.first,
            stride => ((u64::from(self.first) + u64::from(stride) * u64::from(number)) % u64::from(self.ranks)) as u32,
        }
    }

    /// Returns the inverse of the stride modulo the number of ranks, if it has one and the sources of `count` receives
    /// are distinct. 0 for stride 0.
    fn inverse(self, count: u32) -> Option<u32> {
        if self.stride == 0 {
            return Some(0);
        }
        let (ranks, mut remainders, mut factors) =
            (i64::from(self.ranks), (i64::from(self.ranks), i64::from(self.stride % self.ranks)), (0_i64, 1_i64));
        while remainders.1 != 0 {
            let quotient = remainders.0 / remainders.1;
            remainders = (remainders.1, remainders.0 - quotient * remainders.1);
            factors = (factors.1, factors.0 - quotient * factors.1);
        }
        (remainders.0 == 1 && count <= self.ranks).then(|| factors.0.rem_euclid(ranks) as u32)
    }
}

/// Burst of receives of which some are outstanding.
#[derive(Clone, Debug)]
pub(crate) struct PostedBurst {
    sources: Sources,
    inverse: u32,
    count: u32,
    outstanding: Order,
    /// Number below which no receive is outstanding.
    low: u32,
}
units::record!(PostedBurst { sources, inverse, count, outstanding, low });

impl PostedBurst {
    /// Creates a burst of `count` receives, all outstanding. `None`: different receives may match one message, or the
    /// stride has no inverse.
    pub fn new(sources: Sources, count: u32) -> Option<Self> {
        let inverse = sources.inverse(count)?;
        Some(Self { sources, inverse, count, outstanding: Order::full(count), low: 0 })
    }

    /// Returns the first outstanding receive that matches a source.
    #[inline]
    pub fn find(&mut self, source: u32) -> Option<u32> {
        let Sources { first, stride, ranks } = self.sources;
        if stride == 0 {
            if first != source && first != ANY_SOURCE {
                return None;
            }
            self.low = self.outstanding.next_from(self.low)?;
            return Some(self.low);
        }
        let distance = u64::from(source + ranks - first) % u64::from(ranks);
        let number = (distance * u64::from(self.inverse) % u64::from(ranks)) as u32;
        (number < self.count && self.outstanding.contains(number)).then_some(number)
    }

    /// Returns the number of outstanding receives.
    pub fn len(&self) -> u32 {
        self.outstanding.len()
    }

    /// Returns the number of outstanding receives before one.
    pub fn before(&self, number: u32) -> u32 {
        self.outstanding.before(number)
    }

    /// Removes a receive.
    pub fn remove(&mut self, number: u32) {
        self.outstanding.remove(number);
    }

    /// Iterates over the outstanding receives and their sources, in order.
    pub fn receives(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let next = |&number: &u32| self.outstanding.next_from(number + 1);
        let numbers = std::iter::successors(self.outstanding.next_from(0), next);
        numbers.map(|number| (number, self.sources.of(number)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_source_finds_its_receive(ranks in 1_u32..60, first in 0_u32..60, stride in 0_u32..60, count in 1_u32..80) {
            // Would catch an inverse that is wrong, a burst that names a rank twice and is accepted, and a source that
            // finds a receive of another, or one that is not outstanding any more.
            let sources = Sources { first: first % ranks, stride: stride % ranks, ranks };
            let all: Vec<u32> = (0..count).map(|number| sources.of(number)).collect();
            let distinct = all.iter().collect::<std::collections::BTreeSet<_>>().len() == all.len();
            let Some(mut burst) = PostedBurst::new(sources, count) else {
                prop_assert!(sources.stride > 0);
                return Ok(());
            };
            prop_assert!(distinct || sources.stride == 0);
            for taken in 0..count {
                let source = all[(taken as usize * 7) % all.len()];
                let mut left = burst.receives().collect::<Vec<_>>();
                let naive = left.iter().find(|own| own.1 == source).map(|own| own.0);
                prop_assert_eq!(burst.find(source), naive);
                prop_assert_eq!(burst.len() as usize, left.len());
                if let Some(number) = naive {
                    prop_assert_eq!(burst.before(number) as usize, left.iter().position(|own| own.0 == number).unwrap());
                    burst.remove(number);
                    left.retain(|own| own.0 != number);
                    prop_assert_eq!(burst.receives().collect::<Vec<_>>(), left);
                }
            }
        }
    }
}
