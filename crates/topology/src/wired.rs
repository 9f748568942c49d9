//! Topologies whose wires and distances are tables: the base of families without closed forms of their ports.
//!
//! A family lists its wires and nodes in a [`WireList`], and adds its names in a [`Shape`]. The ports of a router are
//! numbered in the order in which the list mentions it. Distances are a table from breadth-first search, 2 bytes for
//! each pair of routers, or 1 bit if no distance is above 2. This limits the number of routers.

use std::collections::VecDeque;
use std::fmt::Debug;

use units::{KeyError, NodeId, PortId, RouterId};

use crate::network::{Topology, Views};
use crate::wires::{ChannelClass, Endpoint, MAX_PORTS};

/// Maximum number of routers of a topology of tables.
pub(crate) const MAX_WIRED_ROUTERS: u32 = 4096;
/// Maximum number of ports of all routers of a topology of tables.
pub(crate) const MAX_WIRED_PORTS: u32 = 1 << 20;
/// Maximum number of ports of all routers of a family whose distances are at most 2.
pub(crate) const MAX_SHORT_PORTS: u32 = 1 << 22;

/// Properties of a family that its wires do not tell.
pub(crate) trait Shape: Debug + Send + Sync {
    /// Returns the family's name as the experiment file writes it.
    fn kind(&self) -> &'static str;
    /// Returns the names of the channel classes.
    fn class_names(&self) -> Vec<&str>;
    /// Returns the names of the components of a router's coordinates.
    fn coordinate_names(&self) -> Vec<String>;
    /// Returns a router's coordinates.
    fn coordinates(&self, router: RouterId) -> Vec<u32>;
    /// Returns the optional properties.
    fn views(&self) -> Views<'_> {
        Views::default()
    }
}

/// Topology of tables.
#[derive(Clone, Debug)]
pub struct Wired<S> {
    pub(crate) shape: S,
    wires: Wires,
    distances: Distances,
    diameter: u32,
}

/// Distances by pair of routers, source-major, in channels.
#[derive(Clone, Debug)]
enum Distances {
    /// Distance of each pair.
    Table(Vec<u16>),
    /// A bit for each pair, whether a wire joins the routers. Other distances are 2.
    Short(Vec<u64>),
}

/// Ends of all ports.
#[derive(Clone, Debug)]
struct Wires {
    /// First port of each router in the tables of ports, followed by the number of all ports.
    first: Vec<u32>,
    endpoints: Vec<Endpoint>,
    classes: Vec<ChannelClass>,
    attachments: Vec<(RouterId, PortId)>,
}

/// Wires and nodes of a network, in the order of their ports.
#[derive(Clone, Debug, Default)]
pub(crate) struct WireList {
    lines: Vec<Line>,
}

/// Parallel wires, or nodes of one router.
#[derive(Clone, Debug)]
struct Line {
    ends: Ends,
    count: u32,
}

/// Ends of a line of a list.
#[derive(Clone, Copy, Debug)]
enum Ends {
    Routers([RouterId; 2], ChannelClass),
    Node(RouterId),
}

/// Two routers without a path between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Apart {
    pub from: RouterId,
    pub to: RouterId,
}

impl Apart {
    /// Returns the error of a family whose networks ought to be connected.
    pub(crate) fn error(self) -> KeyError {
        KeyError::new("kind", format!("router {} cannot be reached from router {}", self.to, self.from))
    }
}

impl<S> Wired<S> {
    /// Copies a connected topology of one plane, with its ports. Requires at most [`MAX_WIRED_ROUTERS`] routers.
    pub(crate) fn copy(shape: S, topology: &dyn Topology) -> Result<Self, Apart> {
        let wires = Wires::of(topology);
        let (distances, diameter) = wires.measure()?;
        Ok(Self { shape, wires, distances, diameter })
    }

    /// Copies a topology of one plane with `counts` ports in place of each port, by router and port: parallel wires, or
    /// none. Requires equal numbers for the two ends of a wire, 1 for nodes, and the limits of tables.
    pub(crate) fn expanded(shape: S, topology: &dyn Topology, counts: &[Vec<u32>]) -> Result<Self, Apart> {
        let wires = Wires::expanded(topology, counts);
        let (distances, diameter) = wires.measure()?;
        Ok(Self { shape, wires, distances, diameter })
    }

