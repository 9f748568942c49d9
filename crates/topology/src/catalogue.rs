//! The families of topologies, as the experiment file names them.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::families::fat_tree::{FatTree, FatTreeSpec};
use crate::families::single_switch::{SingleSwitch, SingleSwitchSpec};
use crate::families::torus::{GridSpec, Torus};
use crate::network::{Topology, TopologyError};

/// The shape of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TopologySpec {
    /// One switch, with a node on every port.
    SingleSwitch(SingleSwitchSpec),
    /// k-ary n-tree: n levels of switches of 2k ports, k^n nodes, full bisection.
    FatTree(FatTreeSpec),
    /// k-ary n-cube: a grid of routers that wraps in every dimension.
    Torus(GridSpec),
    /// A grid of routers with edges.
    Mesh(GridSpec),
}

impl TopologySpec {
    /// Builds the topology. `base` is the folder of the experiment file, from which the paths in it are relative.
    pub fn build(&self, _base: &Path) -> Result<Arc<dyn Topology>, TopologyError> {
        Ok(match self {
            Self::SingleSwitch(spec) => Arc::new(SingleSwitch::new(spec)?),
            Self::FatTree(spec) => Arc::new(FatTree::new(spec)?),
            Self::Torus(spec) => Arc::new(Torus::new(spec)?),
            Self::Mesh(spec) => Arc::new(Torus::mesh(spec)?),
        })
    }
}
