//! The properties of a machine that patterns depend on: the number of tasks, the grid and the groups.

use topology::Topology;

/// The tasks of a workload on a machine under the contiguous placement: task i on node `i / k` with k tasks a
/// node. Patterns are over tasks; a placement decides on which nodes they really run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of tasks.
    pub tasks: u32,
    /// The sizes of the dimensions if the routers fill a grid; the tasks of a router are numbered consecutively.
    pub grid: Option<Vec<u32>>,
    /// The number of groups, if the machine consists of equal ones; the tasks of a group are numbered consecutively.
    pub groups: Option<u32>,
}

impl Shape {
    /// The most tasks: they are numbered in 31 bits.
    pub const MOST_TASKS: u64 = 1 << 30;

    /// The shape of a machine with so many tasks on each node; none if there would be more than `MOST_TASKS`.
    pub fn new(topology: &dyn Topology, tasks_per_node: u32) -> Option<Self> {
        let tasks = u64::from(topology.nodes()) * u64::from(tasks_per_node);
        (tasks <= Self::MOST_TASKS).then(|| Self {
            tasks: tasks as u32,
            grid: topology.grid(),
            groups: topology.groups(),
        })
    }

    /// The shape of a machine with one task on each node.
    pub fn of(topology: &dyn Topology) -> Self {
        Self { tasks: topology.nodes(), grid: topology.grid(), groups: topology.groups() }
    }

    /// The number of tasks of a group, if there are groups.
    pub fn tasks_per_group(&self) -> Option<u32> {
        self.groups.map(|groups| self.tasks / groups.max(1))
    }
}
