//! Which task runs on which node.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use units::{Draw, NodeId};

use crate::stream::Stream;
use crate::{Pattern, PatternError};

/// Which task runs on which node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "strategy", rename_all = "kebab-case")]
pub enum PlacementSpec {
    /// Tasks in the order of the nodes' numbers.
    Contiguous(TasksPerNode),
    /// Task i on node i, and again from the first node when each has one more: on a torus the order XYZT.
    RoundRobin(TasksPerNode),
    /// Contiguous within each group, the groups in an order drawn from the experiment's seed (Prisacari et al., section
    /// IV: the randomized placement).
    RandomGroups(TasksPerNode),
    /// Every task anywhere, drawn from the experiment's seed.
    Random(TasksPerNode),
    /// As a file says, such as `cutthrough map` writes.
    File(PlacementFile),
}

/// Where a placement is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementFile {
    /// The file, relative to the experiment file: line i, from 0, is the number of the node of task i.
    pub path: PathBuf,
}

/// The most bytes of a file.
const MAX_BYTES: u64 = 1 << 28;

impl PlacementFile {
    /// Reads the placement on so many nodes.
    ///
    /// # Errors
    /// If the file cannot be read, is empty, or a line is no node; the message names file and line.
    fn read(&self, nodes: u32, base: &Path) -> Result<Placement, PatternError> {
        let name = self.path.display();
        let wrong = |message: String| PatternError::new("path", message);
        let cannot = |error: std::io::Error| wrong(format!("{name}: it cannot be read: {error}"));
        let mut text = String::new();
        let file = std::fs::File::open(base.join(&self.path)).map_err(cannot)?;
        file.take(MAX_BYTES).read_to_string(&mut text).map_err(cannot)?;
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
        Ok(Placement::new(node_of, nodes))
    }
}

/// The key that all placements have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TasksPerNode {
    /// Processes on each node. They share its offered load; what they send to one another stays in the node.
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
    /// Tasks on each node; none if a file says.
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
    /// If groups are asked for on a machine that has none, or a file is wrong. The error's key is under `[placement]`.
    pub fn place(&self, topology: &dyn Topology, seed: u64, base: &Path) -> Result<Placement, PatternError> {
        let (nodes, per_node) = (topology.nodes(), self.tasks_per_node().unwrap_or(1));
        let contiguous = (0..nodes).flat_map(|node| std::iter::repeat_n(node, per_node as usize));
        let node_of: Vec<u32> = match self {
            Self::File(file) => return file.read(nodes, base),
            Self::Contiguous(_) => contiguous.collect(),
            Self::RoundRobin(_) => (0..per_node).flat_map(|_| 0..nodes).collect(),
            Self::RandomGroups(_) => {
                let Some(groups) = topology.groups() else {
                    let message = "\"random-groups\" needs a machine with groups, such as a dragonfly; \"contiguous\", \
                                   \"round-robin\" and \"random\" are for any";
                    return Err(PatternError::new("strategy", message));
                };
                let order = shuffled((0..groups).collect(), &mut Stream::new(seed, "random-groups"));
                let size = nodes / groups.max(1);
                contiguous.map(|node| order[(node / size) as usize] * size + node % size).collect()
            }
            Self::Random(_) => shuffled(contiguous.collect(), &mut Stream::new(seed, "random-placement")),
        };
        Ok(Placement::new(node_of, nodes))
    }
}

impl PlacementSpec {
    /// Places tasks on some nodes of a machine only, in their order. Paths are relative to `base`.
    ///
    /// # Errors
    /// If groups are asked for, or a file is wrong or names another node. The error's key is under `[placement]`.
    pub fn place_on(
        &self,
        nodes: &[u32],
        topology: &dyn Topology,
        seed: u64,
        base: &Path,
    ) -> Result<Placement, PatternError> {
        let per_node = self.tasks_per_node().unwrap_or(1) as usize;
        let contiguous = nodes.iter().flat_map(|&node| std::iter::repeat_n(node, per_node));
        let node_of: Vec<u32> = match self {
            Self::File(file) => {
                let placement = file.read(topology.nodes(), base)?;
                let other = |task: &u32| !nodes.contains(&placement.node(*task).0);
                if let Some(task) = (0..placement.len()).find(other) {
                    let (name, node) = (file.path.display(), placement.node(task).0);
                    let message = format!("{name}:{}: node {node} is not one of this job's", task + 1);
                    return Err(PatternError::new("path", message));
                }
                return Ok(placement);
            }
            Self::RandomGroups(_) => {
                let message = "\"random-groups\" is for jobs that have all nodes, or the first ones by number of nodes";
                return Err(PatternError::new("strategy", message));
            }
            Self::Contiguous(_) => contiguous.collect(),
            Self::RoundRobin(_) => (0..per_node).flat_map(|_| nodes.iter().copied()).collect(),
            Self::Random(_) => shuffled(contiguous.collect(), &mut Stream::new(seed, "random-placement")),
        };
        Ok(Placement::new(node_of, topology.nodes()))
    }
}

/// A random order (Fisher and Yates).
fn shuffled(mut items: Vec<u32>, draw: &mut dyn Draw) -> Vec<u32> {
    for last in (1..items.len()).rev() {
        items.swap(last, draw.below(last as u32 + 1) as usize);
    }
    items
}

/// Where every task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The node of each task.
    node_of: Vec<u32>,
    /// By node, where its tasks begin in `tasks`; one entry more.
    first: Vec<u32>,
    /// The tasks of each node, in ascending order.
    tasks: Vec<u32>,
}

