//! Shortest paths from tables, on any topology.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId, VcId};

use crate::{Choice, Hop, Route, Routing, RoutingError};

/// The most classes that a routing may ask for: a router has no more virtual channels.
const MAX_CLASSES: u32 = 64;
/// The most table entries, (routers) x (routers with nodes): 4 bytes each.
const MAX_ENTRIES: u64 = 1 << 28;
const UNREACHED: u32 = u32::MAX;

/// Shortest paths on any topology, from tables computed by breadth-first search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShortestPathSpec {
    /// Which of several ports on shortest paths a packet takes.
    pub ties: TieRule,
    /// How packets use classes of virtual channels.
    pub vc_rule: VcRule,
}

/// Which of several ports on shortest paths a packet takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TieRule {
    /// The lowest: one fixed path for each pair.
    #[default]
    First,
    /// Each with the same probability, at every router anew.
    Random,
    /// The least congested, ties at random.
    LeastLoaded,
}

/// How packets use classes of virtual channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VcRule {
    /// The class is the number of hops to the destination's router that follow: one lower with every hop, so free of
    /// deadlock on every topology, but as many classes as the diameter.
    #[default]
    Hops,
    /// One class: whether that is free of deadlock depends on the topology, and is checked.
    Single,
}

/// Where packets for a node leave the network.
#[derive(Clone, Copy, Debug)]
struct Destination {
    router: RouterId,
    /// Of the router in the table.
    column: u32,
    port: PortId,
}

#[derive(Debug)]
struct ShortestPath {
    destinations: Vec<Destination>,
    columns: usize,
    /// By router and column: an index into `routes`.
    table: Vec<u32>,
    /// The different routes.
    routes: Vec<Route>,
    lists: Vec<PortId>,
    adaptive: bool,
    classes: u8,
    max_routers: u32,
}

impl ShortestPathSpec {
    /// The routing on a topology.
    ///
    /// # Errors
    /// If routers cannot reach one another, if `vc_rule = "hops"` needs more than 64 classes, or if the table would
    /// be larger than 1 GiB.
    pub fn build(&self, topology: &dyn Topology) -> Result<impl Routing + 'static, RoutingError> {
        let (destinations, targets) = destinations(topology);
        let entries = u64::from(topology.routers()) * targets.len() as u64;
        if entries > MAX_ENTRIES {
            let message = format!(
                "shortest-path keeps an entry for each pair of routers, at most {MAX_ENTRIES}; {} routers need {entries}",
                topology.routers()
            );
            return Err(RoutingError::new("kind", message));
        }
        let mut tables = Tables::new(topology, *self, targets.len());
        for (column, &target) in targets.iter().enumerate() {
            tables.add_column(topology, column, target)?;
        }
        let diameter = tables.diameter;
        Ok(ShortestPath {
            destinations,
            columns: targets.len(),
            table: tables.table,
            routes: tables.routes,
            lists: tables.lists,
            adaptive: self.ties == TieRule::LeastLoaded,
            classes: self.classes(diameter)?,
            max_routers: diameter + 1,
        })
    }

    fn classes(&self, diameter: u32) -> Result<u8, RoutingError> {
        match self.vc_rule {
            VcRule::Single => Ok(1),
            VcRule::Hops if diameter <= MAX_CLASSES => Ok(diameter.max(1) as u8),
            VcRule::Hops => {
                let message = format!(
                    "vc_rule = \"hops\" needs a class for each of up to {diameter} hops, more than {MAX_CLASSES}; use \
                     \"single\""
                );
                Err(RoutingError::new("vc_rule", message))
            }
        }
    }
}

/// The destination of each node, and the routers that have nodes, by column.
fn destinations(topology: &dyn Topology) -> (Vec<Destination>, Vec<RouterId>) {
    let mut column_of = vec![u32::MAX; topology.routers() as usize];
    let mut targets = Vec::new();
    let mut destinations = Vec::with_capacity(topology.nodes() as usize);
    for node in 0..topology.nodes() {
        let (router, port) = topology.attachment(NodeId(node));
        let column = &mut column_of[router.index()];
        if *column == u32::MAX {
            *column = targets.len() as u32;
            targets.push(router);
        }
        destinations.push(Destination { router, column: *column, port });
    }
    (destinations, targets)
}

/// The tables while they are made.
struct Tables {
    spec: ShortestPathSpec,
    columns: usize,
    table: Vec<u32>,
    routes: Vec<Route>,
    lists: Vec<PortId>,
    /// The index in `routes` of each set of ports and class.
    known: BTreeMap<(Vec<PortId>, VcId), u32>,
    /// Where each set of ports begins in `lists`.
    listed: BTreeMap<Vec<PortId>, u32>,
    has_nodes: Vec<bool>,
    distance: Vec<u32>,
    diameter: u32,
}

