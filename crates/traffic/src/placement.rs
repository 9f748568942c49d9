//! Placement of tasks on nodes.

use std::ops::Range;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use units::{Draw, KeyError, NodeId, TaskId, input, shuffle};

use units::NamedStream;

/// Placement of tasks on nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "strategy", rename_all = "kebab-case")]
pub enum PlacementSpec {
    /// Tasks in the order of node numbers: node 0 has the first tasks.
    Contiguous(TasksPerNode),
    /// Task i on node i modulo the number of nodes. On a torus this is the order XYZT.
    RoundRobin(TasksPerNode),
    /// Contiguous within each group, with the groups in a random order drawn from the experiment's seed (Prisacari et
    /// al., section IV: the randomized placement).
    RandomGroups(TasksPerNode),
    /// Tasks on random nodes, drawn from the experiment's seed.
    Random(TasksPerNode),
    /// Placement from a file, such as `cutthrough map` writes.
    File(PlacementFile),
}

/// File of a placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementFile {
    /// Path of the file, relative to the experiment file. Line i, from 0, is the number of the node of task i.
    pub path: PathBuf,
    /// Nodes of the job, including nodes without a task. A balanced application would spread its load evenly over them
    /// (`imbalance`). Default: the nodes named in the file.
    #[schemars(range(min = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocated_nodes: Option<u32>,
}

impl PlacementFile {
    /// Reads the placement on `nodes` nodes.
    ///
    /// # Errors
    /// If the file cannot be read, is empty, or has a line that is not a node. The message names file and line.
    fn read(&self, nodes: u32, base: &Path) -> Result<Placement, KeyError> {
        let name = self.path.display();
        let wrong = |message: String| KeyError::new("path", message);
        let read = input::PLACEMENT.read_text(&base.join(&self.path));
        let text = read.map_err(|error| wrong(format!("{name}: it {error}")))?;
        let mut node_of = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            match line.trim().parse::<u32>() {
                Ok(node) if node < nodes => node_of.push(node),
                _ => {
                    let last = nodes.saturating_sub(1);
                    return Err(wrong(format!("{name}:{number}: expected the number of a node, 0 to {last}")));
                }
            }
        }
        if node_of.is_empty() {
            return Err(wrong(format!("{name}: there are no tasks in it")));
        }
        let placement = Placement::new(node_of, nodes);
        self.check_allocated(&placement)?;
        Ok(placement)
    }

    /// Refuses a number of allocated nodes that is smaller than the number of used nodes or larger than the machine.
    fn check_allocated(&self, placement: &Placement) -> Result<(), KeyError> {
        let (used, nodes) = (placement.used().count() as u64, placement.nodes());
        match self.allocated_nodes {
            Some(count) if u64::from(count) < used || count > nodes => {
                let name = self.path.display();
                let message =
                    format!("`allocated_nodes` is {count}; {name} names {used} nodes, and the machine has {nodes}");
                Err(KeyError::new("allocated_nodes", message))
            }
            _ => Ok(()),
        }
    }
}

/// Key of all placements except files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TasksPerNode {
    /// Processes on each node. They share its offered load. Messages between them do not enter the network.
    #[schemars(range(min = 1, max = 65536))]
    pub processes_per_node: u32,
}

impl Default for TasksPerNode {
    fn default() -> Self {
        Self { processes_per_node: 1 }
    }
}

impl Default for PlacementSpec {
    fn default() -> Self {
        Self::Contiguous(TasksPerNode::default())
    }
}

impl PlacementSpec {
    /// Returns the number of tasks on each node. `None` for a file.
    pub fn tasks_per_node(&self) -> Option<u32> {
        match self {
            Self::Contiguous(own) | Self::RoundRobin(own) | Self::RandomGroups(own) | Self::Random(own) => {
                Some(own.processes_per_node)
            }
            Self::File(_) => None,
        }
    }

    /// Places the tasks. Paths are relative to `base`.
    ///
    /// # Errors
    /// If the strategy needs groups and the machine has none, or if a file is wrong. The error's key is under
    /// `[placement]`.
    pub fn place(&self, topology: &dyn Topology, seed: u64, base: &Path) -> Result<Placement, KeyError> {
        let (nodes, per_node) = (topology.nodes(), self.tasks_per_node().unwrap_or(1));
        let contiguous = (0..nodes).flat_map(|node| std::iter::repeat_n(node, per_node as usize));
        let node_of: Vec<u32> = match self {
            Self::File(file) => return file.read(nodes, base),
            Self::Contiguous(_) => contiguous.collect(),
            Self::RoundRobin(_) => (0..per_node).flat_map(|_| 0..nodes).collect(),
            Self::RandomGroups(_) => {
                let Some(groups) = topology.views().node_groups else {
                    let message = "\"random-groups\" needs a machine with groups, such as a dragonfly; \"contiguous\", \
                                   \"round-robin\" and \"random\" are for any";
                    return Err(KeyError::new("strategy", message));
                };
                let order = shuffled((0..groups).collect(), &mut NamedStream::new(seed, "random-groups"));
                let size = nodes / groups.max(1);
                contiguous.map(|node| order[(node / size) as usize] * size + node % size).collect()
            }
            Self::Random(_) => shuffled(contiguous.collect(), &mut NamedStream::new(seed, "random-placement")),
        };
        Ok(Placement::new(node_of, nodes))
    }
}

