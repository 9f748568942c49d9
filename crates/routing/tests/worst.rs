//! Worst permutations: against all permutations, closed forms, and the loads of the permutation itself.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use routing::{RoutingContractError, RoutingSpec, WorstPermutation, WorstPermutationError, worst_permutation};
use topology::{NetworkSpec, Topology, TopologySpec};
use units::{ChannelId, NodeId};

use crate::common::{
    OnOneClass, assert_near, build, equal, fat_tree, loads, mesh, network, random_network, shorthand, torus,
};
use routing::Routing;
use testkit::routing::{links, naive_worst_of_some};

/// Bandwidth of a channel.
type Capacity = dyn Fn(ChannelId) -> f64;

fn worst(topology: &dyn Topology, routing: &dyn Routing, capacity: &Capacity) -> WorstPermutation {
    worst_permutation(topology, routing, None, capacity, &|_| true).unwrap()
}

fn named(kind: &str) -> RoutingSpec {
    RoutingSpec::all().into_iter().find(|spec| spec.kind() == kind).unwrap()
}

/// Returns the largest load of a link over its bandwidth, over all permutations.
fn worst_of_all(topology: &dyn Topology, routing: &dyn Routing, capacity: &Capacity) -> f64 {
    let nodes: Vec<NodeId> = (0..topology.nodes()).map(NodeId).collect();
    naive_worst_of_some(topology, routing, &nodes, capacity)
}

/// Checks that the answer is a permutation whose largest load is the one that is named, at the channel that is named.
fn check_claim(topology: &dyn Topology, routing: &dyn Routing, found: &WorstPermutation, capacity: &Capacity) {
    let mut targets: Vec<NodeId> = found.to.clone();
    targets.sort_unstable();
    assert!(targets.iter().copied().eq((0..topology.nodes()).map(NodeId)), "{:?} is no permutation", found.to);
    let traffic = |src: NodeId| Some((found.to[src.index()], 1.0)).filter(|&(to, _)| to != src).into_iter().collect();
    let load = loads(topology, routing, &traffic).load;
    let most = links(topology).iter().map(|&link| load[link.index()] / capacity(link)).fold(0.0, f64::max);
    let named = found.channel.map_or(0.0, |channel| load[channel.index()]);
    assert!((named - found.load).abs() < 1e-6, "the channel carries {named}, not {}", found.load);
    let claimed = found.channel.map_or(0.0, |channel| found.load / capacity(channel));
    assert!((most - claimed).abs() < 1e-6, "a channel is loaded {most}, more than {claimed}");
}

/// Checks all routings of a small network against all permutations.
fn check_small(topology: &dyn Topology) {
    let uneven = |channel: ChannelId| [1.0, 0.5, 2.0][channel.index() % 3];
    for spec in RoutingSpec::all().into_iter().filter(|spec| spec.fits(topology)) {
        let Ok(routing) = spec.for_paths().build(topology) else { continue };
        // A symmetry holds for channels of equal bandwidth. The wrapper hides it, and that nodes of a router are alike.
        let hidden = OnOneClass(routing.clone());
        let mut cases: Vec<(&dyn Routing, &Capacity)> = vec![(&*routing, &equal)];
        if !routing.adaptive() {
            cases.extend([(&hidden as &dyn Routing, &equal as &Capacity), (&hidden, &uneven)]);
        }
        for (searched, capacity) in cases {
            let found = worst(topology, searched, capacity);
            let most = worst_of_all(topology, &*routing, capacity);
            let claimed = found.channel.map_or(0.0, |channel| found.load / capacity(channel));
            assert!((most - claimed).abs() < 1e-6, "{}: {claimed} instead of {most}", routing.kind());
            check_claim(topology, &*routing, &found, capacity);
        }
    }
}

