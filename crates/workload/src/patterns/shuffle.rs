//! Perfect shuffle: bit i of the destination is bit i - 1 (cyclic) of the source (Dally & Towles, table 3.1).
//!
//! Needs a power of two of nodes. Nodes 0 and N - 1 are their own destinations and do not send.

use super::Permutation;
use super::bits::bits_of;
use crate::PatternError;

/// The name in the experiment file.
pub const KIND: &str = "shuffle";

/// Builds the pattern for a number of nodes.
///
/// # Errors
/// If the number of nodes is not a power of two, or so small that no node sends (1 or 2).
pub fn build(nodes: u32) -> Result<Permutation, PatternError> {
    let bits = bits_of(KIND, nodes)?;
    let top = bits.saturating_sub(1);
    Permutation::new(KIND, nodes, |src| ((src << 1) & (nodes - 1)) | (src >> top))
}
