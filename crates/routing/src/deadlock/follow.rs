//! Dependencies of routings without waypoints: destination by destination, or by representatives.

use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId, VcClass};

use super::graph::DependencyGraph;
use crate::walk::{Aim, Move, RoutingContractError, Sources, Walk};
use crate::{Choice, Hop, Representative, Route, Routing};

/// Smallest number of destinations of a thread, so that building its arrays pays.
const LEAST: usize = 8;

/// Returns the step by which to take about `wanted` of `all` items. It is odd, to avoid sizes that are powers of two.
pub(super) fn spread(all: usize, wanted: usize) -> usize {
    if wanted >= all { 1 } else { (all / wanted.max(1)) | 1 }
}

/// Returns the nodes that represent all destinations.
pub(super) fn destinations(topology: &dyn Topology, routing: &dyn Routing) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = (0..topology.nodes()).map(NodeId).collect();
    if routing.same_for_router() {
        nodes.dedup_by_key(|&mut node| topology.attachment(node).0);
    }
    nodes
}

/// Adds the dependencies of all packets for some destinations, from every source.
pub(super) fn add_destinations(
    graph: &DependencyGraph<'_>,
    (topology, routing): (&dyn Topology, &dyn Routing),
    nodes: &[NodeId],
) -> Result<(), RoutingContractError> {
    visit_destinations(graph, (topology, routing), (nodes, u32::MAX), |walk, masks| {
        if graph.vertices > 0 {
            graph.wanted(walk, masks);
            graph.add(walk, masks);
        }
        Ok(())
    })
}

/// Checks that packets for some destinations take a lower class at each hop between routers than at the one before.
pub(super) fn check_classes(
    graph: &DependencyGraph<'_>,
    (topology, routing): (&dyn Topology, &dyn Routing),
    nodes: &[NodeId],
) -> Result<(), RoutingContractError> {
    visit_destinations(graph, (topology, routing), (nodes, u32::MAX), |walk, _| {
        for step in DependencyGraph::held(walk) {
            let next = walk.moves(step.to as usize).iter().filter(|next| next.to != Move::DELIVERED);
            if let Some(next) = next.into_iter().find(|next| next.vc_class >= step.vc_class) {
                let (dst, router) = (walk.destination(), walk.stops[step.to as usize].router);
                return Err(RoutingContractError::NotFalling { dst, router, vc_class: next.vc_class });
            }
        }
        Ok(())
    })
}

/// Checks that the graph has the dependencies of packets for some destinations, from about `sources` routers.
pub(super) fn check_destinations(
    graph: &DependencyGraph<'_>,
    (topology, routing): (&dyn Topology, &dyn Routing),
    (nodes, sources): (&[NodeId], u32),
) -> Result<(), RoutingContractError> {
    visit_destinations(graph, (topology, routing), (nodes, sources), |walk, masks| {
        graph.wanted(walk, masks);
        for step in DependencyGraph::held(walk).filter(|_| graph.vertices > 0) {
            let known = graph.rows.row(graph.vertex(step.channel, step.vc_class));
            let mask = &masks[step.to as usize * graph.words..][..graph.words];
            let left_out =
                (0..).step_by(64).zip(mask.iter().zip(known)).find(|(_, (wanted, known))| *wanted & !known != 0);
            if let Some((base, (wanted, known))) = left_out {
                let bit = base + (wanted & !known).trailing_zeros() as usize;
                return Err(unrepresented(graph, walk, step.to as usize, bit));
            }
        }
        Ok(())
    })
}

fn unrepresented(graph: &DependencyGraph<'_>, walk: &Walk<'_>, stop: usize, bit: usize) -> RoutingContractError {
    RoutingContractError::Unrepresented {
        dst: walk.destination(),
        router: walk.stops[stop].router,
        port: PortId((bit / graph.classes) as u16),
        vc_class: VcClass((bit % graph.classes) as u8),
    }
}

