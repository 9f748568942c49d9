//! Mappings on machines of several networks: each network's hops at its cost, relays included.
#![allow(clippy::expect_used, reason = "a test may fail")]

use std::path::Path;
use std::sync::Arc;

use mapping::strategies::{StrategyName, map};
use mapping::{Machine, MachineSpec, MapSpec, Mapping, Objective, Problem, Silent, channel_use, measure};
use tasks::{ArcList, TaskGraph};
use topology::families::networks::{Networks, Part};
use topology::{ChannelSource, Channels, Order, Places, PlacesRule, RelayRule, TopologySpec, WayRule};
use units::{Bytes, ChannelId, Draw, NamedStream, NodeId};

/// Cost of a hop between nodes, as many times that inside a node.
const COST: u32 = 9;

fn part(name: &str, shorthand: &str, order: Order, hop_cost: u32) -> Part {
    let spec: TopologySpec = shorthand.parse().expect("a shorthand");
    let island = spec.build(Path::new(".")).expect("a topology");
    let rule = PlacesRule { nodes: 8, per_node: 4, members: None, order, rail_nodes: None, island: island.nodes() };
    let (places, planes) = (Places::by_rule(&rule).expect("places"), 2);
    Part { name: name.into(), island, planes, places, is_undivided: true, hop_cost }
}

/// Eight nodes of four endpoints: a switch in each node, and four rails, each a tree of four leaves of two nodes.
fn networks(rule: WayRule) -> Networks {
    let inside = part("inside", "single-switch:4", Order::ByNode, 1);
    let rail = part("rail", "leaf-spine:leaves=4,spines=2,nodes_per_leaf=2", Order::ByRail, COST);
    Networks::new(vec![inside, rail]).expect("networks").with_rule(rule)
}

fn relayed(at_source: bool) -> WayRule {
    WayRule { relay: Some(RelayRule { network: 0, at_source }), ..WayRule::default() }
}

fn machine(rule: WayRule) -> Machine {
    Machine::new(Arc::new(networks(rule)), MachineSpec::default()).expect("a machine")
}

/// Hops by the definition: 2 inside a node, 2 or 4 on a rail times its cost, and those of a relay's two legs.
fn expected(from: u32, to: u32) -> u32 {
    let ((node, rail), (other, own)) = ((from / 4, from % 4), (to / 4, to % 4));
    let between = COST * if node / 2 == other / 2 { 2 } else { 4 };
    match (node == other, rail == own) {
        (true, true) => 0,
        (true, false) => 2,
        (false, true) => between,
        (false, false) => 2 + between,
    }
}

#[test]
fn hops_are_those_of_the_networks_on_the_way() {
    // Would catch hops of the first network only, a cost that is added once a message, and relays that cost nothing.
    for at_source in [true, false] {
        let machine = machine(relayed(at_source));
        for (from, to) in (0..32).flat_map(|from| (0..32).map(move |to| (from, to))) {
            assert_eq!(machine.hops().hops(from, to), expected(from, to), "{from} {to}");
        }
    }
    let part =
        Machine::with_allocation(Arc::new(networks(relayed(true))), MachineSpec::default(), vec![NodeId(9), NodeId(4)]);
    assert_eq!(part.expect("a part").hops().hops(0, 1), expected(9, 4));
}

#[test]
fn machines_without_a_way_are_refused() {
    // Would catch a hop of no network that counts as a number, and a size that is ignored.
    let error = |rule: WayRule| {
        let made = Machine::new(Arc::new(networks(rule)), MachineSpec::default());
        made.map(|_| ()).expect_err("no way").to_string()
    };
    let missing = error(WayRule::default());
    assert!(missing.contains("no network joins endpoints 0 and 5, and no relay"), "{missing}");
    let sizes = vec![(None, Some(Bytes(4096))), (None, None)];
    assert!(error(WayRule { sizes, ..relayed(true) }).contains("one way for messages of all sizes"));
}