impl Placement {
    /// The placement that puts each task on a node, below `nodes`.
    pub fn new(node_of: Vec<u32>, nodes: u32) -> Self {
        let mut first = vec![0; nodes as usize + 1];
        for &node in &node_of {
            first[node as usize + 1] += 1;
        }
        for node in 0..nodes as usize {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut tasks = vec![0; node_of.len()];
        for (task, &node) in (0..).zip(&node_of) {
            tasks[next[node as usize] as usize] = task;
            next[node as usize] += 1;
        }
        Self { node_of, first, tasks }
    }

    /// The number of tasks.
    pub fn len(&self) -> u32 {
        self.node_of.len() as u32
    }

    /// The number of nodes.
    pub fn nodes(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.node_of.is_empty()
    }

    /// The node of a task.
    #[inline]
    pub fn node(&self, task: u32) -> NodeId {
        NodeId(self.node_of[task as usize])
    }

    /// The tasks of a node, in ascending order.
    #[inline]
    pub fn tasks(&self, node: NodeId) -> &[u32] {
        &self.tasks[self.first[node.index()] as usize..self.first[node.index() + 1] as usize]
    }

    /// Whether task i is on node i, of all nodes.
    fn is_identity(&self) -> bool {
        self.len() == self.nodes() && self.node_of.iter().copied().eq(0..self.len())
    }
}

/// A pattern over tasks as one over nodes.
///
/// A message's task is drawn from the node's, each for the share of its messages that leave the node.
///
/// Where `full`, weights are scaled so that the node that sends most has weight 1, whatever its tasks send one another.
pub fn placed(pattern: Arc<dyn Pattern>, placement: &Arc<Placement>, full: bool) -> Arc<dyn Pattern> {
    if placement.is_identity() {
        return pattern;
    }
    let alone = placement.first.windows(2).all(|pair| pair[1] - pair[0] <= 1);
    // What the tasks of a node send to one another stays there; but one task's messages to itself are the pattern's
    // own will.
    let leaving = |task: u32| {
        let weight = pattern.weight(NodeId(task));
        if alone || weight == 0.0 {
            return weight;
        }
        let mates = placement.tasks(placement.node(task));
        weight * (1.0 - mates.iter().map(|&mate| pattern.probability(NodeId(task), NodeId(mate))).sum::<f64>())
    };
    let leaving: Vec<f64> =
        (0..placement.len()).map(leaving).map(|share| if share < 1e-12 { 0.0 } else { share }).collect();
    let mut placed = Placed { pattern, placement: Arc::clone(placement), leaving, alone, scale: 1.0 };
    let most = (0..placement.nodes()).map(|node| placed.weight(NodeId(node))).fold(0.0, f64::max);
    if full && most > 0.0 {
        placed.scale = 1.0 / most;
        placed.leaving.iter_mut().for_each(|share| *share /= most);
    }
    Arc::new(placed)
}

#[derive(Debug)]
struct Placed {
    pattern: Arc<dyn Pattern>,
    placement: Arc<Placement>,
    /// By task, the weight of its messages that leave the node.
    leaving: Vec<f64>,
    /// No node has more than one task.
    alone: bool,
    /// What the tasks' weights are multiplied by.
    scale: f64,
}

impl Placed {
    fn total(&self, src: NodeId) -> f64 {
        self.placement.tasks(src).iter().map(|&task| self.leaving[task as usize]).sum()
    }

    /// Draws the task of a node's next message.
    fn task(&self, src: NodeId, draw: &mut dyn Draw) -> u32 {
        let tasks = self.placement.tasks(src);
        if let [only] = tasks {
            return *only;
        }
        let mut left = draw.unit() * self.total(src);
        let sending = tasks.iter().copied().filter(|&task| self.leaving[task as usize] > 0.0);
        let mut last = tasks[0];
        for task in sending {
            last = task;
            left -= self.leaving[task as usize];
            if left < 0.0 {
                break;
            }
        }
        last
    }
}

impl Pattern for Placed {
    fn kind(&self) -> &'static str {
        self.pattern.kind()
    }

    fn sends(&self, src: NodeId) -> bool {
        self.total(src) > 0.0
    }

    fn destination(&self, src: NodeId, draw: &mut dyn Draw) -> NodeId {
        let task = self.task(src, draw);
        loop {
            let node = self.placement.node(self.pattern.destination(NodeId(task), draw).0);
            if self.alone || node != src {
                return node;
            }
        }
    }

    fn distribution(&self, src: NodeId) -> Vec<(NodeId, f64)> {
        let total = self.total(src);
        let mut shares: Vec<(NodeId, f64)> = Vec::new();
        for &task in self.placement.tasks(src).iter().filter(|&&task| self.leaving[task as usize] > 0.0) {
            let weight = self.pattern.weight(NodeId(task)) * self.scale / total;
            let of_task = self.pattern.distribution(NodeId(task)).into_iter();
            let there = of_task.map(|(dst, share)| (self.placement.node(dst.0), share * weight));
            shares.extend(there.filter(|&(node, _)| self.alone || node != src));
        }
        shares.sort_by_key(|&(node, _)| node);
        shares.dedup_by(|next, sum| {
            next.0 == sum.0 && {
                sum.1 += next.1;
                true
            }
        });
        shares
    }

    fn weight(&self, src: NodeId) -> f64 {
        let tasks = self.placement.tasks(src).len();
        if tasks == 0 { 0.0 } else { self.total(src) / tasks as f64 }
    }
}
