//! The families of topologies, as the experiment file names them.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::families::dragonfly::{Dragonfly, DragonflySpec};
use crate::families::fat_tree::{FatTree, FatTreeSpec};
use crate::families::file::{FileSpec, FileTopology};
use crate::families::flat::{Flat, FlatSpec};
use crate::families::single_switch::{SingleSwitch, SingleSwitchSpec};
use crate::families::torus::{GridSpec, Torus};
use crate::network::{Topology, TopologyError};
use crate::shorthand::short;

/// The shape of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TopologySpec {
    /// One switch, with a node on every port.
    SingleSwitch(SingleSwitchSpec),
    /// k-ary n-tree: n levels of switches of 2k ports, k^n nodes, full bisection.
    FatTree(FatTreeSpec),
    /// Groups of routers with short paths inside, and wires between all groups.
    Dragonfly(DragonflySpec),
    /// k-ary n-cube: a grid of routers that wraps in every dimension.
    Torus(GridSpec),
    /// A grid of routers with edges.
    Mesh(GridSpec),
    /// Any connected network, from an edge list.
    File(FileSpec),
    /// A delay and a bandwidth, and no routers: for ranks alone.
    Flat(FlatSpec),
}

impl TopologySpec {
    /// Every kind, as the experiment file names it, with an example of its shorthand.
    pub const KINDS: [(&'static str, &'static str); 7] = [
        ("single-switch", "single-switch:8"),
        ("fat-tree", "fat-tree:k=4,n=4"),
        ("dragonfly", "dragonfly:h=4"),
        ("torus", "torus:8x8x8"),
        ("mesh", "mesh:8x8"),
        ("file", "file:machine.edges"),
        ("flat", "flat:4096"),
    ];

    /// Builds the topology. `base` is the folder of the experiment file, from which the paths in it are relative.
    pub fn build(&self, base: &Path) -> Result<Arc<dyn Topology>, TopologyError> {
        Ok(match self {
            Self::SingleSwitch(spec) => Arc::new(SingleSwitch::new(spec)?),
            Self::FatTree(spec) => Arc::new(FatTree::new(spec)?),
            Self::Dragonfly(spec) => Arc::new(Dragonfly::new(spec)?),
            Self::Torus(spec) => Arc::new(Torus::new(spec)?),
            Self::Mesh(spec) => Arc::new(Torus::mesh(spec)?),
            Self::File(spec) => Arc::new(FileTopology::new(spec, base)?),
            Self::Flat(spec) => Arc::new(Flat::new(spec)?),
        })
    }
}

/// Reads the shorthand of the command line: `kind:dims`, such as `torus:8x8x8` or `fat-tree:k=4,n=4`. Sizes are checked
/// when the topology is built. An error's `key` is `kind`, or the key of the setting that is at fault.
impl FromStr for TopologySpec {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Self, TopologyError> {
        let (kind, settings) = text.split_once(':').unwrap_or((text, ""));
        match kind.trim() {
            "single-switch" => SingleSwitchSpec::from_shorthand(settings).map(Self::SingleSwitch),
            "fat-tree" => FatTreeSpec::from_shorthand(settings).map(Self::FatTree),
            "dragonfly" => DragonflySpec::from_shorthand(settings).map(Self::Dragonfly),
            "torus" => GridSpec::from_shorthand(settings).map(Self::Torus),
            "mesh" => GridSpec::from_shorthand(settings).map(Self::Mesh),
            "flat" => FlatSpec::from_shorthand(settings).map(Self::Flat),
            "file" => Ok(Self::File(FileSpec { path: settings.into() })),
            other => {
                let examples = Self::KINDS.map(|(_, example)| example).join("`, `");
                let message = format!("`{}` is not a kind of topology; write for example `{examples}`", short(other));
                Err(TopologyError::new("kind", message))
            }
        }
    }
}
