//! Contract suite of topologies, checked against naive oracles.
//!
//! A family's tests call `check_topology` on its machines of many sizes. Closed forms of the family are compared with a
//! breadth-first search in its wiring.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;

use topology::{Endpoint, NO_PATH, Topology};
use units::{NodeId, PortId, RouterId};

/// Maximum number of routers whose distances are all checked. With more routers, a sample is checked.
const ALL_SOURCES: u32 = 600;
/// Number of routers in the sample.
const SAMPLE: u32 = 40;

/// Checks all promises of the trait. Panics with the broken promise.
pub fn check_topology(topology: &dyn Topology) {
    check_wiring(topology);
    check_attachments(topology);
    check_classes(topology);
    check_coordinates(topology);
    check_distances(topology);
}

/// Returns the distances from a router to all, found by breadth-first search; `None` for unreachable routers.
pub fn distances_from(topology: &dyn Topology, from: RouterId) -> Vec<Option<u32>> {
    let mut distances = vec![None; topology.routers() as usize];
    distances[from.index()] = Some(0);
    let mut queue = VecDeque::from([(from, 0)]);
    while let Some((router, distance)) = queue.pop_front() {
        for port in ports(topology, router) {
            if let Endpoint::Router(next, _) = topology.endpoint(router, port)
                && distances[next.index()].is_none()
            {
                distances[next.index()] = Some(distance + 1);
                queue.push_back((next, distance + 1));
            }
        }
    }
    distances
}

/// Returns the number of channels from routers to routers (both directions of a wire count), found by visiting every
/// port.
pub fn links(topology: &dyn Topology) -> u64 {
    let is_link = |(router, port)| matches!(topology.endpoint(router, port), Endpoint::Router(..));
    all_ports(topology).filter(|&place| is_link(place)).count() as u64
}

/// Returns the edge list of any topology of one plane. Each wire is written at its lower end.
pub fn edge_list(topology: &dyn Topology) -> String {
    let mut text = String::new();
    let names = topology.class_names();
    for node in (0..topology.nodes()).map(NodeId) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "node {}", topology.attachment(node).0);
    }
    for router in (0..topology.routers()).map(RouterId) {
        for port in (0..topology.ports(router)).map(PortId) {
            if let Endpoint::Router(next, _) = topology.endpoint(router, port)
                && next > router
            {
                let _ = writeln!(text, "link {router} {next} {}", names[usize::from(topology.class(router, port).0)]);
            }
        }
    }
    text
}

/// Vertices that a bisection separates into halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bisection {
    /// Routers are halved; nodes stay with their routers.
    Routers,
    /// Nodes are halved. Each router is placed where the cut is smallest, and the links of nodes may be cut.
    Nodes,
}

/// Returns the least number of channels in one direction across a bisection, found by trying all. For networks of up to
/// about 20 routers and nodes together.
pub fn bisection(topology: &dyn Topology, separates: Bisection) -> u64 {
    let routers = topology.routers();
    let (vertices, halved) = match separates {
        Bisection::Routers => (routers, 0..routers),
        Bisection::Nodes => (routers + topology.nodes(), routers..routers + topology.nodes()),
    };
    assert!(vertices <= 24, "trying all bisections of {vertices} vertices takes too long");
    let half = halved.len() as u32 / 2;
    let mask = halved.fold(0_u32, |mask, vertex| mask | 1 << vertex);
    let wires = wires(topology, vertices);
    let crossing = |side: u32| wires.iter().filter(|(one, other)| ((side >> one) ^ (side >> other)) & 1 == 1).count();
    (0..1_u32 << vertices).filter(|side| (side & mask).count_ones() == half).map(crossing).min().unwrap_or(0) as u64
}

/// Returns the wires between vertices: routers by their number, then nodes.
fn wires(topology: &dyn Topology, vertices: u32) -> Vec<(u32, u32)> {
    let wire = |(router, port): (RouterId, PortId)| match topology.endpoint(router, port) {
        Endpoint::Router(next, _) if next > router => Some((router.0, next.0)),
        Endpoint::Node(node) => Some((router.0, topology.routers() + node.0)),
        _ => None,
    };
    all_ports(topology).filter_map(wire).filter(|&(_, to)| to < vertices).collect()
}

fn ports(topology: &dyn Topology, router: RouterId) -> impl Iterator<Item = PortId> {
    (0..topology.ports(router)).map(PortId)
}

fn all_ports(topology: &dyn Topology) -> impl Iterator<Item = (RouterId, PortId)> {
    (0..topology.routers())
        .map(RouterId)
        .flat_map(move |router| ports(topology, router).map(move |port| (router, port)))
}