    /// Renumbers the routers: that with the number `order[r]` becomes router r. Nodes are renumbered router by router.
    pub(crate) fn renumber(&mut self, order: &[RouterId]) {
        let mut new = vec![RouterId(0); order.len()];
        (0..).map(RouterId).zip(order).for_each(|(own, before)| new[before.index()] = own);
        let before = &self.wires;
        let mut wires = Wires { first: vec![0], endpoints: Vec::new(), classes: Vec::new(), attachments: Vec::new() };
        for (own, &old) in (0..).map(RouterId).zip(order) {
            let ports = before.first[old.index()] as usize..before.first[old.index() + 1] as usize;
            wires.classes.extend_from_slice(&before.classes[ports.clone()]);
            for (port, &end) in (0..).map(PortId).zip(&before.endpoints[ports]) {
                wires.endpoints.push(match end {
                    Endpoint::Router(next, far) => Endpoint::Router(new[next.index()], far),
                    Endpoint::Node(_) => {
                        wires.attachments.push((own, port));
                        Endpoint::Node(NodeId(wires.attachments.len() as u32 - 1))
                    }
                    Endpoint::Unconnected => Endpoint::Unconnected,
                });
            }
            wires.first.push(wires.endpoints.len() as u32);
        }
        let pairs = order.iter().flat_map(|&from| order.iter().map(move |&to| (from, to)));
        let renumbered =
            pairs.map(|(from, to)| self.distances.get(order.len(), from.index(), to.index()) as u16).collect();
        self.distances = Distances::of(renumbered, order.len());
        self.wires = wires;
    }

    /// Takes the ports and classes of a topology without a [`Difference`].
    pub(crate) fn take_ports(&mut self, other: &dyn Topology) {
        self.wires = Wires::of(other);
    }
}

/// Returns a difference between the routers, wires and nodes of two networks, apart from the order of ports.
pub(crate) fn difference(one: &dyn Topology, other: &dyn Topology) -> Option<Difference> {
    if (one.routers(), one.nodes()) != (other.routers(), other.nodes()) {
        return Some(Difference::Sizes);
    }
    let sorted = |topology: &dyn Topology, router| {
        let mut found: Vec<RouterId> = neighbours(topology, router).map(|(_, next)| next).collect();
        found.sort_unstable();
        found
    };
    let differs = |&router: &RouterId| sorted(one, router) != sorted(other, router);
    if let Some(router) = (0..one.routers()).map(RouterId).find(differs) {
        return Some(Difference::Wires(router));
    }
    let moved = |&node: &NodeId| one.attachment(node).0 != other.attachment(node).0;
    (0..one.nodes()).map(NodeId).find(moved).map(Difference::Node)
}

/// Iterates over the ports of a router to other routers, with these.
pub(crate) fn neighbours(topology: &dyn Topology, router: RouterId) -> impl Iterator<Item = (PortId, RouterId)> + '_ {
    (0..topology.ports(router)).map(PortId).filter_map(move |port| match topology.endpoint(router, port) {
        Endpoint::Router(next, _) => Some((port, next)),
        Endpoint::Node(_) | Endpoint::Unconnected => None,
    })
}

/// First difference of two networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// Numbers of routers or nodes.
    Sizes,
    /// Routers that a router is wired to.
    Wires(RouterId),
    /// Router of a node.
    Node(NodeId),
}

/// Returns the number of nodes on each router, by default half of the number of its wires, rounded up. Fails at
/// `nodes_per_router` if a router has no node, or if there would be more than `most_ports` ports in all.
pub(crate) fn nodes_on_each(
    given: Option<u64>,
    (wires, routers): (u32, u32),
    most_ports: u32,
) -> Result<u32, KeyError> {
    let most = u32::from(MAX_PORTS).min(most_ports / routers).saturating_sub(wires);
    let nodes = given.unwrap_or(u64::from(wires.div_ceil(2)));
    u32::try_from(nodes).ok().filter(|nodes| (1..=most).contains(nodes)).ok_or_else(|| {
        let message =
            format!("`nodes_per_router` is {nodes}; 1 to {most} are allowed on {routers} routers of {wires} wires");
        KeyError::new("nodes_per_router", message)
    })
}

