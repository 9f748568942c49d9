//! A set of numbers that is filled and emptied in every instant.

/// Numbers below a bound, as bits, and which words of bits are not empty: marking does not branch, and emptying visits
/// the numbers in ascending order, so that what they stand for is read as memory lies.
#[derive(Debug)]
pub(crate) struct Marks {
    words: Vec<u64>,
    /// A bit for every 64th word, from each of the first 64 on: whether one of these may not be empty.
    filled: u64,
}

/// The words that may have marks.
#[derive(Debug)]
pub(crate) struct Words {
    filled: u64,
    /// Those from `first` on that are left of 64.
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
        // Of the last 64 there may be fewer.
        (word < self.end).then_some(word)
    }
}

impl Marks {
    /// No number below `bound` is marked.
    pub fn new(bound: usize) -> Self {
        Self { words: vec![0; bound.div_ceil(64)], filled: 0 }
    }

    /// Marks a number.
    #[inline(always)]
    pub fn mark(&mut self, number: usize) {
        self.words[number >> 6] |= 1 << (number & 63);
        self.filled |= 1 << (number >> 6 & 63);
    }

    /// Takes out which words may have marks, in ascending order, each to be taken out by its number next.
    #[inline(always)]
    pub fn take_words(&mut self) -> Words {
        let filled = std::mem::take(&mut self.filled);
        Words { filled, left: filled, first: 0, end: self.words.len() }
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
    }
}
