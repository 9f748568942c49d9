//! Adversarial pattern: the tasks of group i send to random tasks of group i + n (García et al., ICPP 2012, "ADV+n").
//!
//! All traffic of a group goes to a single other group. With minimal routing it shares the few channels between the
//! two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, KeyError, TaskId};

use super::groups;
use crate::{Pattern, Shape, Shares};

/// Name in the experiment file.
pub const KIND: &str = "adversarial";

/// Keys of `adversarial`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdversarialSpec {
    /// Distance from the source group to the target group, in groups, modulo the number of groups. May be negative.
    /// Default: 1.
    #[serde(default = "one")]
    pub offset: i64,
}

fn one() -> i64 {
    1
}

/// Adversarial pattern: each group sends to random tasks of another group.
#[derive(Debug)]
pub struct Adversarial {
    tasks: u32,
    per_group: u32,
    /// Distance from the first task of the source group to that of the target group, in tasks.
    offset: u32,
}

impl Adversarial {
    /// Creates the pattern for a machine with groups.
    ///
    /// # Errors
    /// If the machine has no groups, or if the offset maps every group to itself.
    pub fn new(spec: &AdversarialSpec, shape: &Shape) -> Result<Self, KeyError> {
        let offset = groups::offset(KIND, "offset", spec.offset, shape)?;
        Ok(Self { tasks: shape.tasks, per_group: shape.tasks_per_group().unwrap_or(shape.tasks), offset })
    }

    /// Returns the first task of the target group of a task.
    fn target(&self, src: TaskId) -> u32 {
        let first = src.0 / self.per_group * self.per_group;
        ((u64::from(first) + u64::from(self.offset)) % u64::from(self.tasks)) as u32
    }
}

impl Pattern for Adversarial {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn sends(&self, _src: TaskId) -> bool {
        true
    }

    fn destination(&self, src: TaskId, draw: &mut dyn Draw) -> TaskId {
        TaskId(self.target(src) + draw.below(self.per_group))
    }

    fn shares(&self, src: TaskId) -> Shares {
        let first = self.target(src);
        Shares::of_even(first..first + self.per_group, 1.0 / f64::from(self.per_group), None)
    }
}
