//! A machine: a topology, the cores of its nodes, and the nodes that a job has been given.

mod allocation;
mod importers;
mod job;
mod manager;
mod presets;
mod source;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{NetworkSpec, Topology};
use units::NodeId;

use crate::{Hops, MachineError};

pub use allocation::parse_allocation;
pub use importers::hwloc::NodeShape;
pub use job::Job;
pub use manager::RankPlace;
pub use presets::{PRESETS, Partition, Preset, PresetLink, blue_gene_partition};
pub use source::{MachineSource, build_topology};

/// The properties of a machine that its source states besides the wires.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Its name, as the user wrote it.
    pub name: String,
    /// The topology as experiment files name it, if it was named so.
    pub topology: Option<NetworkSpec>,
    /// The names of all nodes of the topology, if they have any.
    pub names: Option<Arc<Vec<String>>>,
    /// The hosts of all nodes of the topology, if its file names hosts.
    pub homes: Option<Arc<Vec<Home>>>,
    /// What is in a node, if that is known.
    pub node: Option<NodeShape>,
    /// The links of a preset, or of a file that says their speed.
    pub link: Option<PresetLink>,
    /// What is assumed or was left out, one sentence each.
    pub notes: Vec<String>,
}

/// The host of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// Its name, if the machine's file has it.
    pub host: Option<String>,
    /// The number of the node among the nodes of the host: adapters, or the cores of a machine that is one host.
    pub slot: u32,
}

/// The order in which ranks fill the cores of an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RankOrder {
    /// Node after node, all cores of one first (Blue Gene's TXYZ).
    #[default]
    #[serde(rename = "TXYZ")]
    CoresFirst,
    /// The first core of every node, then the second (Blue Gene's XYZT).
    #[serde(rename = "XYZT")]
    NodesFirst,
}

/// How a machine is described beside its topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MachineSpec {
    /// Cores of a node.
    #[schemars(range(min = 1, max = 65536))]
    pub cores: u32,
    /// How ranks fill them.
    pub rank_order: RankOrder,
}

impl Default for MachineSpec {
    fn default() -> Self {
        Self { cores: 1, rank_order: RankOrder::default() }
    }
}

/// A topology with an allocation. A *place* is the index of a node in the allocation; ranks fill the cores of places in
/// the machine's rank order.
#[derive(Clone, Debug)]
pub struct Machine {
    topology: Arc<dyn Topology>,
    spec: MachineSpec,
    nodes: Vec<NodeId>,
    hops: Hops,
    about: About,
}

impl Machine {
    /// The whole of a topology.
    ///
    /// # Errors
    /// As `with_allocation`.
    pub fn new(topology: Arc<dyn Topology>, spec: MachineSpec) -> Result<Self, MachineError> {
        let all = (0..topology.nodes()).map(NodeId).collect();
        Self::with_allocation(topology, spec, all)
    }

    /// The nodes of a job, in the order of its ranks.
    ///
    /// # Errors
    /// If there is none, one twice, or one that the topology does not have; or if hops cannot be tabulated.
    pub fn with_allocation(
        topology: Arc<dyn Topology>,
        spec: MachineSpec,
        nodes: Vec<NodeId>,
    ) -> Result<Self, MachineError> {
        check(&nodes, topology.nodes())?;
        let hops = Hops::new(&*topology, &nodes)?;
        Ok(Self { topology, spec, nodes, hops, about: About::default() })
    }

    /// The same, with what its source says.
    #[must_use]
    pub(crate) fn described(self, about: About) -> Self {
        Self { about, ..self }
    }

    /// What the machine's source says of it beside its wires.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The topology of the whole machine.
    pub fn topology(&self) -> &Arc<dyn Topology> {
        &self.topology
    }

    /// The number of allocated nodes.
    pub fn places(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// The allocated nodes, by place.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Cores of a node.
    pub fn cores(&self) -> u32 {
        self.spec.cores
    }

    /// The number of ranks: cores of all places.
    pub fn ranks(&self) -> u64 {
        u64::from(self.places()) * u64::from(self.cores())
    }

    /// The order of the ranks.
    pub fn rank_order(&self) -> RankOrder {
        self.spec.rank_order
    }

    /// Hops between places.
    pub fn hops(&self) -> &Hops {
        &self.hops
    }
}

fn check(nodes: &[NodeId], all: u32) -> Result<(), MachineError> {
    if nodes.is_empty() {
        return Err(MachineError::key("allocation", "the allocation has no nodes"));
    }
    let mut seen = vec![false; all as usize];
    for node in nodes {
        let Some(seen) = seen.get_mut(node.index()) else {
            let message = format!("the allocation has node {node}; the machine's are 0 to {}", all - 1);
            return Err(MachineError::key("allocation", message));
        };
        if std::mem::replace(seen, true) {
            return Err(MachineError::key("allocation", format!("the allocation has node {node} twice")));
        }
    }
    Ok(())
}
