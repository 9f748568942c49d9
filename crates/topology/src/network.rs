//! Interface of topologies, and the numbering of their channels.

use std::fmt::Debug;
use std::sync::Arc;

use units::{ChannelId, NodeId, PlaneId, PortId, Record, RouterId};

use crate::families::networks::Networks;
use crate::views::{Addresses, Cliques, Grid, GroupTable, Groups, Hierarchy, Levels};
use crate::wires::{ChannelClass, Endpoint, NO_PATH};

/// Shape of a machine. Routers, nodes and the ports of each router are numbered from 0 without gaps.
///
/// Wiring is reciprocal: if port p of router r leads to port q of router s, then port q of s leads to p of r. A channel
/// is directed; the two directions of a wire are two channels.
pub trait Topology: Debug + Send + Sync {
    /// Returns the family's name as the experiment file writes it.
    fn kind(&self) -> &'static str;
    /// Returns the number of routers.
    fn routers(&self) -> u32;
    /// Returns the number of nodes.
    fn nodes(&self) -> u32;
    /// Returns the number of ports of a router, unconnected ports included.
    fn ports(&self, router: RouterId) -> u16;
    /// Returns the far end of a port.
    fn endpoint(&self, router: RouterId, port: PortId) -> Endpoint;
    /// Returns the router and the port that a node is attached to. Of several planes, this is the first.
    fn attachment(&self, node: NodeId) -> (RouterId, PortId);
    /// Returns the names of the channel classes, by `ChannelClass`. The first is `injection`, the second `ejection`.
    /// The experiment file may override a link's parameters by these names (`[link.up]`).
    fn class_names(&self) -> Vec<&str>;
    /// Returns the class of the channel that leaves by a port. Unspecified for an unconnected port.
    fn class(&self, router: RouterId, port: PortId) -> ChannelClass;
    /// Returns the least number of channels from one router to another, in closed form where the family has one;
    /// [`NO_PATH`](crate::NO_PATH) if the routers belong to different planes.
    fn distance(&self, from: RouterId, to: RouterId) -> u32;
    /// Returns the largest distance between two routers that have nodes, in channels.
    fn diameter(&self) -> u32;
    /// Returns the number of directed channels that cross the family's natural bisection in one direction; `None`
    /// without a closed form. Each family documents the cut of its bisection.
    fn bisection_channels(&self) -> Option<u64>;
    /// Returns the names of the components of a router's coordinates, such as `["level", "index"]`.
    fn coordinate_names(&self) -> Vec<String>;
    /// Returns a router's coordinates, in the order of `coordinate_names`.
    fn coordinates(&self, router: RouterId) -> Vec<u32>;
    /// Returns a sort key that places routers with much traffic between them close together. Partitions of a run are
    /// cut in this order. It cannot change a result.
    fn locality(&self, router: RouterId) -> u64 {
        u64::from(router.0)
    }
    /// Returns the optional properties.
    fn views(&self) -> Views<'_> {
        Views::default()
    }
}

/// Optional properties of a topology, which its name need not tell. Of several planes, they are those of each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Views<'a> {
    /// Routers that fill a grid.
    pub grid: Option<&'a Grid>,
    /// Grid of routers whose lines are cliques.
    pub cliques: Option<&'a Cliques>,
    /// Routers in levels.
    pub hierarchy: Option<&'a Hierarchy>,
    /// Routers in levels by table, if there are no closed forms.
    pub levels: Option<&'a Levels>,
    /// Equal groups of routers, whose nodes are numbered consecutively, group by group.
    pub groups: Option<&'a Groups>,
    /// Routers in groups by table, if there are no closed forms.
    pub group_table: Option<&'a GroupTable>,
    /// Number of equal groups of routers whose nodes are numbered consecutively, group by group. `groups` implies it.
    pub node_groups: Option<u32>,
    /// Whether the nodes that a router reaches by its down ports are numbered consecutively, port by port.
    pub consecutive: bool,
    /// Networks that are joined, or planes of one network, if there are several.
    pub networks: Option<&'a Networks>,
    /// InfiniBand addresses, if the network was read from the description of a fabric.
    pub addresses: Option<&'a Arc<Addresses>>,
    /// Whether routers or nodes have other numbers than in the file of the topology: those of a grid.
    pub renumbered: bool,
    /// Omissions and assumptions of the reader of the topology's file, one sentence each.
    pub notes: &'a [String],
}

/// View of a topology that other parts require.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// [`Views::grid`].
    Grid,
    /// [`Views::cliques`].
    Cliques,
    /// [`Views::hierarchy`].
    Hierarchy,
    /// [`Views::hierarchy`] or [`Views::levels`].
    Levels,
    /// [`Views::groups`].
    Groups,
    /// [`Views::groups`] or [`Views::group_table`].
    AnyGroups,
    /// [`Views::consecutive`].
    Consecutive,
}

