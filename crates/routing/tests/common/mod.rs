//! Helpers shared by the tests of all routings.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;

use routing::{
    ChannelLoads, Demand, Demands, Hop, Route, Routing, RoutingSpec, channel_loads, demand_loads, dependency_cycle,
    transit_loads,
};
use testkit::routing::{
    Traffic, check_paths, check_routing, naive_channel_loads, naive_has_cycle, naive_transit_loads,
};
use topology::families::fat_tree::FatTreeSpec;
use topology::families::file::FileTopology;
use topology::families::single_switch::SingleSwitchSpec;
use topology::families::torus::GridSpec;
use topology::{Topology, TopologySpec};
use units::{ChannelId, NodeId, RouterId, VcClass};

pub fn fat_tree(k: u64, n: u64) -> Arc<dyn Topology> {
    TopologySpec::FatTree(FatTreeSpec { k, n }).build(Path::new(".")).unwrap()
}

/// Returns the topology of a shorthand, such as `xgft:m=4x2,w=1x2`.
pub fn shorthand(text: &str) -> Arc<dyn Topology> {
    text.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap()
}

pub fn torus(dims: &[u64], nodes_per_router: u64) -> Arc<dyn Topology> {
    TopologySpec::Torus(GridSpec::new(dims, nodes_per_router)).build(Path::new(".")).unwrap()
}

pub fn mesh(dims: &[u64], nodes_per_router: u64) -> Arc<dyn Topology> {
    TopologySpec::Mesh(GridSpec::new(dims, nodes_per_router)).build(Path::new(".")).unwrap()
}

/// Returns the topology of a shorthand.
pub fn named(shorthand: &str) -> Arc<dyn Topology> {
    shorthand.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap()
}

pub fn single_switch(ports: u64) -> Arc<dyn Topology> {
    TopologySpec::SingleSwitch(SingleSwitchSpec { ports }).build(Path::new(".")).unwrap()
}

pub fn build(spec: RoutingSpec, topology: &dyn Topology) -> Arc<dyn Routing> {
    spec.build(topology).unwrap()
}

/// Returns an equal bandwidth for every channel.
pub fn equal(_: ChannelId) -> f64 {
    1.0
}

pub fn loads(topology: &dyn Topology, routing: &dyn Routing, traffic: &Traffic<'_>) -> ChannelLoads {
    channel_loads(topology, routing, traffic).unwrap()
}

/// Returns the largest load of all channels: not limited by the injected load.
pub fn max_load(loads: &ChannelLoads) -> f64 {
    loads.load.iter().copied().fold(0.0, f64::max)
}

pub fn bound(topology: &dyn Topology, routing: &dyn Routing, traffic: &Traffic<'_>) -> f64 {
    loads(topology, routing, traffic).throughput_bound(&equal)
}

pub fn assert_near(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 1e-9, "{actual} instead of {expected}");
}

/// Returns traffic without symmetry, with nodes that send less than others or to themselves.
pub fn lopsided(nodes: u32) -> impl Fn(NodeId) -> Vec<(NodeId, f64)> {
    move |src| {
        let dst = |i: u32| NodeId((src.0 * 7 + i * i + 3 * i) % nodes);
        (0..src.0 % 4).map(|i| (dst(i), 0.25 / f64::from(i + 1))).collect()
    }
}

/// Checks the contract, and compares the fast analyses with the naive ones.
pub fn check_all(topology: &dyn Topology, routing: &dyn Routing) {
    check_routing(topology, routing);
    check_analyses(topology, routing);
}

/// Compares the fast analyses with the naive ones. Returns whether there is a cycle.
pub fn check_analyses(topology: &dyn Topology, routing: &dyn Routing) -> bool {
    check_paths(topology, routing);
    let traffic = lopsided(topology.nodes());
    let naive = naive_channel_loads(topology, routing, &traffic);
    let fast = loads(topology, routing, &traffic);
    assert_eq!(naive.len(), fast.load.len());
    for (channel, (naive, fast)) in naive.iter().zip(&fast.load).enumerate() {
        assert!((naive - fast).abs() < 1e-9, "channel {channel} has load {naive}, not {fast}");
    }
    check_transits(topology, routing, &traffic);
    check_demands(topology, routing);
    let cycle = dependency_cycle(topology, routing).unwrap();
    assert_eq!(cycle.is_some(), naive_has_cycle(topology, routing), "{cycle:?}");
    cycle.is_some()
}

/// Compares traffic to all nodes with the naive analysis of its pairs. Would catch symmetries that a network or a
/// routing does not have, and additions to the load of every node that are lost.
fn check_demands(topology: &dyn Topology, routing: &dyn Routing) {
    let nodes = topology.nodes();
    let each = 0.5 / f64::from(nodes);
    let to_others = |src: NodeId| Demand { everyone: each, besides: vec![(src, -each)] };
    let to_all = |_: NodeId| Demand { everyone: each, besides: Vec::new() };
    let to_some = |src: NodeId| Demand {
        everyone: each * f64::from(src.0 % 2),
        besides: vec![(NodeId(src.0 * 5 % nodes), 0.25), (NodeId(0), 0.125)],
    };
    for demands in [&to_others as &Demands<'_>, &to_all, &to_some] {
        let naive = naive_channel_loads(topology, routing, &|src| demands(src).by_node(nodes));
        let fast = demand_loads(topology, routing, demands, &|_| true).unwrap();
        for (channel, (naive, fast)) in naive.iter().zip(&fast.load).enumerate() {
            assert!((naive - fast).abs() < 1e-9, "channel {channel} has load {naive}, not {fast}");
        }
    }
}

