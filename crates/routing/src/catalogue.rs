//! Routing algorithms and their keys in the experiment file.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::value::MapDeserializer;
use serde::{Deserialize, Serialize};
use topology::families::networks;
use topology::{Topology, TopologySpec, View};
use units::KeyError;

use crate::algorithms::cliques::{DalSpec, DimWarSpec};
use crate::algorithms::detours::{
    AriesSpec, ParSpec, PolarizedSpec, SlingshotSpec, UgalGSpec, UgalLSpec, ValiantGroupSpec, ValiantNodeSpec,
    has_detours,
};
use crate::algorithms::dimension_order::DimensionOrderSpec;
use crate::algorithms::dragonfly::MinimalSpec;
use crate::algorithms::ecmp::EcmpSpec;
use crate::algorithms::fat_tree::{AdaptiveUpDownSpec, DModKSpec, RandomUpDownSpec, RoundRobinUpDownSpec};
use crate::algorithms::forwarding::ForwardingTablesSpec;
use crate::algorithms::levels::LevelRouting;
use crate::algorithms::minimal_adaptive::MinimalAdaptiveSpec;
use crate::algorithms::networks::NetworksRouting;
use crate::algorithms::opensm::dfsssp::DfssspSpec;
use crate::algorithms::opensm::ftree::FtreeSpec;
use crate::algorithms::opensm::lash::LashSpec;
use crate::algorithms::opensm::minhop::MinhopSpec;
use crate::algorithms::opensm::nue::NueSpec;
use crate::algorithms::opensm::updn::UpdnSpec;
use crate::algorithms::shortest_path::{ShortestPathSpec, TieRule, VcRule};
use crate::algorithms::table::TableSpec;
use crate::algorithms::up_down::UpDownSpec;
use crate::{Choice, Routing};

/// Routing algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(extend("x-otherwise" = "any other routing is kind = \"table\" with the ports of each destination"))]
pub enum RoutingSpec {
    /// Fat-trees: up to a nearest common ancestor by the least congested port, then down.
    AdaptiveUpDown(AdaptiveUpDownSpec),
    /// Fat-trees: up to a nearest common ancestor by random ports, then down.
    RandomUpDown(RandomUpDownSpec),
    /// Fat-trees: up to a nearest common ancestor by the ports in turn (packet spraying), then down.
    RoundRobinUpDown(RoundRobinUpDownSpec),
    /// Fat-trees: up to a nearest common ancestor by the ports that the destination's digits name, then down.
    DModK(DModKSpec),
    /// Tori, meshes and HyperX: dimension-order routing, the shorter way round. Two classes of virtual channels on a
    /// torus.
    DimensionOrder(DimensionOrderSpec),
    /// Tori and meshes: by any port that leads nearer, with dimension order as the escape. Three classes of virtual
    /// channels on a torus, two on a mesh.
    #[serde(alias = "adaptive")]
    #[schemars(extend("x-aliases" = ["adaptive"]))]
    MinimalAdaptive(MinimalAdaptiveSpec),
    /// Any topology: shortest paths from tables.
    ShortestPath(ShortestPathSpec),
    /// Dragonflies: the direct path, over at most one global channel.
    Minimal(MinimalSpec),
    /// Dragonflies: Valiant routing by way of a random group, left from the first router reached there.
    #[serde(alias = "valiant-restricted")]
    #[schemars(extend("x-aliases" = ["valiant-restricted"]))]
    ValiantGroup(ValiantGroupSpec),
    /// All topologies but trees: Valiant routing by way of a random router.
    #[serde(alias = "valiant-any")]
    #[schemars(extend("x-aliases" = ["valiant-any"]))]
    ValiantNode(ValiantNodeSpec),
    /// All topologies but trees: directly or by a detour, by the queues of the source's router.
    #[serde(alias = "ugal")]
    #[schemars(extend("x-aliases" = ["ugal"]))]
    UgalL(UgalLSpec),
    /// All topologies but trees: as ugal-l, by the queues of channels beyond the source's router.
    UgalG(UgalGSpec),
    /// All topologies but trees: as ugal-l, decided again at the next router.
    Par(ParSpec),
    /// Any topology: a hash of the flow (source and destination) chooses among the shortest paths (equal-cost
    /// multi-path).
    Ecmp(EcmpSpec),
    /// All topologies but trees: hops that lead away from the source or nearer to the destination, by congestion. Classes
    /// of virtual channels by hops.
    Polarized(PolarizedSpec),
    /// All topologies but trees: two to four paths, direct ones and detours, by congestion and length.
    Slingshot(SlingshotSpec),
    /// All topologies but trees: two direct paths and two detours, by the queues of the source's router.
    Aries(AriesSpec),
    /// HyperX: any order of the dimensions, with at most one deroute in each, by congestion. Classes of virtual channels
    /// by hops: two for each dimension of more than two routers, one for each other.
    Dal(DalSpec),
    /// HyperX: dimension order, with at most one deroute in each dimension, by congestion. Two classes of virtual
    /// channels.
    DimWar(DimWarSpec),
    /// Any topology: up and down the levels of a breadth-first search (up*/down*); one class of virtual channels.
    UpDown(UpDownSpec),
    /// Any topology: OpenSM's `minhop`, shortest paths that are balanced over ports by the number of nodes. One class of
    /// virtual channels, so that it can deadlock where paths form cycles.
    Minhop(MinhopSpec),
    /// Trees, and any topology with given roots: OpenSM's `updn`, up and down the ranks below roots, balanced over ports
    /// by the number of nodes. One class of virtual channels.
    Updn(UpdnSpec),
    /// Trees: OpenSM's `ftree`, which counts the nodes that each wire up and down has been given. One class of virtual
    /// channels.
    Ftree(FtreeSpec),
    /// Any topology: OpenSM's `lash`, one shortest path for each pair of routers, on as many lanes as keep it free of
    /// deadlock.
    Lash(LashSpec),
    /// Any topology: OpenSM's `dfsssp`, shortest paths that are balanced over wires by the number of nodes, on as many
    /// lanes as keep them free of deadlock.
    Dfsssp(DfssspSpec),
    /// Any topology: OpenSM's `nue`, paths that are balanced over wires by the number of nodes, and free of deadlock on
    /// any number of lanes.
    Nue(NueSpec),
    /// Any topology: the next ports from a table in a file.
    Table(TableSpec),
    /// Networks read from ibnetdiscover's output: the forwarding tables of the fabric, by LID, with its SL to VL tables.
    ForwardingTables(ForwardingTablesSpec),
}

