//! Pairs of ranks that exchange messages.

use crate::table::Key;

/// Local rank and another rank that it sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RankPair {
    /// Local rank, by its local number.
    pub local: u32,
    /// Other rank, by its number in the job.
    pub peer: u32,
}

impl Key for RankPair {
    fn words(self) -> (u64, u64) {
        (u64::from(self.local), u64::from(self.peer))
    }
}
