//! Ranks of the entries of a queue: a bit for each entry in order of arrival, and a Fenwick tree over the words of
//! bits, so that counting the entries before one takes time logarithmic in the length of the queue.

/// Bits of a word.
const WORD: u32 = 64;

/// Order of a queue's entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// By position, whether an entry is there.
    bits: Vec<u64>,
    /// By word, from 1, the number of entries in the words that a node of the tree covers.
    tree: Vec<u32>,
    /// Next position.
    next: u32,
    /// Number of entries.
    len: u32,
}
units::record!(Order { bits, tree, next, len });

impl Order {
    /// Creates an order of `len` entries, at the positions from 0.
    pub fn full(len: u32) -> Self {
        let mut order = Self { len, next: len, ..Self::default() };
        let words = len.div_ceil(WORD);
        order.bits = vec![u64::MAX; words as usize];
        if !len.is_multiple_of(WORD) {
            order.bits[words as usize - 1] = (1 << (len % WORD)) - 1;
        }
        // A node of the tree covers as many words as its lowest bit.
        let of = |node: u32| (len.min(node.saturating_mul(WORD))) - (node & (node - 1)) * WORD;
        order.tree = (1..=words).map(of).collect();
        order
    }

    /// Returns whether there is an entry at a position.
    #[inline]
    pub fn contains(&self, position: u32) -> bool {
        self.bits.get((position / WORD) as usize).is_some_and(|word| word >> (position % WORD) & 1 == 1)
    }

    /// Returns the position of the first entry at `position` or behind it.
    #[inline]
    pub fn next_from(&self, position: u32) -> Option<u32> {
        let mut word = (position / WORD) as usize;
        let mut bits = self.bits.get(word)? & (u64::MAX << (position % WORD));
        while bits == 0 {
            word += 1;
            bits = *self.bits.get(word)?;
        }
        Some(word as u32 * WORD + bits.trailing_zeros())
    }

    /// Returns the number of entries.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Appends an entry and returns its position. `None`: there is no room, and entries have to be renumbered.
    #[inline]
    pub fn push(&mut self) -> Option<u32> {
        let position = self.next;
        if position as usize >= self.bits.len() * WORD as usize {
            return None;
        }
        self.next += 1;
        self.len += 1;
        self.bits[(position / WORD) as usize] |= 1 << (position % WORD);
        self.add(position, 1);
        Some(position)
    }

    /// Removes an entry by its position.
    #[inline]
    pub fn remove(&mut self, position: u32) {
        self.len -= 1;
        self.bits[(position / WORD) as usize] &= !(1 << (position % WORD));
        self.add(position, u32::MAX);
    }

    /// Returns the number of entries before a position.
    #[inline]
    pub fn before(&self, position: u32) -> u32 {
        let word = position / WORD;
        let below = self.bits[word as usize] & ((1 << (position % WORD)) - 1);
        let (mut count, mut node) = (below.count_ones(), word);
        while node > 0 {
            count += self.tree[node as usize - 1];
            node &= node - 1;
        }
        count
    }

    /// Gives all entries new positions, from 0, with room for at least as many more.
    pub fn renumber(&mut self) {
        let words = (2 * self.len / WORD + 1).next_power_of_two();
        self.bits.clear();
        self.bits.resize(words as usize, 0);
        self.tree.clear();
        self.tree.resize(words as usize, 0);
        self.next = 0;
        for position in 0..std::mem::take(&mut self.len) {
            self.bits[(position / WORD) as usize] |= 1 << (position % WORD);
            self.add(position, 1);
            self.next += 1;
            self.len += 1;
        }
    }

    /// Adds to the count of a position's word, modulo 2^32.
    #[inline]
    fn add(&mut self, position: u32, difference: u32) {
        let mut node = position / WORD + 1;
        while node as usize <= self.tree.len() {
            let count = &mut self.tree[node as usize - 1];
            *count = count.wrapping_add(difference);
            node += node & node.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_before_one_are_counted(removals in prop::collection::vec(any::<prop::sample::Index>(), 0..600)) {
            // Would catch a count that leaves out words of bits, keeps removed entries, or is lost with new positions.
            let (mut order, mut entries) = (Order::default(), Vec::<u32>::new());
            let mut removals = removals.into_iter();
            while let Some(removal) = removals.next() {
                for _ in 0..removal.index(5) {
                    let position = order.push().unwrap_or_else(|| {
                        order.renumber();
                        entries = (0..entries.len() as u32).collect();
                        order.push().unwrap()
                    });
                    entries.push(position);
                }
                if let (Some(removal), false) = (removals.next(), entries.is_empty()) {
                    let place = removal.index(entries.len());
                    prop_assert_eq!(order.before(entries[place]), place as u32);
                    order.remove(entries.remove(place));
                }
                prop_assert_eq!(order.len(), entries.len() as u32);
            }
        }
    }
}
