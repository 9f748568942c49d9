//! Table of ports for each router and destination: the basis of the routings of arbitrary topologies.

use std::collections::BTreeMap;
use std::ops::Range;

use topology::{Endpoint, Topology};
use units::{KeyError, NodeId, PortId, RouterId, VcClass};

use crate::{Choice, Hop, Route, Routing};

/// Largest number of table entries, (routers) x (routers with nodes), of 4 bytes each.
const MAX_ENTRIES: u64 = 1 << 28;

/// Checks the number of entries of a table, or of pairs that the analysis of a routing keeps. Fails with the number if
/// there are too many. `targets` has the number of columns, and their name.
pub(super) fn refuse_too_many(
    topology: &dyn Topology,
    kind: &str,
    (targets, name): (u32, &str),
) -> Result<(), KeyError> {
    let entries = u64::from(topology.routers()) * u64::from(targets);
    if entries <= MAX_ENTRIES {
        return Ok(());
    }
    let message = format!(
        "{kind} keeps an entry for each router and each {name}, at most {MAX_ENTRIES}; this {} needs {entries}",
        topology.kind()
    );
    Err(KeyError::new("kind", message))
}

/// Router, column and port by which packets for a node leave the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Destination {
    pub router: RouterId,
    /// Column of the router in the table.
    pub column: u32,
    pub port: PortId,
}

/// Routes from each router to each router that has nodes.
#[derive(Debug)]
pub(super) struct RouteTable {
    destinations: Vec<Destination>,
    /// Routers that have nodes, by column.
    targets: Vec<RouterId>,
    /// By column and router: an index into `routes`. Builders and checks go column by column.
    table: Vec<u32>,
    /// Number of routers.
    routers: usize,
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
        self.toward(at, destination.column)
    }

    /// Returns the next hop to another router, the one of a column.
    #[inline]
    pub fn toward(&self, at: RouterId, column: u32) -> Route {
        let index = self.table[column as usize * self.routers + at.index()];
        self.routes[index as usize]
    }

    /// Returns whether the table has a route from a router to that of a column.
    pub fn leads(&self, at: RouterId, column: u32) -> bool {
        self.table[column as usize * self.routers + at.index()] != u32::MAX
    }

    /// Returns the router, column and port of a node.
    #[inline]
    pub fn destination(&self, node: NodeId) -> Destination {
        self.destinations[node.index()]
    }

    /// Returns the routers that have nodes, by column.
    #[inline]
    pub fn targets(&self) -> &[RouterId] {
        &self.targets
    }

    /// Returns the ports of the routes that are not consecutive.
    pub fn port_lists(&self) -> &[PortId] {
        &self.lists
    }

    /// Makes the listed ports begin at a place in longer lists.
    ///
    /// # Errors
    /// If the longer lists have too many ports.
    pub fn shift_lists(&mut self, by: usize) -> Result<(), KeyError> {
        refuse_long_lists(by + self.lists.len())?;
        self.routes.iter_mut().for_each(|route| *route = route.shifted(by as u32));
        Ok(())
    }
}

/// Routing by a table.
#[derive(Debug)]
pub(super) struct TableRouting {
    pub kind: &'static str,
    pub table: RouteTable,
    pub classes: u8,
    pub adaptive: bool,
    pub minimal: bool,
    pub classes_fall: bool,
    pub max_routers: u32,
}

impl Routing for TableRouting {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn classes(&self) -> u8 {
        self.classes
    }

    fn adaptive(&self) -> bool {
        self.adaptive
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        self.table.route(at, hop.dst)
    }

    fn port_lists(&self) -> &[PortId] {
        self.table.port_lists()
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        true
    }

    fn minimal(&self) -> bool {
        self.minimal
    }

    fn classes_fall(&self) -> bool {
        self.classes_fall
    }

    fn max_routers(&self) -> u32 {
        self.max_routers
    }
}

/// Table under construction.
pub(super) struct TableBuilder {
    made: RouteTable,
    choice: Choice,
    has_nodes: Vec<bool>,
    /// Routes by their ports.
    known: BTreeMap<Vec<PortId>, KnownPorts>,
    /// Index in `routes` of the routes by one port: by class, and by port with [`PORTS`] for each class. Ends with the
    /// last route; `u32::MAX` without one.
    single: Vec<u32>,
}

/// Number of ports that a router may have.
const PORTS: usize = 1 << 16;

/// Routes by equal ports.
struct KnownPorts {
    /// Route of class 0.
    route: Route,
    /// Index in `routes` by class, or `u32::MAX`.
    routes: Vec<u32>,
}

