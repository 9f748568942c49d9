//! Memory of unexpected messages: the bytes that each rank holds at present, and the largest number of bytes that one
//! has held.
//!
//! An eager message takes memory for all of its bytes from the arrival of its first packet until a receive matches it.
//! A rendezvous message takes none: only its request has come.

use crate::local_ranks::LocalRank;

/// Bytes of unexpected messages, by rank.
#[derive(Clone, Debug)]
pub(crate) struct UnexpectedBytes {
    held: Vec<u64>,
    most: u64,
}
units::state!(UnexpectedBytes { held, most });

impl UnexpectedBytes {
    /// Creates an empty record of `ranks` ranks.
    pub fn new(ranks: usize) -> Self {
        Self { held: vec![0; ranks], most: 0 }
    }

    /// Counts an unexpected message of `bytes` bytes that a local rank holds.
    #[inline]
    pub fn hold(&mut self, rank: LocalRank, bytes: u64) {
        let held = &mut self.held[rank.index()];
        *held = held.saturating_add(bytes);
        self.most = self.most.max(*held);
    }

    /// Removes an unexpected message that a receive has matched.
    #[inline]
    pub fn take(&mut self, rank: LocalRank, bytes: u64) {
        let held = &mut self.held[rank.index()];
        *held = held.saturating_sub(bytes);
    }

    /// Returns the largest number of bytes that a rank has held at a time.
    pub fn most(&self) -> u64 {
        self.most
    }
}