impl RoutingSpec {
    /// Every algorithm that needs no key, with the defaults of its keys: all but `table` and the engines of OpenSM.
    pub fn all() -> Vec<Self> {
        vec![
            Self::AdaptiveUpDown(AdaptiveUpDownSpec::default()),
            Self::RandomUpDown(RandomUpDownSpec::default()),
            Self::RoundRobinUpDown(RoundRobinUpDownSpec::default()),
            Self::DModK(DModKSpec::default()),
            Self::DimensionOrder(DimensionOrderSpec::default()),
            Self::MinimalAdaptive(MinimalAdaptiveSpec::default()),
            Self::Minimal(MinimalSpec::default()),
            Self::ValiantGroup(ValiantGroupSpec::default()),
            Self::ValiantNode(ValiantNodeSpec::default()),
            Self::UgalL(UgalLSpec::default()),
            Self::UgalG(UgalGSpec::default()),
            Self::Par(ParSpec::default()),
            Self::Polarized(PolarizedSpec::default()),
            Self::Slingshot(SlingshotSpec::default()),
            Self::Aries(AriesSpec::default()),
            Self::Dal(DalSpec::default()),
            Self::DimWar(DimWarSpec::default()),
            Self::ShortestPath(ShortestPathSpec::default()),
            Self::Ecmp(EcmpSpec::default()),
            Self::UpDown(UpDownSpec::default()),
        ]
    }

    /// Every engine of OpenSM, with the defaults of its keys. An engine may refuse a topology that `fits`.
    pub fn engines() -> Vec<Self> {
        vec![
            Self::Minhop(MinhopSpec::default()),
            Self::Updn(UpdnSpec::default()),
            Self::Ftree(FtreeSpec::default()),
            Self::Lash(LashSpec::default()),
            Self::Dfsssp(DfssspSpec::default()),
            Self::Nue(NueSpec::default()),
        ]
    }

    /// Returns the routing of a topology whose experiment names none: that of a view which its kind does not promise, as
    /// of a file that is a tree, or that of its kind. Shortest paths if that does not fit.
    pub fn default_for(topology: &dyn Topology) -> Self {
        let has = |view| {
            let promised = TopologySpec::kinds_with(view).any(|kind| kind == topology.kind());
            topology.views().has(Some(view)) && !promised
        };
        let own = Self::default_of(topology.kind());
        if has(View::Levels) {
            Self::AdaptiveUpDown(AdaptiveUpDownSpec::default())
        } else if has(View::Grid) {
            Self::DimensionOrder(DimensionOrderSpec::default())
        } else if has(View::Groups) {
            Self::Minimal(MinimalSpec::default())
        } else if own.fits(topology) {
            own
        } else {
            Self::ShortestPath(ShortestPathSpec { ties: TieRule::Random, ..ShortestPathSpec::default() })
        }
    }

