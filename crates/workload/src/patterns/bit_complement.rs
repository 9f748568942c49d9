//! Bit complement: task s of N sends to task N - 1 - s, whose bits are all inverted where N is a power of two (Dally &
//! Towles, table 3.1; for any N: Prisacari et al., section IV).
//!
//! On a grid it is the mirror image through the centre: every message crosses every bisection. With an odd number of
//! tasks the one in the middle does not send.

use super::Permutation;
use crate::PatternError;

/// The name in the experiment file.
pub const KIND: &str = "bit-complement";

/// Builds the pattern for a number of tasks.
///
/// # Errors
/// If there is one task only.
pub fn build(tasks: u32) -> Result<Permutation, PatternError> {
    Permutation::new(KIND, tasks, |src| tasks - 1 - src)
}