impl View {
    /// Every view.
    pub const ALL: [Self; 7] =
        [Self::Grid, Self::Cliques, Self::Hierarchy, Self::Levels, Self::Groups, Self::AnyGroups, Self::Consecutive];
}

impl Views<'_> {
    /// Returns whether the topology has a view that an algorithm may require, or groups of nodes.
    pub fn are_known(&self) -> bool {
        self.node_groups.is_some() || View::ALL.iter().any(|&view| self.has(Some(view)))
    }

    /// Returns whether the topology has the view that an algorithm requires. `None`: it requires none.
    pub fn has(&self, view: Option<View>) -> bool {
        match view {
            None => true,
            Some(View::Grid) => self.grid.is_some(),
            Some(View::Cliques) => self.cliques.is_some(),
            Some(View::Hierarchy) => self.hierarchy.is_some(),
            Some(View::Levels) => self.hierarchy.is_some() || self.levels.is_some(),
            Some(View::Groups) => self.groups.is_some(),
            Some(View::AnyGroups) => self.groups.is_some() || self.group_table.is_some(),
            Some(View::Consecutive) => self.consecutive,
        }
    }
}

impl dyn Topology + '_ {
    /// Returns the number of planes of all networks together: the channels that a node may have into routers. The
    /// routers of a plane are numbered after those of the plane before.
    pub fn planes(&self) -> u32 {
        self.views().networks.map_or(1, Networks::planes)
    }

    /// Iterates over the planes.
    pub fn all_planes(&self) -> impl Iterator<Item = PlaneId> + use<> {
        (0..self.planes() as u8).map(PlaneId)
    }

    /// Returns the plane of a router.
    pub fn plane_of(&self, router: RouterId) -> PlaneId {
        self.views().networks.map_or(PlaneId(0), |networks| networks.position(router).plane)
    }

    /// Returns the router and the port that a node is attached to in a plane. `None`: it has no port there.
    pub fn attachment_on(&self, node: NodeId, plane: PlaneId) -> Option<(RouterId, PortId)> {
        match self.views().networks {
            None => Some(self.attachment(node)),
            Some(networks) => networks.attachment_on(node, plane),
        }
    }

    /// Returns sets of routers that belong to one partition of a run, since a node or a group of nodes hangs on all of
    /// them, in ascending order of their first routers.
    pub fn bundles(&self) -> Vec<Vec<RouterId>> {
        let alone = || (0..self.routers()).map(|router| vec![RouterId(router)]).collect();
        self.views().networks.map_or_else(alone, Networks::bundles)
    }

    /// Returns the class of the channels from nodes into the routers of a plane.
    pub fn injection_class(&self, plane: PlaneId) -> ChannelClass {
        self.views().networks.map_or(ChannelClass::INJECTION, |own| own.first_class(own.part_of(plane)))
    }

    /// Returns the class of the channels from the routers of a plane to nodes.
    pub fn ejection_class(&self, plane: PlaneId) -> ChannelClass {
        ChannelClass(self.injection_class(plane).0 + ChannelClass::EJECTION.0)
    }

    /// Returns the number of the network that a class of channels belongs to.
    pub fn network_of_class(&self, class: ChannelClass) -> usize {
        self.views().networks.map_or(0, |own| own.part_of_class(class))
    }

    /// Returns the class of the channels from nodes in the network that a class of channels belongs to.
    pub fn injection_beside(&self, class: ChannelClass) -> ChannelClass {
        self.views().networks.map_or(ChannelClass::INJECTION, |own| own.first_class(own.part_of_class(class)))
    }

    /// Returns whether channels of a class lead to nodes.
    pub fn is_ejection(&self, class: ChannelClass) -> bool {
        self.part_of_class(class) == Some(ChannelClass::EJECTION)
    }

    /// Returns whether channels of a class come from nodes.
    pub fn is_injection(&self, class: ChannelClass) -> bool {
        self.part_of_class(class) == Some(ChannelClass::INJECTION)
    }

    /// Returns a class as its network numbers it. `None`: the class is no network's.
    fn part_of_class(&self, class: ChannelClass) -> Option<ChannelClass> {
        let Some(own) = self.views().networks else { return Some(class) };
        class.0.checked_sub(own.first_class(own.part_of_class(class)).0).map(ChannelClass)
    }

    /// Returns the class of a channel. `None`: it is not connected.
    pub fn class_of(&self, source: ChannelSource) -> Option<ChannelClass> {
        match source {
            ChannelSource::Node(node, plane) => self.attachment_on(node, plane).map(|_| self.injection_class(plane)),
            ChannelSource::Router(router, port) => {
                (self.endpoint(router, port) != Endpoint::Unconnected).then(|| self.class(router, port))
            }
        }
    }

    /// Returns the routers of two nodes in the first plane that joins them. `None`: no plane does.
    pub fn joined(&self, from: NodeId, to: NodeId) -> Option<[(RouterId, PortId); 2]> {
        let on = |plane| Some([self.attachment_on(from, plane)?, self.attachment_on(to, plane)?]);
        self.all_planes().filter_map(on).find(|[from, to]| self.distance(from.0, to.0) != NO_PATH)
    }

    /// Returns the number of routers that a packet traverses on a shortest path between two nodes, in the plane in which
    /// it is shortest. [`NO_PATH`]: no plane joins them.
    pub fn routers_between(&self, from: NodeId, to: NodeId) -> u32 {
        let on = |plane| {
            let ((from, _), (to, _)) = (self.attachment_on(from, plane)?, self.attachment_on(to, plane)?);
            self.distance(from, to).checked_add(1)
        };
        self.all_planes().filter_map(on).min().unwrap_or(NO_PATH)
    }
}

