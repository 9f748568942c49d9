//! Perfect shuffle: bit i of the destination is bit i - 1 (cyclic) of the source (Dally & Towles, table 3.1).
//!
//! Requires a power of two of tasks. Tasks 0 and N - 1 are fixed points and do not send.

use super::Permutation;
use super::bits::bits_of;
use units::KeyError;

/// Name in the experiment file.
pub const KIND: &str = "shuffle";

/// Builds the pattern for `tasks` tasks.
///
/// # Errors
/// If the number of tasks is not a power of two, or so small that no task sends (1 or 2).
pub fn build(tasks: u32) -> Result<Permutation, KeyError> {
    let bits = bits_of(KIND, tasks)?;
    let top = bits.saturating_sub(1);
    Permutation::new(KIND, tasks, |src| ((src << 1) & (tasks - 1)) | (src >> top))
}
