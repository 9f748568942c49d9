//! Allocation of nodes to several jobs.

use std::path::Path;
use std::sync::Arc;

use topology::Topology;
use traffic::{PlacementSpec, TasksPerNode};
use units::{KeyError, KeyResult, TaskId, counted};

use ::experiment::{JobSpec, Place, PlaceSpec};

/// Allocator of a machine's nodes to jobs.
pub(crate) struct Allocator<'a> {
    topology: &'a Arc<dyn Topology>,
    seed: u64,
    base: &'a Path,
    taken: Vec<bool>,
}

/// Nodes of a job in order (none if it has all nodes), and the placement of its tasks on them.
pub(crate) type Allocation = (Option<Vec<u32>>, PlaceSpec);

impl<'a> Allocator<'a> {
    /// Creates an allocator of a machine whose nodes are all free.
    pub fn new(topology: &'a Arc<dyn Topology>, seed: u64, base: &'a Path) -> Self {
        Self { topology, seed, base, taken: vec![false; topology.nodes() as usize] }
    }

    /// Returns the nodes of the next job.
    ///
    /// # Errors
    /// If its list of nodes is invalid, or if too few nodes are left. The error names a key below that of the job.
    pub fn next(&mut self, job: &JobSpec) -> Result<Allocation, KeyError> {
        let (nodes, place) = match (&job.nodes, job.node_count) {
            (Some(text), _) => (self.listed(text)?, job.placement.clone()),
            (None, Some(count)) => self.counted(count, &job.placement)?,
            (None, None) => return Ok((None, job.placement.clone())),
        };
        nodes.iter().for_each(|&node| self.taken[node as usize] = true);
        Ok((Some(nodes), place))
    }

    fn listed(&self, text: &str) -> Result<Vec<u32>, KeyError> {
        let wrong = |message: String| KeyError::new("nodes", message);
        let nodes = mapping::parse_allocation(text, &**self.topology).map_err(|error| wrong(error.message))?;
        let nodes: Vec<u32> = nodes.iter().map(|node| node.0).collect();
        let mut seen = vec![false; self.taken.len()];
        match nodes.iter().find(|&&node| std::mem::replace(&mut seen[node as usize], true)) {
            Some(node) => Err(wrong(format!("node {node} is there twice"))),
            None => Ok(nodes),
        }
    }

    /// Returns the first free nodes in the order of the placement, and the placement without this order.
    fn counted(&self, count: u32, place: &PlaceSpec) -> Result<(Vec<u32>, PlaceSpec), KeyError> {
        if matches!(place, PlaceSpec::Hosts(_)) {
            let message = "the nodes of a job on hosts are those of its hosts; leave out `node_count`";
            return Err(KeyError::new("node_count", message));
        }
        let one = TasksPerNode::default;
        let (order, rest) = match place.place() {
            Place::Rule(PlacementSpec::Random(own)) => (PlacementSpec::Random(one()), PlaceSpec::Contiguous(own)),
            Place::Rule(PlacementSpec::RandomGroups(own)) => {
                (PlacementSpec::RandomGroups(one()), PlaceSpec::Contiguous(own))
            }
            Place::Rule(_) | Place::Mapped(..) | Place::Hosts(_) => (PlacementSpec::Contiguous(one()), place.clone()),
        };
        let order = order.place(&**self.topology, self.seed, self.base).under("placement")?;
        let free = (0..order.len()).map(|task| order.node(TaskId(task)).0).filter(|&node| !self.taken[node as usize]);
        let nodes: Vec<u32> = free.take(count as usize).collect();
        if nodes.len() < count as usize {
            let message = format!(
                "{} wanted, and {} of {} available",
                counted(count.into(), ["node is", "nodes are"]),
                nodes.len(),
                self.taken.len()
            );
            return Err(KeyError::new("node_count", message));
        }
        Ok((nodes, rest))
    }
}
