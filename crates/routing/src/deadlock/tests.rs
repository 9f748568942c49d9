//! The graph by representatives against the enumeration of every packet, network by network.

use std::path::Path;
use std::sync::Arc;

use topology::TopologySpec;

use super::*;
use crate::{Hop, PathOption, Representative, Route, RouteState, RoutingSpec};

fn network(shorthand: &str) -> Arc<dyn Topology> {
    let spec: TopologySpec = shorthand.parse().expect("a shorthand");
    spec.build(Path::new(".")).expect("a topology")
}

/// Returns every routing of a network that states representatives, with variants of its keys.
fn stating(topology: &dyn Topology) -> Vec<Arc<dyn Routing>> {
    let mut specs = RoutingSpec::all();
    for text in [
        r#"{"kind": "dimension-order", "ties": "positive"}"#,
        r#"{"kind": "dimension-order", "order": [1, 0]}"#,
        r#"{"kind": "dimension-order", "order": [2, 0, 1]}"#,
        r#"{"kind": "valiant-group", "intra_group": "valiant", "exclude_source_group": false}"#,
        r#"{"kind": "valiant-node", "intra_group": "valiant", "exclude_destination_group": false}"#,
        r#"{"kind": "ugal-l", "detour": "group"}"#,
        r#"{"kind": "par", "intra_group": "valiant", "exclude_source_group": false}"#,
        r#"{"kind": "par", "detour": "group", "intra_group": "valiant", "exclude_source_group": false}"#,
    ] {
        specs.push(serde_json::from_str(text).expect("a routing"));
    }
    let built = specs.iter().filter_map(|spec| spec.build(topology).ok());
    built.filter(|routing| routing.representatives(RouterId(0)).is_some()).collect()
}

/// Networks on which the two graphs are compared: odd and even sizes, sizes of 2, several nodes on a router.
const NETWORKS: [&str; 51] = [
    "fat-tree:k=2,n=1",
    "fat-tree:k=2,n=2",
    "fat-tree:k=2,n=3",
    "fat-tree:k=2,n=5",
    "fat-tree:k=3,n=2",
    "fat-tree:k=3,n=3",
    "fat-tree:k=4,n=3",
    "fat-tree:k=5,n=2",
    "xgft:m=1,w=1",
    "xgft:m=6x4,w=1x3",
    "xgft:m=4x3x2,w=1x5x2",
    "xgft:m=6x2x3,w=1x3x2,p=1x2x1",
    "xgft:m=3x2x3x2,w=1x2x1x2,p=1x1x3x2",
    "xgft:m=4x3x3,w=1x2x3,p=1x2x2,hosts=29",
    "xgft:m=3x3x2x2,w=1x2x2x3,hosts=17",
    "leaf-spine:leaves=4,spines=3,nodes_per_leaf=5,wires=2",
    "torus:2",
    "torus:3",
    "torus:4",
    "torus:5",
    "torus:6",
    "torus:8",
    "torus:13",
    "torus:14",
    "torus:2x2",
    "torus:4x4",
    "torus:5x4x3",
    "torus:3x10x2",
    "torus:2x3x4x2",
    "torus:4x5,nodes_per_router=3",
    "mesh:2",
    "mesh:7",
    "mesh:12",
    "mesh:11x3",
    "torus:2x12",
    "torus:9x6",
    "mesh:2x4",
    "mesh:3x4x2",
    "mesh:4x3,nodes_per_router=2",
    "hyperx:5,nodes_per_router=2",
    "hyperx:3x2,wires=2x1",
    "hyperx:4x3",
    "hyperx:3x2x3",
    "hyperx:2x2x2",
    "dragonfly:h=1",
    "dragonfly:h=2",
    "dragonfly:p=1,a=3,h=2,g=4",
    "dragonfly:p=2,a=4,h=1,g=2",
    "dragonfly:p=1,a=4,h=2,g=3,arrangement=absolute",
    "dragonfly:p=1,a=6,h=1,group=flattened-butterfly",
    "dragonfly:p=1,a=6,h=1,g=4,group=flattened-butterfly,group_dims=2x3",
];