/// Numbering of a topology's directed channels: the output channels of all ports, router by router, then the injection
/// channels of the nodes, plane by plane.
#[derive(Clone, Debug)]
pub struct Channels {
    /// First channel of each router, followed by the number of ports of all routers together.
    first: Vec<u32>,
    nodes: u32,
    /// First router of each plane, followed by the number of all.
    planes: Vec<u32>,
}

impl Channels {
    /// Numbers the channels of a topology.
    pub fn new(topology: &dyn Topology) -> Self {
        let mut first = Vec::with_capacity(topology.routers() as usize + 1);
        let mut total = 0;
        first.push(0);
        for router in 0..topology.routers() {
            total += u32::from(topology.ports(RouterId(router)));
            first.push(total);
        }
        let routers = [0, topology.routers()];
        let planes = topology.views().networks.map_or(&routers[..], Networks::first_routers).to_vec();
        Self { first, nodes: topology.nodes(), planes }
    }

    /// Returns the channel that leaves a router by a port.
    #[inline]
    pub fn output(&self, router: RouterId, port: PortId) -> ChannelId {
        ChannelId(self.first[router.index()] + u32::from(port.0))
    }

    /// Returns the channel from a node into its router. Of several planes, this is the first.
    #[inline]
    pub fn injection(&self, node: NodeId) -> ChannelId {
        ChannelId(self.ports() + node.0)
    }

    /// Returns the channel from a node into its router in a plane.
    #[inline]
    pub fn injection_on(&self, node: NodeId, plane: PlaneId) -> ChannelId {
        ChannelId(self.ports() + u32::from(plane.0) * self.nodes + node.0)
    }

    /// Returns the plane of a router, as the topology does, without asking it.
    #[inline]
    pub fn plane_of(&self, router: RouterId) -> PlaneId {
        PlaneId((self.planes.partition_point(|&first| first <= router.0) - 1) as u8)
    }

    /// Returns the number of planes.
    pub fn planes(&self) -> u32 {
        self.planes.len() as u32 - 1
    }

    /// Returns the number of ports of all routers together, which is also the first injection channel.
    #[inline]
    pub fn ports(&self) -> u32 {
        self.first[self.first.len() - 1]
    }

    /// Returns the number of channels, those of unconnected ports included.
    #[inline]
    pub fn count(&self) -> u32 {
        self.ports() + self.planes() * self.nodes
    }

    /// Returns the router and port that an output channel leaves, or the node of an injection channel.
    pub fn source(&self, channel: ChannelId) -> ChannelSource {
        if channel.0 >= self.ports() {
            let number = channel.0 - self.ports();
            return ChannelSource::Node(NodeId(number % self.nodes), PlaneId((number / self.nodes) as u8));
        }
        let router = self.first.partition_point(|&first| first <= channel.0) - 1;
        ChannelSource::Router(RouterId(router as u32), PortId((channel.0 - self.first[router]) as u16))
    }
}

/// Near end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelSource {
    /// An output port of a router.
    Router(RouterId, PortId),
    /// A node, with the plane of the channel.
    Node(NodeId, PlaneId),
}

impl Record for ChannelSource {
    fn put(&self, to: &mut Vec<u8>) {
        match *self {
            Self::Router(router, port) => (0_u8, router, port).put(to),
            Self::Node(node, plane) => (1_u8, node, plane).put(to),
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(Self::Router(Record::take(from)?, Record::take(from)?)),
            1 => Some(Self::Node(Record::take(from)?, Record::take(from)?)),
            _ => None,
        }
    }
}
