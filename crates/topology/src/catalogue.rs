//! Catalogue of topology families under their names in the experiment file.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::ser::{Error as _, SerializeMap as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use units::KeyError;

use crate::families::dragonfly::{Dragonfly, DragonflySpec};
use crate::families::dragonfly_plus::{DragonflyPlus, DragonflyPlusSpec};
use crate::families::fat_tree::{FatTree, FatTreeSpec};
use crate::families::file::{FileSpec, FileTopology};
use crate::families::flat::{Flat, FlatSpec};
use crate::families::hyperx::{HyperX, HyperXSpec};
use crate::families::jellyfish::{Jellyfish, JellyfishSpec};
use crate::families::leaf_spine::{LeafSpine, LeafSpineSpec};
use crate::families::multiplied::{self, KEY as WIRES, Multiple, Multiples, multiply};
use crate::families::networks::{MAX_PLANES, Networks};
use crate::families::polarfly::{PolarFly, PolarFlySpec};
use crate::families::single_switch::{SingleSwitch, SingleSwitchSpec};
use crate::families::slim_fly::{SlimFly, SlimFlySpec};
use crate::families::torus::{GridSpec, Torus};
use crate::families::xgft::{Xgft, XgftSpec};
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

/// Shortest paths, on any topology.
const SHORTEST: Keys = &[("kind", "shortest-path")];

/// Shortest paths at random. With one fixed path for each pair, most of a folded Clos network would lie idle, and all
/// parallel wires but one.
const SPREAD: Keys = &[("kind", "shortest-path"), ("ties", "random")];

/// Views of trees of switches.
const LEVELS: &[View] = &[View::Hierarchy, View::Levels, View::Consecutive];

/// Up and down by the least congested ports, on trees of switches.
const UP_DOWN: Keys = &[("kind", "adaptive-up-down")];

/// Dimension order, on grids.
const IN_ORDER: Keys = &[("kind", "dimension-order")];

