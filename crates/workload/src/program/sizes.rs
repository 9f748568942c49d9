//! The sizes of what programs send.

use std::collections::BTreeMap;

use super::Programs;

/// How many messages of each size programs send, as far as that is known beforehand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// By size in bytes.
    counts: BTreeMap<u64, u64>,
    /// Messages of the size that was added last, which are not yet in `counts`: most follow messages of their own size.
    last: (u64, u64),
}

impl Sizes {
    /// The messages of programs.
    pub fn of(programs: &dyn Programs) -> Self {
        let mut sizes = Self::default();
        programs.each_message(&mut |messages| sizes.add(messages.bytes, messages.count));
        sizes.settle();
        sizes
    }

    /// Adds messages of so many bytes each; they are counted after `settle`.
    #[inline]
    pub fn add(&mut self, bytes: u64, count: u64) {
        if self.last.0 != bytes {
            self.settle();
            self.last.0 = bytes;
        }
        self.last.1 = self.last.1.saturating_add(count);
    }

    /// Counts what has been added.
    pub fn settle(&mut self) {
        let (bytes, count) = std::mem::take(&mut self.last);
        if count > 0 {
            let all = self.counts.entry(bytes).or_default();
            *all = all.saturating_add(count);
        }
    }

    /// Each size in bytes and how many messages have it, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter().map(|(&bytes, &count)| (bytes, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_by_size() {
        // Would catch a size that is forgotten when another comes, or when it comes again, and messages of no bytes that are.
        let mut sizes = Sizes::default();
        for (bytes, count) in [(0, 1), (7, 2), (7, 3), (0, 4), (9, 1), (7, u64::MAX)] {
            sizes.add(bytes, count);
        }
        sizes.settle();
        assert_eq!(sizes.iter().collect::<Vec<_>>(), [(0, 5), (7, u64::MAX), (9, 1)]);
    }
}
