//! Receives of one shape that are posted together: one entry of a queue, and a bit for each that is outstanding.

use crate::label::ANY_SOURCE;
use crate::order::Order;

/// Where the receives of a burst take their messages from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sources {
    /// The rank that the first one takes a message from, or `ANY_SOURCE`.
    pub first: u32,
    /// How far the rank of each is from that of the one before, modulo the number of ranks; 0 if all take messages from one, or
    /// from any.
    pub stride: u32,
    /// The number of ranks.
    pub ranks: u32,
}

impl Sources {
    /// The rank that a receive takes a message from, by its number in the burst.
    pub fn of(self, number: u32) -> u32 {
        match self.stride {
            0 => self.first,
            stride => ((u64::from(self.first) + u64::from(stride) * u64::from(number)) % u64::from(self.ranks)) as u32,
        }
    }

    /// The inverse of the stride modulo the number of ranks, if so many receives are of different ranks and it has one; 0 of stride 0.
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

/// A burst of receives of which some are outstanding.
#[derive(Clone, Debug)]
pub(crate) struct PostedBurst {
    sources: Sources,
    inverse: u32,
    count: u32,
    outstanding: Order,
    /// No receive below is outstanding.
    low: u32,
}

impl PostedBurst {
    /// So many receives, all outstanding; none if a message may be for several that are not alike, or their strides lead to no
    /// rank twice only by chance.
    pub fn new(sources: Sources, count: u32) -> Option<Self> {
        let inverse = sources.inverse(count)?;
        Some(Self { sources, inverse, count, outstanding: Order::full(count), low: 0 })
    }

    /// The first outstanding receive that takes a message from a source.
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

    /// Receives that are outstanding.
    pub fn len(&self) -> u32 {
        self.outstanding.len()
    }

    /// Outstanding receives before one.
    pub fn before(&self, number: u32) -> u32 {
        self.outstanding.before(number)
    }

    /// Takes out a receive.
    pub fn remove(&mut self, number: u32) {
        self.outstanding.remove(number);
    }

    /// The outstanding receives and their sources, in order.
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
            // Would catch an inverse that is wrong, a burst that names a rank twice and is taken all the same, and a source that finds a
            // receive of another, or one that is not outstanding any more.
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
