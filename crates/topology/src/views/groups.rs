//! Routers in equal groups: the ports and global wires of dragonflies.

use std::sync::OnceLock;

use units::{NodeId, PortId, RouterId};

use crate::divisor::Divisor;
use crate::network::Topology;
use crate::wired::{MAX_WIRED_PORTS, difference, neighbours};
use crate::wires::{ChannelClass, Endpoint, MAX_PORTS};

/// Far end of an unconnected global port.
pub(crate) const NONE: u32 = u32::MAX;

/// Sizes of a network of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupsSize {
    /// Nodes on each router.
    pub p: u32,
    /// Routers of each group.
    pub a: u32,
    /// Global ports of each router.
    pub h: u32,
    /// Number of groups.
    pub g: u32,
}

/// Equal groups of routers, each a small network, joined by global wires.
#[derive(Clone, Debug)]
pub struct Groups {
    pub(crate) size: GroupsSize,
    pub(crate) group: GroupNetwork,
    /// Global port at the other end, by router and global port; `NONE` if the port is unconnected. All global ports are
    /// numbered router by router.
    pub(crate) far: Vec<u32>,
    pub(crate) by_p: Divisor,
    pub(crate) by_a: Divisor,
    /// Division by the number of nodes of a group.
    pub(crate) by_group: Divisor,
    pub(crate) diameter: OnceLock<u32>,
}

impl Groups {
    /// Returns the dragonfly that a network with groups is, apart from the order of ports. `groups` has the group of each
    /// router. `None` unless each group is a full mesh of as many routers, numbered group by group, every router has
    /// equally many nodes, numbered router by router, any two groups are wired, and the ports of all routers, which have
    /// as many global ports as the router with most, fit a table.
    pub(crate) fn of_network(network: &dyn Topology, groups: &[u32]) -> Option<Self> {
        let (routers, nodes) = (network.routers(), network.nodes());
        let a = groups.iter().position(|&group| group != groups[0])? as u32;
        let (p, g) = (nodes / routers, routers / a);
        let number = |router: RouterId| router.0 / a;
        if p == 0 || p * routers != nodes || g * a != routers {
            return None;
        }
        let fits = |router: RouterId| groups[router.index()] == groups[(number(router) * a) as usize];
        let mut distinct: Vec<u32> = groups.iter().copied().step_by(a as usize).collect();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() != g as usize || !(0..routers).map(RouterId).all(fits) {
            return None;
        }
        // Ports of the wires between groups, by router, and the two ends of those wires.
        let is_global = |from: RouterId, to: RouterId| number(from) != number(to);
        let globals = |router| neighbours(network, router).filter(move |&(_, next)| is_global(router, next));
        let ports: Vec<Vec<PortId>> =
            (0..routers).map(|router| globals(RouterId(router)).map(|(port, _)| port).collect()).collect();
        let h = ports.iter().map(Vec::len).max()? as u32;
        let parallel = neighbours(network, RouterId(0)).filter(|&(_, next)| next == RouterId(1) && a > 1).count();
        let group = GroupNetwork { dims: [a, 1], wires: [parallel.max(1) as u16; 2] };
        let all = u64::from(p) + u64::from(a - 1) * parallel.max(1) as u64 + u64::from(h);
        if all > u64::from(MAX_PORTS) || all * u64::from(routers) > u64::from(MAX_WIRED_PORTS) {
            return None;
        }
        let mut far = vec![NONE; (routers * h) as usize];
        let mut joined = vec![false; (g * g) as usize];
        for (router, own) in (0..).map(RouterId).zip(&ports) {
            for (place, &port) in (0..).zip(own) {
                let Endpoint::Router(next, next_port) = network.endpoint(router, port) else { return None };
                let there = ports[next.index()].iter().position(|&port| port == next_port)?;
                far[(router.0 * h + place) as usize] = next.0 * h + there as u32;
                joined[(number(router) * g + number(next)) as usize] = true;
            }
        }
        let all_joined = (0..g * g).all(|pair| pair / g == pair % g || joined[pair as usize]);
        let made = Self::of(GroupsSize { p, a, h, g }, group, far);
        (all_joined && difference(network, &made).is_none()).then_some(made)
    }

    /// Creates groups of checked sizes with the global wires `far`.
    pub(crate) fn of(size: GroupsSize, group: GroupNetwork, far: Vec<u32>) -> Self {
        Self {
            far,
            by_p: Divisor::new(size.p),
            by_a: Divisor::new(size.a),
            by_group: Divisor::new(size.a * size.p),
            diameter: OnceLock::new(),
            size,
            group,
        }
    }

    /// Class of the channels within groups.
    pub const LOCAL: ChannelClass = ChannelClass(2);
    /// Class of the channels between groups.
    pub const GLOBAL: ChannelClass = ChannelClass(3);

    /// Returns the sizes.
    #[inline]
    pub fn size(&self) -> GroupsSize {
        self.size
    }

    /// Returns the network inside every group.
    #[inline]
    pub fn group(&self) -> &GroupNetwork {
        &self.group
    }

