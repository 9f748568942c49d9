//! A set of numbers that is filled and emptied in every instant.

use engine::Bits;

/// Numbers below a bound, as bits, and which words of bits are not empty: marking does not branch, and emptying visits
/// the numbers in ascending order, so that what they stand for is read as memory lies.
#[derive(Debug)]
pub(crate) struct Marks {
    words: Vec<u64>,
    /// One bit for each word.
    filled: Vec<u64>,
}

impl Marks {
    /// No number below `bound` is marked.
    pub fn new(bound: usize) -> Self {
        let words = bound.div_ceil(64);
        Self { words: vec![0; words], filled: vec![0; words.div_ceil(64)] }
    }

    /// Marks a number.
    #[inline(always)]
    pub fn mark(&mut self, number: usize) {
        self.words[number >> 6] |= 1 << (number & 63);
        self.filled[number >> 12] |= 1 << (number >> 6 & 63);
    }

    /// The number of groups of words.
    #[inline(always)]
    pub fn groups(&self) -> usize {
        self.filled.len()
    }

    /// Takes out a group: the words of it that have marks, each to be taken out by its number next.
    #[inline(always)]
    pub fn take_group(&mut self, group: usize) -> impl Iterator<Item = usize> + use<> {
        Bits(std::mem::take(&mut self.filled[group])).map(move |word| group * 64 + word)
    }

    /// Takes out the marks of a word, of 64 numbers.
    #[inline(always)]
    pub fn take_word(&mut self, word: usize) -> u64 {
        std::mem::take(&mut self.words[word])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn marks_come_out_once_each_in_order(numbers in prop::collection::btree_set(0_usize..20_000, 0..50)) {
            // Would catch a mark lost at a word's edge, or left behind for the next instant.
            let mut marks = Marks::new(20_000);
            for _ in 0..2 {
                for &number in numbers.iter().rev().chain(&numbers) {
                    marks.mark(number);
                }
                let mut got = Vec::new();
                for group in 0..marks.groups() {
                    for word in marks.take_group(group) {
                        got.extend(Bits(marks.take_word(word)).map(|bit| word * 64 + bit));
                    }
                }
                prop_assert_eq!(&got, &numbers.iter().copied().collect::<Vec<_>>());
            }
        }
    }
}
