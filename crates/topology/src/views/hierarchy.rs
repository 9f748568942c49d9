//! Routers in levels: the wiring of extended generalised fat-trees, which their families are.
//!
//! Bisection. Let U be the number of wires up from the switches above one leaf of level l, within a subtree of B
//! places, and t the largest B / U of all levels, or 1 if that is larger. Any permutation loads no channel with more
//! than t if packets go up by ports at random: so half of the n nodes cannot be cut off by fewer than n / 2 / t
//! channels. In a tree that is nowhere tapered (t = 1) the links of half of the nodes are such a cut, and in a full
//! tree the wires up from half of the subtrees of the level with the largest B / U, if their number is even. Otherwise
//! there is no closed form.

use units::{KeyError, NodeId, PortId, RouterId};

use crate::divisor::Divisor;
use crate::network::{Topology, Views};
use crate::wires::{ChannelClass, Endpoint, MAX_ALL_PORTS, MAX_NODES, MAX_PORTS, MAX_ROUTERS, product};

/// Tree of switches in levels, in which each switch reaches a node below it by one child: an XGFT with parallel wires.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// Name of the family.
    kind: &'static str,
    nodes: u32,
    /// Levels of switches, from the leaves.
    levels: Vec<Level>,
    /// Nodes below each router. Read by routing at every hop.
    subtrees: Vec<Subtree>,
}

/// Numbers of children, parents and wires of a tree, by level from the nodes up: XGFT(h; m; w) with p parallel wires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeShape {
    /// Children of a switch.
    pub m: Vec<u64>,
    /// Parents of a node (1) and of the switches below each level.
    pub w: Vec<u64>,
    /// Parallel wires between a child and a parent.
    pub p: Vec<u64>,
}

impl TreeShape {
    /// Fails if a number of children, parents or wires is 0, or above the ports of a switch.
    pub(crate) fn check_number(key: &'static str, number: u64) -> Result<(), KeyError> {
        if (1..=u64::from(MAX_PORTS)).contains(&number) {
            return Ok(());
        }
        Err(KeyError::new(key, format!("`{key}` has {number}; 1 to {MAX_PORTS} are allowed")))
    }

    /// Fails at a key if a tree of numbers from 1 to `MAX_PORTS` exceeds a limit.
    pub(crate) fn check(&self, key: &'static str) -> Result<(), KeyError> {
        let Self { m, w, p } = self;
        let refuse = |what: String| Err(KeyError::new(key, format!("`{key}` makes too large a tree: {what}")));
        if product(m.iter().copied(), MAX_NODES).is_none() {
            return refuse(format!("at most {MAX_NODES} (2^24) nodes are allowed"));
        }
        let (mut routers, mut all_ports) = (0, 0);
        for level in 0..m.len() {
            let others = w[1..=level].iter().chain(&m[level + 1..]).copied();
            let Some(count) = product(others, MAX_ROUTERS).filter(|count| routers + count <= MAX_ROUTERS) else {
                return refuse(format!("at most {MAX_ROUTERS} (2^24) switches are allowed"));
            };
            routers += count;
            let up = w.get(level + 1).map_or(0, |parents| parents * p[level + 1]);
            let ports = m[level] * p[level] + up;
            if ports > u64::from(MAX_PORTS) {
                let of_level = format!("switches of level {level} would have {ports} ports");
                return refuse(format!("{of_level}, at most {MAX_PORTS} are allowed"));
            }
            all_ports += u64::from(count) * ports;
        }
        if all_ports > MAX_ALL_PORTS {
            return refuse(format!("its switches would have {all_ports} ports, at most {MAX_ALL_PORTS} are allowed"));
        }
        Ok(())
    }
}

/// Equal switches of one level, l.
#[derive(Clone, Debug)]
struct Level {
    /// Division by the number of nodes below a child: m_1 ... m_l.
    child_nodes: Divisor,
    /// Division by the number of children, m_(l+1).
    children: Divisor,
    /// Number of wires to each child, p_(l+1).
    wires: u16,
    /// Number of down ports, which is the first up port.
    down_ports: u16,
    /// Number of connected up ports, w_(l+2) p_(l+2); 0 at the top.
    up_ports: u16,
    /// Number of ports.
    ports: u16,
    /// Division by the number of wires to each parent, p_(l+2).
    up_wires: Divisor,
    /// Division by the number of up ports. 1 at the top.
    by_up_ports: Divisor,
    /// Division by the number of parents, w_(l+2). 1 at the top.
    parents: Divisor,
    /// Division by the number of switches of this level above one leaf: w_2 ... w_(l+1).
    peers: Divisor,
    /// Number of the first switch.
    first: u32,
    /// Number of switches.
    count: u32,
}