/// Follows the packets of about `most_sources` sources to each destination, many destinations in parallel. The error is
/// that of the first destination that has one, whichever thread finishes first.
fn visit_destinations(
    graph: &DependencyGraph<'_>,
    (topology, routing): (&dyn Topology, &dyn Routing),
    (nodes, most_sources): (&[NodeId], u32),
    visit: impl Fn(&Walk<'_>, &mut Vec<u64>) -> Result<(), RoutingContractError> + Sync,
) -> Result<(), RoutingContractError> {
    let sources = Sources::of(topology, routing, None).groups;
    let step = spread(sources.len(), most_sources as usize);
    let follow = |(walk, masks): &mut (Walk<'_>, Vec<u64>), &dst: &NodeId| {
        graph.check_stopped()?;
        walk.begin(Aim::Node(dst));
        for &(src, router, port) in sources.iter().step_by(step) {
            for (state, _) in routing.initial_distribution(src, dst) {
                walk.enter(router, port, state);
            }
        }
        walk.explore()?;
        visit(walk, masks)
    };
    let start = || (Walk::new(graph.wiring, routing), Vec::new());
    workers::try_each(nodes, LEAST, start, follow)
}

/// Adds the dependencies of the representative packets, if the routing states them.
pub(super) fn add_representatives(
    graph: &DependencyGraph<'_>,
    routing: &dyn Routing,
) -> Result<(), RoutingContractError> {
    let routers = graph.wiring.ports.len() as u32;
    let add = |(): &mut (), router: u32| {
        graph.check_stopped()?;
        let packets = routing.representatives(RouterId(router)).unwrap_or_default();
        packets.into_iter().try_for_each(|packet| TwoHops { graph, routing }.add(RouterId(router), packet))
    };
    workers::try_each(0..routers, 1, || (), add)
}

/// Next two hops of packets.
struct TwoHops<'a> {
    graph: &'a DependencyGraph<'a>,
    routing: &'a dyn Routing,
}

impl TwoHops<'_> {
    /// Adds the dependencies of a packet at a router: the channels that it may take from there wait for those that it
    /// may take next.
    fn add(&self, at: RouterId, packet: Representative) -> Result<(), RoutingContractError> {
        let Representative { dst, state, next: only } = packet;
        let hop = Hop { dst, state, in_port: PortId(0), vc_class: VcClass(0) };
        self.each_route(at, hop, |route, taken| {
            for port in route.ports(self.routing.port_lists()) {
                let (channel, end) = self.graph.wiring.output(dst, at, port)?;
                let Endpoint::Router(next, in_port) = end else { continue };
                if only.is_some_and(|only| only != next) {
                    continue;
                }
                let held = self.graph.vertex(channel, route.vc_class);
                self.wait(held, next, Hop { in_port, vc_class: route.vc_class, ..taken })?;
            }
            Ok(())
        })
    }

    /// Adds the channels that a packet at a router may wait for, while it holds a channel's class.
    fn wait(&self, held: usize, at: RouterId, hop: Hop) -> Result<(), RoutingContractError> {
        self.each_route(at, hop, |route, taken| {
            for port in route.ports(self.routing.port_lists()) {
                let (wanted, _) = self.graph.wiring.output(taken.dst, at, port)?;
                self.graph.rows.set(held, self.graph.bit(at, wanted, route.vc_class));
            }
            Ok(())
        })
    }

    /// Visits the route that a packet waits for, or all routes between which it chooses, with the packet's routing
    /// state on it.
    fn each_route(
        &self,
        at: RouterId,
        hop: Hop,
        mut visit: impl FnMut(Route, Hop) -> Result<(), RoutingContractError>,
    ) -> Result<(), RoutingContractError> {
        let mut taken = hop;
        let route = self.routing.route(at, &mut taken);
        if !route.choice.is_weighed() {
            let waited = match route.choice {
                Choice::Escape => {
                    let (port, vc_class) = self.routing.escape(at, &hop);
                    Route::only(port, vc_class)
                }
                _ => route,
            };
            self.check_class(at, hop.dst, waited.vc_class)?;
            return visit(waited, taken);
        }
        for number in 0..route.count {
            let Some(state) = self.routing.candidate_state(at, &hop, number) else { continue };
            let mut taken = hop;
            let route = self.routing.take(at, (number, state), &mut taken);
            self.check_class(at, hop.dst, route.vc_class)?;
            visit(route, taken)?;
        }
        Ok(())
    }

    fn check_class(&self, router: RouterId, dst: NodeId, vc_class: VcClass) -> Result<(), RoutingContractError> {
        let classes = self.routing.classes();
        if vc_class.0 < classes {
            return Ok(());
        }
        Err(RoutingContractError::NoSuchClass { dst, router, vc_class, classes })
    }
}
