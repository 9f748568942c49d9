//! Machine: a topology, the cores of its nodes, and the nodes allocated to a job.

mod allocation;
mod importers;
mod job;
mod manager;
mod named;
mod source;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{NetworkSpec, Topology};
use units::{LocatedError, NodeId};

use crate::Hops;

pub use allocation::parse_allocation;
pub use importers::hwloc::NodeShape;
pub use job::Job;
pub use manager::RankPlace;
pub use named::{
    HostLimits, HostTable, MACHINES, MachineEntry, NODES, NameError, NamedMachine, NamedNode, hosts_of_list,
};
pub use source::{MachineSource, build_topology};

/// The properties of a machine that its source states besides the wires.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineFacts {
    /// Name of the machine, as the user wrote it.
    pub name: String,
    /// Topology in the form of experiment files. Absent if the machine was named otherwise.
    pub topology: Option<NetworkSpec>,
    /// Names of all nodes of the topology. Absent if the nodes have none.
    pub names: Option<Arc<Vec<String>>>,
    /// Hosts of all nodes of the topology. Absent if the topology's file names none.
    pub homes: Option<Arc<Vec<Home>>>,
    /// Inside of a node. Absent if unknown.
    pub node: Option<NodeShape>,
    /// Links of a preset, or of a file that states their speed.
    pub link: Option<PresetLink>,
    /// Assumptions and omissions, one sentence each.
    pub notes: Vec<String>,
}

/// Links of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PresetLink {
    /// Bandwidth of a channel in bytes per second.
    pub bytes_per_s: f64,
    /// Delay of a hop in nanoseconds.
    pub delay_ns: f64,
}

/// Host of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// Name of the host. Absent if the machine's file does not name it.
    pub host: Option<String>,
    /// Number of the node among the nodes of the host: adapters, or the cores of a machine that is one host.
    pub slot: u32,
}

/// The order in which ranks fill the cores of an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RankOrder {
    /// Node by node: all cores of a node first (Blue Gene's TXYZ).
    #[default]
    #[serde(rename = "TXYZ")]
    CoresFirst,
    /// Core by core: the first core of every node, then the second (Blue Gene's XYZT).
    #[serde(rename = "XYZT")]
    NodesFirst,
}

/// Cores of a machine's nodes, and their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MachineSpec {
    /// Number of cores of a node.
    #[schemars(range(min = 1, max = 65536))]
    pub cores: u32,
    /// Order in which ranks fill the cores.
    pub rank_order: RankOrder,
}

impl Default for MachineSpec {
    fn default() -> Self {
        Self { cores: 1, rank_order: RankOrder::default() }
    }
}

/// Topology with an allocation. A *place* is the index of a node in the allocation; ranks fill the cores of places in
/// the machine's rank order.
#[derive(Clone, Debug)]
pub struct Machine {
    topology: Arc<dyn Topology>,
    spec: MachineSpec,
    nodes: Vec<NodeId>,
    hops: Hops,
    about: MachineFacts,
}

impl Machine {
    /// Creates a machine whose allocation is the whole topology.
    ///
    /// # Errors
    /// If [`Self::with_allocation`] fails.
    pub fn new(topology: Arc<dyn Topology>, spec: MachineSpec) -> Result<Self, LocatedError> {
        let all = (0..topology.nodes()).map(NodeId).collect();
        Self::with_allocation(topology, spec, all)
    }

    /// Creates a machine with the nodes of a job, in the order of its ranks.
    ///
    /// # Errors
    /// If there is no node, if a node occurs twice or is not in the topology, or if the table of hops would be too
    /// large.
    pub fn with_allocation(
        topology: Arc<dyn Topology>,
        spec: MachineSpec,
        nodes: Vec<NodeId>,
    ) -> Result<Self, LocatedError> {
        check(&nodes, topology.nodes())?;
        let hops = Hops::new(&*topology, &nodes)?;
        Ok(Self { topology, spec, nodes, hops, about: MachineFacts::default() })
    }

    /// Adds the properties that the machine's source states.
    #[must_use]
    pub(crate) fn described(self, about: MachineFacts) -> Self {
        Self { about, ..self }
    }

    /// Returns the properties that the machine's source states besides the wires.
    pub fn about(&self) -> &MachineFacts {
        &self.about
    }

    /// Returns the topology of the whole machine.
    pub fn topology(&self) -> &Arc<dyn Topology> {
        &self.topology
    }

    /// Returns the number of allocated nodes.
    pub fn places(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Returns the allocated nodes, by place.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Returns the number of cores of a node.
    pub fn cores(&self) -> u32 {
        self.spec.cores
    }

    /// Returns the number of ranks, which is the number of cores of all places.
    pub fn ranks(&self) -> u64 {
        u64::from(self.places()) * u64::from(self.cores())
    }

    /// Returns the order of the ranks.
    pub fn rank_order(&self) -> RankOrder {
        self.spec.rank_order
    }

    /// Returns the hops between places.
    pub fn hops(&self) -> &Hops {
        &self.hops
    }
}

fn check(nodes: &[NodeId], all: u32) -> Result<(), LocatedError> {
    if nodes.is_empty() {
        return Err(LocatedError::key("allocation", "the allocation has no nodes"));
    }
    let mut seen = vec![false; all as usize];
    for node in nodes {
        let Some(seen) = seen.get_mut(node.index()) else {
            let message = format!("the allocation has node {node}; the machine's are 0 to {}", all - 1);
            return Err(LocatedError::key("allocation", message));
        };
        if std::mem::replace(seen, true) {
            return Err(LocatedError::key("allocation", format!("the allocation has node {node} twice")));
        }
    }
    Ok(())
}
