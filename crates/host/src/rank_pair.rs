//! Pairs of ranks that exchange messages.

use crate::local_ranks::LocalRank;
use crate::table::Key;

/// Local rank and another rank, which sends to it or receives from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RankPair {
    /// Local rank.
    pub local: LocalRank,
    /// Other rank, by its number in the job.
    pub peer: u32,
}
units::record!(RankPair { local, peer });

/// Ranks that a message is sent from and to, by their numbers in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RankEnds {
    pub from: u32,
    pub to: u32,
}
units::record!(RankEnds { from, to });

impl Key for RankPair {
    fn words(self) -> (u64, u64) {
        (u64::from(self.local.0), u64::from(self.peer))
    }
}