impl TableBuilder {
    /// Creates an empty table, whose routes choose among their ports by `choice`. Returns an error if it would be
    /// larger than 1 GiB.
    pub fn new(topology: &dyn Topology, kind: &str, choice: Choice) -> Result<Self, KeyError> {
        let (destinations, targets) = destinations(topology);
        let made = Self::of_columns(topology, kind, choice, (targets, "router that has nodes"))?;
        Ok(Self { made: RouteTable { destinations, ..made.made }, ..made })
    }

    /// Creates an empty table as [`Self::new`] does, with a column for each of some routers, which stand for things
    /// called `name`. It has no destinations.
    pub fn of_columns(
        topology: &dyn Topology,
        kind: &str,
        choice: Choice,
        (targets, name): (Vec<RouterId>, &str),
    ) -> Result<Self, KeyError> {
        let routers = topology.routers() as usize;
        refuse_too_many(topology, kind, (targets.len() as u32, name))?;
        let mut has_nodes = vec![false; routers];
        for target in &targets {
            has_nodes[target.index()] = true;
        }
        let table = vec![u32::MAX; routers * targets.len()];
        let (routes, lists) = (Vec::new(), Vec::new());
        let made = RouteTable { destinations: Vec::new(), targets, table, routers, routes, lists };
        Ok(Self { made, choice, has_nodes, known: BTreeMap::new(), single: Vec::new() })
    }

    /// Returns the routers that have nodes, each of which has a column.
    pub fn targets(&self) -> &[RouterId] {
        &self.made.targets
    }

    /// Returns whether a router has nodes.
    pub fn has_nodes(&self, router: RouterId) -> bool {
        self.has_nodes[router.index()]
    }

    /// Sets the route of a router to a column's router. `ports` is non-empty and in ascending order.
    pub fn set(&mut self, router: RouterId, column: usize, ports: &[PortId], class: VcClass) {
        self.made.table[column * self.made.routers + router.index()] = self.route_index(ports, class);
    }

    /// Returns the table, or an error if the lists of ports are too long.
    pub fn finish(self) -> Result<RouteTable, KeyError> {
        refuse_long_lists(self.made.lists.len())?;
        Ok(self.made)
    }

    fn route_index(&mut self, ports: &[PortId], class: VcClass) -> u32 {
        let &[port] = ports else { return self.known_index(ports, class) };
        let place = usize::from(class.0) * PORTS + port.index();
        if let Some(&index) = self.single.get(place).filter(|&&index| index != u32::MAX) {
            return index;
        }
        let index = self.known_index(ports, class);
        self.single.resize(self.single.len().max(place + 1), u32::MAX);
        self.single[place] = index;
        index
    }

    fn known_index(&mut self, ports: &[PortId], class: VcClass) -> u32 {
        let place = usize::from(class.0);
        match self.known.get_mut(ports) {
            Some(known) if known.routes.get(place).is_some_and(|&index| index != u32::MAX) => known.routes[place],
            Some(known) => {
                known.routes.resize(known.routes.len().max(place + 1), u32::MAX);
                known.routes[place] = self.made.routes.len() as u32;
                let mut route = known.route;
                route.vc_class = class;
                self.made.routes.push(route);
                known.routes[place]
            }
            None => {
                let route = self.new_route(ports);
                self.known.insert(ports.to_vec(), KnownPorts { route, routes: Vec::new() });
                self.known_index(ports, class)
            }
        }
    }

    /// Returns a route by ports that no other route has, of class 0.
    fn new_route(&mut self, ports: &[PortId]) -> Route {
        let (count, class) = (ports.len() as u16, VcClass(0));
        if ports.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1) {
            return Route::range(ports[0], count, class, self.choice);
        }
        let first = self.made.lists.len() as u32;
        self.made.lists.extend_from_slice(ports);
        Route::listed(first, count, class, self.choice)
    }
}

