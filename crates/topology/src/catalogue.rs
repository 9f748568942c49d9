//! Catalogue of topology families under their names in the experiment file.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use units::KeyError;

use crate::families::dragonfly::{Dragonfly, DragonflySpec};
use crate::families::fat_tree::{FatTree, FatTreeSpec};
use crate::families::file::{FileSpec, FileTopology};
use crate::families::flat::{Flat, FlatSpec};
use crate::families::hyperx::{HyperX, HyperXSpec};
use crate::families::planes::{MAX_PLANES, Planes};
use crate::families::single_switch::{SingleSwitch, SingleSwitchSpec};
use crate::families::torus::{GridSpec, Torus};
use crate::network::{Topology, View};
use crate::shorthand::{Settings, short};

/// Keys of a `[routing]` section, and their words.
type Keys = &'static [(&'static str, &'static str)];

/// Entry of a family in the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Name in the experiment file.
    pub kind: &'static str,
    /// Example of the shorthand.
    pub example: &'static str,
    /// Views that its topologies have.
    pub views: &'static [View],
    /// Routing of an experiment that names none.
    pub routing: Keys,
}

impl Family {
    const fn new(kind: &'static str, example: &'static str, views: &'static [View], routing: Keys) -> Self {
        Self { kind, example, views, routing }
    }
}

/// Shortest paths, on any topology.
const SHORTEST: Keys = &[("kind", "shortest-path")];

/// Shortest paths at random. With one fixed path for each pair, most of a folded Clos network would lie idle, and all
/// parallel wires but one.
const SPREAD: Keys = &[("kind", "shortest-path"), ("ties", "random")];

/// Dimension order, on grids.
const IN_ORDER: Keys = &[("kind", "dimension-order")];

/// Topology of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(extend("x-otherwise" = "any other network is kind = \"file\" with an edge list of its wires"))]
pub enum TopologySpec {
    /// Single switch with a node on every port.
    SingleSwitch(SingleSwitchSpec),
    /// k-ary n-tree: n levels of switches of 2k ports, k^n nodes, full bisection.
    FatTree(FatTreeSpec),
    /// Groups of routers with short paths inside, and wires between all groups.
    Dragonfly(DragonflySpec),
    /// k-ary n-cube: a grid of routers that wraps in every dimension.
    Torus(GridSpec),
    /// Grid of routers with edges.
    Mesh(GridSpec),
    /// Grid of routers in which the routers of every line are wired to one another.
    #[serde(rename = "hyperx")]
    HyperX(HyperXSpec),
    /// Any connected network, from an edge list.
    File(FileSpec),
    /// Network without routers, given by a delay and a bandwidth. Ranks only.
    Flat(FlatSpec),
}

impl TopologySpec {
    /// All families, in the order of the variants.
    pub const FAMILIES: [Family; 8] = [
        Family::new("single-switch", "single-switch:8", &[View::Consecutive], SHORTEST),
        Family::new(
            "fat-tree",
            "fat-tree:k=4,n=4",
            &[View::Hierarchy, View::Consecutive],
            &[("kind", "adaptive-up-down")],
        ),
        Family::new("dragonfly", "dragonfly:h=4", &[View::Groups], &[("kind", "minimal")]),
        Family::new("torus", "torus:8x8x8", &[View::Grid], IN_ORDER),
        Family::new("mesh", "mesh:8x8", &[View::Grid], IN_ORDER),
        Family::new("hyperx", "hyperx:8x8x8,nodes_per_router=8", &[], SPREAD),
        Family::new("file", "file:machine.edges", &[], SPREAD),
        Family::new("flat", "flat:4096", &[], SHORTEST),
    ];

    /// Iterates over the kinds of topology that have a view.
    pub fn kinds_with(view: View) -> impl Iterator<Item = &'static str> {
        Self::FAMILIES.into_iter().filter(move |family| family.views.contains(&view)).map(|family| family.kind)
    }

    /// Returns the keys of the default routing of a kind of topology: shortest paths for an unknown kind.
    pub fn default_routing(kind: &str) -> Keys {
        Self::FAMILIES.iter().find(|family| family.kind == kind).map_or(SHORTEST, |family| family.routing)
    }

    /// Builds the topology. Relative paths start from `base`, the folder of the experiment file.
    pub fn build(&self, base: &Path) -> Result<Arc<dyn Topology>, KeyError> {
        Ok(match self {
            Self::SingleSwitch(spec) => Arc::new(SingleSwitch::new(spec)?),
            Self::FatTree(spec) => Arc::new(FatTree::new(spec)?),
            Self::Dragonfly(spec) => Arc::new(Dragonfly::new(spec)?),
            Self::Torus(spec) => Arc::new(Torus::new(spec)?),
            Self::Mesh(spec) => Arc::new(Torus::mesh(spec)?),
            Self::HyperX(spec) => Arc::new(HyperX::new(spec)?),
            Self::File(spec) => Arc::new(FileTopology::new(spec, base)?),
            Self::Flat(spec) => Arc::new(Flat::new(spec)?),
        })
    }
}

