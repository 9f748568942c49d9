//! Operations of one shape.

use super::Action;

/// Sends or receives of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// The first of them.
    pub first: Action,
    /// How many there are.
    pub count: u32,
    /// How far the rank at the other end of each is from that of the one before, modulo the number of ranks.
    pub stride: u32,
}
