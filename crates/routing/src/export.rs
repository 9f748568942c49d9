//! Export of routings as tables, which `routing.kind = "table"` reads.

use std::collections::{BTreeMap, BTreeSet};

use topology::{Endpoint, Topology};
use units::{KeyError, KeyResult, NodeId, PortId, RouterId, VcClass};

use crate::algorithms::shortest_path::TieRule;
use crate::algorithms::table::{DestinationKind, MAX_ENTRIES, MAX_LAYERS};
use crate::islands::Island;
use crate::walk::Wiring;
use crate::{Choice, Hop, Route, RouteState, Routing};

/// Routing as arrays by layer, router, destination and, for the ports, candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutingTable {
    /// Number of layers: the distinct routing states of packets.
    pub layers: usize,
    /// Meaning of the columns.
    pub destinations: DestinationKind,
    /// Number of columns.
    pub columns: usize,
    /// Largest number of ports of an entry.
    pub candidates: usize,
    /// Rule by which one of several ports is chosen.
    pub ties: TieRule,
    /// Ports. -1 fills up entries with fewer than `candidates` ports, and entries that no packet uses.
    pub ports: Vec<i32>,
    /// By entry, the class of virtual channels on which packets leave.
    pub classes: Vec<i32>,
    /// By entry, the layer on which packets arrive at the next router.
    pub next_layers: Vec<i32>,
}

/// Entry of a table under construction.
struct Cell {
    layer: u32,
    router: RouterId,
    column: u32,
    route: Route,
    next: u32,
}

impl RoutingTable {
    /// Returns the table of a routing, with the ports, classes and choices of the routing at every router. If there are
    /// several planes it is the table of one, which is valid for all.
    ///
    /// # Errors
    /// If the next ports are not a function of the router, the destination and a routing state with a single start: if
    /// a packet draws its path at the source, or a router weighs whole paths.
    pub fn of(topology: &dyn Topology, routing: &dyn Routing) -> Result<Self, KeyError> {
        let first = Island::first(topology, routing);
        let [Island { topology, routing, .. }] = first[..] else {
            return Err(KeyError::new("network", "each network has a separate table: export one of them"));
        };
        let nodes: Vec<NodeId> = destinations(topology, routing);
        let starts = starts(topology, routing, &nodes)?;
        let mut tracer = Tracer {
            routing,
            wiring: Wiring::new(topology),
            layers: BTreeMap::new(),
            injected: starts.len() > 1,
            cells: Vec::new(),
            choices: BTreeSet::new(),
        };
        if let (false, Some(&start)) = (tracer.injected, starts.first()) {
            tracer.layers.insert(start, 0);
        }
        for &dst in &nodes {
            tracer.follow(topology, dst)?;
        }
        tracer.table(topology)
    }
}

/// Returns the nodes that represent all destinations.
fn destinations(topology: &dyn Topology, routing: &dyn Routing) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = (0..topology.nodes()).map(NodeId).collect();
    if routing.same_for_router() {
        nodes.dedup_by_key(|&mut node| topology.attachment(node).0);
    }
    nodes
}

/// Returns all states in which packets start, if each pair of nodes has one.
fn starts(topology: &dyn Topology, routing: &dyn Routing, nodes: &[NodeId]) -> Result<BTreeSet<RouteState>, KeyError> {
    let mut sources: Vec<NodeId> = (0..topology.nodes()).map(NodeId).collect();
    sources.dedup_by_key(|&mut node| topology.attachment(node).0);
    let mut starts = BTreeSet::new();
    if routing.fixed_by_flow() {
        return Err(refuse(routing, "chooses a path for each source"));
    }
    for &dst in nodes {
        for &src in &sources {
            match routing.initial_distribution(src, dst)[..] {
                [(state, _)] => starts.insert(state),
                _ => {
                    return Err(refuse(
                        routing,
                        "draws a path at the source (for `dimension-order`, `ties = \"positive\"` does not)",
                    ));
                }
            };
        }
    }
    Ok(starts)
}

fn refuse(routing: &dyn Routing, why: &str) -> KeyError {
    KeyError::new("kind", format!("`{}` cannot be written as a table: it {why}", routing.kind()))
}

/// Tracer, which follows all packets of a routing.
struct Tracer<'a> {
    routing: &'a dyn Routing,
    wiring: Wiring,
    /// Layer of each state.
    layers: BTreeMap<RouteState, u32>,
    /// Whether layer 0 is for packets that have just been injected, whatever their state.
    injected: bool,
    cells: Vec<Cell>,
    choices: BTreeSet<Choice>,
}

