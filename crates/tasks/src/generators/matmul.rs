//! Matrix multiplication with a three-dimensional decomposition (paper, section 4.2): the matrices are divided among n
//! x n x n tasks. The portions of A are replicated along the third dimension, those of B along the first, and C is
//! gathered along the second.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::LocatedError;

use super::tasks_of;
use crate::limits::{arcs_fit, positive};
use crate::{ArcList, Phase, TaskArray, TaskGraph};

/// Three-dimensional matrix multiplication.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MatmulSpec {
    /// Tasks in each of the three dimensions.
    #[schemars(range(min = 2, max = 400))]
    pub n: u32,
    /// Rows and columns of the matrices.
    #[serde(default = "rows")]
    #[schemars(range(min = 1))]
    pub matrix: u64,
    /// Bytes per element.
    #[serde(default = "element")]
    #[schemars(range(min = 1))]
    pub element_bytes: u64,
}

fn rows() -> u64 {
    4096
}

fn element() -> u64 {
    8
}

impl MatmulSpec {
    /// Builds the graph: phases `a`, `b` and `c`. In each phase every task sends its portion to the n - 1 others of its
    /// line.
    ///
    /// # Errors
    /// If there are too many tasks.
    pub fn build(&self) -> Result<TaskGraph, LocatedError> {
        let dims = vec![self.n; 3];
        let tasks = tasks_of(&dims, 3, "n")?;
        positive(self.matrix, "matrix")?;
        positive(self.element_bytes, "element_bytes")?;
        arcs_fit(&[u64::from(tasks), u64::from(self.n)], "n")?;
        let elements = u128::from(self.matrix) * u128::from(self.matrix);
        let elements = elements.saturating_mul(u128::from(self.element_bytes));
        let bytes = u64::try_from(elements / u128::from(tasks)).unwrap_or(u64::MAX).max(1);
        let line = |stride: u32| {
            let mut arcs = ArcList::new(tasks);
            for task in 0..tasks {
                let at = task / stride % self.n;
                (0..self.n).for_each(|to| arcs.add(task, task - at * stride + to * stride, bytes, 1));
            }
            arcs.build()
        };
        let mut graph = TaskGraph::new("matrix-multiplication", line(self.n * self.n));
        graph.phases[0].name = "a".into();
        graph.phases.push(Phase::of("b", line(1)));
        graph.phases.push(Phase::of("c", line(self.n)));
        graph.arrays.push(TaskArray { name: "chares".into(), first: 0, dims, periodic: vec![false; 3] });
        graph.notes.push(
            "The paper says that portions go to tasks \"which share its Z and X coordinate\"; replication along Z and X, which it \
             says before, goes to those that share the other two."
                .into(),
        );
        Ok(graph)
    }
}
