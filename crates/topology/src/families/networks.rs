//! Several networks as one topology: networks in planes, and networks of islands.
//!
//! A *plane* is a copy of a network into which each of the network's endpoints has one channel (a *rail*). Planes are
//! numbered network by network. An *island* is a copy of a network's topology with some of the endpoints; a network of
//! several islands has several in each plane. Routers are numbered plane by plane, and island by island within a plane;
//! ports are those of the copied topology. A packet stays in its island: there are no paths between islands. Several
//! planes of one network without a name are the short form `planes` of a topology.

use std::sync::Arc;

use units::{KeyError, NodeId, PlaneId, PortId, RouterId};

use crate::disjoint_sets::DisjointSets;
use crate::network::{Topology, Views};
use crate::places::Places;
use crate::ways::WayRule;
use crate::wires::{ChannelClass, Endpoint, MAX_ALL_PORTS, MAX_ROUTERS, NO_PATH};

/// Maximum number of planes of a network.
pub const MAX_PLANES: u32 = 16;

/// Maximum number of planes of all networks together.
pub const MAX_ALL_PLANES: u32 = 64;

/// One of several networks.
#[derive(Clone, Debug)]
pub struct Part {
    /// Name of the network. Empty for the only network of a machine.
    pub name: String,
    /// Topology of an island in one plane.
    pub island: Arc<dyn Topology>,
    /// Number of planes.
    pub planes: u32,
    /// Endpoints at the nodes of the islands.
    pub places: Places,
    /// Whether an island belongs to one partition of a run, because nodes in it pass messages on for one another.
    pub is_undivided: bool,
    /// Cost of a hop in mappings.
    pub hop_cost: u32,
}

/// Several networks, or several planes of one. Clones share the topologies of the islands.
#[derive(Clone, Debug)]
pub struct Networks {
    parts: Arc<[Part]>,
    rule: WayRule,
    /// First class of channels of each part.
    classes: Vec<u8>,
    names: Vec<String>,
    /// Number of the part of each plane.
    part_of: Vec<u16>,
    /// First router of each plane, followed by the number of routers.
    first: Vec<u32>,
    nodes: u32,
}

/// Position of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Plane, counted over all networks.
    pub plane: PlaneId,
    /// Island of the network.
    pub island: u32,
    /// Router of the island.
    pub router: RouterId,
    /// First router of the island, as the joint topology numbers it.
    pub first: u32,
}

impl Networks {
    /// Makes several planes of one network. Fails at `planes` if the number is not in `1..=16`, or if the copies are too
    /// large together.
    pub fn of_planes(plane: Arc<dyn Topology>, planes: u32) -> Result<Self, KeyError> {
        let places = Places::all(plane.nodes());
        Self::new(vec![Part { name: String::new(), island: plane, planes, places, is_undivided: false, hop_cost: 1 }])
    }

    /// Joins networks, each with some of the same endpoints. Fails at `planes` if a network's number of planes is not in
    /// `1..=16`, or if the networks are too large together.
    pub fn new(parts: Vec<Part>) -> Result<Self, KeyError> {
        let refuse = |message: String| Err(KeyError::new("planes", message));
        let (mut first, mut part_of, mut channels) = (vec![0], Vec::new(), 0_u64);
        let nodes = parts.iter().map(|part| part.places.endpoints()).max().unwrap_or(0);
        for (number, part) in (0..).zip(&parts) {
            if !(1..=MAX_PLANES).contains(&part.planes) {
                return refuse(format!("`planes` is {}; a network has from 1 to {MAX_PLANES} planes", part.planes));
            }
            let (islands, routers) = (u64::from(part.places.islands()), u64::from(part.island.routers()));
            let ports: u64 = (0..part.island.routers()).map(|r| u64::from(part.island.ports(RouterId(r)))).sum();
            channels += u64::from(part.planes) * (islands * ports + u64::from(nodes));
            for _ in 0..part.planes {
                let end = first.last().map_or(0, |&before| u64::from(before)) + islands * routers;
                first.push(u32::try_from(end).unwrap_or(u32::MAX));
                part_of.push(number);
            }
        }
        let routers = first.last().copied().unwrap_or(0);
        if routers > MAX_ROUTERS || channels > MAX_ALL_PORTS {
            return refuse(format!(
                "{} planes of {} routers are too many: together at most {MAX_ROUTERS} routers and \
                 {MAX_ALL_PORTS} channels are allowed",
                part_of.len(),
                first[1],
            ));
        }
        if part_of.len() > MAX_ALL_PLANES as usize {
            return refuse(format!(
                "the networks have {} planes; at most {MAX_ALL_PLANES} are allowed together",
                part_of.len()
            ));
        }
        let (classes, names) = class_names(&parts)?;
        Ok(Self { parts: parts.into(), rule: WayRule::default(), classes, names, part_of, first, nodes })
    }