#[test]
fn channels_carry_the_legs_of_messages() {
    // Task 0 sends 1,200 bytes to task 5 on the next node and another rail: by the switch to endpoint 1, and by its rail.
    // Would catch a relay that carries nothing, a load on one plane of two, and one that is lost.
    let machine = machine(relayed(true));
    let mut arcs = ArcList::new(32);
    arcs.add(0, 5, 1200, 1);
    let graph = TaskGraph::new("one", arcs.build());
    let mapping = Mapping { place_of: (0..32).collect() };
    let found = channel_use(&graph, &machine, &mapping).expect("loads");
    let channels = Channels::new(&**machine.topology());
    let injected = (0..channels.count()).map(ChannelId).filter_map(|channel| match channels.source(channel) {
        ChannelSource::Node(node, plane) => Some((node.0, plane.0, found.bytes[channel.index()])),
        ChannelSource::Router(..) => None,
    });
    let loaded: Vec<_> = injected.filter(|(.., bytes)| *bytes > 0.0).collect();
    let mut sorted = loaded.clone();
    sorted.sort_by_key(|&(node, plane, _)| (node, plane));
    assert_eq!(sorted, [(0, 0, 600.0), (0, 1, 600.0), (1, 2, 600.0), (1, 3, 600.0)]);
    // Two channels into switches, and two out of them, of each leg in each of two planes.
    assert_eq!(found.bytes.iter().sum::<f64>(), 2.0 * 2.0 * 1200.0);
    assert!((measure(&graph, &machine, &mapping).hop_bytes - 1200.0 * f64::from(expected(0, 5))).abs() < 1e-9);
}

fn solve(graph: &TaskGraph, machine: &Machine, strategy: StrategyName, objective: Objective) -> Mapping {
    let spec = MapSpec { strategy, objective, budget: Some(0.02), ..MapSpec::default() };
    map(&Problem { graph, machine, spec: &spec, fixed: &[], current: None, watch: &Silent }).expect("a mapping")
}

#[test]
fn a_mapping_is_never_worse_than_tasks_in_order() {
    // Hop-bytes by the closed form of the hops, of random graphs and of groups of four that are spread over all nodes in
    // order: each group fits into a node, so that its best mapping costs 2 for each byte. Would catch a strategy that
    // minimizes hops of one network, and one that reports others than it reaches.
    let machine = machine(relayed(true));
    let cost = |graph: &TaskGraph, mapping: &Mapping| -> u64 {
        let place = |task: u32| mapping.place_of[task as usize];
        let arcs = graph.phases.iter().flat_map(|phase| phase.arcs.iter());
        arcs.map(|(from, to, bytes, _)| u64::from(expected(place(from), place(to))) * bytes).sum()
    };
    let in_order = Mapping { place_of: (0..32).collect() };
    for seed in 0..6 {
        let (mut draw, mut arcs) = (NamedStream::new(seed, "test-graph"), ArcList::new(32));
        for task in 0..32 {
            (0..3).for_each(|_| arcs.add_both(task, draw.below(32), 1 + u64::from(draw.below(100)), 1));
        }
        let graph = TaskGraph::new("random", arcs.build());
        let found = solve(&graph, &machine, StrategyName::Auto, Objective::HopBytes);
        let (reached, before) = (cost(&graph, &found), cost(&graph, &in_order));
        assert!(reached <= before, "{seed}: {reached} {before}");
        assert_eq!(measure(&graph, &machine, &found).hop_bytes, reached as f64);
        let loads = |mapping: &Mapping| channel_use(&graph, &machine, mapping).expect("loads").max;
        let found = solve(&graph, &machine, StrategyName::Auto, Objective::MaxChannelLoad);
        assert!(loads(&found) <= loads(&in_order) * (1.0 + 1e-12), "{seed}");
    }
    let mut arcs = ArcList::new(32);
    for (one, other) in (0..32).flat_map(|one| (0..one).map(move |other| (one, other))) {
        if one % 8 == other % 8 {
            arcs.add_both(one, other, 10, 1);
        }
    }
    let graph = TaskGraph::new("groups", arcs.build());
    let found = solve(&graph, &machine, StrategyName::Auto, Objective::HopBytes);
    assert_eq!(cost(&graph, &found), 8 * 12 * 10 * 2);
    assert!(cost(&graph, &in_order) > 8 * 12 * 10 * 2 * u64::from(COST));
}
