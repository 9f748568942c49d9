//! Receives of light messages that have not ended.

use crate::progressions::Progressions;

/// What receives of a progression have in common: the place of their burst, and what they receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completing {
    pub receive: u32,
    pub tag: u32,
    pub bytes: u64,
}

/// Receives that end at times that are known, by rank: when, and the sender with the number in the burst.
pub(crate) type Completions = Progressions<Completing, 2>;
