//! Table of ports for each router and destination: the basis of the routings of arbitrary topologies.

use std::collections::BTreeMap;

use topology::{Endpoint, Topology};
use units::{KeyError, NodeId, PortId, RouterId, VcClass};

use crate::{Choice, Route};

/// Largest number of table entries, (routers) x (routers with nodes), of 4 bytes each.
const MAX_ENTRIES: u64 = 1 << 28;

/// Router, column and port by which packets for a node leave the network.
#[derive(Clone, Copy, Debug)]
struct Destination {
    router: RouterId,
    /// Column of the router in the table.
    column: u32,
    port: PortId,
}

/// Routes from each router to each router that has nodes.
#[derive(Debug)]
pub(super) struct RouteTable {
    destinations: Vec<Destination>,
    columns: usize,
    /// By router and column: an index into `routes`.
    table: Vec<u32>,
    /// Distinct routes.
    routes: Vec<Route>,
    lists: Vec<PortId>,
}

impl RouteTable {
    /// Returns the next hop. At the destination's router it is the destination's port, on class 0.
    #[inline]
    pub fn route(&self, at: RouterId, dst: NodeId) -> Route {
        let destination = self.destinations[dst.index()];
        if destination.router == at {
            return Route::only(destination.port, VcClass(0));
        }
        let index = self.table[at.index() * self.columns + destination.column as usize];
        self.routes[index as usize]
    }

    /// Returns the ports of the routes that are not consecutive.
    pub fn port_lists(&self) -> &[PortId] {
        &self.lists
    }
}

/// Table under construction.
pub(super) struct TableBuilder {
    made: RouteTable,
    choice: Choice,
    /// Routers that have nodes, by column.
    targets: Vec<RouterId>,
    has_nodes: Vec<bool>,
    /// Index in `routes` of each set of ports and class.
    known: BTreeMap<(Vec<PortId>, VcClass), u32>,
    /// Begin of each set of ports in `lists`.
    listed: BTreeMap<Vec<PortId>, u32>,
}

impl TableBuilder {
    /// Creates an empty table, whose routes choose among their ports by `choice`. Returns an error if it would be
    /// larger than 1 GiB.
    pub fn new(topology: &dyn Topology, kind: &str, choice: Choice) -> Result<Self, KeyError> {
        let routers = topology.routers() as usize;
        let (destinations, targets) = destinations(topology);
        let entries = routers as u64 * targets.len() as u64;
        if entries > MAX_ENTRIES {
            let message = format!(
                "{kind} keeps an entry for each router and each router that has nodes, at most {MAX_ENTRIES}; this {} \
                 needs {entries}",
                topology.kind()
            );
            return Err(KeyError::new("kind", message));
        }
        let mut has_nodes = vec![false; routers];
        for target in &targets {
            has_nodes[target.index()] = true;
        }
        let columns = targets.len();
        let table = vec![u32::MAX; routers * columns];
        let made = RouteTable { destinations, columns, table, routes: Vec::new(), lists: Vec::new() };
        Ok(Self { made, choice, targets, has_nodes, known: BTreeMap::new(), listed: BTreeMap::new() })
    }

    /// Returns the routers that have nodes, each of which has a column.
    pub fn targets(&self) -> &[RouterId] {
        &self.targets
    }

    /// Returns whether a router has nodes.
    pub fn has_nodes(&self, router: RouterId) -> bool {
        self.has_nodes[router.index()]
    }

    /// Sets the route of a router to a column's router. `ports` is non-empty and in ascending order.
    pub fn set(&mut self, router: RouterId, column: usize, ports: Vec<PortId>, class: VcClass) {
        self.made.table[router.index() * self.made.columns + column] = self.route_index(ports, class);
    }

    /// Returns the table, or an error if the lists of ports are too long.
    pub fn finish(self) -> Result<RouteTable, KeyError> {
        if self.made.lists.len() > Route::MAX_LISTED {
            let message = format!("the different sets of ports have more than {} ports in all", Route::MAX_LISTED);
            return Err(KeyError::new("kind", message));
        }
        Ok(self.made)
    }

    fn route_index(&mut self, ports: Vec<PortId>, class: VcClass) -> u32 {
        let key = (ports, class);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let index = self.made.routes.len() as u32;
        let ports = &key.0;
        let count = ports.len() as u16;
        let route = if ports.windows(2).any(|pair| pair[1].0 != pair[0].0 + 1) {
            Route::listed(self.list(ports), count, class, self.choice)
        } else {
            Route::range(ports[0], count, class, self.choice)
        };
        self.made.routes.push(route);
        self.known.insert(key, index);
        index
    }

    /// Returns the begin of these ports in `lists`, and adds them if they are new.
    fn list(&mut self, ports: &[PortId]) -> u32 {
        if let Some(&listed) = self.listed.get(ports) {
            return listed;
        }
        let first = self.made.lists.len() as u32;
        self.made.lists.extend_from_slice(ports);
        self.listed.insert(ports.to_vec(), first);
        first
    }
}

/// Returns the destination of each node, and the routers that have nodes, by column.
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

/// Iterates over the routers that a router is wired to, with the ports.
pub(crate) fn neighbours(topology: &dyn Topology, router: RouterId) -> impl Iterator<Item = (PortId, RouterId)> {
    (0..topology.ports(router)).filter_map(move |port| match topology.endpoint(router, PortId(port)) {
        Endpoint::Router(next, _) => Some((PortId(port), next)),
        Endpoint::Node(_) | Endpoint::Unconnected => None,
    })
}

/// Distance of an unreachable router.
pub(crate) const UNREACHED: u32 = u32::MAX;

/// Returns the distances of all routers from `start`, by allowed steps: `may(from, port, to)`.
pub(crate) fn distances(
    topology: &dyn Topology,
    start: RouterId,
    may: impl Fn(RouterId, PortId, RouterId) -> bool,
) -> Vec<u32> {
    let mut distances = vec![UNREACHED; topology.routers() as usize];
    distances[start.index()] = 0;
    let mut queue = std::collections::VecDeque::from([start]);
    let mut left = topology.routers() - 1;
    while let Some(router) = queue.pop_front().filter(|_| left > 0) {
        for (port, next) in neighbours(topology, router) {
            if distances[next.index()] == UNREACHED && may(router, port, next) {
                distances[next.index()] = distances[router.index()] + 1;
                left -= 1;
                queue.push_back(next);
            }
        }
    }
    distances
}

/// Returns the ports of a router to routers for which `wanted` holds.
pub(super) fn ports_to(
    topology: &dyn Topology,
    router: RouterId,
    wanted: impl Fn(RouterId) -> bool,
    all: bool,
) -> Vec<PortId> {
    let ports = neighbours(topology, router).filter(|&(_, next)| wanted(next)).map(|(port, _)| port);
    ports.take(if all { usize::MAX } else { 1 }).collect()
}

/// Returns the error for two routers with nodes that cannot reach each other.
pub(super) fn in_parts(from: RouterId, to: RouterId) -> KeyError {
    KeyError::new("kind", format!("router {from} cannot reach router {to}: the network is in parts"))
}