/// Refuses lists of more ports than a route can name.
fn refuse_long_lists(ports: usize) -> Result<(), KeyError> {
    if ports > Route::MAX_LISTED {
        let message = format!("the different sets of ports have more than {} ports in all", Route::MAX_LISTED);
        return Err(KeyError::new("kind", message));
    }
    Ok(())
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

/// Neighbours of all routers, in flat arrays.
pub(super) struct Neighbours {
    /// First neighbour of each router, followed by the number of all.
    first: Vec<u32>,
    all: Vec<(PortId, RouterId)>,
}

impl Neighbours {
    pub fn new(topology: &dyn Topology) -> Self {
        let mut made = Self { first: vec![0], all: Vec::new() };
        for router in (0..topology.routers()).map(RouterId) {
            made.all.extend(neighbours(topology, router));
            made.first.push(made.all.len() as u32);
        }
        made
    }

    /// Returns the number of routers.
    pub fn routers(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Returns the number of wires of all routers: each wire counts at both ends.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the numbers of a router's wires, in the order of ports.
    pub fn range(&self, router: RouterId) -> Range<usize> {
        self.first[router.index()] as usize..self.first[router.index() + 1] as usize
    }

    /// Returns the port and the router beyond a wire.
    pub fn at(&self, wire: usize) -> (PortId, RouterId) {
        self.all[wire]
    }

    /// Returns the routers that a router is wired to, with the ports, in the order of ports.
    pub fn of(&self, router: RouterId) -> &[(PortId, RouterId)] {
        &self.all[self.range(router)]
    }
}

/// Shortest paths from all routers to one at a time. The arrays are used again for the next one.
pub(super) struct ShortestPaths {
    /// First wire of each router, followed by the number of all.
    first: Vec<usize>,
    /// Other end of each wire.
    wires: Vec<(RouterId, PortId)>,
    /// Distance of each router, or [`UNREACHED`].
    distances: Vec<u32>,
    /// Ports of each router that begin a shortest path, in no order.
    ports: Vec<Vec<PortId>>,
    /// Reached routers, the nearest first.
    reached: Vec<RouterId>,
}

impl ShortestPaths {
    pub fn new(topology: &dyn Topology) -> Self {
        let (mut first, mut wires) = (vec![0], Vec::new());
        for router in (0..topology.routers()).map(RouterId) {
            let ends = (0..topology.ports(router)).map(|port| topology.endpoint(router, PortId(port)));
            wires.extend(ends.filter_map(|end| match end {
                Endpoint::Router(next, back) => Some((next, back)),
                Endpoint::Node(_) | Endpoint::Unconnected => None,
            }));
            first.push(wires.len());
        }
        let routers = topology.routers() as usize;
        let (distances, ports) = (vec![UNREACHED; routers], vec![Vec::new(); routers]);
        Self { first, wires, distances, ports, reached: Vec::new() }
    }

    /// Finds the paths to a router. Follows the wires of all routers but the farthest: in a network of small diameter
    /// most are that far.
    pub fn find(&mut self, target: RouterId) {
        self.distances.fill(UNREACHED);
        self.ports.iter_mut().for_each(Vec::clear);
        self.distances[target.index()] = 0;
        self.reached.clear();
        self.reached.push(target);
        let (mut done, mut farthest) = (0, 0);
        while done < self.reached.len() {
            let at = self.reached[done];
            let distance = self.distances[at.index()] + 1;
            if self.reached.len() == self.distances.len() && distance > farthest {
                break;
            }
            // Wiring is reciprocal, so that the distances from the target equal the distances to it.
            for &(next, back) in &self.wires[self.first[at.index()]..self.first[at.index() + 1]] {
                if self.distances[next.index()] == UNREACHED {
                    self.distances[next.index()] = distance;
                    self.reached.push(next);
                    farthest = distance;
                }
                if self.distances[next.index()] == distance {
                    self.ports[next.index()].push(back);
                }
            }
            done += 1;
        }
    }

    /// Returns a router's distance, and its ports that begin a shortest path, in ascending order. The distance is
    /// [`UNREACHED`] without a path.
    pub fn of(&mut self, router: RouterId) -> (u32, &[PortId]) {
        let ports = &mut self.ports[router.index()];
        ports.sort_unstable();
        (self.distances[router.index()], ports)
    }
}

/// Distance of an unreachable router.
pub(crate) const UNREACHED: u32 = u32::MAX;

/// Returns the distances of all routers from `start`, by allowed steps: `may(from, port, to)`.
pub(crate) fn distances(
    topology: &dyn Topology,
    start: RouterId,
    may: impl Fn(RouterId, PortId, RouterId) -> bool,
) -> Vec<u32> {
    let may = &may;
    search(topology.routers(), start, |router| {
        neighbours(topology, router).filter(move |&(port, next)| may(router, port, next)).map(|(_, next)| next)
    })
}

/// Returns the distances of `routers` routers from one, by the steps from each router to its next ones.
pub(super) fn search<I: Iterator<Item = RouterId>>(
    routers: u32,
    start: RouterId,
    steps: impl Fn(RouterId) -> I,
) -> Vec<u32> {
    search_from(routers, [start], steps)
}

/// Returns the distances of `routers` routers from the nearest of some, by the steps from each router to its next ones.
pub(super) fn search_from<I: Iterator<Item = RouterId>>(
    routers: u32,
    starts: impl IntoIterator<Item = RouterId>,
    steps: impl Fn(RouterId) -> I,
) -> Vec<u32> {
    let mut distances = vec![UNREACHED; routers as usize];
    let mut queue: std::collections::VecDeque<RouterId> = starts.into_iter().collect();
    queue.iter().for_each(|start| distances[start.index()] = 0);
    let mut left = routers - queue.len() as u32;
    while let Some(router) = queue.pop_front().filter(|_| left > 0) {
        for next in steps(router) {
            if distances[next.index()] == UNREACHED {
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
