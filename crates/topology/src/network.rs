//! The interface of topologies.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use units::{ChannelId, NodeId, PlaneId, PortId, RouterId};

/// The most nodes that a machine may have.
pub const MAX_NODES: u32 = 1 << 24;
/// The most routers that a machine may have.
pub const MAX_ROUTERS: u32 = 1 << 24;
/// The most ports that a router may have.
pub const MAX_PORTS: u16 = u16::MAX;

/// The most ports of all routers together, so that channels are numbered in 32 bits. Families whose nodes and routers
/// do not bound it check it.
pub const MAX_ALL_PORTS: u64 = 1 << 30;

/// What a router's port is wired to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The port of another router (or of the same one).
    Router(RouterId, PortId),
    /// A node.
    Node(NodeId),
    /// Nothing: the edge of a mesh, the upward ports of a fat-tree's top level.
    Unconnected,
}

/// A named set of channels that play the same part, such as `up`, `local` or `dim0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChannelClass(pub u8);

impl ChannelClass {
    /// Every topology's class 0: from a node into its router.
    pub const INJECTION: Self = Self(0);
    /// Every topology's class 1: from a router to a node.
    pub const EJECTION: Self = Self(1);
}

/// A machine's shape. Routers, nodes and the ports of each router are numbered from 0 without gaps.
///
/// Wiring is reciprocal: if port p of router r leads to port q of router s, then port q of s leads to p of r. A channel
/// is directed; the two directions of a wire are two channels.
pub trait Topology: Debug + Send + Sync {
    /// The family's name as the experiment file writes it.
    fn kind(&self) -> &'static str;
    /// The number of routers.
    fn routers(&self) -> u32;
    /// The number of nodes.
    fn nodes(&self) -> u32;
    /// The number of ports of a router, unconnected ones included.
    fn ports(&self, router: RouterId) -> u16;
    /// What a port is wired to.
    fn endpoint(&self, router: RouterId, port: PortId) -> Endpoint;
    /// The router and the port that a node is attached to; of several planes, in the first.
    fn attachment(&self, node: NodeId) -> (RouterId, PortId);
    /// The names of the classes of channels, by `ChannelClass`. The first is `injection`, the second `ejection`; the
    /// experiment file may override a link's parameters by these names (`[link.up]`).
    fn class_names(&self) -> Vec<&str>;
    /// The class of the channel that leaves by a port. Unspecified for an unconnected port.
    fn class(&self, router: RouterId, port: PortId) -> ChannelClass;
    /// The least number of channels from one router to another, in closed form where the family has one; `NO_PATH` if
    /// they are of different planes.
    fn distance(&self, from: RouterId, to: RouterId) -> u32;
    /// The largest distance between two routers that have nodes.
    fn diameter(&self) -> u32;
    /// The number of directed channels that cross the family's natural bisection in one direction, where it is known
    /// in closed form. Each family says what its bisection cuts.
    fn bisection_channels(&self) -> Option<u64>;
    /// The names of the components of a router's coordinates, such as `["level", "index"]`.
    fn coordinate_names(&self) -> Vec<String>;
    /// A router's coordinates, as many as `coordinate_names`.
    fn coordinates(&self, router: RouterId) -> Vec<u32>;
    /// The sizes of the dimensions if the routers fill a grid (a torus, a mesh), for the patterns that move along
    /// dimensions. `Some` promises that a router's number is its coordinates in mixed radix, first dimension fastest,
    /// and that every router has the same number of nodes, numbered router by router.
    fn grid(&self) -> Option<Vec<u32>> {
        None
    }
    /// The number of groups, if the machine consists of equal groups of routers with the nodes of each numbered
    /// consecutively, group by group.
    fn groups(&self) -> Option<u32> {
        None
    }
    /// A sort key that places routers with much traffic between them close together; a run that is divided over threads
    /// cuts the routers in this order. It cannot change a result.
    fn locality(&self, router: RouterId) -> u64 {
        u64::from(router.0)
    }
    /// The number of planes: disjoint copies of one network, each with every node on it. The routers of a plane are
    /// numbered after those of the plane before, each in the order of the first.
    fn planes(&self) -> u32 {
        1
    }
    /// The network of which every plane is a copy, if there are several.
    fn plane(&self) -> Option<&Arc<dyn Topology>> {
        None
    }
    /// What the reader of its file has left out or assumed, one sentence each.
    fn notes(&self) -> &[String] {
        self.plane().map_or(&[], |plane| plane.notes())
    }
    /// The topology as its own type, for the routings of one family; of several planes, that of each.
    fn as_any(&self) -> &dyn Any;