/// Returns the edges between channels from router to router.
fn edges(graph: &DependencyGraph<'_>) -> Vec<(usize, usize)> {
    let is_link = |vertex: usize| {
        let channel = ChannelId((vertex / graph.classes) as u32);
        matches!(graph.wiring.end(channel), Endpoint::Router(..))
    };
    let links: Vec<usize> = (0..graph.vertices).filter(|&vertex| is_link(vertex)).collect();
    links.iter().flat_map(|&from| graph.successors(from).filter(|&to| is_link(to)).map(move |to| (from, to))).collect()
}

#[test]
fn representatives_find_the_dependencies_of_all_packets() {
    // Would catch a destination that is left out, a state that is left out, a hop that is taken for another. In grids
    // the graphs are equal: every packet starts at every router. In trees there may be more edges, since a
    // representative may be where no packet comes.
    for shorthand in NETWORKS {
        let topology = network(shorthand);
        let wiring = Wiring::new(&*topology);
        for routing in stating(&*topology) {
            let (all, few) =
                (DependencyGraph::new(&wiring, routing.classes()), DependencyGraph::new(&wiring, routing.classes()));
            add_destinations(&all, (&*topology, &*routing), &destinations(&*topology, &*routing)).expect("contract");
            add_representatives(&few, &*routing).expect("contract");
            let (all, few) = (edges(&all), edges(&few));
            // Representatives of polarized routing include hops that no packet takes.
            if topology.views().grid.is_some() && routing.kind() != "polarized" {
                assert_eq!(all, few, "{shorthand}, {routing:?}");
            }
            assert!(all.iter().all(|edge| few.binary_search(edge).is_ok()), "{shorthand}, {routing:?}");
        }
    }
}

#[test]
fn a_long_line_or_ring_has_no_more_representatives_than_a_short_one() {
    // Would catch a proof that is quadratic in routers: with a packet for each other router of a line at each of 60,000
    // it took a minute and more.
    for kind in ["torus", "mesh"] {
        let [short, long] = [100, 60_000].map(|size| {
            let topology = network(&format!("{kind}:{size}"));
            let each = |routing: &Arc<dyn Routing>| {
                let middle = RouterId(topology.routers() / 2 - 3);
                routing.representatives(middle).expect("stated").len()
            };
            stating(&*topology).iter().map(each).collect::<Vec<_>>()
        });
        assert!(
            !short.is_empty() && short == long && short.iter().all(|&count| count <= 16),
            "{kind}: {short:?} {long:?}"
        );
    }
}

#[test]
fn a_check_ends_when_it_is_stopped() {
    // Would catch a proof of minutes that cannot be cancelled, by representatives, destination by destination or by
    // legs, and one that is stopped and has a verdict.
    for shorthand in ["torus:5x4x3", "fat-tree:k=4,n=3", "dragonfly:h=2"] {
        let topology = network(shorthand);
        for routing in RoutingSpec::all().iter().filter_map(|spec| spec.build(&*topology).ok()) {
            for limit in [0, EXHAUSTIVE] {
                for after in [0, 3] {
                    let asked = std::sync::atomic::AtomicU32::new(0);
                    let stops = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= after;
                    let found = find_dependency_cycle((&*topology, &*routing), None, (limit, &stops));
                    assert_eq!(found, Err(RoutingContractError::Stopped), "{shorthand}, {routing:?}, {limit}, {after}");
                }
            }
        }
    }
}

#[test]
fn nodes_of_one_router_depend_alike() {
    // Would catch a routing that wrongly says `same_for_router`.
    for shorthand in NETWORKS {
        let topology = network(shorthand);
        let wiring = Wiring::new(&*topology);
        let built = RoutingSpec::all().into_iter().filter_map(|spec| spec.build(&*topology).ok());
        for routing in built.filter(|routing| routing.same_for_router()) {
            let (all, few) =
                (DependencyGraph::new(&wiring, routing.classes()), DependencyGraph::new(&wiring, routing.classes()));
            let nodes: Vec<NodeId> = (0..topology.nodes()).map(NodeId).collect();
            add_destinations(&all, (&*topology, &*routing), &nodes).expect("contract");
            add_destinations(&few, (&*topology, &*routing), &destinations(&*topology, &*routing)).expect("contract");
            assert_eq!(edges(&all), edges(&few), "{shorthand}, {routing:?}");
        }
    }
}

