//! Shared code of the patterns that shift by groups.

use crate::Shape;
use units::KeyError;

/// Converts an offset in groups to an offset in tasks. `key` is the key of the offset.
///
/// # Errors
/// If the machine has no groups, or if the offset maps every group to itself.
pub(super) fn offset(kind: &str, key: &'static str, groups: i64, shape: &Shape) -> Result<u32, KeyError> {
    let (Some(count), Some(tasks)) = (shape.groups, shape.tasks_per_group()) else {
        let message = format!("`{kind}` by groups needs a machine with groups, such as a dragonfly");
        return Err(KeyError::new(key, message));
    };
    match groups.rem_euclid(i64::from(count)) as u32 {
        0 => {
            let message = format!(
                "`{kind}` by {groups} groups makes each of the {count} groups its own destination; `{key}` may not be a \
                 multiple of {count}"
            );
            Err(KeyError::new(key, message))
        }
        groups => Ok(groups * tasks),
    }
}
