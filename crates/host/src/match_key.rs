//! Keys by which receives and messages are matched.

use mpi::program::Context;

/// Wildcard for the source.
pub(crate) const ANY_SOURCE: u32 = u32::MAX;

/// Key of a receive, which may have wildcards, or of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MatchKey {
    /// Source rank, or `ANY_SOURCE`.
    pub source: u32,
    /// Tag. `None`: any tag.
    pub tag: Option<u32>,
    /// Communicator. It has no wildcard.
    pub context: Context,
}
units::record!(MatchKey { source, tag, context });

impl MatchKey {
    /// Returns whether the key has a wildcard.
    #[inline]
    pub fn has_wildcard(self) -> bool {
        self.source == ANY_SOURCE || self.tag.is_none()
    }

    /// Returns the keys of receives that match this one: itself, and those with a wildcard for source, tag or both.
    #[inline]
    pub fn wider(self) -> [Self; 4] {
        let source = ANY_SOURCE;
        [self, Self { source, ..self }, Self { tag: None, ..self }, Self { source, tag: None, ..self }]
    }

    /// Returns whether a receive with this key matches a message with another.
    #[inline]
    pub fn matches(self, message: Self) -> bool {
        (self.source == message.source || self.source == ANY_SOURCE)
            && (self.tag == message.tag || self.tag.is_none())
            && self.context == message.context
    }

    /// Returns two numbers that differ for different keys.
    pub fn words(self) -> (u32, u64) {
        (self.source, u64::from(self.context.bits()) << 33 | self.tag.map_or(1 << 32, u64::from))
    }
}
