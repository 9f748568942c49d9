//! Adversarial pattern: the tasks of group i send to random tasks of group i + n (García et al., ICPP 2012, "ADV+n").
//!
//! All traffic of a group goes to a single other group. With minimal routing it shares the few channels between the
//! two. Without groups, the tasks of router i send to those of router i + n in the same way. If the two are wired, as
//! most neighbours of a HyperX are, they share that wire. On tori and meshes, whose minimal routing is loaded most by
//! travel in one direction, a router's tasks send to random tasks of the router of the tornado pattern.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, KeyError, TaskId};

use super::{groups, tornado};
use crate::{Pattern, Shape, Shares};

/// Name in the experiment file.
pub const KIND: &str = "adversarial";

/// Keys of `adversarial`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdversarialSpec {
    /// Distance from the source group to the target group, in groups, modulo the number of groups. May be negative.
    /// Without groups, it is counted in routers that have nodes. Default: 1, as is required on tori and meshes.
    #[serde(default = "one")]
    pub offset: i64,
}

fn one() -> i64 {
    1
}

/// Adversarial pattern: each block of tasks sends to random tasks of another block.
#[derive(Debug)]
pub struct Adversarial {
    per_block: u32,
    /// By block, the first task of the block that it sends to.
    targets: Vec<u32>,
}

impl Adversarial {
    /// Creates the pattern for a machine.
    ///
    /// # Errors
    /// If the machine has no groups and its routers have unequal numbers of nodes, if the offset maps every block to
    /// itself, or if there is another offset than 1 on a grid.
    pub fn new(spec: &AdversarialSpec, shape: &Shape) -> Result<Self, KeyError> {
        if shape.groups.is_none() && shape.grid.is_some() {
            return Self::tornado(spec, shape);
        }
        let blocks = Shape { groups: shape.groups.or(shape.routers), ..shape.clone() };
        if blocks.groups.is_none_or(|groups| groups < 2) {
            let message = format!(
                "`{KIND}` needs groups, or several routers that have equally many nodes, numbered router by router, and all nodes of \
                 the machine"
            );
            return Err(KeyError::new("kind", message));
        }
        let offset = groups::offset(KIND, "offset", spec.offset, &blocks)?;
        let per_block = blocks.tasks_per_group().unwrap_or(shape.tasks);
        let target = |block: u32| ((u64::from(block * per_block) + u64::from(offset)) % u64::from(shape.tasks)) as u32;
        Ok(Self { per_block, targets: (0..shape.tasks / per_block).map(target).collect() })
    }

    /// Creates the pattern for a grid, whose blocks are the tasks of a router.
    fn tornado(spec: &AdversarialSpec, shape: &Shape) -> Result<Self, KeyError> {
        if spec.offset != 1 {
            let message = format!(
                "`offset` is {}; on a grid, where tasks send almost halfway around each dimension, it has no meaning",
                spec.offset
            );
            return Err(KeyError::new("offset", message));
        }
        let tornado = tornado::named(KIND, shape)?;
        let routers: u32 = shape.grid.iter().flatten().product();
        let per_block = (shape.tasks / routers.max(1)).max(1);
        let target = |block: u32| tornado.target(TaskId(block * per_block)).0 / per_block * per_block;
        Ok(Self { per_block, targets: (0..shape.tasks / per_block).map(target).collect() })
    }

    /// Returns the first task of the target block of a task.
    fn target(&self, src: TaskId) -> u32 {
        self.targets[(src.0 / self.per_block) as usize]
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
        TaskId(self.target(src) + draw.below(self.per_block))
    }

    fn shares(&self, src: TaskId) -> Shares {
        let first = self.target(src);
        Shares::of_even(first..first + self.per_block, 1.0 / f64::from(self.per_block), None)
    }
}
