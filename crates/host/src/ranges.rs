//! Set of the numbers of a sequence that have come, mostly in order. Numbers are counted modulo 2^32, and numbers that
//! are compared are less than 2^31 apart.

/// All numbers before a front, and ranges beyond it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranges {
    front: u32,
    /// Half-open ranges beyond the front, in ascending order. None touches the front or another.
    ahead: Vec<(u32, u32)>,
}
units::record!(Ranges { front, ahead });

/// Returns how far a number is ahead of another. Negative if it is before it.
#[inline]
pub(crate) fn ahead_of(number: u32, other: u32) -> i32 {
    number.wrapping_sub(other) as i32
}

impl Ranges {
    /// Creates the set of all numbers before `front`.
    pub fn new(front: u32) -> Self {
        Self { front, ahead: Vec::new() }
    }

    /// Returns the first number that has not come.
    #[inline]
    pub fn front(&self) -> u32 {
        self.front
    }

    /// Adds a half-open range of numbers. Returns whether all of them are new.
    #[inline]
    pub fn add(&mut self, from: u32, to: u32) -> bool {
        if from == self.front && self.ahead.is_empty() {
            self.front = to;
            return true;
        }
        self.merge(ahead_of(from, self.front), ahead_of(to, self.front))
    }

    fn merge(&mut self, from: i32, to: i32) -> bool {
        if to <= from {
            return true;
        }
        let (mut is_new, mut from, mut to) = (from >= 0, from.max(0), to.max(0));
        let front = self.front;
        let of = |range: (u32, u32)| (ahead_of(range.0, front), ahead_of(range.1, front));
        let place = self.ahead.partition_point(|&range| of(range).1 < from);
        while let Some(range) = self.ahead.get(place).map(|&range| of(range)).filter(|range| range.0 <= to) {
            is_new &= range.1 <= from || to <= range.0;
            (from, to) = (from.min(range.0), to.max(range.1));
            self.ahead.remove(place);
        }
        match from {
            0 => self.front = front.wrapping_add(to as u32),
            _ => self.ahead.insert(place, (front.wrapping_add(from as u32), front.wrapping_add(to as u32))),
        }
        is_new
    }

    /// Returns the first number from `number` on that has not come.
    pub fn end_of(&self, number: u32) -> u32 {
        if ahead_of(number, self.front) < 0 {
            return self.front;
        }
        let holds = |range: &&(u32, u32)| ahead_of(number, range.0) >= 0 && ahead_of(number, range.1) < 0;
        self.ahead.iter().find(holds).map_or(number, |range| range.1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_in_any_order(
            first in prop_oneof![Just(0_u32), Just(u32::MAX - 20), any::<u32>()],
            adds in prop::collection::vec((0_u32..60, 0_u32..12), 0..40),
        ) {
            // Would catch a range that is lost, swallowed or kept twice, neighbours that are not joined, an end that is
            // one off, a duplicate that is not seen, and an order that breaks where numbers wrap.
            let (mut ranges, mut naive) = (Ranges::new(first), std::collections::BTreeSet::new());
            for (from, count) in adds {
                let numbers = from..from + count;
                let is_new = numbers.clone().all(|number| naive.insert(number));
                naive.extend(numbers.clone());
                let at = |number: u32| first.wrapping_add(number);
                prop_assert_eq!(ranges.add(at(numbers.start), at(numbers.end)), is_new);
                let end = |from: u32| (from..).find(|number| !naive.contains(number)).unwrap();
                prop_assert_eq!(ranges.front(), at(end(0)));
                for number in 0..80 {
                    prop_assert_eq!(ranges.end_of(at(number)), at(end(number).max(if number < end(0) { end(0) } else { number })));
                }
                prop_assert!(ranges.ahead.windows(2).all(|pair| ahead_of(pair[1].0, pair[0].1) > 0), "joined");
            }
        }
    }
}