impl WireList {
    /// Creates a list in which every router has the same number of nodes, numbered router by router.
    pub(crate) fn with_nodes(routers: u32, nodes_per_router: u32) -> Self {
        let line = |router| Line { ends: Ends::Node(RouterId(router)), count: nodes_per_router };
        Self { lines: (0..routers).map(line).collect() }
    }

    /// Adds parallel wires between two routers.
    pub(crate) fn wire(&mut self, ends: [RouterId; 2], class: ChannelClass, count: u32) {
        self.lines.push(Line { ends: Ends::Routers(ends, class), count });
    }

    /// Adds nodes to a router. Nodes are numbered in the order in which they are added.
    pub(crate) fn nodes(&mut self, router: RouterId, count: u32) {
        self.lines.push(Line { ends: Ends::Node(router), count });
    }

    /// Returns whether the list has no node.
    pub(crate) fn is_without_nodes(&self) -> bool {
        !self.lines.iter().any(|line| matches!(line.ends, Ends::Node(_)))
    }

    /// Renumbers all routers.
    pub(crate) fn renumber(&mut self, new: impl Fn(RouterId) -> RouterId) {
        for line in &mut self.lines {
            match &mut line.ends {
                Ends::Routers(ends, _) => *ends = ends.map(&new),
                Ends::Node(router) => *router = new(*router),
            }
        }
    }

    /// Builds the topology. Fails if a router cannot be reached from another. Requires routers below `routers`, at most
    /// [`MAX_WIRED_ROUTERS`] unless no distance is above 2, and at most `MAX_PORTS` ports on each.
    pub(crate) fn build<S: Shape>(self, shape: S, routers: u32) -> Result<Wired<S>, Apart> {
        let wires = self.wires(routers);
        let (distances, diameter) = wires.measure()?;
        Ok(Wired { shape, wires, distances, diameter })
    }

    fn wires(&self, routers: u32) -> Wires {
        let mut first = vec![0; routers as usize + 1];
        for line in &self.lines {
            let mut add = |router: RouterId| first[router.index() + 1] += line.count;
            match line.ends {
                Ends::Routers(ends, _) => ends.into_iter().for_each(add),
                Ends::Node(router) => add(router),
            }
        }
        for router in 0..routers as usize {
            first[router + 1] += first[router];
        }
        let total = first[routers as usize] as usize;
        let mut wires = Wires {
            first,
            endpoints: vec![Endpoint::Unconnected; total],
            classes: vec![ChannelClass::EJECTION; total],
            attachments: Vec::new(),
        };
        let mut used = vec![0_u16; routers as usize];
        let mut next_port = |router: RouterId| {
            used[router.index()] += 1;
            (router, PortId(used[router.index()] - 1))
        };
        for line in &self.lines {
            for _ in 0..line.count {
                match line.ends {
                    Ends::Routers(ends, class) => wires.connect(ends.map(&mut next_port), class),
                    Ends::Node(router) => wires.attach(next_port(router)),
                }
            }
        }
        wires
    }
}

impl Wires {
    /// Lists the wires of a topology of one plane.
    fn of(topology: &dyn Topology) -> Self {
        let mut first = vec![0];
        let (mut endpoints, mut classes) = (Vec::new(), Vec::new());
        for router in (0..topology.routers()).map(RouterId) {
            let ports = (0..topology.ports(router)).map(PortId);
            endpoints.extend(ports.clone().map(|port| topology.endpoint(router, port)));
            classes.extend(ports.map(|port| topology.class(router, port)));
            first.push(endpoints.len() as u32);
        }
        let attachments = (0..topology.nodes()).map(|node| topology.attachment(NodeId(node))).collect();
        Self { first, endpoints, classes, attachments }
    }