fn check_wiring(topology: &dyn Topology) {
    for (router, port) in all_ports(topology) {
        if let Endpoint::Router(next, next_port) = topology.endpoint(router, port) {
            let known = next.0 < topology.routers() && next_port.0 < topology.ports(next);
            assert!(known, "port {port} of router {router} leads to port {next_port} of router {next}: there is none");
            let back = topology.endpoint(next, next_port);
            assert_eq!(
                back,
                Endpoint::Router(router, port),
                "port {port} of router {router} leads to port {next_port} of router {next}, which does not lead back"
            );
        }
    }
}

fn check_attachments(topology: &dyn Topology) {
    let planes = || topology.all_planes();
    let mut attached = 0;
    for (node, plane) in (0..topology.nodes()).map(NodeId).flat_map(|node| planes().map(move |plane| (node, plane))) {
        let Some((router, port)) = topology.attachment_on(node, plane) else { continue };
        attached += 1;
        assert_eq!(topology.plane_of(router), plane, "the plane of router {router}");
        let known = router.0 < topology.routers() && port.0 < topology.ports(router);
        assert!(known, "node {node} is attached to port {port} of router {router}: there is none");
        let endpoint = topology.endpoint(router, port);
        assert_eq!(
            endpoint,
            Endpoint::Node(node),
            "node {node} is attached to port {port} of router {router}, which has"
        );
    }
    let is_node = |(router, port)| matches!(topology.endpoint(router, port), Endpoint::Node(_));
    let hanging = all_ports(topology).filter(|&place| is_node(place)).count();
    assert_eq!(hanging, attached, "ports with a node");
    for node in (0..topology.nodes()).map(NodeId) {
        let first = planes().find_map(|plane| topology.attachment_on(node, plane));
        assert_eq!(first, Some(topology.attachment(node)), "the first port of node {node}");
    }
}

fn check_classes(topology: &dyn Topology) {
    let names = topology.class_names();
    for plane in topology.all_planes() {
        let ends = [topology.injection_class(plane), topology.ejection_class(plane)];
        let ends = ends.map(|class| names[usize::from(class.0)].rsplit('.').next());
        assert_eq!(ends, [Some("injection"), Some("ejection")]);
    }
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "a class name occurs twice: {names:?}");
    for name in &names {
        // A bare name, so that `[link.NAME]` needs no quotes. The name of a network may precede it.
        let bare = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.');
        assert!(bare && !name.is_empty(), "`{name}` is not a bare key");
    }
    for (router, port) in all_ports(topology) {
        let class = topology.class(router, port);
        let valid = match topology.endpoint(router, port) {
            Endpoint::Node(_) => class == topology.ejection_class(topology.plane_of(router)),
            Endpoint::Router(..) => {
                let is_end = topology.is_injection(class) || topology.is_ejection(class);
                !is_end && usize::from(class.0) < names.len()
            }
            Endpoint::Unconnected => true,
        };
        assert!(valid, "port {port} of router {router} has class {}", class.0);
    }
}

fn check_coordinates(topology: &dyn Topology) {
    let names = topology.coordinate_names();
    let mut seen = BTreeSet::new();
    for router in (0..topology.routers()).map(RouterId) {
        let coordinates = topology.coordinates(router);
        assert_eq!(coordinates.len(), names.len(), "router {router} has the coordinates {coordinates:?} for {names:?}");
        assert!(seen.insert(coordinates.clone()), "router {router} shares the coordinates {coordinates:?}");
    }
}

fn check_distances(topology: &dyn Topology) {
    let routers = topology.routers();
    let all = routers <= ALL_SOURCES;
    // An odd step, so that the sample is not aligned with sizes that are powers of two.
    let step = if all { 1 } else { (routers / SAMPLE) | 1 };
    let mut has_nodes = vec![false; routers as usize];
    for node in (0..topology.nodes()).map(NodeId) {
        let attached = topology.all_planes().filter_map(|plane| topology.attachment_on(node, plane));
        attached.for_each(|(router, _)| has_nodes[router.index()] = true);
    }
    let mut longest = 0;
    for from in (0..routers).step_by(step as usize).map(RouterId) {
        for (to, found) in (0..routers).map(RouterId).zip(distances_from(topology, from)) {
            let distance = topology.distance(from, to);
            let known = if distance == NO_PATH { None } else { Some(distance) };
            assert_eq!(known, found, "distance from router {from} to {to}");
            let island = |router| topology.views().networks.map(|networks| networks.position(router).first);
            assert_eq!(known.is_some(), island(from) == island(to), "a path from {from} to {to}");
            if has_nodes[from.index()] && has_nodes[to.index()] {
                longest = longest.max(found.unwrap_or(0));
            }
        }
    }
    let diameter = topology.diameter();
    assert!(longest <= diameter && (!all || longest == diameter), "diameter {diameter}, but {longest} was found");
}