/// Network: a topology in one or several planes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkSpec {
    /// The topology of a plane.
    #[serde(flatten)]
    pub topology: TopologySpec,
    /// Number of planes: disjoint copies of the topology, each with every node on it.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub planes: u32,
}

fn one() -> u32 {
    1
}

fn is_one(planes: &u32) -> bool {
    *planes == 1
}

impl From<TopologySpec> for NetworkSpec {
    /// Makes a network of one plane.
    fn from(topology: TopologySpec) -> Self {
        Self { topology, planes: 1 }
    }
}

impl NetworkSpec {
    /// Builds the network, as [`TopologySpec::build`]. Fails at `planes` if the network cannot have that number of
    /// planes.
    pub fn build(&self, base: &Path) -> Result<Arc<dyn Topology>, KeyError> {
        self.of_plane(self.topology.build(base)?)
    }

    /// Builds the network from one of its planes. Fails at `planes` if the network cannot have that number of planes.
    pub fn of_plane(&self, plane: Arc<dyn Topology>) -> Result<Arc<dyn Topology>, KeyError> {
        match (self.planes, &self.topology) {
            (1, _) => Ok(plane),
            (_, TopologySpec::Flat(_)) => Err(KeyError::new(
                "planes",
                "a flat network has no planes: without routers only a node's link is left of them; raise `link.bandwidth`",
            )),
            (planes, _) => Ok(Arc::new(Planes::new(plane, planes)?)),
        }
    }
}

/// Adds `planes` to the keys of each topology that has routers.
impl JsonSchema for NetworkSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NetworkSpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = TopologySpec::json_schema(generator);
        let planes = json_schema!({
            "description": "Disjoint copies of the network, with every node on each of them; `[nic.rails]` says by which plane a \
                            message goes.",
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_PLANES,
            "default": 1
        });
        let kinds = schema.get_mut("oneOf").and_then(serde_json::Value::as_array_mut);
        for kind in kinds.into_iter().flatten().filter(|kind| kind["properties"]["kind"]["const"] != Flat::KIND) {
            kind["properties"]["planes"] = planes.clone().to_value();
        }
        schema
    }
}

/// Reads the shorthand of a topology. Several planes are written as a setting `planes=N`.
impl FromStr for NetworkSpec {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (kind, settings) = text.split_once(':').unwrap_or((text, ""));
        let is_planes = |setting: &&str| setting.split('=').next().is_some_and(|key| key.trim() == "planes");
        let (own, others): (Vec<&str>, Vec<&str>) = settings.split(',').partition(is_planes);
        let planes = match own[..] {
            [] => 1,
            [only] => {
                let number = Settings::read(only, &["planes"])?.number("planes")?;
                u32::try_from(number).unwrap_or(u32::MAX)
            }
            _ => return Err(KeyError::new("planes", "`planes` is given twice")),
        };
        let topology = if own.is_empty() { text.parse()? } else { format!("{kind}:{}", others.join(",")).parse()? };
        Ok(Self { topology, planes })
    }
}

/// Reads the shorthand of the command line: `kind:dims`, such as `torus:8x8x8` or `fat-tree:k=4,n=4`. Sizes are checked
/// when the topology is built. An error's `key` is `kind`, or the key of the invalid setting.
impl FromStr for TopologySpec {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (kind, settings) = text.split_once(':').unwrap_or((text, ""));
        match kind.trim() {
            "single-switch" => SingleSwitchSpec::from_shorthand(settings).map(Self::SingleSwitch),
            "fat-tree" => FatTreeSpec::from_shorthand(settings).map(Self::FatTree),
            "dragonfly" => DragonflySpec::from_shorthand(settings).map(Self::Dragonfly),
            "torus" => GridSpec::from_shorthand(settings).map(Self::Torus),
            "mesh" => GridSpec::from_shorthand(settings).map(Self::Mesh),
            "hyperx" => HyperXSpec::from_shorthand(settings).map(Self::HyperX),
            "flat" => FlatSpec::from_shorthand(settings).map(Self::Flat),
            "file" => Ok(Self::File(FileSpec { path: settings.into() })),
            other => {
                let examples = Self::FAMILIES.map(|family| family.example).join("`, `");
                let message = format!("`{}` is not a kind of topology; write for example `{examples}`", short(other));
                Err(KeyError::new("kind", message))
            }
        }
    }
}