    /// Sets the rule by which messages take networks. Default: the first that joins their ends, and no relays.
    #[must_use]
    pub fn with_rule(self, rule: WayRule) -> Self {
        Self { rule, ..self }
    }

    /// Returns the rule by which messages take networks.
    pub fn rule(&self) -> &WayRule {
        &self.rule
    }

    /// Returns the networks.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the number of planes of all networks together.
    pub fn planes(&self) -> u32 {
        self.part_of.len() as u32
    }

    /// Returns the number of a plane's network.
    pub fn part_of(&self, plane: PlaneId) -> usize {
        self.part_of[usize::from(plane.0)].into()
    }

    /// Returns the first plane of a network.
    pub fn first_plane(&self, part: usize) -> PlaneId {
        PlaneId(self.part_of.partition_point(|&own| usize::from(own) < part) as u8)
    }

    /// Returns the first class of channels of a network, that of its injection channels.
    pub fn first_class(&self, part: usize) -> ChannelClass {
        ChannelClass(self.classes[part])
    }

    /// Returns the number of the network that a class of channels belongs to.
    pub fn part_of_class(&self, class: ChannelClass) -> usize {
        self.classes.partition_point(|&first| first <= class.0).saturating_sub(1)
    }

    /// Returns the first router of each plane, followed by the number of all routers.
    pub fn first_routers(&self) -> &[u32] {
        &self.first
    }

    /// Returns the position of a router.
    #[inline]
    pub fn position(&self, router: RouterId) -> Position {
        let plane = match &self.first[..] {
            [_, end, ..] if router.0 < *end => 0,
            first => first.partition_point(|&first| first <= router.0) - 1,
        };
        let routers = self.parts[usize::from(self.part_of[plane])].island.routers();
        let number = router.0 - self.first[plane];
        let own = number % routers;
        Position { plane: PlaneId(plane as u8), island: number / routers, router: RouterId(own), first: router.0 - own }
    }

    /// Returns a router with the network that it belongs to.
    fn local(&self, router: RouterId) -> (&Part, Position) {
        let position = self.position(router);
        (&self.parts[self.part_of(position.plane)], position)
    }

    /// Returns the first router of an island, as the joint topology numbers it.
    pub fn first_router(&self, plane: PlaneId, island: u32) -> u32 {
        self.first[usize::from(plane.0)] + island * self.parts[self.part_of(plane)].island.routers()
    }

    /// Returns the router and the port that a node is attached to in a plane. `None`: it has no port there.
    pub fn attachment_on(&self, node: NodeId, plane: PlaneId) -> Option<(RouterId, PortId)> {
        let part = &self.parts[self.part_of(plane)];
        let (island, own) = part.places.place(node)?;
        let (router, port) = part.island.attachment(own);
        Some((RouterId(self.first_router(plane, island) + router.0), port))
    }