    /// Lists the wires of a topology with `counts` ports in place of each port.
    fn expanded(topology: &dyn Topology, counts: &[Vec<u32>]) -> Self {
        let mut plain = Self::of(topology);
        // First new port in place of each old one, by router and port.
        let starts = |of_router: &Vec<u32>| {
            let first = of_router.iter().scan(0, |next, &count| Some(std::mem::replace(next, *next + count)));
            first.map(|port| port as u16).collect()
        };
        let first: Vec<Vec<u16>> = counts.iter().map(starts).collect();
        let new = |router: RouterId, port: PortId| first[router.index()][port.index()];
        let mut made = Self { first: vec![0], endpoints: Vec::new(), classes: Vec::new(), attachments: Vec::new() };
        for (router, of_router) in (0..).map(RouterId).zip(counts) {
            for (port, &count) in (0..).map(PortId).zip(of_router) {
                let place = plain.place(router, port);
                let copy = |copy: u16| match plain.endpoints[place] {
                    Endpoint::Router(next, far) => Endpoint::Router(next, PortId(new(next, far) + copy)),
                    end => end,
                };
                made.endpoints.extend((0..count as u16).map(copy));
                made.classes.extend((0..count).map(|_| plain.classes[place]));
            }
            made.first.push(made.endpoints.len() as u32);
        }
        for (router, port) in &mut plain.attachments {
            *port = PortId(new(*router, *port));
        }
        made.attachments = plain.attachments;
        made
    }

    fn connect(&mut self, [one, other]: [(RouterId, PortId); 2], class: ChannelClass) {
        for ((router, port), (to, to_port)) in [(one, other), (other, one)] {
            let place = self.place(router, port);
            self.endpoints[place] = Endpoint::Router(to, to_port);
            self.classes[place] = class;
        }
    }

    fn attach(&mut self, (router, port): (RouterId, PortId)) {
        let place = self.place(router, port);
        self.endpoints[place] = Endpoint::Node(NodeId(self.attachments.len() as u32));
        self.attachments.push((router, port));
    }

    #[inline]
    fn place(&self, router: RouterId, port: PortId) -> usize {
        self.first[router.index()] as usize + port.index()
    }

    fn routers(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Returns all distances, and the largest between two routers that have nodes.
    fn measure(&self) -> Result<(Distances, u32), Apart> {
        let routers = self.routers();
        let neighbours: Vec<Vec<u32>> = (0..routers).map(|router| self.neighbours(RouterId(router))).collect();
        let mut has_nodes = vec![false; routers as usize];
        for (router, _) in &self.attachments {
            has_nodes[router.index()] = true;
        }
        let (mut distances, mut diameter) = (Distances::Short(Vec::new()), 0);
        let near = Near::new(&neighbours);
        for from in 0..routers {
            let row = near.row(from).unwrap_or_else(|| search(&neighbours, from));
            if let Some(alone) = row.iter().position(|&distance| distance == UNREACHED) {
                return Err(Apart { from: RouterId(from), to: RouterId(alone as u32) });
            }
            if has_nodes[from as usize] {
                let with_nodes = row.iter().zip(&has_nodes).filter(|&(_, &has)| has);
                diameter = with_nodes.map(|(&distance, _)| distance).fold(diameter, u16::max);
            }
            distances.push(&row, from as usize);
        }
        Ok((distances, u32::from(diameter)))
    }

    /// Returns the neighbours of a router, each once.
    fn neighbours(&self, router: RouterId) -> Vec<u32> {
        let ports = self.first[router.index()] as usize..self.first[router.index() + 1] as usize;
        let next = |endpoint: &Endpoint| if let Endpoint::Router(next, _) = endpoint { Some(next.0) } else { None };
        let mut neighbours: Vec<u32> = self.endpoints[ports].iter().filter_map(next).collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        neighbours
    }
}

/// Neighbours of each router as bits, by which distances of up to 2 channels are found many at a time.
struct Near<'a> {
    neighbours: &'a [Vec<u32>],
    bits: Vec<u64>,
}

impl<'a> Near<'a> {
    fn new(neighbours: &'a [Vec<u32>]) -> Self {
        let words = neighbours.len().div_ceil(64);
        let mut bits = vec![0; neighbours.len() * words];
        for (router, near) in neighbours.iter().enumerate() {
            near.iter().for_each(|&next| bits[router * words + next as usize / 64] |= 1 << (next % 64));
        }
        Self { neighbours, bits }
    }

    fn of(&self, router: u32) -> &[u64] {
        let words = self.neighbours.len().div_ceil(64);
        &self.bits[router as usize * words..][..words]
    }