#[test]
fn networks_beyond_the_limit_have_the_verdict_of_the_enumeration() {
    for shorthand in NETWORKS {
        let topology = network(shorthand);
        for routing in stating(&*topology) {
            for routing in [Arc::clone(&routing), Arc::new(OneClass(routing, true)) as Arc<dyn Routing>] {
                let all = dependency_cycle(&*topology, &*routing).expect("contract");
                let few = find_dependency_cycle((&*topology, &*routing), None, (0, NEVER)).expect("contract");
                assert_eq!(all, few, "{shorthand}, {routing:?}");
            }
        }
    }
}

#[test]
fn rings_on_one_class_deadlock_however_they_are_checked() {
    // Would catch a check by representatives that finds nothing, and a cycle that is none.
    let ring = network("torus:8x4");
    let routing = RoutingSpec::DimensionOrder(Default::default()).build(&*ring).expect("a routing");
    let one_class = OneClass(routing, true);
    let wiring = Wiring::new(&*ring);
    let graph =
        by_representatives(&wiring, (&*ring, &one_class), (1, 0, NEVER)).expect("contract").expect("representatives");
    let channels = graph.cycle().expect("a ring");
    assert!([4, 8].contains(&channels.len()), "{channels:?}");
    for (held, wanted) in channels.iter().zip(channels.iter().cycle().skip(1)) {
        let Endpoint::Router(router, _) = wiring.end(held.0) else { panic!("{held:?}") };
        assert!(matches!(wiring.channels.source(wanted.0), ChannelSource::Router(at, _) if at == router));
    }
}

#[test]
fn representatives_that_leave_something_out_are_found() {
    // Would catch a check that trusts what a routing states.
    let grid = network("torus:6x5");
    let routing = RoutingSpec::DimensionOrder(Default::default()).build(&*grid).expect("a routing");
    let fault = find_dependency_cycle((&*grid, &OneClass(routing, false)), None, (0, NEVER))
        .expect_err("a dependency is missing");
    assert!(matches!(fault, RoutingContractError::Unrepresented { .. }), "{fault}");
    assert!(fault.to_string().contains("`representatives` leaves out"), "{fault}");
}

/// Routing on one class of virtual channels, which states its representatives or leaves out every third.
#[derive(Debug)]
struct OneClass(Arc<dyn Routing>, bool);

impl Routing for OneClass {
    fn kind(&self) -> &'static str {
        "one-class"
    }
    fn classes(&self) -> u8 {
        1
    }
    fn adaptive(&self) -> bool {
        self.0.adaptive()
    }
    fn initial_distribution(&self, src: NodeId, dst: NodeId) -> Vec<(RouteState, f64)> {
        self.0.initial_distribution(src, dst)
    }
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let mut route = self.0.route(at, hop);
        route.vc_class = VcClass(0);
        route
    }
    fn port_lists(&self) -> &[units::PortId] {
        self.0.port_lists()
    }
    fn uses_input_port(&self) -> bool {
        false
    }
    fn same_for_router(&self) -> bool {
        self.0.same_for_router()
    }
    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        let mut packets = self.0.representatives(at)?;
        if !self.1 {
            packets = packets.into_iter().enumerate().filter(|(i, _)| i % 3 > 0).map(|(_, packet)| packet).collect();
        }
        Some(packets)
    }
    fn candidate(&self, at: RouterId, hop: &Hop, number: u16) -> Option<PathOption> {
        self.0.candidate(at, hop, number)
    }
    fn take(&self, at: RouterId, candidate: (u16, RouteState), hop: &mut Hop) -> Route {
        let mut route = self.0.take(at, candidate, hop);
        route.vc_class = VcClass(0);
        route
    }
    fn waypoints(&self) -> u32 {
        self.0.waypoints()
    }
    fn current_waypoint(&self, at: RouterId, state: RouteState) -> Option<u32> {
        self.0.current_waypoint(at, state)
    }
    fn with_waypoint(&self, state: RouteState, waypoint: u32) -> RouteState {
        self.0.with_waypoint(state, waypoint)
    }
    fn behind_waypoint(&self, state: RouteState) -> RouteState {
        self.0.behind_waypoint(state)
    }
    fn initial_states(&self) -> Vec<RouteState> {
        self.0.initial_states()
    }
    fn escape(&self, at: RouterId, hop: &Hop) -> (units::PortId, VcClass) {
        (self.0.escape(at, hop).0, VcClass(0))
    }
    fn minimal(&self) -> bool {
        self.0.minimal()
    }
    fn max_routers(&self) -> u32 {
        self.0.max_routers()
    }
}