/// Nodes below a switch: those whose number divided by m_1 ... m_(l+1) is `number`.
#[derive(Clone, Copy, Debug)]
struct Subtree {
    number: u32,
    level: u8,
}

/// Ports by which a switch passes packets on to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// First port.
    pub first: PortId,
    /// Number of consecutive ports: the parallel wires to a child, or all up ports.
    pub count: u16,
    /// Whether the node is below the switch.
    pub down: bool,
}

impl Level {
    /// Returns the number of nodes below a switch.
    fn nodes_below(&self) -> u32 {
        self.child_nodes.get() * self.children.get()
    }

    /// Returns the number of the subtree of this level that has a node.
    fn subtree_of(&self, node: u32) -> u32 {
        self.children.quotient(self.child_nodes.quotient(node))
    }
}

impl Hierarchy {
    /// Class of the channels towards the top.
    pub const UP: ChannelClass = ChannelClass(2);
    /// Class of the channels between switches towards the leaves.
    pub const DOWN: ChannelClass = ChannelClass(3);

    /// Creates a tree of checked sizes, in which the first `nodes` places have nodes. Switches of the top level have
    /// `spare` unconnected up ports.
    pub(crate) fn of(kind: &'static str, shape: &TreeShape, nodes: u32, spare: u16) -> Self {
        let top = shape.m.len() - 1;
        // Subtrees of a level, and switches in each of them.
        let mut subtrees: u32 = shape.m.iter().product::<u64>() as u32;
        let (mut below, mut peers, mut first) = (1, 1, 0);
        let mut levels = Vec::with_capacity(top + 1);
        for level in 0..=top {
            let (m, wires) = (shape.m[level] as u32, shape.p[level] as u16);
            let above = |numbers: &[u64]| numbers.get(level + 1).map_or(1, |&number| number as u32);
            let (parents, up_wires) = (above(&shape.w), above(&shape.p));
            subtrees /= m;
            let count = subtrees * peers;
            let down_ports = m as u16 * wires;
            let up_ports = if level < top { (parents * up_wires) as u16 } else { 0 };
            levels.push(Level {
                child_nodes: Divisor::new(below),
                children: Divisor::new(m),
                wires,
                down_ports,
                up_ports,
                ports: down_ports + if level < top { up_ports } else { spare },
                up_wires: Divisor::new(up_wires),
                by_up_ports: Divisor::new(parents * up_wires),
                parents: Divisor::new(parents),
                peers: Divisor::new(peers),
                first,
                count,
            });
            first += count;
            below *= m;
            peers *= parents;
        }
        let subtrees = (0..).zip(&levels).flat_map(|(number, level)| {
            (0..level.count).map(move |index| Subtree { number: level.peers.quotient(index), level: number })
        });
        Self { kind, nodes, subtrees: subtrees.collect(), levels }
    }

    /// Returns the number of levels of switches.
    #[inline]
    pub fn levels(&self) -> u8 {
        self.levels.len() as u8
    }

    /// Returns the level of a switch; 0 is the leaf level.
    #[inline]
    pub fn level(&self, router: RouterId) -> u8 {
        self.subtrees[router.index()].level
    }

    /// Returns the number of children of a switch of a level.
    pub fn children(&self, level: u8) -> u32 {
        self.levels[usize::from(level)].children.get()
    }

    /// Returns the number of parallel wires between a switch of a level and each of its children. Above the top: 0.
    pub fn wires(&self, level: u8) -> u16 {
        self.levels.get(usize::from(level)).map_or(0, |level| level.wires)
    }

    /// Returns the number of parents of a switch of a level. 0 at the top.
    pub fn parents(&self, level: u8) -> u32 {
        let level = &self.levels[usize::from(level)];
        if level.up_ports == 0 { 0 } else { level.parents.get() }
    }

    /// Returns the number of places for nodes below a switch of a level.
    pub fn nodes_below(&self, level: u8) -> u32 {
        self.levels[usize::from(level)].nodes_below()
    }

    /// Returns the number of switches of a level above one leaf switch.
    pub fn peers(&self, level: u8) -> u32 {
        self.levels[usize::from(level)].peers.get()
    }