impl Tracer<'_> {
    /// Follows all packets for a node.
    fn follow(&mut self, topology: &dyn Topology, dst: NodeId) -> Result<(), KeyError> {
        let home = topology.attachment(dst).0;
        let column = if self.routing.same_for_router() { home.0 } else { dst.0 };
        let mut seen = BTreeSet::new();
        let mut open = Vec::new();
        for src in (0..topology.nodes()).map(NodeId) {
            let (router, port) = topology.attachment(src);
            if router == home || !seen.insert((router, 0)) {
                continue;
            }
            for (state, _) in self.routing.initial_distribution(src, dst) {
                open.push((router, 0, Hop { dst, state, in_port: port, vc_class: VcClass(0) }));
            }
        }
        while let Some((router, layer, mut hop)) = open.pop() {
            let route = self.routing.route(router, &mut hop);
            let next = self.layer(hop.state)?;
            self.check(&route)?;
            for port in route.ports(self.routing.port_lists()) {
                let end = self.wiring.output(dst, router, port);
                let (_, end) = end.at_key("kind")?;
                let Endpoint::Router(to, in_port) = end else { continue };
                if to != home && seen.insert((to, next)) {
                    open.push((to, next, Hop { in_port, vc_class: route.vc_class, ..hop }));
                }
            }
            self.cells.push(Cell { layer, router, column, route, next });
        }
        Ok(())
    }

    /// Returns the layer of a state, and adds it if it is new.
    fn layer(&mut self, state: RouteState) -> Result<u32, KeyError> {
        let fresh = self.layers.len() as u32 + u32::from(self.injected);
        let layer = *self.layers.entry(state).or_insert(fresh);
        if layer as usize >= MAX_LAYERS {
            return Err(refuse(self.routing, &format!("needs more than {MAX_LAYERS} layers")));
        }
        Ok(layer)
    }

    fn check(&mut self, route: &Route) -> Result<(), KeyError> {
        match route.choice {
            Choice::Weighed | Choice::WeighedAny => Err(refuse(self.routing, "weighs whole paths at a router")),
            Choice::Escape => Err(refuse(self.routing, "has escape channels")),
            choice if route.count > 1 => {
                self.choices.insert(choice);
                Ok(())
            }
            Choice::Random | Choice::RoundRobin | Choice::LeastLoaded => Ok(()),
        }
    }

    fn table(self, topology: &dyn Topology) -> Result<RoutingTable, KeyError> {
        let (destinations, columns) = match self.routing.same_for_router() {
            true => (DestinationKind::Routers, topology.routers() as usize),
            false => (DestinationKind::Nodes, topology.nodes() as usize),
        };
        let ties = match self.choices.into_iter().collect::<Vec<_>>()[..] {
            [] | [Choice::LeastLoaded] => TieRule::LeastLoaded,
            [Choice::Random] => TieRule::Random,
            [Choice::RoundRobin] => TieRule::RoundRobin,
            _ => return Err(refuse(self.routing, "chooses among ports by more than one rule")),
        };
        let layers = self.cells.iter().map(|cell| cell.layer.max(cell.next) as usize + 1).max().unwrap_or(1);
        let candidates = self.cells.iter().map(|cell| usize::from(cell.route.count)).max().unwrap_or(1);
        let entries = layers * topology.routers() as usize * columns;
        if (entries * candidates) as u64 > MAX_ENTRIES {
            return Err(refuse(self.routing, &format!("needs {entries} entries of {candidates} ports")));
        }
        let mut ports = vec![-1; entries * candidates];
        let (mut classes, mut next_layers) = (vec![0; entries], vec![0; entries]);
        for Cell { layer, router, column, route, next } in &self.cells {
            let place = (*layer as usize * topology.routers() as usize + router.index()) * columns + *column as usize;
            let listed = route.ports(self.routing.port_lists()).map(|PortId(port)| i32::from(port));
            ports[place * candidates..].iter_mut().zip(listed).for_each(|(held, port)| *held = port);
            (classes[place], next_layers[place]) = (i32::from(route.vc_class.0), *next as i32);
        }
        Ok(RoutingTable { layers, destinations, columns, candidates, ties, ports, classes, next_layers })
    }
}
