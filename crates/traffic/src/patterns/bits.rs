//! Shared code of the patterns that permute the bits of a task number.

use units::KeyError;

/// Returns the number of bits of a task number.
///
/// # Errors
/// If the number of tasks is not a power of two.
pub(super) fn bits_of(kind: &str, tasks: u32) -> Result<u32, KeyError> {
    if tasks.is_power_of_two() {
        return Ok(tasks.trailing_zeros());
    }
    let above = u64::from(tasks).next_power_of_two();
    let below = above / 2;
    let message = format!(
        "`{kind}` permutes the bits of a task's number, so it needs a power of two of tasks, such as {below} or {above}; \
         the workload has {tasks}"
    );
    Err(KeyError::new("kind", message))
}