    /// Routers of a plane.
    fn plane_routers(&self) -> u32 {
        self.routers() / self.planes()
    }
    /// The plane of a router.
    fn plane_of(&self, router: RouterId) -> PlaneId {
        PlaneId((router.0 / self.plane_routers()) as u8)
    }
    /// The router and the port that a node is attached to in a plane.
    fn attachment_on(&self, node: NodeId, plane: PlaneId) -> (RouterId, PortId) {
        let (router, port) = self.attachment(node);
        (RouterId(router.0 + u32::from(plane.0) * self.plane_routers()), port)
    }

    /// Router hops between two nodes: the number of routers that a packet traverses on a shortest path.
    fn routers_between(&self, from: NodeId, to: NodeId) -> u32 {
        self.distance(self.attachment(from).0, self.attachment(to).0) + 1
    }
}

/// The distance of routers between which there is no path.
pub const NO_PATH: u32 = u32::MAX;

/// The numbering of a topology's directed channels: the output channels of all ports, router by router, then the
/// injection channels of the nodes, plane by plane.
#[derive(Clone, Debug)]
pub struct Channels {
    /// The first channel of each router, and one entry more: the number of ports of all routers together.
    first: Vec<u32>,
    nodes: u32,
    planes: u32,
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
        Self { first, nodes: topology.nodes(), planes: topology.planes() }
    }

    /// The channel that leaves a router by a port.
    #[inline]
    pub fn output(&self, router: RouterId, port: PortId) -> ChannelId {
        ChannelId(self.first[router.index()] + u32::from(port.0))
    }

    /// The channel from a node into its router; of several planes, in the first.
    #[inline]
    pub fn injection(&self, node: NodeId) -> ChannelId {
        ChannelId(self.ports() + node.0)
    }

    /// The channel from a node into its router in a plane.
    #[inline]
    pub fn injection_on(&self, node: NodeId, plane: PlaneId) -> ChannelId {
        ChannelId(self.ports() + u32::from(plane.0) * self.nodes + node.0)
    }

    /// The channel of a plane that is a copy of one of the first.
    pub fn copy_on(&self, channel: ChannelId, plane: PlaneId) -> ChannelId {
        let of_plane = if channel.0 < self.ports() { self.ports() / self.planes } else { self.nodes };
        ChannelId(channel.0 + u32::from(plane.0) * of_plane)
    }

    /// The number of ports of all routers together: the first injection channel.
    #[inline]
    pub fn ports(&self) -> u32 {
        self.first[self.first.len() - 1]
    }

    /// The number of channels, those of unconnected ports included.
    #[inline]
    pub fn count(&self) -> u32 {
        self.ports() + self.planes * self.nodes
    }

    /// The router and port that an output channel leaves, or the node of an injection channel.
    pub fn source(&self, channel: ChannelId) -> ChannelSource {
        if channel.0 >= self.ports() {
            let number = channel.0 - self.ports();
            return ChannelSource::Node(NodeId(number % self.nodes), PlaneId((number / self.nodes) as u8));
        }
        let router = self.first.partition_point(|&first| first <= channel.0) - 1;
        ChannelSource::Router(RouterId(router as u32), PortId((channel.0 - self.first[router]) as u16))
    }
}

/// Where a channel starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelSource {
    /// At a router's output port.
    Router(RouterId, PortId),
    /// At a node, into a plane.
    Node(NodeId, PlaneId),
}

/// Why a topology cannot be built. `key` is the experiment file's key under `[topology]` that is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TopologyError {
    /// The key under `[topology]`.
    pub key: &'static str,
    /// What is wrong and what is allowed, as one sentence.
    pub message: String,
}

impl TopologyError {
    /// An error at a key.
    pub fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { key, message: message.into() }
    }
}

/// The product of sizes, or `None` if it is above a limit.
pub(crate) fn product(sizes: impl IntoIterator<Item = u64>, limit: u32) -> Option<u32> {
    let product = sizes.into_iter().try_fold(1_u64, u64::checked_mul)?;
    u32::try_from(product).ok().filter(|&product| product <= limit)
}
