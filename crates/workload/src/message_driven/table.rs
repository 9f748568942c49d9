//! Rows of different lengths in one flat array.

/// What belongs to row 0, then what belongs to row 1, and so on.
#[derive(Debug)]
pub(super) struct Rows<T> {
    first: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Rows<T> {
    /// Rows of items with the numbers of their rows, in any order; those of a row keep theirs.
    pub fn new(rows: usize, mut items: Vec<(u32, T)>) -> Self {
        items.sort_by_key(|&(row, _)| row);
        let mut first = vec![0_u32; rows + 1];
        for &(row, _) in &items {
            first[row as usize + 1] += 1;
        }
        for row in 0..rows {
            first[row + 1] += first[row];
        }
        Self { first, items: items.into_iter().map(|(_, item)| item).collect() }
    }

    /// A row.
    #[inline]
    pub fn of(&self, row: u32) -> &[T] {
        &self.items[self.range(row)]
    }

    /// Where a row is among the items of all.
    #[inline]
    pub fn range(&self, row: u32) -> std::ops::Range<usize> {
        self.first[row as usize] as usize..self.first[row as usize + 1] as usize
    }

    /// The number of items of all rows.
    pub fn items(&self) -> usize {
        self.items.len()
    }
}
