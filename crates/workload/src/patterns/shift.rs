//! Shift: task s sends to task s + offset, modulo the number of tasks.
//!
//! The offset is a number of tasks or, on a machine with groups, a number of groups: then each task of a group sends to
//! the same one of another group (Prisacari et al., section IV: (k + mG) mod K).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Permutation, groups};
use crate::{PatternError, Shape};

/// The name in the experiment file.
pub const KIND: &str = "shift";

/// The keys of `shift`: one of the two.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShiftSpec {
    /// How many tasks on, cyclically; negative counts backwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// How many groups on, cyclically; negative counts backwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<i64>,
}

/// Builds the pattern for a machine.
///
/// # Errors
/// If not one of the keys is given, if the machine has no groups to shift by, or if no task would send.
pub fn build(spec: &ShiftSpec, shape: &Shape) -> Result<Permutation, PatternError> {
    let tasks = shape.tasks;
    let offset = match (spec.offset, spec.groups) {
        (Some(offset), None) => in_tasks(offset, tasks)?,
        (None, Some(groups)) => groups::offset(KIND, "groups", groups, shape)?,
        (Some(_), Some(_)) => {
            let message = format!("`{KIND}` takes `offset` (tasks) or `groups`, not both");
            return Err(PatternError::new("groups", message));
        }
        (None, None) => {
            let message =
                format!("`{KIND}` needs `offset` (tasks) or `groups`, such as {{ kind = \"shift\", offset = 1 }}");
            return Err(PatternError::new("kind", message));
        }
    };
    Permutation::new(KIND, tasks, |src| ((u64::from(src) + u64::from(offset)) % u64::from(tasks)) as u32)
}

fn in_tasks(offset: i64, tasks: u32) -> Result<u32, PatternError> {
    match offset.rem_euclid(i64::from(tasks.max(1))) {
        0 => {
            let message = format!(
                "`{KIND}` by {offset} makes each of the {tasks} tasks its own destination; offset may not be a multiple \
                 of {tasks}"
            );
            Err(PatternError::new("offset", message))
        }
        offset => Ok(offset as u32),
    }
}
