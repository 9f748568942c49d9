//! Shift: node s sends to node s + offset, modulo the number of nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Permutation;
use crate::PatternError;

/// The name in the experiment file.
pub const KIND: &str = "shift";

/// The keys of `shift`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShiftSpec {
    /// How many nodes on, cyclically; negative counts backwards.
    pub offset: i64,
}

/// Builds the pattern for a number of nodes.
///
/// # Errors
/// If the offset is a multiple of the number of nodes, so that no node would send.
pub fn build(spec: &ShiftSpec, nodes: u32) -> Result<Permutation, PatternError> {
    let offset = spec.offset.rem_euclid(i64::from(nodes.max(1)));
    if offset == 0 {
        let message = format!(
            "`{KIND}` by {} makes each of the {nodes} nodes its own destination; offset may not be a multiple of {nodes}",
            spec.offset
        );
        return Err(PatternError::new("offset", message));
    }
    Permutation::new(KIND, nodes, |src| ((i64::from(src) + offset) % i64::from(nodes)) as u32)
}
