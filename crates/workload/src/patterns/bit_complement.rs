//! Bit complement: node s sends to the node whose bits are all inverted, N - 1 - s (Dally & Towles, table 3.1).
//!
//! Needs a power of two of nodes. On a grid it is the mirror image through the centre: every message crosses every
//! bisection. No node is its own destination.

use super::Permutation;
use super::bits::bits_of;
use crate::PatternError;

/// The name in the experiment file.
pub const KIND: &str = "bit-complement";

/// Builds the pattern for a number of nodes.
///
/// # Errors
/// If the number of nodes is not a power of two, or is 1.
pub fn build(nodes: u32) -> Result<Permutation, PatternError> {
    bits_of(KIND, nodes)?;
    Permutation::new(KIND, nodes, |src| nodes - 1 - src)
}
