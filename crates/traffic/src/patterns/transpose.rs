//! Transpose: exchange of the upper and the lower half of the source's bits (Dally & Towles, table 3.1).
//!
//! Requires an even power of two of tasks (4, 16, 64, 256 ...). On a square grid of 2^k x 2^k tasks, numbered first
//! dimension fastest, the halves of the bits are the coordinates, and the pattern is the transposition (x, y) -> (y,
//! x). On an 8x8 mesh both definitions agree. Tasks on the diagonal do not send.

use super::Permutation;
use super::bits::bits_of;
use units::KeyError;

/// Name in the experiment file.
pub const KIND: &str = "transpose";

/// Builds the pattern for `tasks` tasks.
///
/// # Errors
/// If the number of tasks is not an even power of two, or is 1.
pub fn build(tasks: u32) -> Result<Permutation, KeyError> {
    let bits = bits_of(KIND, tasks)?;
    if !bits.is_multiple_of(2) {
        let (below, above) = (tasks / 2, u64::from(tasks) * 2);
        let message = format!(
            "`{KIND}` exchanges the halves of a task's bits, so it needs an even power of two of tasks, such as {below} \
             or {above}; the workload has {tasks} (2^{bits})"
        );
        return Err(KeyError::new("kind", message));
    }
    let half = bits / 2;
    Permutation::new(KIND, tasks, |src| (src >> half) | ((src & ((1 << half) - 1)) << half))
}