    /// Returns sets of routers that belong to one partition of a run, in ascending order of their first: all routers of a
    /// node, and of an undivided island.
    pub fn bundles(&self) -> Vec<Vec<RouterId>> {
        let mut sets = DisjointSets::new(self.routers());
        let planes = || (0..self.planes() as u8).map(PlaneId);
        if let Some(part) = self.only() {
            // Copies of a router have equal nodes, if any.
            let routers = part.island.routers();
            (routers..self.routers()).for_each(|router| sets.join(router % routers, router));
            return sets.into_sets();
        }
        for node in (0..self.nodes).map(NodeId) {
            let mut routers = planes().filter_map(|plane| self.attachment_on(node, plane)).map(|(router, _)| router.0);
            if let Some(one) = routers.next() {
                routers.for_each(|other| sets.join(one, other));
            }
        }
        for plane in planes() {
            let part = &self.parts[self.part_of(plane)];
            for island in (0..part.places.islands()).filter(|_| part.is_undivided) {
                let one = self.first_router(plane, island);
                (one..one + part.island.routers()).for_each(|other| sets.join(one, other));
            }
        }
        sets.into_sets()
    }

    /// Returns the only network, if there is one without a name.
    pub fn only(&self) -> Option<&Part> {
        self.parts.first().filter(|part| part.name.is_empty())
    }
}

impl Topology for Networks {
    fn kind(&self) -> &'static str {
        self.only().map_or("networks", |part| part.island.kind())
    }

    fn routers(&self) -> u32 {
        self.first[self.first.len() - 1]
    }

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn ports(&self, router: RouterId) -> u16 {
        let (part, at) = self.local(router);
        part.island.ports(at.router)
    }

    fn endpoint(&self, router: RouterId, port: PortId) -> Endpoint {
        let (part, at) = self.local(router);
        match part.island.endpoint(at.router, port) {
            Endpoint::Router(next, port) => Endpoint::Router(RouterId(at.first + next.0), port),
            Endpoint::Node(own) => part.places.node(at.island, own).map_or(Endpoint::Unconnected, Endpoint::Node),
            Endpoint::Unconnected => Endpoint::Unconnected,
        }
    }

    fn attachment(&self, node: NodeId) -> (RouterId, PortId) {
        let mut planes = (0..self.planes() as u8).map(PlaneId);
        planes.find_map(|plane| self.attachment_on(node, plane)).unwrap_or((RouterId(0), PortId(0)))
    }

    fn class_names(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    fn class(&self, router: RouterId, port: PortId) -> ChannelClass {
        let at = self.position(router);
        let part = self.part_of(at.plane);
        ChannelClass(self.classes[part] + self.parts[part].island.class(at.router, port).0)
    }

    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        let ((part, from), to) = (self.local(from), self.position(to));
        if from.first == to.first { part.island.distance(from.router, to.router) } else { NO_PATH }
    }

    fn diameter(&self) -> u32 {
        self.parts.iter().map(|part| part.island.diameter()).max().unwrap_or(0)
    }

    fn bisection_channels(&self) -> Option<u64> {
        self.only()?.island.bisection_channels().map(|channels| channels * u64::from(self.planes()))
    }

    fn coordinate_names(&self) -> Vec<String> {
        match self.only() {
            Some(part) => part.island.coordinate_names().into_iter().chain(["plane".to_owned()]).collect(),
            None => ["plane", "island", "router"].map(str::to_owned).to_vec(),
        }
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        let at = self.position(router);
        let plane = u32::from(at.plane.0);
        match self.only() {
            Some(part) => part.island.coordinates(at.router).into_iter().chain([plane]).collect(),
            None => vec![plane, at.island, at.router.0],
        }
    }

    fn locality(&self, router: RouterId) -> u64 {
        let (part, at) = self.local(router);
        part.island.locality(at.router)
    }

    fn views(&self) -> Views<'_> {
        let own = self.only().map(|part| part.island.views()).unwrap_or_default();
        Views { networks: Some(self), ..own }
    }
}

/// Returns the first class of channels of each network, and the names of all classes.
fn class_names(parts: &[Part]) -> Result<(Vec<u8>, Vec<String>), KeyError> {
    let (mut classes, mut names) = (Vec::new(), Vec::new());
    for part in parts {
        let first = u8::try_from(names.len()).map_err(|_| {
            KeyError::new("planes", "the networks have too many classes of channels: at most 255 are allowed together")
        })?;
        classes.push(first);
        let name = |class: &str| if part.name.is_empty() { class.to_owned() } else { format!("{}.{class}", part.name) };
        names.extend(part.island.class_names().into_iter().map(name));
    }
    Ok((classes, names))
}