/// Defines the families: for each a variant of `TopologySpec`, its entry, and the function that builds it.
macro_rules! families {
    ($(
        $(#[$doc:meta])*
        $variant:ident($spec:ty) = $kind:literal {
            example: $example:literal,
            views: $views:expr,
            routing: $routing:expr,
            build: $build:expr,
        }
    )*) => {
        /// Topology of the network.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        #[schemars(extend("x-otherwise" = "any other network is kind = \"file\" with an edge list of its wires"))]
        pub enum TopologySpec {
            $( $(#[$doc])* #[serde(rename = $kind)] $variant($spec), )*
        }

        impl TopologySpec {
            /// All families, in the order of the variants.
            pub const FAMILIES: &'static [Family] = &[
                $( Family { kind: $kind, example: $example, views: $views, routing: $routing }, )*
            ];

            /// Builds the topology. Relative paths start from `base`, the folder of the experiment file.
            pub fn build(&self, base: &Path) -> Built {
                match self {
                    $( Self::$variant(spec) => build($build, spec, base), )*
                }
            }

            /// Reads the settings of a shorthand. `None`: there is no such kind.
            fn from_settings(kind: &str, settings: &str) -> Option<Result<Self, KeyError>> {
                match kind {
                    $( $kind => Some(<$spec>::from_shorthand(settings).map(Self::$variant)), )*
                    _ => None,
                }
            }
        }
    };
}

/// Topology that several parts share.
type Built = Result<Arc<dyn Topology>, KeyError>;

/// Returns a topology of one type as one of any type.
fn shared<T: Topology + 'static>(built: Result<T, KeyError>) -> Built {
    Ok(Arc::new(built?))
}

/// Calls the function that builds a family.
fn build<S>(family: impl Fn(&S, &Path) -> Built, spec: &S, base: &Path) -> Built {
    family(spec, base)
}

families! {
    /// Single switch with a node on every port.
    SingleSwitch(SingleSwitchSpec) = "single-switch" {
        example: "single-switch:8",
        views: &[View::Consecutive],
        routing: SHORTEST,
        build: |spec, _| shared(SingleSwitch::new(spec)),
    }
    /// k-ary n-tree: n levels of switches of 2k ports, k^n nodes, full bisection.
    FatTree(FatTreeSpec) = "fat-tree" {
        example: "fat-tree:k=4,n=4",
        views: LEVELS,
        routing: UP_DOWN,
        build: |spec, _| shared(FatTree::new(spec)),
    }
    /// Tree of switches of any shape (XGFT), with parallel wires: full, tapered or partly filled.
    Xgft(XgftSpec) = "xgft" {
        example: "xgft:m=16x8x4,w=1x8x4",
        views: LEVELS,
        routing: UP_DOWN,
        build: |spec, _| shared(Xgft::xgft(spec)),
    }
    /// Leaf switches with nodes, each wired to every spine switch.
    LeafSpine(LeafSpineSpec) = "leaf-spine" {
        example: "leaf-spine:leaves=16,spines=8,nodes_per_leaf=32",
        views: LEVELS,
        routing: UP_DOWN,
        build: |spec, _| shared(LeafSpine::leaf_spine(spec)),
    }
    /// Groups of routers with short paths inside, and wires between all groups.
    Dragonfly(DragonflySpec) = "dragonfly" {
        example: "dragonfly:h=4",
        views: &[View::Groups, View::AnyGroups],
        routing: &[("kind", "minimal")],
        build: |spec, _| Dragonfly::network(spec),
    }
    /// k-ary n-cube: a grid of routers that wraps in every dimension.
    Torus(GridSpec) = "torus" {
        example: "torus:8x8x8",
        views: &[View::Grid],
        routing: IN_ORDER,
        build: |spec, _| Torus::network(spec),
    }
    /// Grid of routers with edges.
    Mesh(GridSpec) = "mesh" {
        example: "mesh:8x8",
        views: &[View::Grid],
        routing: IN_ORDER,
        build: |spec, _| shared(Torus::mesh(spec)),
    }
    /// Grid of routers in which the routers of every line are wired to one another.
    HyperX(HyperXSpec) = "hyperx" {
        example: "hyperx:8x8x8,nodes_per_router=8",
        views: &[View::Cliques],
        routing: SPREAD,
        build: |spec, _| shared(HyperX::new(spec)),
    }
    /// Groups of leaf and spine routers, and wires between the spines of all groups (Megafly).
    DragonflyPlus(DragonflyPlusSpec) = "dragonfly-plus" {
        example: "dragonfly-plus:leaves=16,spines=16,groups=17",
        views: &[View::AnyGroups],
        routing: SPREAD,
        build: |spec, _| shared(DragonflyPlus::new(spec)),
    }
    /// Routers of diameter 2 that are points over a finite field.
    SlimFly(SlimFlySpec) = "slim-fly" {
        example: "slim-fly:q=19",
        views: &[],
        routing: SPREAD,
        build: |spec, _| shared(SlimFly::new(spec)),
    }
    /// Routers of diameter 2 that are points of a projective plane.
    PolarFly(PolarFlySpec) = "polarfly" {
        example: "polarfly:q=31",
        views: &[],
        routing: SPREAD,
        build: |spec, _| shared(PolarFly::new(spec)),
    }
    /// Routers that are wired to random others.
    Jellyfish(JellyfishSpec) = "jellyfish" {
        example: "jellyfish:routers=512,degree=24",
        views: &[],
        routing: SPREAD,
        build: |spec, _| shared(Jellyfish::new(spec)),
    }
    /// Any connected network, from an edge list.
    File(FileSpec) = "file" {
        example: "file:machine.edges",
        views: &[],
        routing: SPREAD,
        build: |spec, base| shared(FileTopology::new(spec, base)),
    }
    /// Network without routers, given by a delay and a bandwidth.
    Flat(FlatSpec) = "flat" {
        example: "flat:4096",
        views: &[],
        routing: SHORTEST,
        build: |spec, _| shared(Flat::new(spec)),
    }
}

impl TopologySpec {
    /// Iterates over the kinds of topology that have a view.
    pub fn kinds_with(view: View) -> impl Iterator<Item = &'static str> {
        Self::FAMILIES.iter().filter(move |family| family.views.contains(&view)).map(|family| family.kind)
    }

    /// Returns the kinds of topology that have one of some views, for a message: `a, b and c`.
    pub fn names_with(views: &[View]) -> String {
        let kinds: Vec<&str> = views.iter().flat_map(|&view| Self::kinds_with(view)).collect();
        match kinds.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
            _ => kinds.concat(),
        }
    }

    /// Returns the keys of the default routing of a kind of topology: shortest paths for an unknown kind.
    pub fn default_routing(kind: &str) -> Keys {
        Self::FAMILIES.iter().find(|family| family.kind == kind).map_or(SHORTEST, |family| family.routing)
    }
}