impl PlacementSpec {
    /// Places tasks only on the given nodes of a machine, in their order. Paths are relative to `base`.
    ///
    /// # Errors
    /// If the strategy needs groups, or if a file is wrong or names another node. The error's key is under
    /// `[placement]`.
    pub fn place_on(
        &self,
        nodes: &[u32],
        topology: &dyn Topology,
        seed: u64,
        base: &Path,
    ) -> Result<Placement, KeyError> {
        let per_node = self.tasks_per_node().unwrap_or(1) as usize;
        let contiguous = nodes.iter().flat_map(|&node| std::iter::repeat_n(node, per_node));
        let node_of: Vec<u32> = match self {
            Self::File(file) => {
                let placement = file.read(topology.nodes(), base)?;
                let other = |task: &u32| !nodes.contains(&placement.node(TaskId(*task)).0);
                if let Some(task) = (0..placement.len()).find(other) {
                    let (name, node) = (file.path.display(), placement.node(TaskId(task)).0);
                    let message = format!("{name}:{}: node {node} is not one of this job's", task + 1);
                    return Err(KeyError::new("path", message));
                }
                return Ok(placement);
            }
            Self::RandomGroups(_) => {
                let message = "\"random-groups\" is for jobs that have all nodes, or the first ones by number of nodes";
                return Err(KeyError::new("strategy", message));
            }
            Self::Contiguous(_) => contiguous.collect(),
            Self::RoundRobin(_) => (0..per_node).flat_map(|_| nodes.iter().copied()).collect(),
            Self::Random(_) => shuffled(contiguous.collect(), &mut NamedStream::new(seed, "random-placement")),
        };
        Ok(Placement::new(node_of, topology.nodes()))
    }
}

/// Returns the items in a random order.
fn shuffled(mut items: Vec<u32>, draw: &mut dyn Draw) -> Vec<u32> {
    shuffle(&mut items, draw);
    items
}

/// Node of every task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Node of each task.
    node_of: Vec<u32>,
    /// Start of each node's range in `tasks`, and the length of `tasks`.
    first: Vec<u32>,
    /// Tasks of each node, in ascending order.
    tasks: Vec<TaskId>,
}

impl Placement {
    /// Creates a placement from the node of each task. Nodes are below `nodes`.
    pub fn new(node_of: Vec<u32>, nodes: u32) -> Self {
        let mut first = vec![0; nodes as usize + 1];
        for &node in &node_of {
            first[node as usize + 1] += 1;
        }
        for node in 0..nodes as usize {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut tasks = vec![TaskId(0); node_of.len()];
        for (task, &node) in (0..).zip(&node_of) {
            tasks[next[node as usize] as usize] = TaskId(task);
            next[node as usize] += 1;
        }
        Self { node_of, first, tasks }
    }

    /// Returns the number of tasks.
    pub fn len(&self) -> u32 {
        self.node_of.len() as u32
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Whether there are no tasks.
    pub fn is_empty(&self) -> bool {
        self.node_of.is_empty()
    }

    /// Returns the node of a task.
    #[inline]
    pub fn node(&self, task: TaskId) -> NodeId {
        NodeId(self.node_of[task.index()])
    }

    /// Returns the tasks of a node, in ascending order.
    #[inline]
    pub fn tasks(&self, node: NodeId) -> &[TaskId] {
        &self.tasks[self.places(node)]
    }

    /// Returns the range of a node's tasks in the list of all tasks by node.
    pub(crate) fn places(&self, node: NodeId) -> Range<usize> {
        self.first[node.index()] as usize..self.first[node.index() + 1] as usize
    }

    /// Iterates over the nodes that have a task, in ascending order.
    pub fn used(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.nodes()).map(NodeId).filter(|&node| !self.tasks(node).is_empty())
    }

    /// Whether task i is on node i, for all nodes.
    pub(crate) fn is_identity(&self) -> bool {
        self.len() == self.nodes() && self.node_of.iter().copied().eq(0..self.len())
    }
}