impl Tables {
    fn new(topology: &dyn Topology, spec: ShortestPathSpec, columns: usize) -> Self {
        let routers = topology.routers() as usize;
        let mut has_nodes = vec![false; routers];
        for node in 0..topology.nodes() {
            has_nodes[topology.attachment(NodeId(node)).0.index()] = true;
        }
        Self {
            spec,
            columns,
            table: vec![u32::MAX; routers * columns],
            routes: Vec::new(),
            lists: Vec::new(),
            known: BTreeMap::new(),
            listed: BTreeMap::new(),
            has_nodes,
            distance: vec![UNREACHED; routers],
            diameter: 0,
        }
    }

    /// Fills in how every router sends to one router.
    fn add_column(&mut self, topology: &dyn Topology, column: usize, target: RouterId) -> Result<(), RoutingError> {
        self.measure(topology, target);
        for router in (0..topology.routers()).map(RouterId).filter(|&router| router != target) {
            let distance = self.distance[router.index()];
            if distance == UNREACHED {
                // A router that no packet can be at needs no way on.
                if self.has_nodes[router.index()] {
                    let message = format!("router {router} cannot reach router {target}: the network is in parts");
                    return Err(RoutingError::new("kind", message));
                }
                continue;
            }
            if self.has_nodes[router.index()] {
                self.diameter = self.diameter.max(distance);
            }
            let ports = self.nearer_ports(topology, router);
            let class = match self.spec.vc_rule {
                VcRule::Single => 0,
                // Beyond 255 the routing is refused.
                VcRule::Hops => (distance - 1).min(255) as u8,
            };
            self.table[router.index() * self.columns + column] = self.route_index(ports, VcId(class));
        }
        Ok(())
    }

    /// Distances to a router. Wiring is reciprocal, so that they are the distances from it.
    fn measure(&mut self, topology: &dyn Topology, target: RouterId) {
        self.distance.fill(UNREACHED);
        self.distance[target.index()] = 0;
        let mut frontier = vec![target];
        let mut distance = 0;
        while !frontier.is_empty() {
            distance += 1;
            let mut reached = Vec::new();
            for next in frontier.iter().flat_map(|&router| neighbours(topology, router)).map(|(_, next)| next) {
                if self.distance[next.index()] == UNREACHED {
                    self.distance[next.index()] = distance;
                    reached.push(next);
                }
            }
            frontier = reached;
        }
    }

    fn nearer_ports(&self, topology: &dyn Topology, router: RouterId) -> Vec<PortId> {
        let nearer = |next: RouterId| self.distance[next.index()] < self.distance[router.index()];
        let ports = neighbours(topology, router).filter(|&(_, next)| nearer(next)).map(|(port, _)| port);
        match self.spec.ties {
            TieRule::First => ports.take(1).collect(),
            TieRule::Random | TieRule::LeastLoaded => ports.collect(),
        }
    }

    fn route_index(&mut self, ports: Vec<PortId>, class: VcId) -> u32 {
        let key = (ports, class);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let index = self.routes.len() as u32;
        let ports = &key.0;
        let choice = if self.spec.ties == TieRule::LeastLoaded { Choice::LeastLoaded } else { Choice::Random };
        let mut route = Route::range(ports[0], ports.len() as u16, class, choice);
        if ports.windows(2).any(|pair| pair[1].0 != pair[0].0 + 1) {
            route.list = self.list(ports);
        }
        self.routes.push(route);
        self.known.insert(key, index);
        index
    }

    /// Where these ports begin in `lists`.
    fn list(&mut self, ports: &[PortId]) -> u32 {
        if let Some(&listed) = self.listed.get(ports) {
            return listed;
        }
        let first = self.lists.len() as u32;
        self.lists.extend_from_slice(ports);
        self.listed.insert(ports.to_vec(), first);
        first
    }
}

/// The routers that a router is wired to, and by which ports.
fn neighbours(topology: &dyn Topology, router: RouterId) -> impl Iterator<Item = (PortId, RouterId)> {
    (0..topology.ports(router)).filter_map(move |port| match topology.endpoint(router, PortId(port)) {
        Endpoint::Router(next, _) => Some((PortId(port), next)),
        Endpoint::Node(_) | Endpoint::Unconnected => None,
    })
}

impl Routing for ShortestPath {
    fn kind(&self) -> &'static str {
        "shortest-path"
    }

    fn classes(&self) -> u8 {
        self.classes
    }

    fn adaptive(&self) -> bool {
        self.adaptive
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let destination = self.destinations[hop.dst.index()];
        if destination.router == at {
            return Route::only(destination.port, VcId(0));
        }
        let index = self.table[at.index() * self.columns + destination.column as usize];
        self.routes[index as usize]
    }

    fn port_lists(&self) -> &[PortId] {
        &self.lists
    }

    fn reads_arrival(&self) -> bool {
        false
    }

    fn minimal(&self) -> bool {
        true
    }

    fn max_routers(&self) -> u32 {
        self.max_routers
    }
}