/// Network: a topology in one or several planes, with all or other numbers of its wires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkSpec {
    /// The topology of a plane.
    pub topology: TopologySpec,
    /// Number of planes: disjoint copies of the topology, each with every node on it.
    pub planes: u32,
    /// Multiples of the numbers of wires, by class. A kind's own key `wires`, which says numbers, then has its default.
    pub wires: Multiples,
}

/// Writes one table. Multiples take the place of a kind's own key `wires`.
impl Serialize for NetworkSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let topology = serde_json::to_value(&self.topology).map_err(S::Error::custom)?;
        let mut table = serializer.serialize_map(None)?;
        let is_multiplied = !self.wires.is_empty();
        for (key, value) in
            topology.as_object().into_iter().flatten().filter(|(key, _)| !is_multiplied || *key != WIRES)
        {
            table.serialize_entry(key, value)?;
        }
        if self.planes != 1 {
            table.serialize_entry("planes", &self.planes)?;
        }
        if is_multiplied {
            table.serialize_entry(WIRES, &self.wires)?;
        }
        table.end()
    }
}

impl<'de> Deserialize<'de> for NetworkSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut keys = serde_json::Map::deserialize(deserializer)?;
        let planes = keys.remove("planes").map_or(Ok(1), serde_json::from_value).map_err(D::Error::custom)?;
        // Some kinds have their own key of this name, with numbers.
        let multiples = keys.get(WIRES).is_some_and(Value::is_object).then(|| keys.remove(WIRES)).flatten();
        let wires = multiples.map_or_else(|| Ok(Multiples::new()), serde_json::from_value).map_err(D::Error::custom)?;
        let topology = serde_json::from_value(Value::Object(keys)).map_err(D::Error::custom)?;
        Ok(Self { topology, planes, wires })
    }
}

impl From<TopologySpec> for NetworkSpec {
    /// Makes a network of one plane.
    fn from(topology: TopologySpec) -> Self {
        Self { topology, planes: 1, wires: Multiples::new() }
    }
}

impl NetworkSpec {
    /// Returns a topology that no file can have: that of an experiment whose networks have topologies.
    pub fn unwritten() -> Self {
        TopologySpec::SingleSwitch(SingleSwitchSpec { ports: 0 }).into()
    }

    /// Returns whether no topology is written.
    pub fn is_unwritten(&self) -> bool {
        *self == Self::unwritten()
    }

    /// Builds the network, as [`TopologySpec::build`]. Fails at `planes` if the network cannot have that number of
    /// planes, and at `wires` if it cannot have those numbers of wires.
    pub fn build(&self, base: &Path) -> Result<Arc<dyn Topology>, KeyError> {
        self.of_plane(self.topology.build(base)?)
    }

    /// Builds the network from one of its planes, without multiples of wires. Fails as [`Self::build`] does.
    pub fn of_plane(&self, plane: Arc<dyn Topology>) -> Result<Arc<dyn Topology>, KeyError> {
        let plane = multiply(plane, &self.wires)?;
        match (self.planes, &self.topology) {
            (1, _) => Ok(plane),
            (_, TopologySpec::Flat(_)) => Err(KeyError::new(
                "planes",
                "a flat network has no planes: without routers only a node's link is left of them; raise `link.bandwidth`",
            )),
            (planes, _) => Ok(Arc::new(Networks::of_planes(plane, planes)?)),
        }
    }
}

