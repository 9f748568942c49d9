//! Bit reversal: bit i of the destination is bit b - 1 - i of the source (Dally & Towles, table 3.1).
//!
//! Requires a power of two of tasks. Tasks whose bits form a palindrome do not send: 2^ceil(b/2) of 2^b.

use super::Permutation;
use super::bits::bits_of;
use units::KeyError;

/// Name in the experiment file.
pub const KIND: &str = "bit-reversal";

/// Builds the pattern for `tasks` tasks.
///
/// # Errors
/// If the number of tasks is not a power of two, or so small that no task sends (1 or 2).
pub fn build(tasks: u32) -> Result<Permutation, KeyError> {
    let bits = bits_of(KIND, tasks)?;
    // With 0 bits the shift would be as wide as the word.
    Permutation::new(KIND, tasks, |src| src.reverse_bits().checked_shr(32 - bits).unwrap_or(0))
}