    /// Returns the first place for nodes below a switch.
    pub fn first_below(&self, router: RouterId) -> u32 {
        let Subtree { number, level } = self.subtrees[router.index()];
        number * self.nodes_below(level)
    }

    /// Returns whether every place has a node.
    pub fn is_full(&self) -> bool {
        self.nodes == self.nodes_below(self.levels() - 1)
    }

    /// Returns the first up port of a switch and the number of its connected up ports.
    #[inline]
    pub fn up_ports(&self, router: RouterId) -> (PortId, u16) {
        let level = &self.levels[usize::from(self.level(router))];
        (PortId(level.down_ports), level.up_ports)
    }

    /// Returns whether a node is below a switch, so that only down ports lead to it.
    #[inline]
    pub fn is_ancestor(&self, router: RouterId, node: NodeId) -> bool {
        self.passage(router, node).down
    }

    /// Returns the ports of a switch on the shortest paths to a node.
    #[inline]
    pub fn passage(&self, router: RouterId, node: NodeId) -> Passage {
        let Subtree { number, level } = self.subtrees[router.index()];
        let level = &self.levels[usize::from(level)];
        let (subtree, child) = level.children.split(level.child_nodes.quotient(node.0));
        if subtree == number {
            Passage { first: PortId(child as u16 * level.wires), count: level.wires, down: true }
        } else {
            Passage { first: PortId(level.down_ports), count: level.up_ports, down: false }
        }
    }

    /// Returns the port of a switch towards a node by destination-based routing (D-mod-K).
    ///
    /// The number of the node is written in the mixed radix w_2, w_3, .... Digit l names the parent on the way up from
    /// level l, and the digits above it, modulo p_(l+2), the wire between the two on the way up and on the way down
    /// (Zahavi, "Fat-tree routing and node ordering providing contention free traffic for MPI global collectives",
    /// JPDC 2012). So the destinations of any consecutive nodes are spread evenly over the parents.
    #[inline]
    pub fn destination_port(&self, router: RouterId, node: NodeId) -> PortId {
        let at = self.level(router);
        let passage = self.passage(router, node);
        if passage.count == 1 {
            return passage.first;
        }
        // The wires down are those up from the level below.
        let level = &self.levels[usize::from(at) - usize::from(passage.down)];
        let place = level.by_up_ports.remainder(level.peers.quotient(node.0));
        let (wire, parent) = level.parents.split(place);
        let port = if passage.down { wire } else { parent * level.up_wires.get() + wire };
        PortId(passage.first.0 + port as u16)
    }

    /// Returns the leaf switch of a node, and the node's number there.
    fn leaf(&self, node: NodeId) -> (u32, u32) {
        self.levels[0].children.split(node.0)
    }

    /// Returns the number of a router within its level.
    fn index(&self, router: RouterId) -> u32 {
        router.0 - self.levels[usize::from(self.level(router))].first
    }

    /// Returns the far end of an up port, which is counted from the first.
    fn above(&self, router: RouterId, up: u16) -> Endpoint {
        let Subtree { number, level } = self.subtrees[router.index()];
        let own = &self.levels[usize::from(level)];
        let Some(next) = self.levels.get(usize::from(level) + 1) else { return Endpoint::Unconnected };
        let peer = self.index(router) - number * own.peers.get();
        let (parent, wire) = own.up_wires.split(u32::from(up));
        let (subtree, child) = next.children.split(number);
        let index = peer + own.peers.get() * parent + next.peers.get() * subtree;
        Endpoint::Router(RouterId(next.first + index), PortId(child as u16 * next.wires + wire as u16))
    }

    /// Returns the far end of a down port.
    fn below(&self, router: RouterId, port: u16) -> Endpoint {
        let Subtree { number, level } = self.subtrees[router.index()];
        let own = &self.levels[usize::from(level)];
        let (child, wire) = (u32::from(port / own.wires), port % own.wires);
        let subtree = number * own.children.get() + child;
        let Some(next) = usize::from(level).checked_sub(1).map(|level| &self.levels[level]) else {
            return if subtree < self.nodes { Endpoint::Node(NodeId(subtree)) } else { Endpoint::Unconnected };
        };
        let (parent, peer) = next.peers.split(self.index(router) - number * own.peers.get());
        let up = parent as u16 * own.wires + wire;
        Endpoint::Router(RouterId(next.first + peer + next.peers.get() * subtree), PortId(next.down_ports + up))
    }

