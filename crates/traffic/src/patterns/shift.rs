//! Shift: task s sends to task s + offset, modulo the number of tasks.
//!
//! The offset is a number of tasks or, on a machine with groups, a number of groups. In the latter case each task of a
//! group sends to the corresponding task of another group (Prisacari et al., section IV: (k + mG) mod K).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::KeyError;

use super::{Permutation, groups};
use crate::Shape;

/// Name in the experiment file.
pub const KIND: &str = "shift";

/// Keys of `shift`. Exactly one is required.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShiftSpec {
    /// Distance from source to destination in tasks, modulo the number of tasks. May be negative. Excludes `groups`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// Distance from source group to destination group in groups, modulo the number of groups. May be negative.
    /// Excludes `offset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<i64>,
}

/// Builds the pattern for a machine.
///
/// # Errors
/// If not exactly one key is given, if the machine has no groups to shift by, or if no task would send.
pub fn build(spec: &ShiftSpec, shape: &Shape) -> Result<Permutation, KeyError> {
    let tasks = shape.tasks;
    let offset = match (spec.offset, spec.groups) {
        (Some(offset), None) => in_tasks(offset, tasks)?,
        (None, Some(groups)) => groups::offset(KIND, "groups", groups, shape)?,
        (Some(_), Some(_)) => {
            let message = format!("`{KIND}` takes `offset` (tasks) or `groups`, not both");
            return Err(KeyError::new("groups", message));
        }
        (None, None) => {
            let message =
                format!("`{KIND}` needs `offset` (tasks) or `groups`, such as {{ kind = \"shift\", offset = 1 }}");
            return Err(KeyError::new("kind", message));
        }
    };
    Permutation::new(KIND, tasks, |src| ((u64::from(src) + u64::from(offset)) % u64::from(tasks)) as u32)
}

fn in_tasks(offset: i64, tasks: u32) -> Result<u32, KeyError> {
    match offset.rem_euclid(i64::from(tasks.max(1))) {
        0 => {
            let message = format!(
                "`{KIND}` by {offset} makes each of the {tasks} tasks its own destination; offset may not be a multiple \
                 of {tasks}"
            );
            Err(KeyError::new("offset", message))
        }
        offset => Ok(offset as u32),
    }
}
