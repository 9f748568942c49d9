//! Direct paths from any router to the routers with nodes: shortest paths, on as few classes of virtual channels as the
//! topology allows.

use topology::views::Grid;
use topology::{Endpoint, Topology};
use units::{KeyError, NodeId, PortId, RouterId};

use crate::algorithms::dimension_order::{DimensionOrder, DimensionOrderSpec};
use crate::algorithms::shortest_path::{ShortestPathSpec, TieRule, VcRule};
use crate::algorithms::tables::{RouteTable, neighbours, refuse_too_many};
use crate::walk::Wiring;
use crate::{Route, Routing};

/// Direct paths, with the wires that they follow. Routers with nodes are *targets*, numbered from 0.
#[derive(Debug)]
pub(super) struct DirectPaths {
    kind: PathsKind,
    pub wiring: Wiring,
    /// Target of each router of a table. `NO_PATH`: it has no nodes.
    target_of: Vec<u32>,
    /// Number of channels of the longest path between two routers with nodes.
    pub longest: u32,
    /// Number of channels of the longest path that begins at a router beside one with nodes.
    pub longest_beside: u32,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one for each routing, and a box would be one more load a hop")]
enum PathsKind {
    /// All shortest paths, one class for each remaining hop: the class of the last hop is 0. A router draws one of the
    /// ports that lead nearer.
    Table(RouteTable),
    /// Dimension order, the shorter way round.
    Grid(DimensionOrder),
}

/// Distance of a router from which no path leads to a target, and target of a router without nodes.
pub(super) const NO_PATH: u32 = u32::MAX;

impl DirectPaths {
    /// Creates the direct paths of a topology, for a routing of some kind.
    ///
    /// # Errors
    /// If routers cannot reach one another, or if a table would be larger than 1 GiB. Grids have the limit of tables.
    pub fn new(topology: &dyn Topology, kind: &str) -> Result<Self, KeyError> {
        match topology.views().grid {
            Some(grid) => Self::in_order(grid, kind),
            None => Self::from_table(topology, kind),
        }
    }

    fn in_order(grid: &Grid, kind: &str) -> Result<Self, KeyError> {
        // No table, but the loads and the proof of detours take as much memory and time as with one.
        refuse_too_many(grid, kind, (grid.routers(), "router"))?;
        let order = DimensionOrderSpec::default().bind(grid)?;
        let longest = grid.diameter();
        Ok(Self {
            kind: PathsKind::Grid(order),
            wiring: Wiring::new(grid),
            target_of: Vec::new(),
            longest,
            longest_beside: longest,
        })
    }

    fn from_table(topology: &dyn Topology, kind: &str) -> Result<Self, KeyError> {
        let spec = ShortestPathSpec { ties: TieRule::Random, vc_rule: VcRule::Hops };
        let (table, longest) = spec.table(topology, kind)?;
        let mut is_beside = vec![false; topology.routers() as usize];
        for &target in table.targets() {
            neighbours(topology, target).for_each(|(_, next)| is_beside[next.index()] = true);
        }
        let mut target_of = vec![NO_PATH; topology.routers() as usize];
        (0..).zip(table.targets()).for_each(|(number, target)| target_of[target.index()] = number);
        let kind = PathsKind::Table(table);
        let mut paths = Self { kind, wiring: Wiring::new(topology), target_of, longest, longest_beside: 0 };
        let lengths_from = |at| (0..paths.targets()).map(move |target| (at, target));
        let beside = (0..topology.routers()).map(RouterId).filter(|router| is_beside[router.index()]);
        let lengths = beside.flat_map(lengths_from).map(|(at, target)| paths.length(at, target));
        paths.longest_beside = lengths.filter(|&length| length != NO_PATH).max().unwrap_or(0);
        Ok(paths)
    }

    /// Returns the number of classes of paths that begin at routers with nodes or, if `beside`, at their neighbours
    /// too.
    pub fn classes_from(&self, beside: bool) -> u32 {
        match &self.kind {
            PathsKind::Table(_) if beside => self.longest.max(self.longest_beside).max(1),
            PathsKind::Table(_) => self.longest.max(1),
            PathsKind::Grid(order) => order.classes().into(),
        }
    }

    /// Returns the number of classes of paths that begin at routers with nodes, or at others that are up to `length`
    /// channels from a target.
    pub fn classes_with(&self, length: u32) -> u32 {
        match &self.kind {
            PathsKind::Table(_) => self.longest.max(length).max(1),
            PathsKind::Grid(order) => order.classes().into(),
        }
    }

    /// Returns the number of routers with nodes.
    #[inline]
    pub fn targets(&self) -> u32 {
        match &self.kind {
            PathsKind::Table(table) => table.targets().len() as u32,
            PathsKind::Grid(order) => order.torus.routers(),
        }
    }

    /// Returns the router of a target.
    #[inline]
    pub fn router(&self, target: u32) -> RouterId {
        match &self.kind {
            PathsKind::Table(table) => table.targets()[target as usize],
            PathsKind::Grid(_) => RouterId(target),
        }
    }

    /// Returns the target of a router. `None`: it has no nodes.
    #[inline]
    pub fn target_of(&self, router: RouterId) -> Option<u32> {
        match &self.kind {
            PathsKind::Table(_) => Some(self.target_of[router.index()]).filter(|&target| target != NO_PATH),
            PathsKind::Grid(_) => Some(router.0),
        }
    }

    /// Returns the target of a node, and its port there.
    #[inline]
    pub fn home(&self, node: NodeId) -> (u32, PortId) {
        match &self.kind {
            PathsKind::Table(table) => (table.destination(node).column, table.destination(node).port),
            PathsKind::Grid(order) => {
                let (router, port) = order.torus.attachment(node);
                (router.0, port)
            }
        }
    }

    /// Returns the next hop from a router to a target that is another router.
    #[inline]
    pub fn toward(&self, at: RouterId, target: u32) -> Route {
        match &self.kind {
            PathsKind::Table(table) => table.toward(at, target),
            PathsKind::Grid(order) => order.toward(at, RouterId(target)),
        }
    }

    /// Returns the number of channels from a router to a target. `NO_PATH`: there is no path.
    #[inline]
    pub fn length(&self, at: RouterId, target: u32) -> u32 {
        match &self.kind {
            PathsKind::Table(table) if table.targets()[target as usize] == at => 0,
            PathsKind::Table(table) if !table.leads(at, target) => NO_PATH,
            PathsKind::Table(table) => u32::from(table.toward(at, target).vc_class.0) + 1,
            PathsKind::Grid(order) => order.torus.distance(at, RouterId(target)),
        }
    }

    /// Returns the router that a port leads to. `None`: it leads to none.
    pub fn next(&self, at: RouterId, port: PortId) -> Option<RouterId> {
        match self.wiring.end(self.wiring.channels.output(at, port)) {
            Endpoint::Router(next, _) => Some(next),
            Endpoint::Node(_) | Endpoint::Unconnected => None,
        }
    }

    /// Returns the lists of ports of routes.
    pub fn port_lists(&self) -> &[PortId] {
        match &self.kind {
            PathsKind::Table(table) => table.port_lists(),
            PathsKind::Grid(_) => &[],
        }
    }
}