/// Compares the load passing from channel to channel with the naive analysis. Would catch inputs, nodes or classes that
/// are merged.
fn check_transits(topology: &dyn Topology, routing: &dyn Routing, traffic: &Traffic<'_>) {
    let mut naive = naive_transit_loads(topology, routing, traffic);
    for found in transit_loads(topology, routing, traffic).unwrap() {
        let expected = naive.remove(&(found.input, found.vc_class, found.output)).unwrap_or(0.0);
        assert!((expected - found.load).abs() < 1e-9, "{found:?} instead of {expected}");
    }
    assert!(naive.values().all(|load| load.abs() < 1e-9), "left out: {naive:?}");
}

/// Routing on one class of virtual channels only, which does not declare that it ignores a packet's source.
#[derive(Debug)]
pub struct OnOneClass(pub Arc<dyn Routing>);

impl Routing for OnOneClass {
    fn kind(&self) -> &'static str {
        "on-one-class"
    }
    fn classes(&self) -> u8 {
        1
    }
    fn adaptive(&self) -> bool {
        self.0.adaptive()
    }
    fn initial_distribution(&self, src: NodeId, dst: NodeId) -> Vec<(routing::RouteState, f64)> {
        self.0.initial_distribution(src, dst)
    }
    fn start(&self, src: NodeId, dst: NodeId, draw: &mut dyn units::Draw) -> routing::RouteState {
        self.0.start(src, dst, draw)
    }
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let mut route = self.0.route(at, hop);
        route.vc_class = VcClass(0);
        route
    }
    fn escape(&self, at: RouterId, hop: &Hop) -> (units::PortId, VcClass) {
        (self.0.escape(at, hop).0, VcClass(0))
    }
    fn port_lists(&self) -> &[units::PortId] {
        self.0.port_lists()
    }
    fn minimal(&self) -> bool {
        self.0.minimal()
    }
    fn max_routers(&self) -> u32 {
        self.0.max_routers()
    }
}

/// Routing whose classes of virtual channels are folded into fewer.
#[derive(Debug)]
pub struct Folded(pub Arc<dyn Routing>, pub u8);

impl Routing for Folded {
    fn kind(&self) -> &'static str {
        "folded"
    }
    fn classes(&self) -> u8 {
        self.0.classes()
    }
    fn classes_on(&self, class: topology::ChannelClass) -> u8 {
        self.0.classes_on(class)
    }
    fn adaptive(&self) -> bool {
        self.0.adaptive()
    }
    fn initial_distribution(&self, src: NodeId, dst: NodeId) -> Vec<(routing::RouteState, f64)> {
        self.0.initial_distribution(src, dst)
    }
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let mut route = self.0.route(at, hop);
        route.vc_class.0 = route.vc_class.0.min(self.1);
        route
    }
    fn candidate(&self, at: RouterId, hop: &Hop, number: u16) -> Option<routing::PathOption> {
        self.0.candidate(at, hop, number)
    }
    fn take(&self, at: RouterId, candidate: (u16, routing::RouteState), hop: &mut Hop) -> Route {
        let mut route = self.0.take(at, candidate, hop);
        route.vc_class.0 = route.vc_class.0.min(self.1);
        route
    }
    fn port_lists(&self) -> &[units::PortId] {
        self.0.port_lists()
    }
    fn uses_input_port(&self) -> bool {
        false
    }
    fn same_for_router(&self) -> bool {
        true
    }
    fn waypoints(&self) -> u32 {
        self.0.waypoints()
    }
    fn current_waypoint(&self, at: RouterId, state: routing::RouteState) -> Option<u32> {
        self.0.current_waypoint(at, state)
    }
    fn with_waypoint(&self, state: routing::RouteState, waypoint: u32) -> routing::RouteState {
        self.0.with_waypoint(state, waypoint)
    }
    fn behind_waypoint(&self, state: routing::RouteState) -> routing::RouteState {
        self.0.behind_waypoint(state)
    }
    fn initial_states(&self) -> Vec<routing::RouteState> {
        self.0.initial_states()
    }
    fn minimal(&self) -> bool {
        false
    }
    fn max_routers(&self) -> u32 {
        self.0.max_routers()
    }
}

/// Returns a topology from the lines of an edge list.
pub fn network(lines: &str) -> Arc<dyn Topology> {
    Arc::new(FileTopology::from_text(lines, "network").unwrap())
}

/// Returns the edge list of a connected network of 4 to 10 routers, some with parallel wires, some without nodes.
pub fn random_network() -> impl Strategy<Value = String> {
    let parts = (4_u32..=10).prop_flat_map(|routers| {
        let parents = (1..routers).map(|router| 0..router).collect::<Vec<_>>();
        let more = prop::collection::vec((0..routers, 0..routers), 0..10);
        let nodes = prop::collection::vec(0..routers, 1..8);
        (parents, more, nodes)
    });
    parts.prop_map(|(parents, more, nodes)| {
        let tree = (1..).zip(parents);
        let wires = tree.chain(more).filter(|(one, other)| one != other);
        let wires = wires.map(|(one, other)| format!("link {one} {other}\n"));
        wires.chain(nodes.into_iter().map(|node| format!("node {node}\n"))).collect()
    })
}
