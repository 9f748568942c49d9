//! Bit complement: task s of N sends to task N - 1 - s. If N is a power of two, all bits of s are inverted (Dally &
//! Towles, table 3.1; for any N: Prisacari et al., section IV).
//!
//! On a grid it is the reflection through the centre: every message crosses every bisection. With an odd number of
//! tasks, the middle task does not send.

use super::Permutation;
use units::KeyError;

/// Name in the experiment file.
pub const KIND: &str = "bit-complement";

/// Builds the pattern for `tasks` tasks.
///
/// # Errors
/// If there is only one task.
pub fn build(tasks: u32) -> Result<Permutation, KeyError> {
    Permutation::new(KIND, tasks, |src| tasks - 1 - src)
}
