//! Properties of a machine that patterns depend on: number of tasks, grid and groups.

use std::sync::Arc;

use topology::{Topology, View};
use units::{NodeId, TaskId};

/// Tasks of a workload on a machine under the contiguous placement: with k tasks per node, task i is on node `i / k`.
/// Patterns are over tasks; a placement decides on which nodes they actually run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of tasks.
    pub tasks: u32,
    /// Sizes of the dimensions, if the routers form a grid. The tasks of a router are numbered consecutively.
    pub grid: Option<Vec<u32>>,
    /// Number of groups, if the machine consists of equal groups. The tasks of a group are numbered consecutively.
    pub groups: Option<u32>,
    /// Number of routers that have nodes, on a HyperX or a tree, if all of these have equally many, numbered
    /// consecutively.
    pub routers: Option<u32>,
    /// By task, the task to which it sends in the permutation that loads a channel most, if a pattern needs it
    /// (`PatternSpec::needs_worst`). A task that names itself does not send.
    pub worst: Option<Arc<[TaskId]>>,
}

impl Shape {
    /// Largest number of tasks. They are numbered in 31 bits.
    pub const MOST_TASKS: u64 = 1 << 30;

    /// Creates the shape of a machine with `tasks_per_node` tasks on each node. `None` if there would be more than
    /// `MOST_TASKS`.
    pub fn new(topology: &dyn Topology, tasks_per_node: u32) -> Option<Self> {
        let tasks = u64::from(topology.nodes()) * u64::from(tasks_per_node);
        (tasks <= Self::MOST_TASKS).then(|| Self { tasks: tasks as u32, ..Self::of(topology) })
    }

    /// Creates the shape of a machine with one task on each node.
    pub fn of(topology: &dyn Topology) -> Self {
        let views = topology.views();
        Self {
            tasks: topology.nodes(),
            grid: views.grid.map(|grid| grid.dims().to_vec()),
            groups: views.node_groups,
            routers: if views.cliques.is_some() || views.has(Some(View::Levels)) { routers(topology) } else { None },
            worst: None,
        }
    }

    /// Returns the number of tasks per group, if there are groups.
    pub fn tasks_per_group(&self) -> Option<u32> {
        self.groups.map(|groups| self.tasks / groups.max(1))
    }
}

/// Returns the number of routers that have nodes. `None` unless all of these have equally many, numbered consecutively.
fn routers(topology: &dyn Topology) -> Option<u32> {
    let router = |node| topology.attachment(NodeId(node)).0;
    let nodes = topology.nodes();
    let per_router = (1..nodes).find(|&node| router(node) != router(0)).unwrap_or(nodes);
    let starts = |node: u32| router(node) != router(node - 1);
    let regular = nodes > 0
        && nodes.is_multiple_of(per_router)
        && (1..nodes).all(|node| starts(node) == node.is_multiple_of(per_router));
    regular.then(|| nodes / per_router)
}
