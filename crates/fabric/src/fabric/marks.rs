//! Set of numbers that is filled and emptied in every instant.

use std::ops::Range;

/// Set of numbers below a bound, as a bit mask with a summary of its non-empty words. Marking does not branch. Emptying
/// visits the numbers in ascending order, so that the state that they stand for is read in the order of memory.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    words: Vec<u64>,
    /// Summary: bit i says whether word i, i + 64, i + 128 ... may be non-empty.
    filled: u64,
}
units::record!(Marks { words, filled });

/// Iterator over the words that may have marks.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    filled: u64,
    /// Remaining bits of the present 64 words, from `first` on.
    left: u64,
    first: usize,
    end: usize,
}

impl Iterator for Words {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.left == 0 {
            self.first += 64;
            if self.first >= self.end {
                return None;
            }
            self.left = self.filled;
        }
        let word = self.first + self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        // The last 64 may be incomplete.
        (word < self.end).then_some(word)
    }
}

impl Marks {
    /// Creates an empty set of numbers below `bound`.
    pub fn new(bound: usize) -> Self {
        Self { words: vec![0; bound.div_ceil(64)], filled: 0 }
    }

    /// Marks a number.
    #[inline(always)]
    pub fn mark(&mut self, number: usize) {
        self.words[number >> 6] |= 1 << (number & 63);
        self.filled |= 1 << (number >> 6 & 63);
    }

    /// Takes the words that may have marks, in ascending order. Each must then be emptied by its number.
    #[inline(always)]
    pub fn take_words(&mut self) -> Words {
        let filled = std::mem::take(&mut self.filled);
        Words { filled, left: filled, first: 0, end: self.words.len() }
    }

    /// Returns the words that may have marks of numbers in a range, in ascending order. The summary keeps them until
    /// `forget_words`.
    #[inline(always)]
    pub fn words_of(&self, numbers: &Range<usize>) -> Words {
        let (first, end) = (numbers.start >> 6, numbers.end.div_ceil(64));
        let filled = self.filled.rotate_right((first & 63) as u32);
        Words { filled, left: filled, first, end }
    }

    /// Takes the marks of a word that stand for numbers below `end`.
    #[inline(always)]
    pub fn take_below(&mut self, word: usize, end: usize) -> u64 {
        let all = &mut self.words[word];
        let below = if word == end >> 6 { *all & ((1 << (end & 63)) - 1) } else { *all };
        *all ^= below;
        below
    }

    /// Clears the summary after all marks have been taken.
    #[inline(always)]
    pub fn forget_words(&mut self) {
        self.filled = 0;
    }

    /// Takes the marks of a word, which stands for 64 numbers.
    #[inline(always)]
    pub fn take_word(&mut self, word: usize) -> u64 {
        std::mem::take(&mut self.words[word])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Bits;
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
                for word in marks.take_words() {
                    got.extend(Bits(marks.take_word(word)).map(|bit| word * 64 + bit));
                }
                prop_assert_eq!(&got, &numbers.iter().copied().collect::<Vec<_>>());
            }
        }

        #[test]
        fn marks_of_ranges_come_out_once_each_in_order(
            numbers in prop::collection::btree_set(0_usize..20_000, 0..50),
            ends in prop::collection::btree_set(1_usize..20_000, 0..20),
        ) {
            // Would catch a mark lost or taken twice where ranges meet within a word, and one that is not found in a
            // range of more than 64 words or that begins at any word.
            let mut marks = Marks::new(20_000);
            for _ in 0..2 {
                numbers.iter().for_each(|&number| marks.mark(number));
                let (mut got, mut start) = (Vec::new(), 0);
                for end in ends.iter().copied().chain([20_000]) {
                    let range = start..end;
                    for word in marks.words_of(&range) {
                        got.extend(Bits(marks.take_below(word, range.end)).map(|bit| word * 64 + bit));
                    }
                    prop_assert!(got.iter().all(|&number| number < end));
                    start = end;
                }
                marks.forget_words();
                prop_assert_eq!(&got, &numbers.iter().copied().collect::<Vec<_>>());
            }
        }
    }
}
