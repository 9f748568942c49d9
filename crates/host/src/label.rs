//! What receives take, and messages have.

use workload::program::Context;

/// Any source.
pub(crate) const ANY_SOURCE: u32 = u32::MAX;

/// What a receive takes, or a message has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The rank that sends, or `ANY_SOURCE`.
    pub source: u32,
    /// The tag; none for any.
    pub tag: Option<u32>,
    /// The communicator, which nothing leaves open.
    pub context: Context,
}

impl Label {
    /// Whether it leaves anything open.
    #[inline]
    pub fn is_open(self) -> bool {
        self.source == ANY_SOURCE || self.tag.is_none()
    }

    /// What can be asked for to get something with this label: itself, and what leaves source, tag or both open.
    #[inline]
    pub fn wider(self) -> [Self; 4] {
        let source = ANY_SOURCE;
        [self, Self { source, ..self }, Self { tag: None, ..self }, Self { source, tag: None, ..self }]
    }

    /// Whether a receive with this label takes a message with another.
    #[inline]
    pub fn takes(self, message: Self) -> bool {
        (self.source == message.source || self.source == ANY_SOURCE)
            && (self.tag == message.tag || self.tag.is_none())
            && self.context == message.context
    }

    /// Two numbers that are different for different labels.
    pub fn words(self) -> (u32, u64) {
        (self.source, u64::from(self.context.bits()) << 33 | self.tag.map_or(1 << 32, u64::from))
    }
}
