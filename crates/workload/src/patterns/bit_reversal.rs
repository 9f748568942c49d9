//! Bit reversal: bit i of the destination is bit b - 1 - i of the source (Dally & Towles, table 3.1).
//!
//! Needs a power of two of tasks. The tasks whose bits are a palindrome do not send: 2^ceil(b/2) of 2^b.

use super::Permutation;
use super::bits::bits_of;
use crate::PatternError;

/// The name in the experiment file.
pub const KIND: &str = "bit-reversal";

/// Builds the pattern for a number of tasks.
///
/// # Errors
/// If the number of tasks is not a power of two, or so small that no task sends (1 or 2).
pub fn build(tasks: u32) -> Result<Permutation, PatternError> {
    let bits = bits_of(KIND, tasks)?;
    // Without a bit there is nothing to reverse, and the shift would be as wide as the word.
    Permutation::new(KIND, tasks, |src| src.reverse_bits().checked_shr(32 - bits).unwrap_or(0))
}
