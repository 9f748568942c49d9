//! Unstructured random graphs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, LocatedError};

use super::tasks_of;
use crate::{ArcList, MAX_ARCS, TaskGraph};
use units::NamedStream;

/// Random graph: every task exchanges messages with some others, drawn from the seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomSpec {
    /// Number of tasks.
    #[schemars(range(min = 2))]
    pub tasks: u32,
    /// Partners that each task draws. On average a task has twice as many, since partners draw it too.
    #[serde(default = "three")]
    #[schemars(range(min = 1))]
    pub degree: u32,
    /// Largest number of bytes to a partner. Drawn uniformly from 1 on.
    #[serde(default = "kibibyte")]
    #[schemars(range(min = 1))]
    pub bytes: u32,
}

fn three() -> u32 {
    3
}

fn kibibyte() -> u32 {
    1024
}

impl RandomSpec {
    /// Builds the graph from a seed.
    ///
    /// # Errors
    /// If there are fewer than two tasks, or too many tasks or arcs.
    pub fn build(&self, seed: u64) -> Result<TaskGraph, LocatedError> {
        let tasks = tasks_of(&[self.tasks], 1, "tasks")?;
        if tasks < 2 || self.bytes == 0 {
            return Err(LocatedError::key(
                "tasks",
                "a random graph has at least two tasks, and messages of at least a byte",
            ));
        }
        if u64::from(tasks) * u64::from(self.degree) * 2 > MAX_ARCS as u64 {
            return Err(LocatedError::key(
                "degree",
                format!("`degree` makes more than {MAX_ARCS} arcs, the most supported"),
            ));
        }
        let mut draw = NamedStream::new(seed, "random-graph");
        let mut arcs = ArcList::new(tasks);
        for task in 0..tasks {
            for _ in 0..self.degree {
                let other = draw.below(tasks);
                arcs.add_both(task, other, 1 + u64::from(draw.below(self.bytes)), 1);
            }
        }
        Ok(TaskGraph::new("random", arcs.build()))
    }
}