    /// Returns the lowest level that a path between two switches must touch to change the digits of the parents that
    /// both have chosen. They are chosen below the level `low` of the lower switch.
    fn bottom(&self, one: RouterId, other: RouterId, low: u8) -> u8 {
        let differ = |&level: &u8| {
            let peers = self.levels[usize::from(level) + 1].peers;
            peers.remainder(self.index(one)) != peers.remainder(self.index(other))
        };
        (0..low).find(differ).unwrap_or(low)
    }

    /// Returns the lowest level from `high` on at which the nodes below two switches are below one.
    fn top(&self, one: u32, other: u32, high: u8) -> u8 {
        let meet = |level: &u8| {
            let level = &self.levels[usize::from(*level)];
            level.subtree_of(one) == level.subtree_of(other)
        };
        (high..self.levels()).find(meet).unwrap_or(self.levels() - 1)
    }
}

impl Topology for Hierarchy {
    fn kind(&self) -> &'static str {
        self.kind
    }

    /// Sorts by the place in the level: switches above common leaves are near each other at any level.
    fn locality(&self, router: RouterId) -> u64 {
        let level = &self.levels[usize::from(self.level(router))];
        let place = u64::from(self.index(router)) * u64::from(self.levels[0].count) / u64::from(level.count);
        place * u64::from(self.levels()) + u64::from(self.level(router))
    }

    fn routers(&self) -> u32 {
        self.subtrees.len() as u32
    }

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn ports(&self, router: RouterId) -> u16 {
        self.levels[usize::from(self.level(router))].ports
    }

    fn endpoint(&self, router: RouterId, port: PortId) -> Endpoint {
        match port.0.checked_sub(self.up_ports(router).0.0) {
            Some(up) => self.above(router, up),
            None => self.below(router, port.0),
        }
    }

    fn attachment(&self, node: NodeId) -> (RouterId, PortId) {
        let (leaf, port) = self.leaf(node);
        (RouterId(leaf), PortId(port as u16))
    }

    fn class_names(&self) -> Vec<&str> {
        vec!["injection", "ejection", "up", "down"]
    }

    fn class(&self, router: RouterId, port: PortId) -> ChannelClass {
        if port >= self.up_ports(router).0 {
            Self::UP
        } else if self.level(router) == 0 {
            ChannelClass::EJECTION
        } else {
            Self::DOWN
        }
    }

    /// Returns the length of a walk over levels, from one end's to the other's, that passes every wire on which a
    /// choice of child or parent in which the two differ is made.
    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        let (one, other) = (self.level(from), self.level(to));
        let (low, high) = (one.min(other), one.max(other));
        let bottom = self.bottom(from, to, low);
        let top = self.top(self.first_below(from), self.first_below(to), high);
        u32::from(low - bottom) + u32::from(top - bottom) + u32::from(top - high)
    }

    fn diameter(&self) -> u32 {
        2 * u32::from(self.top(0, self.nodes - 1, 0))
    }

    fn bisection_channels(&self) -> Option<u64> {
        // Nodes and wires up of a subtree of each level below the top.
        let below_top = (0..self.levels() - 1).map(|level| {
            let up_ports = self.parents(level) * u32::from(self.wires(level + 1));
            (u64::from(self.nodes_below(level)), u64::from(self.peers(level)) * u64::from(up_ports))
        });
        let narrower = |(nodes, wires): (u64, u64), (other, others): (u64, u64)| nodes * others > other * wires;
        let narrowest = below_top.clone().fold((1, 1), |most, level| if narrower(level, most) { level } else { most });
        if narrowest == (1, 1) {
            return Some(u64::from(self.nodes / 2));
        }
        let as_narrow = below_top.filter(|&level| !narrower(narrowest, level));
        let halves = as_narrow.map(|(nodes, wires)| (u64::from(self.nodes) / nodes, wires));
        let mut even = halves.filter(|(subtrees, _)| self.is_full() && subtrees.is_multiple_of(2));
        even.next().map(|(subtrees, wires)| subtrees / 2 * wires)
    }

    fn coordinate_names(&self) -> Vec<String> {
        vec!["level".into(), "index".into()]
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        vec![u32::from(self.level(router)), self.index(router)]
    }

    fn views(&self) -> Views<'_> {
        Views { hierarchy: Some(self), consecutive: true, ..Views::default() }
    }
}
