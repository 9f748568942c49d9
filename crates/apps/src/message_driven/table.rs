//! Rows of different lengths in one flat array.

/// Items of row 0, then items of row 1, and so on.
#[derive(Debug)]
pub(super) struct Rows<T> {
    first: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> Rows<T> {
    /// Creates a table from items with their row numbers, in any order. Items of a row keep their order.
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

    /// Returns a row.
    #[inline]
    pub fn of(&self, row: u32) -> &[T] {
        &self.items[self.range(row)]
    }

    /// Returns the range of a row among the items of all rows.
    #[inline]
    pub fn range(&self, row: u32) -> std::ops::Range<usize> {
        self.first[row as usize] as usize..self.first[row as usize + 1] as usize
    }

    /// Returns the number of items of all rows.
    pub fn items(&self) -> usize {
        self.items.len()
    }
}