    /// Returns the distances from a router to all. `None` if one of them is above 2.
    fn row(&self, from: u32) -> Option<Vec<u16>> {
        let mut reached = self.of(from).to_vec();
        reached[from as usize / 64] |= 1 << (from % 64);
        for &next in &self.neighbours[from as usize] {
            reached.iter_mut().zip(self.of(next)).for_each(|(word, more)| *word |= more);
        }
        if reached.iter().map(|word| word.count_ones() as usize).sum::<usize>() < self.neighbours.len() {
            return None;
        }
        let mut row = vec![2; self.neighbours.len()];
        self.neighbours[from as usize].iter().for_each(|&next| row[next as usize] = 1);
        row[from as usize] = 0;
        Some(row)
    }
}

impl Distances {
    /// Returns the distances of a table of all pairs.
    fn of(table: Vec<u16>, routers: usize) -> Self {
        let mut made = Self::Short(Vec::new());
        table.chunks(routers).enumerate().for_each(|(from, row)| made.push(row, from));
        made
    }

    /// Adds the distances from the next router, which has the number `from`.
    fn push(&mut self, row: &[u16], from: usize) {
        if let Self::Short(bits) = self {
            if row.iter().all(|&distance| distance <= 2) {
                let word = |of: &[u16]| (0..).zip(of).fold(0, |word, (bit, &at)| word | u64::from(at == 1) << bit);
                return bits.extend(row.chunks(64).map(word));
            }
            let before = (0..from).flat_map(|one| (0..row.len()).map(move |other| (one, other)));
            let table = before.map(|(one, other)| self.get(row.len(), one, other) as u16).collect();
            *self = Self::Table(table);
        }
        if let Self::Table(table) = self {
            table.extend_from_slice(row);
        }
    }

    /// Returns the distance between two of `routers` routers.
    #[inline]
    fn get(&self, routers: usize, from: usize, to: usize) -> u32 {
        match self {
            Self::Table(table) => u32::from(table[from * routers + to]),
            Self::Short(_) if from == to => 0,
            Self::Short(bits) => 2 - (bits[from * routers.div_ceil(64) + to / 64] >> (to % 64) & 1) as u32,
        }
    }
}

/// Distance of an unreached router, in channels. No path is as long, since there are fewer routers.
const UNREACHED: u16 = u16::MAX;

/// Returns the distances from a router to all, in channels.
fn search(neighbours: &[Vec<u32>], from: u32) -> Vec<u16> {
    let mut distances = vec![UNREACHED; neighbours.len()];
    distances[from as usize] = 0;
    let mut queue = VecDeque::from([from]);
    let mut left = neighbours.len() - 1;
    // Networks of short paths are known when a few routers have been visited.
    while let Some(router) = queue.pop_front().filter(|_| left > 0) {
        for &next in &neighbours[router as usize] {
            if distances[next as usize] == UNREACHED {
                distances[next as usize] = distances[router as usize] + 1;
                left -= 1;
                queue.push_back(next);
            }
        }
    }
    distances
}

impl<S: Shape> Topology for Wired<S> {
    fn kind(&self) -> &'static str {
        self.shape.kind()
    }

    fn routers(&self) -> u32 {
        self.wires.routers()
    }

    fn nodes(&self) -> u32 {
        self.wires.attachments.len() as u32
    }

    fn ports(&self, router: RouterId) -> u16 {
        (self.wires.first[router.index() + 1] - self.wires.first[router.index()]) as u16
    }

    fn endpoint(&self, router: RouterId, port: PortId) -> Endpoint {
        self.wires.endpoints[self.wires.place(router, port)]
    }

    fn attachment(&self, node: NodeId) -> (RouterId, PortId) {
        self.wires.attachments[node.index()]
    }

    fn class_names(&self) -> Vec<&str> {
        self.shape.class_names()
    }

    fn class(&self, router: RouterId, port: PortId) -> ChannelClass {
        self.wires.classes[self.wires.place(router, port)]
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        self.distances.get(self.routers() as usize, from.index(), to.index())
    }

    fn diameter(&self) -> u32 {
        self.diameter
    }

    /// Returns `None`: no family of tables has a closed form.
    fn bisection_channels(&self) -> Option<u64> {
        None
    }

    fn coordinate_names(&self) -> Vec<String> {
        self.shape.coordinate_names()
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        self.shape.coordinates(router)
    }

    fn views(&self) -> Views<'_> {
        self.shape.views()
    }
}
