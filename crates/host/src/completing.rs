//! Receives of compact messages that have not ended.

use crate::progressions::Progressions;
use crate::slots::ReceiveSlot;

/// Properties common to the receives of a progression: the place of their burst, and the tag and bytes of their
/// messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Completing {
    pub receive: ReceiveSlot,
    pub tag: u32,
    pub bytes: u64,
}

/// Receives that end at known times, by rank. The numbers are the time, and the sender with the number in the burst.
pub(crate) type Completions = Progressions<Completing, 2>;
