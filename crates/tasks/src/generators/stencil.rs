//! Stencils of one to four dimensions: every task exchanges messages with its neighbours along each dimension.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Boundary, LocatedError};

use super::{add_faces, tasks_of};
use crate::limits::{arcs_fit, positive};
use crate::{ArcList, TaskArray, TaskGraph};

/// Grid of tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StencilSpec {
    /// Tasks in each of one to four dimensions.
    #[schemars(length(min = 1, max = 4), inner(range(min = 1)))]
    pub dims: Vec<u32>,
    /// Periodic boundaries. In a dimension of extent 2, a task then sends two messages to its only neighbour.
    #[serde(default = "yes")]
    pub periodic: bool,
    /// Bytes to each neighbour along a dimension.
    #[serde(default = "kibibyte")]
    #[schemars(range(min = 1))]
    pub bytes: u64,
    /// Bytes to each neighbour along a diagonal of two or more dimensions. 0 disables diagonals.
    #[serde(default)]
    pub diagonal_bytes: u64,
}

fn yes() -> bool {
    true
}

fn kibibyte() -> u64 {
    1024
}

impl StencilSpec {
    /// Builds the graph.
    ///
    /// # Errors
    /// If there are no extents, too many, or too large ones.
    pub fn build(&self) -> Result<TaskGraph, LocatedError> {
        let tasks = tasks_of(&self.dims, 4, "dims")?;
        positive(self.bytes, "bytes")?;
        let dims = self.dims.len() as u32;
        let neighbours = if self.diagonal_bytes > 0 { 3_u64.pow(dims) } else { 2 * u64::from(dims) };
        arcs_fit(&[u64::from(tasks), neighbours], "dims")?;
        let mut arcs = ArcList::new(tasks);
        add_faces(&mut arcs, &self.dims, Boundary::of(self.periodic), &|_| self.bytes);
        if self.diagonal_bytes > 0 {
            self.add_diagonals(&mut arcs, tasks);
        }
        let mut graph = TaskGraph::new("stencil", arcs.build());
        let periodic = vec![self.periodic; self.dims.len()];
        graph.arrays.push(TaskArray { name: "grid".into(), first: 0, dims: self.dims.clone(), periodic });
        Ok(graph)
    }

    fn add_diagonals(&self, arcs: &mut ArcList, tasks: u32) {
        let offsets = 3_u32.pow(self.dims.len() as u32);
        for task in 0..tasks {
            for offset in 0..offsets {
                if let Some(to) = self.neighbour(task, offset) {
                    arcs.add(task, to, self.diagonal_bytes, 1);
                }
            }
        }
    }

    /// Returns the task at an offset of -1, 0 or 1 in each dimension (the digits of `offset` in base 3). `None` unless
    /// at least two coordinates change.
    fn neighbour(&self, task: u32, offset: u32) -> Option<u32> {
        let (mut rest, mut digits, mut stride, mut to, mut moved) = (task, offset, 1, 0, 0);
        for &size in &self.dims {
            let (at, step) = (rest % size, digits % 3);
            rest /= size;
            digits /= 3;
            let next = match step {
                0 => at,
                1 if at + 1 < size => at + 1,
                1 if self.periodic && size > 1 => 0,
                2 if at > 0 => at - 1,
                2 if self.periodic && size > 1 => size - 1,
                _ => return None,
            };
            moved += u32::from(step > 0);
            to += next * stride;
            stride *= size;
        }
        (moved >= 2).then_some(to)
    }
}