#[test]
fn no_permutation_of_a_small_network_is_worse() {
    // Would catch a matching that is not the largest, a bound that prunes the worst channel, an orbit whose channels
    // differ, and nodes of a router that are confused.
    for topology in [torus(&[5], 1), torus(&[3, 2], 1), torus(&[3], 2), mesh(&[3, 2], 1)] {
        check_small(&*topology);
    }
    check_small(&*fat_tree(2, 2));
    for text in ["dragonfly:p=1,a=2,h=1", "xgft:m=2x3,w=1x2", "hyperx:dims=3x2,nodes_per_router=1"] {
        check_small(&*shorthand(text));
    }
}

#[test]
fn no_permutation_of_some_nodes_is_worse() {
    // Would catch an orbit of channels that only all nodes load alike, and nodes that are left out but send or receive.
    let (ring, tree) = (torus(&[6, 3], 1), fat_tree(2, 3));
    let dragonfly = shorthand("dragonfly:p=2,a=2,h=1");
    let cases: [(&dyn Topology, &str, &[u32]); 4] = [
        (&*ring, "dimension-order", &[16, 0, 1, 7, 8, 14]),
        (&*ring, "shortest-path", &[0, 3]),
        (&*tree, "d-mod-k", &[0, 1, 2, 4, 7]),
        (&*dragonfly, "minimal", &[0, 1, 3, 8, 9, 10]),
    ];
    for (topology, kind, nodes) in cases {
        let (routing, nodes) = (build(named(kind), topology), nodes.iter().copied().map(NodeId).collect::<Vec<_>>());
        let found = worst_permutation(topology, &*routing, Some(&nodes), &equal, &|_| true).unwrap();
        assert_near(found.load, naive_worst_of_some(topology, &*routing, &nodes, &equal));
        check_claim(topology, &*routing, &found, &equal);
        let is_out = |(from, to): (NodeId, &NodeId)| from == *to || nodes.contains(&from);
        assert!((0..).map(NodeId).zip(&found.to).all(is_out), "{kind}: {:?}", found.to);
        assert!(nodes.iter().all(|node| found.to[node.index()] != *node), "{kind}: {:?}", found.to);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_permutation_of_an_irregular_network_is_worse(lines in random_network()) {
        // Would catch what only networks without symmetry show: routers with unequal numbers of nodes, parallel wires,
        // shares such as 1/3, and sources and destinations that compete for one another.
        let topology = network(&lines);
        let topology = &*topology;
        let routing = build(named("shortest-path"), topology);
        let found = worst(topology, &*routing, &equal);
        prop_assert!((worst_of_all(topology, &*routing, &equal) - found.load).abs() < 1e-6);
        check_claim(topology, &*routing, &found, &equal);
    }
}

#[test]
fn worst_loads_are_those_of_closed_forms() {
    // Ring of k = 2m + 1 routers: the m routers before a channel can all send m routers ahead, which is tornado traffic.
    let routing = |topology: &dyn Topology| build(named("dimension-order"), topology);
    for m in 1..6_u32 {
        let ring = torus(&[u64::from(2 * m + 1)], 1);
        assert_near(worst(&*ring, &*routing(&*ring), &equal).load, f64::from(m));
    }
    // In three dimensions, k m packets come to a channel of the second: from any place of the first dimension, for any
    // of the third. Tornado traffic gives m.
    let cube = torus(&[5, 5, 5], 1);
    assert_near(worst(&*cube, &*routing(&*cube), &equal).load, 10.0);
    let mesh = mesh(&[4, 4, 4], 1);
    assert_near(worst(&*mesh, &*routing(&*mesh), &equal).load, 8.0);
    // All nodes of a group send to one other group, over one wire.
    let dragonfly = shorthand("dragonfly:p=2,a=4,h=2");
    assert_near(worst(&*dragonfly, &*build(named("minimal"), &*dragonfly), &equal).load, 8.0);
    // Up/down routing over all parents carries every permutation; d-mod-k sends the nodes of a leaf switch up by one
    // port, as far as other leaves have a node with that digit.
    let tree = fat_tree(4, 2);
    assert_near(worst(&*tree, &*build(named("d-mod-k"), &*tree), &equal).load, 3.0);
    assert_near(worst(&*tree, &*build(named("random-up-down"), &*tree), &equal).load, 1.0);
    // Would catch an even split in turn that counts as exact.
    for (kind, takes_turns) in [("round-robin-up-down", true), ("random-up-down", false)] {
        assert_eq!(worst(&*tree, &*build(named(kind), &*tree), &equal).takes_turns, takes_turns);
    }
}

#[test]
fn the_worst_of_valiant_is_twice_uniform_traffic() {
    // Would catch waypoints that are left out. Two phases from and to all k = 2m + 1 routers of a ring load a channel by
    // m (m + 1) / k under every permutation (Towles and Dally, section 4). Waypoints are not the ends of the flow: k - 2
    // are left, and a flow that crosses the channel directly loads it less than one that does not.
    for m in 1..5_u32 {
        let ring = torus(&[u64::from(2 * m + 1)], 1);
        let found = worst(&*ring, &*build(named("valiant-node"), &*ring), &equal);
        assert_near(found.load, f64::from(m * (m + 1)) / f64::from(2 * m - 1));
    }
}

#[test]
fn claims_hold_on_larger_networks() {
    // Would catch a pair that is chosen twice, and pairs of later rounds that load a channel more than the worst.
    for text in [
        "slim-fly:q=5,nodes_per_router=3",
        "polarfly:q=3,nodes_per_router=2",
        "hyperx:dims=4x4,nodes_per_router=4",
        "dragonfly:p=2,a=4,h=2",
        "jellyfish:routers=20,degree=4,nodes_per_router=3,seed=1",
        "xgft:m=4x4x2,w=1x2x2",
    ] {
        let topology = shorthand(text);
        let kinds = ["minimal", "shortest-path", "dimension-order", "d-mod-k", "random-up-down"];
        for spec in RoutingSpec::all().into_iter().filter(|spec| spec.fits(&*topology) && kinds.contains(&spec.kind()))
        {
            let routing = build(spec, &*topology);
            check_claim(&*topology, &*routing, &worst(&*topology, &*routing, &equal), &equal);
        }
    }
}

#[test]
fn later_rounds_overload_the_rest_of_the_network() {
    // Would catch a permutation that overloads one channel only. Each ring of a torus gets tornado traffic.
    let topology = torus(&[7, 7], 1);
    let found = worst(&*topology, &*build(named("dimension-order"), &*topology), &equal);
    assert!(found.to.iter().zip(0..).all(|(to, from)| to.0 != from), "{:?}", found.to);
    let traffic = |src: NodeId| vec![(found.to[src.index()], 1.0)];
    let load = loads(&*topology, &*build(named("dimension-order"), &*topology), &traffic).load;
    let full = links(&*topology).iter().filter(|link| load[link.index()] > 2.9).count();
    assert!(full >= 7, "{full}");
}

#[test]
fn a_search_ends_when_it_is_told_to() {
    // Would catch a search that cannot be interrupted, and progress that goes back or beyond 1.
    let topology = torus(&[5, 5], 1);
    let routing = build(named("dimension-order"), &*topology);
    let calls = AtomicU32::new(0);
    let stopped =
        worst_permutation(&*topology, &*routing, None, &equal, &|_| calls.fetch_add(1, Ordering::Relaxed) < 30);
    assert_eq!(stopped, Err(WorstPermutationError::Contract(RoutingContractError::Stopped)));
    let most = AtomicU32::new(0);
    let seen = |part: f64| {
        most.fetch_max((part * 1e6) as u32, Ordering::Relaxed);
        part <= 1.0
    };
    worst_permutation(&*topology, &*routing, None, &equal, &seen).unwrap();
    assert_eq!(most.into_inner(), 1_000_000);
}

#[test]
fn planes_have_the_worst_permutation_of_one() {
    // Would catch channels of another plane, and loads that are counted once a plane.
    let of = |planes: u32| {
        let topology = "dragonfly:p=1,a=3,h=1".parse::<TopologySpec>().unwrap();
        let topology = NetworkSpec { planes, ..topology.into() }.build(Path::new(".")).unwrap();
        worst(&*topology, &*build(named("minimal"), &*topology), &equal)
    };
    assert_eq!(of(1), of(3));
}