/// Adds `planes` to the keys of each topology that has routers, and `wires` if it has no own key of that name.
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
        let wires = json_schema!({
            "description": "Multiples of the number of wires, by class of channels: 2 doubles each wire of the class, 0.5 removes every \
                            second. Levels and groups of nodes are kept, and shortest paths are the default elsewhere.",
            "type": "object",
            "additionalProperties": { "type": "number", "exclusiveMinimum": 0, "maximum": 4096 },
            "default": {},
            "x-example": "[topology.wires]\nglobal = 2"
        });
        let kinds = schema.get_mut("oneOf").and_then(serde_json::Value::as_array_mut);
        for kind in kinds.into_iter().flatten().filter(|kind| kind["properties"]["kind"]["const"] != Flat::KIND) {
            kind["properties"]["planes"] = planes.clone().to_value();
            let own = kind["properties"][WIRES].take();
            kind["properties"][WIRES] = either_wires(own, wires.clone().to_value());
        }
        schema
    }
}

/// Returns the schema of the key `wires`, given that of a kind's own key and that of the multiples.
fn either_wires(mut own: Value, mut multiples: Value) -> Value {
    let Some(numbers) = own.as_object_mut() else { return multiples };
    let mut either = serde_json::Map::new();
    for key in ["description", "default"] {
        either.extend(numbers.remove(key).map(|value| (key.to_owned(), value)));
    }
    if let Some(Value::String(description)) = either.get_mut("description") {
        *description += " A table has multiples by class of channels, such as `{ global = 0.5 }`.";
    }
    if let Some(multiples) = multiples.as_object_mut() {
        multiples.remove("default");
    }
    either.insert("anyOf".into(), Value::Array(vec![own, multiples]));
    Value::Object(either)
}

/// Reads the shorthand of a topology. Several planes are written as a setting `planes=N`, and multiples of wires as
/// `wires.CLASS=N`.
impl FromStr for NetworkSpec {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (kind, settings) = text.split_once(':').unwrap_or((text, ""));
        let key = |setting: &str| setting.split('=').next().unwrap_or("").trim().to_owned();
        // A part without `=` may belong to the path of a file.
        let is_own =
            |setting: &&str| setting.contains('=') && (key(setting) == "planes" || key(setting).starts_with("wires."));
        let (own, others): (Vec<&str>, Vec<&str>) = settings.split(',').partition(is_own);
        let topology: TopologySpec =
            if own.is_empty() { text.parse()? } else { format!("{kind}:{}", others.join(",")).parse()? };
        let mut made = Self::from(topology);
        let mut is_given = false;
        for setting in own {
            if let Some((class, number)) =
                setting.trim().strip_prefix("wires.").map(|rest| rest.split_once('=').unwrap_or((rest, "")))
            {
                let multiple = number.trim().parse().ok().and_then(Multiple::new);
                let multiple = multiple.ok_or_else(|| KeyError::new(WIRES, multiplied::refused(number)))?;
                if made.wires.insert(class.trim().to_owned(), multiple).is_some() {
                    return Err(KeyError::new(WIRES, format!("`wires.{}` is given twice", short(class.trim()))));
                }
            } else if std::mem::replace(&mut is_given, true) {
                return Err(KeyError::new("planes", "`planes` is given twice"));
            } else {
                let number = Settings::read(setting, &["planes"])?.number("planes")?;
                made.planes = u32::try_from(number).unwrap_or(u32::MAX);
            }
        }
        if !made.wires.is_empty() && others.iter().any(|setting| key(setting) == WIRES) {
            return Err(KeyError::new(WIRES, "`wires` and `wires.CLASS` exclude each other"));
        }
        Ok(made)
    }
}

/// Reads the shorthand of the command line: `kind:dims`, such as `torus:8x8x8` or `fat-tree:k=4,n=4`. Sizes are checked
/// when the topology is built. An error's `key` is `kind`, or the key of the invalid setting.
impl FromStr for TopologySpec {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (kind, settings) = text.split_once(':').unwrap_or((text, ""));
        Self::from_settings(kind.trim(), settings).unwrap_or_else(|| {
            let examples = Self::FAMILIES.iter().map(|family| family.example).collect::<Vec<_>>().join("`, `");
            let message = format!("`{}` is not a kind of topology; write for example `{examples}`", short(kind.trim()));
            Err(KeyError::new("kind", message))
        })
    }
}
