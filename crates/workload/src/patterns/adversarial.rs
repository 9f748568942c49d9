//! Adversarial: the tasks of group i send to random tasks of group i + n (García et al., ICPP 2012, "ADV+n").
//!
//! All traffic of a group goes to one other group, over the few channels between the two if routing is minimal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, TaskId};

use super::groups;
use crate::{Pattern, PatternError, Shape, Shares};

/// The name in the experiment file.
pub const KIND: &str = "adversarial";

/// The keys of `adversarial`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdversarialSpec {
    /// How many groups on, cyclically; negative counts backwards.
    #[serde(default = "one")]
    pub offset: i64,
}

fn one() -> i64 {
    1
}

/// From each group to random tasks of another.
#[derive(Debug)]
pub struct Adversarial {
    tasks: u32,
    per_group: u32,
    /// How many tasks on the first task of the target group is from the source's group's.
    offset: u32,
}

impl Adversarial {
    /// The pattern for a machine with groups.
    ///
    /// # Errors
    /// If the machine has no groups, or if the offset leads every group to itself.
    pub fn new(spec: &AdversarialSpec, shape: &Shape) -> Result<Self, PatternError> {
        let offset = groups::offset(KIND, "offset", spec.offset, shape)?;
        Ok(Self { tasks: shape.tasks, per_group: shape.tasks_per_group().unwrap_or(shape.tasks), offset })
    }

    /// The first task of the group that a task sends to.
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
