//! Memories of the reference's nodes: the remainder of each copy, in exact fractions of a picosecond.

use host::MemoryParams;

use super::naive::What;

/// Number of fractions of a picosecond: a multiple of all numbers up to `MOST`.
const WHOLE: u128 = 5_342_931_457_063_200;
const MOST: u128 = 40;

/// Copy in progress.
struct Copy {
    node: u32,
    /// Remaining time of the copy alone, in fractions of a picosecond.
    left: u128,
    end: (usize, What),
}

pub struct Memory {
    params: Option<MemoryParams>,
    copies: Vec<Copy>,
}

impl Memory {
    pub fn new(params: Option<MemoryParams>) -> Self {
        Self { params, copies: Vec::new() }
    }

    pub fn takes_time(&self) -> bool {
        self.params.is_some()
    }

    pub fn latency(&self) -> u64 {
        self.params.map_or(0, |params| params.latency)
    }

    pub fn begin(&mut self, node: u32, bytes: u64, end: (usize, What)) {
        let alone = (bytes * 8_000_000_000_000).div_ceil(self.params.unwrap().bandwidth);
        self.copies.push(Copy { node, left: u128::from(alone) * WHOLE, end });
    }

    /// Returns the number of copies of a node.
    fn beside(&self, node: u32) -> u128 {
        let count = self.copies.iter().filter(|copy| copy.node == node).count() as u128;
        assert!(count <= MOST, "too many copies for exact fractions");
        count
    }

    /// Returns the time until the first copy ends.
    pub fn next(&self) -> Option<u64> {
        let times = self.copies.iter().map(|copy| (copy.left * self.beside(copy.node)).div_ceil(WHOLE) as u64);
        times.min()
    }

    /// Advances by a time in which no copy begins or ends.
    pub fn go_on(&mut self, time: u64) {
        let shares: Vec<u128> =
            self.copies.iter().map(|copy| u128::from(time) * WHOLE / self.beside(copy.node)).collect();
        self.copies.iter_mut().zip(shares).for_each(|(copy, share)| copy.left = copy.left.saturating_sub(share));
    }

    /// Removes and returns copies that have ended.
    pub fn ended(&mut self) -> Vec<(usize, What)> {
        let ended = self.copies.iter().filter(|copy| copy.left == 0).map(|copy| copy.end).collect();
        self.copies.retain(|copy| copy.left > 0);
        ended
    }
}