    /// Returns the default routing of a kind of topology, which its entry in the catalogue names.
    pub fn default_of(kind: &str) -> Self {
        let keys = TopologySpec::default_routing(kind).iter().copied();
        let read = Self::deserialize(MapDeserializer::<_, serde::de::value::Error>::new(keys));
        read.unwrap_or_else(|_| Self::ShortestPath(ShortestPathSpec::default()))
    }

    /// Returns the algorithm's name in the experiment file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::AdaptiveUpDown(_) => "adaptive-up-down",
            Self::RandomUpDown(_) => "random-up-down",
            Self::RoundRobinUpDown(_) => "round-robin-up-down",
            Self::DModK(_) => "d-mod-k",
            Self::DimensionOrder(_) => "dimension-order",
            Self::MinimalAdaptive(_) => "minimal-adaptive",
            Self::Minimal(_) => "minimal",
            Self::ValiantGroup(_) => "valiant-group",
            Self::ValiantNode(_) => "valiant-node",
            Self::UgalL(_) => "ugal-l",
            Self::UgalG(_) => "ugal-g",
            Self::Par(_) => "par",
            Self::Polarized(_) => "polarized",
            Self::Slingshot(_) => "slingshot",
            Self::Aries(_) => "aries",
            Self::Dal(_) => "dal",
            Self::DimWar(_) => "dim-war",
            Self::ShortestPath(_) => "shortest-path",
            Self::Ecmp(_) => "ecmp",
            Self::UpDown(_) => "up-down",
            Self::Minhop(_) => "minhop",
            Self::Updn(_) => "updn",
            Self::Ftree(_) => "ftree",
            Self::Lash(_) => "lash",
            Self::Dfsssp(_) => "dfsssp",
            Self::Nue(_) => "nue",
            Self::Table(_) => "table",
            Self::ForwardingTables(_) => "forwarding-tables",
        }
    }

    /// Returns the views of which the algorithm requires one. Empty: it requires none.
    fn views(&self) -> &'static [View] {
        match self {
            Self::AdaptiveUpDown(_) | Self::RandomUpDown(_) | Self::RoundRobinUpDown(_) | Self::DModK(_) => {
                &[View::Levels]
            }
            Self::DimensionOrder(_) => &[View::Grid, View::Cliques],
            Self::MinimalAdaptive(_) => &[View::Grid],
            Self::Dal(_) | Self::DimWar(_) => &[View::Cliques],
            Self::Minimal(_) => &[View::Groups],
            Self::ValiantGroup(_) => &[View::AnyGroups],
            Self::ValiantNode(_)
            | Self::UgalL(_)
            | Self::UgalG(_)
            | Self::Par(_)
            | Self::Polarized(_)
            | Self::Slingshot(_)
            | Self::Aries(_)
            | Self::ShortestPath(_)
            | Self::Ecmp(_)
            | Self::UpDown(_)
            | Self::Minhop(_)
            | Self::Updn(_)
            | Self::Ftree(_)
            | Self::Lash(_)
            | Self::Dfsssp(_)
            | Self::Nue(_)
            | Self::Table(_)
            | Self::ForwardingTables(_) => &[],
        }
    }

    /// Returns whether packets may go by way of any router, so that the topology needs to have detours.
    fn takes_detours(&self) -> bool {
        matches!(
            self,
            Self::ValiantNode(_)
                | Self::UgalL(_)
                | Self::UgalG(_)
                | Self::Par(_)
                | Self::Polarized(_)
                | Self::Slingshot(_)
                | Self::Aries(_)
        )
    }

    /// Returns whether packets never cross more channels than `Topology::distance` counts.
    pub fn takes_shortest_paths(&self, topology: &dyn Topology) -> bool {
        match self {
            Self::AdaptiveUpDown(_) | Self::RandomUpDown(_) | Self::RoundRobinUpDown(_) | Self::DModK(_) => {
                topology.views().levels.is_none()
            }
            Self::DimensionOrder(_)
            | Self::MinimalAdaptive(_)
            | Self::ShortestPath(_)
            | Self::Ecmp(_)
            | Self::Minhop(_)
            | Self::Lash(_)
            | Self::Dfsssp(_) => true,
            Self::Minimal(_)
            | Self::ValiantGroup(_)
            | Self::ValiantNode(_)
            | Self::UgalL(_)
            | Self::UgalG(_)
            | Self::Par(_)
            | Self::Polarized(_)
            | Self::Slingshot(_)
            | Self::Aries(_)
            | Self::Dal(_)
            | Self::DimWar(_)
            | Self::UpDown(_)
            | Self::Updn(_)
            | Self::Ftree(_)
            | Self::Nue(_)
            | Self::Table(_)
            | Self::ForwardingTables(_) => false,
        }
    }

    /// Returns a routing with equal paths and the fewest classes of virtual channels, for analyses of paths and loads,
    /// which do not depend on classes. A run needs `self`.
    #[must_use]
    pub fn for_paths(self) -> Self {
        match self {
            Self::ShortestPath(spec) => Self::ShortestPath(ShortestPathSpec { vc_rule: VcRule::Single, ..spec }),
            Self::Ecmp(spec) => Self::Ecmp(EcmpSpec { vc_rule: VcRule::Single, ..spec }),
            other => other,
        }
    }

    /// Returns the routing that spreads packets over all equally good ports. `None` unless `self` has the key `ties`,
    /// needs no file, and takes the first of such ports.
    #[must_use]
    pub fn spread(&self) -> Option<Self> {
        match self {
            Self::ShortestPath(spec) if spec.ties == TieRule::First => {
                Some(Self::ShortestPath(ShortestPathSpec { ties: TieRule::Random, ..*spec }))
            }
            Self::UpDown(spec) if spec.ties == TieRule::First => {
                Some(Self::UpDown(UpDownSpec { ties: TieRule::Random, ..*spec }))
            }
            _ => None,
        }
    }

    /// Returns whether the algorithm is made for a topology.
    pub fn fits(&self, topology: &dyn Topology) -> bool {
        let (required, views) = (self.views(), topology.views());
        let has_view = required.is_empty() || required.iter().any(|&view| views.has(Some(view)));
        has_view && (!self.takes_detours() || has_detours(topology))
    }

    /// Builds the routing of a topology. Paths of files are relative to the working directory.
    ///
    /// # Errors
    /// If the algorithm is not made for the topology, or if a key does not fit it.
    pub fn build(&self, topology: &dyn Topology) -> Result<Arc<dyn Routing>, KeyError> {
        self.build_in(topology, Path::new("."))
    }

    /// Builds the routing of a topology. Paths of files are relative to the folder `base`.
    ///
    /// # Errors
    /// If the algorithm is not made for the topology, or if a key does not fit it.
    pub fn build_in(&self, topology: &dyn Topology, base: &Path) -> Result<Arc<dyn Routing>, KeyError> {
        let views = topology.views();
        if let Some(joined) = views.networks {
            let of_part = |part: &networks::Part| self.build_in(&*part.island, base);
            let parts = joined.parts().iter().map(of_part).collect::<Result<_, _>>()?;
            return Ok(Arc::new(NetworksRouting::new(joined, parts)?));
        }
        if !self.fits(topology) {
            return Err(self.misfit(topology));
        }
        if let Some(levels) = views.levels
            && let Some(choice) = self.choice_of_levels()
        {
            let by_destination = matches!(self, Self::DModK(_));
            return Ok(Arc::new(LevelRouting::new((topology, levels), self.kind(), choice, by_destination)?));
        }
        let tree = || views.hierarchy.ok_or_else(|| self.misfit(topology));
        let cliques = || views.cliques.ok_or_else(|| self.misfit(topology));
        let grid = || views.grid.ok_or_else(|| self.misfit(topology));
        let groups = || views.groups.ok_or_else(|| self.misfit(topology));
        Ok(match self {
            Self::Minimal(spec) => Arc::new(spec.build(groups()?)?),
            Self::ValiantGroup(spec) => spec.build(topology)?,
            Self::ValiantNode(spec) => spec.build(topology)?,
            Self::UgalL(spec) => spec.build(topology)?,
            Self::UgalG(spec) => spec.build(topology)?,
            Self::Par(spec) => spec.build(topology)?,
            Self::Polarized(spec) => spec.build(topology)?,
            Self::Slingshot(spec) => spec.build(topology)?,
            Self::Aries(spec) => spec.build(topology)?,
            Self::AdaptiveUpDown(spec) => Arc::new(spec.build(tree()?)),
            Self::RandomUpDown(spec) => Arc::new(spec.build(tree()?)),
            Self::RoundRobinUpDown(spec) => Arc::new(spec.build(tree()?)),
            Self::DModK(spec) => Arc::new(spec.build(tree()?)),
            Self::DimensionOrder(spec) => match views.cliques {
                Some(cliques) => Arc::new(spec.build_on_cliques(cliques)?),
                None => Arc::new(spec.build(grid()?)?),
            },
            Self::Dal(spec) => Arc::new(spec.build(cliques()?)),
            Self::DimWar(spec) => Arc::new(spec.build(cliques()?)),
            Self::MinimalAdaptive(spec) => Arc::new(spec.build(grid()?)?),
            Self::ShortestPath(spec) => Arc::new(spec.build(topology)?),
            Self::Ecmp(spec) => Arc::new(spec.build(topology)?),
            Self::UpDown(spec) => Arc::new(spec.build(topology)?),
            Self::Minhop(spec) => Arc::new(spec.build(topology)?),
            Self::Updn(spec) => Arc::new(spec.build(topology)?),
            Self::Ftree(spec) => Arc::new(spec.build(topology)?),
            Self::Lash(spec) => Arc::new(spec.build(topology)?),
            Self::Dfsssp(spec) => Arc::new(spec.build(topology)?),
            Self::Nue(spec) => Arc::new(spec.build(topology)?),
            Self::Table(spec) => Arc::new(spec.build(topology, base)?),
            Self::ForwardingTables(spec) => Arc::new(spec.build(topology, base)?),
        })
    }

    /// Returns the rule by which a routing up and down levels chooses among ports, before the destination names one.
    /// `None`: it is another routing.
    fn choice_of_levels(&self) -> Option<Choice> {
        match self {
            Self::AdaptiveUpDown(_) => Some(Choice::LeastLoaded),
            Self::RandomUpDown(_) | Self::DModK(_) => Some(Choice::Random),
            Self::RoundRobinUpDown(_) => Some(Choice::RoundRobin),
            _ => None,
        }
    }

    /// Returns the name of the nearest algorithm for any topology, for the end of a message.
    fn instead(&self, topology: &dyn Topology) -> &'static str {
        // Beside injection and ejection, there are classes if there are channels between routers.
        if View::ALL.iter().any(|&view| topology.views().has(Some(view))) || topology.class_names().len() <= 2 {
            return "";
        }
        match self {
            Self::AdaptiveUpDown(_) => {
                "; on a tree \"shortest-path\" with ties = \"least-loaded\" and vc_rule = \"single\" takes the same paths"
            }
            Self::RandomUpDown(_) => {
                "; on a tree \"shortest-path\" with ties = \"random\" and vc_rule = \"single\" takes the same paths"
            }
            Self::RoundRobinUpDown(_) => {
                "; on a tree \"shortest-path\" with ties = \"round-robin\" and vc_rule = \"single\" takes the same paths"
            }
            Self::DModK(_) => "; one path for each destination is a table (kind = \"table\")",
            _ => "; any other routing is a table (kind = \"table\"), which does not look at queues",
        }
    }

    fn misfit(&self, topology: &dyn Topology) -> KeyError {
        let is_tree = topology.views().has(Some(View::Levels));
        let engines = Self::engines().into_iter().filter(|spec| is_tree || !matches!(spec, Self::Ftree(_)));
        let fitting = Self::all().into_iter().chain(engines).filter(|spec| spec.fits(topology));
        let fitting = fitting.map(|spec| spec.kind()).chain(["table"]);
        let fitting: Vec<String> = fitting.map(|kind| format!("\"{kind}\"")).collect();
        let kind = topology.kind();
        let misfit = if self.takes_detours() && topology.views().has(Some(View::Levels)) {
            format!("takes detours, and no detour is useful in a tree, such as this {kind}")
        } else if self.takes_detours() {
            format!("takes detours by way of other routers, and a {kind} has none")
        } else if self.views().iter().any(|&view| TopologySpec::kinds_with(view).any(|named| named == kind)) {
            format!("is for a plain {kind}, and the wires of this one are other ones (`wires`, `twist`, `group_sizes`)")
        } else {
            let kinds = TopologySpec::names_with(self.views());
            format!("is for topologies of kind {kinds}, not {kind}")
        };
        let message = format!(
            "routing \"{}\" {misfit}; for {kind}: {}{}",
            self.kind(),
            fitting.join(", "),
            self.instead(topology)
        );
        KeyError::new("kind", message)
    }
}
