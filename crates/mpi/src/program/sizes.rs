//! Message sizes of programs.

use std::collections::BTreeMap;

use super::Programs;

/// Histogram of the message sizes of programs, as far as they are known beforehand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Number of messages by size in bytes.
    counts: BTreeMap<u64, u64>,
    /// Size and number of the messages added last, which are not yet in `counts`. Most messages follow one of equal
    /// size.
    last: (u64, u64),
}

impl Sizes {
    /// Counts the messages of a program.
    pub fn of(programs: &dyn Programs) -> Self {
        let mut sizes = Self::default();
        programs.each_size(&mut |bytes, count| sizes.add(bytes, count));
        sizes.settle();
        sizes
    }

    /// Adds `count` messages of `bytes` bytes each. Takes effect with `settle`.
    #[inline]
    pub fn add(&mut self, bytes: u64, count: u64) {
        if self.last.0 != bytes {
            self.settle();
            self.last.0 = bytes;
        }
        self.last.1 = self.last.1.saturating_add(count);
    }

    /// Moves the pending messages to the histogram.
    pub fn settle(&mut self) {
        let (bytes, count) = std::mem::take(&mut self.last);
        if count > 0 {
            let all = self.counts.entry(bytes).or_default();
            *all = all.saturating_add(count);
        }
    }

    /// Iterates over sizes in bytes and their numbers of messages, in ascending order of size.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().map(|(&bytes, &count)| (bytes, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_by_size() {
        // Would catch a size that is forgotten when a different size follows or when it recurs, and empty messages that
        // are forgotten.
        let mut sizes = Sizes::default();
        for (bytes, count) in [(0, 1), (7, 2), (7, 3), (0, 4), (9, 1), (7, u64::MAX)] {
            sizes.add(bytes, count);
        }
        sizes.settle();
        assert_eq!(sizes.iter().collect::<Vec<_>>(), [(0, 5), (7, u64::MAX), (9, 1)]);
    }
}