#[test]
fn falling_classes_are_checked_and_exclude_cycles() {
    // Would catch a routing that states falling classes and has a cycle, and a check that trusts the statement.
    let mut stating = 0;
    for shorthand in ["torus:5x4", "slim-fly:q=5", "dragonfly:h=2", "jellyfish:routers=20,degree=4,nodes_per_router=2"]
    {
        let topology = network(shorthand);
        for routing in RoutingSpec::all().iter().filter_map(|spec| spec.build(&*topology).ok()) {
            if routing.classes_fall() {
                stating += 1;
                assert_eq!(dependency_cycle(&*topology, &*routing), Ok(None), "{shorthand}, {routing:?}");
                assert_eq!(find_dependency_cycle((&*topology, &*routing), None, (0, NEVER)), Ok(None));
            }
        }
        let (wiring, spec) = (Wiring::new(&*topology), RoutingSpec::ShortestPath(Default::default()));
        let one_class = OneClass(spec.build(&*topology).expect("a routing"), true);
        let nodes = destinations(&*topology, &one_class);
        let fault = check_classes(&DependencyGraph::new(&wiring, 0), (&*topology, &one_class), &nodes);
        assert!(matches!(fault, Err(RoutingContractError::NotFalling { .. })), "{fault:?}");
    }
    assert!(stating >= 4, "{stating}");
}

#[test]
fn trees_are_added_to_either_graph() {
    // Would catch a proof by representatives that leaves the trees out, in networks beyond the limit.
    use crate::trees::{MinimalDepthSpec, OrderKind, TreeClasses, TreeSpec, TreesSpec};
    for shorthand in ["torus:4", "torus:4x4", "mesh:4x3,nodes_per_router=2", "dragonfly:h=2", "fat-tree:k=3,n=2"] {
        let topology = network(shorthand);
        let groups: Vec<Vec<NodeId>> = (0..4).map(|first| (0..3).map(|i| NodeId((first + i) % 4)).collect()).collect();
        for classes in [TreeClasses::Own, TreeClasses::Single] {
            let build = TreeSpec::MinimalDepth(MinimalDepthSpec { order: Some(OrderKind::Hops) });
            for routing in stating(&*topology) {
                let spec = TreesSpec { classes: Some(classes), ..TreesSpec::new(build) };
                let trees = spec.build(&topology, &*routing, &groups).expect("trees");
                let all = dependency_cycle_with_trees(&*topology, &*routing, &trees).expect("contract");
                let own = IslandTrees { trees: &trees, first: 0, routers: topology.routers() };
                let few = find_dependency_cycle((&*topology, &*routing), Some(own), (0, NEVER)).expect("contract");
                assert_eq!(all, few, "{shorthand}, {routing:?}");
                let is_ring = shorthand == "torus:4" && classes == TreeClasses::Single;
                assert!(all.is_some() == is_ring || classes == TreeClasses::Single, "{shorthand}: {all:?}");
            }
        }
    }
}
