//! What the patterns on the bits of a node's number share.

use crate::PatternError;

/// The number of bits of a node's number.
///
/// # Errors
/// If the number of nodes is not a power of two.
pub(super) fn bits_of(kind: &str, nodes: u32) -> Result<u32, PatternError> {
    if nodes.is_power_of_two() {
        return Ok(nodes.trailing_zeros());
    }
    let above = u64::from(nodes).next_power_of_two();
    let below = above / 2;
    let message = format!(
        "`{kind}` permutes the bits of a node's number, so it needs a power of two of nodes, such as {below} or {above}; \
         this topology has {nodes}"
    );
    Err(PatternError::new("kind", message))
}
