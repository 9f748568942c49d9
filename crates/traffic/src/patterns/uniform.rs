//! Uniform random traffic: each message goes to any task with equal probability (Dally & Towles, section 3.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, KeyError, TaskId};

use crate::{Pattern, Shares};

/// Name in the experiment file.
pub const KIND: &str = "uniform";

/// Keys of `uniform`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UniformSpec {
    /// Allow a task to send to itself, through the network. The theory of switches assumes it. Default: false.
    pub include_self: bool,
}

/// Uniform random pattern.
#[derive(Debug)]
pub struct Uniform {
    tasks: u32,
    include_self: bool,
}

impl Uniform {
    /// Creates the pattern for `tasks` tasks.
    ///
    /// # Errors
    /// If no task has a destination: a single task that may not send to itself.
    pub fn new(spec: &UniformSpec, tasks: u32) -> Result<Self, KeyError> {
        if tasks < 2 && !(tasks == 1 && spec.include_self) {
            let message =
                format!("`{KIND}` needs 2 tasks or more, or include_self = true on 1; the workload has {tasks}");
            return Err(KeyError::new("kind", message));
        }
        Ok(Self { tasks, include_self: spec.include_self })
    }
}

/// Draws any task of `0..tasks` except `src`. Requires at least two tasks.
#[inline]
pub(super) fn other_task(src: TaskId, tasks: u32, draw: &mut dyn Draw) -> TaskId {
    let other = draw.below(tasks - 1);
    TaskId(other + u32::from(other >= src.0))
}

impl Pattern for Uniform {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn sends(&self, _src: TaskId) -> bool {
        true
    }

    fn destination(&self, src: TaskId, draw: &mut dyn Draw) -> TaskId {
        if self.include_self { TaskId(draw.below(self.tasks)) } else { other_task(src, self.tasks, draw) }
    }

    fn shares(&self, src: TaskId) -> Shares {
        let except = Some(src).filter(|_| !self.include_self);
        Shares::of_even(0..self.tasks, 1.0 / f64::from(self.tasks - except.map_or(0, |_| 1)), except)
    }
}