    /// Returns a router's group and its number in the group.
    #[inline]
    pub fn place(&self, router: RouterId) -> (u32, u32) {
        self.by_a.split(router.0)
    }

    /// Returns a node's group and its number in the group.
    #[inline]
    pub fn place_of_node(&self, node: NodeId) -> (u32, u32) {
        self.by_group.split(node.0)
    }

    /// Returns the number of nodes of a group.
    pub fn nodes_of_group(&self) -> u32 {
        self.size.a * self.size.p
    }

    /// Returns the router with a `number` in a group.
    #[inline]
    pub fn router(&self, group: u32, number: u32) -> RouterId {
        RouterId(group * self.size.a + number)
    }

    /// Returns a router's port to a node, given the node's number on the router.
    #[inline]
    pub fn node_port(&self, number: u32) -> PortId {
        PortId(number as u16)
    }

    /// Returns a router's port into its group, given the port's number in the group's network.
    #[inline]
    pub fn local_port(&self, number: u16) -> PortId {
        PortId(self.size.p as u16 + number)
    }

    /// Returns a router's global port. `number` is from 0 to h-1.
    #[inline]
    pub fn global_port(&self, number: u32) -> PortId {
        PortId((self.size.p + u32::from(self.group.ports()) + number) as u16)
    }

    /// Returns the router at the other end of a global port, and its global port there; `None` if the port is
    /// unconnected.
    #[inline]
    pub fn across(&self, router: RouterId, number: u32) -> Option<(RouterId, u32)> {
        match self.far[(router.0 * self.size.h + number) as usize] {
            NONE => None,
            far => Some((RouterId(far / self.size.h), far % self.size.h)),
        }
    }
}

/// Network inside every group. Routers are numbered first dimension fastest. A router's ports lead first to the other
/// routers of its line in the first dimension, in ascending order, then to those in the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupNetwork {
    pub(crate) dims: [u32; 2],
    /// Number of parallel wires between two routers, by dimension. Their ports follow one another.
    pub(crate) wires: [u16; 2],
}

impl GroupNetwork {
    /// Returns the sizes of the dimensions; the second is 1 in a full mesh.
    pub fn dims(&self) -> [u32; 2] {
        self.dims
    }

    /// Returns the number of a router's ports that lead into its group.
    #[inline]
    pub fn ports(&self) -> u16 {
        self.first_ports() + (self.dims[1] - 1) as u16 * self.wires[1]
    }

    /// Returns the number of a router's ports in the first dimension.
    #[inline]
    fn first_ports(&self) -> u16 {
        (self.dims[0] - 1) as u16 * self.wires[0]
    }

    /// Returns the number of parallel wires between two routers of a line, by dimension. Their ports follow one another.
    #[inline]
    pub fn wires(&self) -> [u16; 2] {
        self.wires
    }

    /// Returns the number of parallel wires of which one is at a port.
    #[inline]
    pub fn wires_at(&self, port: u16) -> u16 {
        self.wires[usize::from(port >= self.first_ports())]
    }

    /// Returns the router at the other end of a port, and its port there.
    pub fn far(&self, router: u32, port: u16) -> (u32, u16) {
        let (x, y) = (router % self.dims[0], router / self.dims[0]);
        let (first, wires) = (self.first_ports(), self.wires_at(port));
        if port < first {
            let other = across(x, port / wires);
            (other + self.dims[0] * y, port_to(other, x) * wires + port % wires)
        } else {
            let other = across(y, (port - first) / wires);
            (x + self.dims[0] * other, first + port_to(other, y) * wires + (port - first) % wires)
        }
    }

    /// Returns the first port of the next hop from a router to another, in the first dimension in which they differ;
    /// `None` if the routers are equal.
    pub fn toward(&self, from: u32, to: u32) -> Option<u16> {
        let (x, y) = (from % self.dims[0], from / self.dims[0]);
        let (to_x, to_y) = (to % self.dims[0], to / self.dims[0]);
        if x != to_x {
            Some(port_to(x, to_x) * self.wires[0])
        } else if y != to_y {
            Some(self.first_ports() + port_to(y, to_y) * self.wires[1])
        } else {
            None
        }
    }

    /// Returns the number of channels on a shortest path between two routers.
    pub fn distance(&self, from: u32, to: u32) -> u32 {
        u32::from(from % self.dims[0] != to % self.dims[0]) + u32::from(from / self.dims[0] != to / self.dims[0])
    }

    /// Returns the largest distance, in channels.
    pub fn diameter(&self) -> u32 {
        self.dims.iter().filter(|&&size| size > 1).count() as u32
    }
}

/// Returns the router that a port of a line leads to. The ports of a line skip the router itself.
fn across(own: u32, port: u16) -> u32 {
    u32::from(port) + u32::from(u32::from(port) >= own)
}

/// Returns the port of a line that leads to another router of it.
fn port_to(own: u32, other: u32) -> u16 {
    (if other < own { other } else { other - 1 }) as u16
}
