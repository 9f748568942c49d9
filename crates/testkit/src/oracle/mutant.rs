//! Planted mistakes of the naive simulator: a comparison that is worth its time finds each of them.

/// Planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A multicast packet loses the copy for the last of its outputs where it is split.
    LostCopy,
    /// A window of a pacer holds one byte less.
    ShortWindow,
    /// The stripes of a flow go to the planes in the opposite order.
    SwappedPlanes,
    /// Jobs that share a node do not take turns: the first that has a packet goes.
    FirstJobFirst,
    /// A member of a group sends one packet more than its window allows.
    LongGroupWindow,
}

impl Mutant {
    /// All mistakes.
    pub const ALL: [Self; 5] =
        [Self::LostCopy, Self::ShortWindow, Self::SwappedPlanes, Self::FirstJobFirst, Self::LongGroupWindow];
}
