//! Routings on grids of cliques: the paths that they allow, classes, loads, refusals.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{Folded, assert_near, bound, build, check_all, named, torus};
use routing::{Routing, RoutingSpec, channel_loads, dependency_cycle};
use testkit::routing::{paths, permutation, uniform};
use topology::Topology;
use units::{NodeId, RouterId};

const KINDS: [&str; 3] = ["dimension-order", "dal", "dim-war"];

/// Small networks: one and several dimensions, of 2 and more routers, parallel wires, several nodes on a router.
const NETWORKS: [&str; 7] = [
    "hyperx:2",
    "hyperx:5,nodes_per_router=2",
    "hyperx:4,wires=2",
    "hyperx:3x3",
    "hyperx:2x4",
    "hyperx:3x2,wires=1x3",
    "hyperx:2x3,wires=2x1,nodes_per_router=2",
];

fn of_kind(kind: &str, network: &dyn Topology) -> Arc<dyn Routing> {
    build(serde_json::from_str(&format!(r#"{{"kind": "{kind}"}}"#)).unwrap(), network)
}

#[test]
fn the_contract_holds_and_the_oracles_agree() {
    // Would catch a class that a packet holds twice, a share that is lost, and exact loads (dimension order) that
    // differ from the enumeration of all paths.
    for network in NETWORKS.map(named) {
        for kind in KINDS {
            check_all(&*network, &*of_kind(kind, &*network));
        }
    }
}

/// Rule: given the open dimensions and those in which a packet has been derouted, the dimensions in which it may move,
/// each with whether it may leave the direct way.
type Rule = dyn Fn(&[usize], &[bool]) -> Vec<(usize, bool)>;

/// Returns the paths that a rule allows, by coordinates: `next` lists the dimensions in which a packet may move, each
/// with whether it may leave the direct way.
fn allowed(dims: &[u32], (at, to): (&[u32], &[u32]), derouted: &[bool], next: &Rule) -> Vec<Vec<Vec<u32>>> {
    let open: Vec<usize> = (0..dims.len()).filter(|&dim| at[dim] != to[dim]).collect();
    if open.is_empty() {
        return vec![vec![at.to_vec()]];
    }
    let mut all = Vec::new();
    for (dim, may_leave) in next(&open, derouted) {
        for coordinate in (0..dims[dim]).filter(|&coordinate| coordinate != at[dim]) {
            let leaves = coordinate != to[dim];
            if leaves && !may_leave {
                continue;
            }
            let (mut then, mut derouted) = (at.to_vec(), derouted.to_vec());
            then[dim] = coordinate;
            derouted[dim] |= leaves;
            let rest = allowed(dims, (&then, to), &derouted, next);
            all.extend(rest.into_iter().map(|rest| [vec![at.to_vec()], rest].concat()));
        }
    }
    all
}

#[test]
fn packets_take_the_paths_that_the_papers_allow() {
    // Every pair of routers, by an enumeration over coordinates. Would catch a second deroute in a dimension, a deroute
    // in a dimension that is closed, a dimension out of order, and a port that is left out.
    let first = |open: &[usize], derouted: &[bool]| vec![(open[0], !derouted[open[0]])];
    let any = |open: &[usize], derouted: &[bool]| open.iter().map(|&dim| (dim, !derouted[dim])).collect();
    let direct = |open: &[usize], _: &[bool]| vec![(open[0], false)];
    for (text, dims) in [("hyperx:5", vec![5]), ("hyperx:4x3", vec![4, 3]), ("hyperx:3x2x3", vec![3, 2, 3])] {
        let network = named(text);
        for (kind, next) in [("dim-war", &first as &Rule), ("dal", &any), ("dimension-order", &direct)] {
            let routing = of_kind(kind, &*network);
            for (src, dst) in (0..network.nodes()).flat_map(|src| (0..network.nodes()).map(move |dst| (src, dst))) {
                let [from, to] = [src, dst].map(|node| network.coordinates(RouterId(node)));
                let expected: BTreeSet<_> =
                    allowed(&dims, (&from, &to), &vec![false; dims.len()], next).into_iter().collect();
                let taken = paths(&*network, &*routing, NodeId(src), NodeId(dst));
                let routers = |path: &testkit::routing::Path| {
                    path.hops.iter().map(|hop| network.coordinates(hop.0)).collect::<Vec<_>>()
                };
                assert_eq!(taken.len(), expected.len(), "{kind} on {text}, {src} to {dst}: a path is taken twice");
                assert_eq!(taken.iter().map(routers).collect::<BTreeSet<_>>(), expected, "{kind}, {src} to {dst}");
            }
        }
    }
}

#[test]
fn paths_of_dim_war_are_counted_in_closed_form() {
    // Directly, or by any of the S - 2 others, over K wires each hop: K + (S - 2) K^2 in each open dimension.
    for (text, sizes, wires) in [
        ("hyperx:6x4", [6, 4], [1, 1]),
        ("hyperx:4x3,wires=2x3", [4, 3], [2, 3]),
        ("hyperx:2x5,wires=3", [2, 5], [3, 3]),
    ] {
        let network = named(text);
        let routing = of_kind("dim-war", &*network);
        let of = |dim: usize| wires[dim] + (sizes[dim] - 2) * wires[dim] * wires[dim];
        let count = |to: u32| paths(&*network, &*routing, NodeId(0), NodeId(to)).len();
        assert_eq!(count(network.nodes() - 1), of(0) * of(1), "{text}");
        assert_eq!(count(1), of(0), "{text}");
    }
}

#[test]
fn classes_are_those_of_the_papers_and_one_fewer_deadlocks() {
    // Would catch a proof that finds nothing, and a class that nothing uses.
    for (text, dal, dim_war) in
        [("hyperx:5", 2, 2), ("hyperx:4x4x4", 6, 2), ("hyperx:2x2x2", 3, 1), ("hyperx:2x5", 3, 2)]
    {
        let network = named(text);
        assert_eq!(of_kind("dimension-order", &*network).classes(), 1);
        for (kind, classes) in [("dal", dal), ("dim-war", dim_war)] {
            assert_eq!(of_kind(kind, &*network).classes(), classes, "{kind} on {text}");
        }
        if dim_war == 2 {
            let folded = Folded(of_kind("dim-war", &*network), 0);
            assert!(dependency_cycle(&*network, &folded).unwrap().is_some(), "{text}");
        }
    }
}

#[test]
fn thousands_of_routers_are_proven_by_representatives() {
    // Would catch a proof that follows every pair of routers, and representatives that leave a dependency out.
    let network = named("hyperx:10x11x10");
    for kind in KINDS {
        let routing = of_kind(kind, &*network);
        assert!(dependency_cycle(&*network, &*routing).unwrap().is_none(), "{kind}");
    }
}

#[test]
fn loads_are_in_closed_form() {
    // All n nodes of each of S routers send to the next router of the line. Directly they share one channel: 1 / n. By
    // way of a random router of the line the two hops load each channel from y to z with shares of the S - 1 others, of
    // which the direct channel has two: see below. Would catch a mixture of other routings.
    for (size, nodes) in [(5_u32, 4_u32), (9, 2)] {
        let network = named(&format!("hyperx:{size}x3,nodes_per_router={nodes}"));
        let routers = size * 3;
        let next = permutation(move |src| {
            let (router, place) = (src / nodes, src % nodes);
            (router - router % size + (router + 1) % size) * nodes + place
        });
        let direct = of_kind("dimension-order", &*network);
        assert_near(bound(&*network, &*direct, &next), 1.0 / f64::from(nodes));
        for kind in ["dal", "dim-war"] {
            let options = of_kind(kind, &*network).options();
            assert_eq!(options.len(), 2);
            assert_near(bound(&*network, &*options[0], &next), 1.0 / f64::from(nodes));
            // First hops load every channel of the line with n / (S - 1); so do second hops, from all but the source,
            // except the channels to the next router, which lead directly.
            let most = 2.0 * f64::from(nodes) / f64::from(size - 1);
            assert_near(bound(&*network, &*options[1], &next), (1.0 / most).min(1.0));
        }
        // Uniform traffic: n / S of each line's flows cross each channel directly, all R / S lines alike.
        let load = channel_loads(&*network, &*direct, &uniform(routers * nodes)).unwrap();
        let channels = topology::Channels::new(&*network);
        let first = channels.output(RouterId(0), units::PortId(nodes as u16));
        assert_near(load.load[first.index()], f64::from(nodes) / f64::from(size));
    }
}

#[test]
fn other_topologies_and_keys_of_rings_are_refused() {
    let spec = |text: &str| serde_json::from_str::<RoutingSpec>(text).unwrap();
    let error = spec(r#"{"kind": "dim-war"}"#).build(&*torus(&[4, 4], 1)).unwrap_err();
    assert!(error.message.contains("is for topologies of kind hyperx, not torus"), "{}", error.message);
    let network = named("hyperx:4x4");
    let error = spec(r#"{"kind": "dimension-order", "ties": "positive"}"#).build(&*network).unwrap_err();
    assert_eq!((&error.key[..], error.message.contains("no rings")), ("ties", true), "{}", error.message);
    let error = spec(r#"{"kind": "dimension-order", "order": [0, 0]}"#).build(&*network).unwrap_err();
    assert_eq!(error.key, "order");
    // The last dimension first.
    let reverse = build(spec(r#"{"kind": "dimension-order", "order": [1, 0]}"#), &*network);
    let taken = paths(&*network, &*reverse, NodeId(0), NodeId(5));
    assert_eq!(taken[0].hops[1].0, RouterId(4));
    assert!(dependency_cycle(&*network, &*reverse).unwrap().is_none());
}
