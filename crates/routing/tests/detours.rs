//! Detours on topologies without groups: the contract, loads against an enumeration of every path, classes, refusals.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::{
    Folded, assert_near, bound, build, check_all, fat_tree, lopsided, mesh, named, network, random_network,
    single_switch, torus,
};
use proptest::prelude::*;
use routing::{Choice, Hop, Probe, RoutingSpec, channel_loads, dependency_cycle, follow_packets};
use testkit::routing::{Traffic, naive_has_cycle, permutation, uniform};
use topology::{Channels, Endpoint, Topology};
use units::{Draw, NodeId, PortId, RouterId, VcClass};

const KINDS: [&str; 4] = ["valiant-node", "ugal-l", "ugal-g", "par"];

/// Routings that weigh several paths of each kind, with keys.
const SEVERAL: [&str; 5] = [
    r#"{"kind": "slingshot"}"#,
    r#"{"kind": "slingshot", "minimal": 1, "nonminimal": 3}"#,
    r#"{"kind": "aries", "mode": "increasing"}"#,
    r#"{"kind": "ugal-g", "nonminimal": 3}"#,
    r#"{"kind": "par", "nonminimal": 2}"#,
];

fn spec(kind: &str) -> RoutingSpec {
    serde_json::from_str(&format!(r#"{{"kind": "{kind}"}}"#)).unwrap()
}

/// Returns every routing, with every key that matters.
fn specs() -> Vec<RoutingSpec> {
    let keys = [
        r#""exclude_source_group": false"#,
        r#""exclude_destination_group": false"#,
        r#""exclude_source_group": false, "exclude_destination_group": false"#,
    ];
    let early = [r#""early_delivery": true"#, r#""early_delivery": true, "exclude_source_group": false"#];
    let with = |kind: &str, keys: &str| serde_json::from_str(&format!(r#"{{"kind": "{kind}", {keys}}}"#)).unwrap();
    let others = ["valiant-node", "par"].into_iter().flat_map(|kind| keys.map(|keys| with(kind, keys)));
    KINDS.map(spec).into_iter().chain(others).chain(early.map(|keys| with("valiant-node", keys))).collect()
}

/// Returns a ring of routers with chords and one node each: every router has four wires, and some are parallel.
fn chords(routers: u32) -> String {
    let wire = |from: u32, to: u32| format!("link {from} {}\n", to % routers);
    let wires = (0..routers).flat_map(|at| [wire(at, at + 1), wire(at, at * at + 2 * at + 3)]);
    let wires = wires.filter(|wire| wire.split_whitespace().nth(1) != wire.split_whitespace().nth(2));
    wires.chain((0..routers).map(|at| format!("node {at}\n"))).collect()
}

/// Returns networks of all kinds, small enough to walk every path.
fn networks() -> Vec<Arc<dyn Topology>> {
    let grids = [torus(&[2], 1), torus(&[5], 1), torus(&[6], 2), torus(&[4, 3], 1), mesh(&[4], 1), mesh(&[3, 3], 1)];
    let cliques = ["hyperx:2", "hyperx:4,nodes_per_router=2", "hyperx:3x3", "hyperx:3x2,wires=1x3", "hyperx:2x2x2"];
    // A router without nodes in the middle: a packet may turn there under `par`.
    let star = "link 0 1\nlink 0 2\nlink 0 3\nlink 3 4\nlink 4 0\nnode 1\nnode 2\nnode 2\nnode 3\nnode 4\n";
    // One and two routers with nodes: no packet has a waypoint.
    let few = ["link 0 1\nlink 1 2\nnode 1\nnode 1\n", "link 0 1\nlink 1 2\nlink 2 0\nnode 0\nnode 2\n"];
    let mut all: Vec<Arc<dyn Topology>> = grids.into_iter().chain(cliques.map(named)).collect();
    all.extend(few.map(network));
    all.extend([network(star), network(&chords(8)), network(&chords(9))]);
    all
}

#[test]
fn the_contract_holds_and_the_oracles_agree() {
    // Would catch a class that rises, a waypoint that is not left, a share that is lost, and exact loads that differ
    // from the enumeration of all paths.
    for network in networks() {
        for spec in specs() {
            check_all(&*network, &*build(spec, &*network));
        }
        for text in SEVERAL {
            check_all(&*network, &*build(serde_json::from_str(text).unwrap(), &*network));
        }
    }
}

#[test]
fn exact_loads_are_those_of_every_packet() {
    // Shifts, bit complement, uniform traffic, and traffic without symmetry. Would catch a share of a waypoint that a
    // pair may not have.
    for network in networks() {
        let nodes = network.nodes();
        let traffics: [Box<Traffic<'static>>; 4] = [
            Box::new(permutation(move |src| (src + 1) % nodes)),
            Box::new(permutation(move |src| nodes - 1 - src)),
            Box::new(uniform(nodes)),
            Box::new(lopsided(nodes)),
        ];
        let routings = specs().into_iter().filter(|spec| spec.kind() == "valiant-node");
        let routings: Vec<_> = routings.map(|spec| build(spec, &*network)).collect();
        for (traffic, routing) in
            traffics.iter().flat_map(|traffic| routings.iter().map(move |routing| (traffic, routing)))
        {
            let quick = channel_loads(&*network, &**routing, traffic).unwrap();
            let slow = follow_packets(&*network, &**routing, traffic).unwrap();
            for (quick, slow) in quick.load.iter().zip(&slow.load) {
                assert!((quick - slow).abs() < 1e-9, "{quick} instead of {slow}: {network:?}");
            }
        }
    }
}

#[test]
fn loads_of_a_clique_are_in_closed_form() {
    // All n nodes of each of S routers send to the next router. Directly they share one channel: 1/n. By way of the
    // S - 2 others, two legs of n/(S-2) meet on every channel but that to the next router: (S-2)/(2n).
    for (routers, nodes) in [(5_u32, 4_u32), (9, 2), (12, 8)] {
        let clique = named(&format!("hyperx:{routers},nodes_per_router={nodes}"));
        let next = permutation(move |src| (src + nodes) % (routers * nodes));
        let [valiant, direct] = ["valiant-node", "shortest-path"].map(|kind| build(spec(kind), &*clique));
        assert_near(bound(&*clique, &*direct, &next), 1.0 / f64::from(nodes));
        let expected = f64::from(routers - 2) / f64::from(2 * nodes);
        assert_near(bound(&*clique, &*valiant, &next), expected.min(1.0));
    }
}

#[test]
fn packets_that_are_delivered_early_go_directly_on_a_line() {
    // On a line, a packet that does not turn back before its destination ends there. Of three routers, a packet from an
    // end to the next router never turns back; it may come from the middle with the other end as its waypoint. With any
    // waypoint it makes (1 + 1 + 3) / 3 hops, or 1 with early delivery; a packet from the middle (1 + 1 + 3) / 3 in both
    // cases. Would catch a packet that goes on to its waypoint, and one that ends anywhere else.
    let line = mesh(&[3], 1);
    let hops = |keys: &str, src: u32, dst: u32| {
        let anywhere = r#""exclude_source_group": false, "exclude_destination_group": false"#;
        let spec = serde_json::from_str(&format!(r#"{{"kind": "valiant-node", {anywhere}{keys}}}"#)).unwrap();
        let traffic = move |node: NodeId| if node.0 == src { vec![(NodeId(dst), 1.0)] } else { Vec::new() };
        let loads = channel_loads(&*line, &*build(spec, &*line), &traffic).unwrap().load;
        // Without the channels of the two nodes.
        loads.iter().sum::<f64>() - 2.0
    };
    let early = r#", "early_delivery": true"#;
    assert_near(hops("", 0, 1), 5.0 / 3.0);
    assert_near(hops(early, 0, 1), 1.0);
    assert_near(hops(early, 1, 0), 5.0 / 3.0);
    assert_near(hops(early, 0, 2), 2.0);
}

#[test]
fn the_routings_to_choose_from_are_the_direct_paths_and_valiant() {
    // Would catch a bound of UGAL that is that of other paths.
    for network in networks() {
        let (traffic, default) = (uniform(network.nodes()), r#"{"kind": "shortest-path", "ties": "random"}"#);
        let direct = match network.views().grid {
            Some(_) => build(spec("dimension-order"), &*network),
            None => build(serde_json::from_str(default).unwrap(), &*network),
        };
        for kind in ["ugal-l", "ugal-g", "par"] {
            let options = build(spec(kind), &*network).options();
            for (option, expected) in options.iter().zip([&direct, &build(spec("valiant-node"), &*network)]) {
                let (one, other) = (bound(&*network, &**option, &traffic), bound(&*network, &**expected, &traffic));
                assert_near(one, other);
            }
            assert_eq!(options.len(), 2);
        }
    }
}

#[test]
fn classes_are_as_few_as_the_paths_allow() {
    // (`valiant-node` and UGAL, `par`.) Would catch classes by hops on a torus, and a class that nothing uses.
    let ring = network(&(0..8).map(|at| format!("link {at} {}\nnode {at}\n", (at + 1) % 8)).collect::<String>());
    let cases = [
        (torus(&[8, 8, 8], 1), 4, 5),
        (mesh(&[8, 8], 1), 2, 3),
        (named("hyperx:4x4x4"), 6, 7),
        (named("hyperx:16,nodes_per_router=3"), 2, 3),
        (ring, 8, 9),
        (torus(&[130], 1), 4, 5),
    ];
    for (network, once, twice) in cases {
        let classes = KINDS.map(|kind| build(spec(kind), &*network).classes());
        assert_eq!(classes, [once, once, once, twice], "{network:?}");
    }
}

#[test]
fn more_than_64_classes_are_refused_with_their_number() {
    // A ring of 66 wires has paths of 33 hops. Would catch classes that wrap or are shared.
    let ring =
        |n: u32| network(&(0..n).map(|at| format!("link {at} {}\nnode {at}\n", (at + 1) % n)).collect::<String>());
    assert_eq!(build(spec("valiant-node"), &*ring(65)).classes(), 64);
    let error = spec("par").build(&*ring(65)).unwrap_err();
    assert!(error.key == "kind" && error.message.contains("par needs 65 classes"), "{}", error.message);
    let error = spec("ugal-l").build(&*ring(66)).unwrap_err();
    assert!(
        error.message.contains("ugal-l needs 66 classes") && error.message.contains("33 hops"),
        "{}",
        error.message
    );
}

#[test]
fn trees_and_networks_without_wires_are_refused_with_the_reason() {
    for (network, reason) in [
        (
            fat_tree(2, 2),
            "routing \"valiant-node\" takes detours, and no detour is useful in a tree, such as this fat-tree;",
        ),
        (
            single_switch(3),
            "routing \"valiant-node\" takes detours by way of other routers, and a single-switch has none;",
        ),
    ] {
        let error = spec("valiant-node").build(&*network).unwrap_err();
        assert!(error.key == "kind" && error.message.starts_with(reason), "{}", error.message);
        assert!(KINDS.iter().all(|kind| !spec(kind).fits(&*network)));
    }
    let error = spec("valiant-group").build(&*torus(&[4, 4], 1)).unwrap_err();
    let fitting =
        "for torus: \"dimension-order\", \"minimal-adaptive\", \"valiant-node\", \"ugal-l\", \"ugal-g\", \"par\", ";
    assert!(error.message.contains(fitting), "{}", error.message);
}

#[test]
fn keys_that_speak_of_groups_are_refused_without_groups() {
    // Would catch a key that has no effect and is not named.
    for (keys, key) in [
        (r#""kind": "valiant-node", "intra_group": "valiant""#, "intra_group"),
        (r#""kind": "par", "intra_group": "valiant""#, "intra_group"),
        (r#""kind": "par", "detour": "group""#, "detour"),
    ] {
        let spec: RoutingSpec = serde_json::from_str(&format!("{{{keys}}}")).unwrap();
        let error = spec.build(&*named("hyperx:3x3")).unwrap_err();
        assert!(error.key == key && error.message.contains("this hyperx has no groups"), "{}", error.message);
    }
}

/// Source of bits of which `below` makes each number in turn.
struct InTurn {
    turn: u64,
    of: u64,
}

impl Draw for InTurn {
    fn bits(&mut self) -> u64 {
        ((self.turn << 32).div_ceil(self.of) + 1) << 32
    }
}

#[test]
fn waypoints_are_drawn_uniformly() {
    // Each number that `below` returns gives another waypoint, and together they are all that the distribution states.
    // Would catch a router that is drawn twice or never.
    for network in [torus(&[4, 3], 1), named("hyperx:3x3,nodes_per_router=2"), network(&chords(9))] {
        let routing = build(spec("valiant-node"), &*network);
        for (src, dst) in [(0, 5), (7, 2), (1, 8)] {
            let (src, dst) = (NodeId(src), NodeId(dst));
            let stated = routing.initial_distribution(src, dst);
            assert_eq!(stated.len() as u32, network.routers() - 2);
            let of = stated.len() as u64;
            let drawn = (0..of).map(|turn| routing.start(src, dst, &mut InTurn { turn, of }));
            assert!(drawn.eq(stated.iter().map(|&(state, _)| state)), "{src} to {dst}");
        }
    }
}

#[test]
fn lengths_of_both_paths_are_distances() {
    // Would catch a cost by the length of another path.
    for network in networks() {
        let routing = build(spec("ugal-l"), &*network);
        for (src, dst) in [(0, network.nodes() - 1), (network.nodes() - 1, 0)] {
            let (src, dst) = (NodeId(src), NodeId(dst));
            let (at, in_port) = network.attachment(src);
            let home = network.attachment(dst).0;
            for (state, _) in routing.initial_distribution(src, dst) {
                let hop = Hop { dst, state, in_port, vc_class: VcClass(0) };
                if routing.route(at, &mut hop.clone()).choice != Choice::Weighed {
                    continue;
                }
                let [direct, detour] = [0, 1].map(|number| routing.candidate(at, &hop, number).unwrap());
                let waypoint = routing.current_waypoint(at, detour.state).unwrap();
                // Waypoints are numbered as the routers with nodes, in the order of their nodes.
                let mut with_nodes: Vec<RouterId> =
                    (0..network.nodes()).map(|node| network.attachment(NodeId(node)).0).collect();
                with_nodes.dedup();
                let by = with_nodes[waypoint as usize];
                assert_eq!(direct.channels, network.distance(at, home));
                assert_eq!(detour.channels, network.distance(at, by) + network.distance(by, home));
            }
        }
    }
}

#[test]
fn ugal_g_adds_up_the_queues_behind_the_first_channel() {
    // A line of a clique: directly there is no channel behind the first but the node's; by way of a waypoint there is
    // the one from the waypoint. Would catch a channel of another router, and a first channel that counts twice.
    let clique = named("hyperx:5,nodes_per_router=2");
    let routing = build(spec("ugal-g"), &*clique);
    let (dst, (at, in_port)) = (NodeId(4), clique.attachment(NodeId(0)));
    let channels = Channels::new(&*clique);
    // Every channel between routers has another queue.
    let snapshot: Vec<u64> = (0..channels.ports()).map(|channel| 1000 + u64::from(channel)).collect();
    let port_to = |from: RouterId, to: RouterId| {
        let leads = |&port: &PortId| matches!(clique.endpoint(from, port), Endpoint::Router(next, _) if next == to);
        (0..clique.ports(from)).map(PortId).find(leads).unwrap()
    };
    let home = clique.attachment(dst);
    for (state, _) in routing.initial_distribution(NodeId(0), dst) {
        let hop = Hop { dst, state, in_port, vc_class: VcClass(0) };
        let [direct, detour] = [0, 1].map(|number| routing.candidate(at, &hop, number).unwrap());
        assert_eq!([direct.probe, detour.probe], [Probe::Path; 2]);
        let by = RouterId(routing.current_waypoint(at, detour.state).unwrap());
        let to_node = snapshot[channels.output(home.0, home.1).index()];
        let second = snapshot[channels.output(by, port_to(by, home.0)).index()];
        for (option, next, expected) in [(direct, home.0, to_node), (detour, by, second + to_node)] {
            let first = (at, port_to(at, next));
            let mut taken = Hop { state: option.state, ..hop };
            routing.route(at, &mut taken);
            assert_eq!(routing.congestion_behind(first, &taken, &snapshot), expected);
        }
    }
}

#[test]
fn the_check_by_legs_has_the_verdict_of_the_enumeration_with_fewer_classes() {
    // Would catch joints at which the held channels are forgotten, and a router at which packets never turn.
    let networks = [torus(&[5], 1), torus(&[4, 3], 1), mesh(&[3, 3], 1), named("hyperx:3x3"), network(&chords(9))];
    let mut found = [0, 0];
    for network in networks {
        for kind in KINDS {
            let routing = build(spec(kind), &*network);
            for most in 0..routing.classes() {
                let folded = Folded(Arc::clone(&routing), most);
                let cycle = dependency_cycle(&*network, &folded).unwrap().is_some();
                assert_eq!(cycle, naive_has_cycle(&*network, &folded), "{most} of {kind} on {network:?}");
                found[usize::from(cycle)] += 1;
            }
        }
    }
    assert!(found.iter().all(|&count| count > 10), "{found:?}");
}

#[test]
fn networks_of_hundreds_of_routers_are_proven_by_legs() {
    // Would catch a check that takes a product of sources, waypoints and destinations, by never ending.
    for network in [named("hyperx:8x8x4,nodes_per_router=4"), torus(&[8, 8, 4], 2), network(&chords(250))] {
        for kind in KINDS {
            assert_eq!(dependency_cycle(&*network, &*build(spec(kind), &*network)).unwrap(), None, "{kind}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_network_keeps_the_contract(lines in random_network(), which in 0_usize..4) {
        let network = network(&lines);
        check_all(&*network, &*build(spec(KINDS[which]), &*network));
    }
}

#[test]
fn several_detours_have_different_waypoints_all_equally_likely() {
    // Every first waypoint of every pair. Would catch a detour that is weighed twice, a waypoint that a pair may not have,
    // and one that is never the second.
    for network in [
        torus(&[5], 1),
        named("hyperx:3x3"),
        network(&chords(9)),
        named("dragonfly:h=1"),
        named("dragonfly:p=1,a=3,h=2,g=4"),
    ] {
        for text in [SEVERAL[0], SEVERAL[1], r#"{"kind": "aries", "detour": "group"}"#] {
            let is_grouped = network.views().groups.is_some();
            let Ok(routing) = serde_json::from_str::<RoutingSpec>(text).unwrap().build(&*network) else {
                assert!(!is_grouped);
                continue;
            };
            for (src, dst) in [(0, network.nodes() - 1), (2, 0)].map(|(src, dst)| (NodeId(src), NodeId(dst))) {
                let (at, in_port) = network.attachment(src);
                let starts = routing.initial_distribution(src, dst);
                let mut counts = std::collections::BTreeMap::new();
                let mut weighed = 0;
                for &(state, _) in &starts {
                    let hop = Hop { dst, state, in_port, vc_class: VcClass(0) };
                    let route = routing.route(at, &mut hop.clone());
                    if !route.choice.is_weighed() {
                        continue;
                    }
                    let options = (0..route.count).filter_map(|number| routing.candidate(at, &hop, number));
                    let waypoints: Vec<u32> =
                        options.filter_map(|option| routing.current_waypoint(at, option.state)).collect();
                    let different: std::collections::BTreeSet<u32> = waypoints.iter().copied().collect();
                    assert_eq!(different.len(), waypoints.len(), "{text}: {waypoints:?}");
                    weighed = waypoints.len();
                    waypoints.iter().for_each(|&waypoint| *counts.entry(waypoint).or_insert(0) += 1);
                }
                assert!(counts.len() == starts.len() || weighed == 0, "{text} on {network:?}: {counts:?}");
                assert!(counts.values().all(|&count| count == weighed), "{text} on {network:?}: {counts:?}");
            }
        }
    }
}

#[test]
fn a_second_router_weighs_different_detours() {
    // Every first waypoint, also the second router itself, which ranks below exclude. Would catch a rank that puts a
    // waypoint on the first one or twice.
    let mut met = false;
    for network in [torus(&[5], 1), named("hyperx:3x3"), network(&chords(9))] {
        let routing = build(serde_json::from_str(SEVERAL[2]).unwrap(), &*network);
        let (src, dst) = (NodeId(2), NodeId(0));
        let (at, in_port) = network.attachment(src);
        for (state, _) in routing.initial_distribution(src, dst) {
            let open = Hop { dst, state, in_port, vc_class: VcClass(0) };
            let Some(direct) = routing.candidate(at, &open, 0) else { continue };
            let mut hop = Hop { state: direct.state, ..open };
            let route = routing.take(at, (0, direct.state), &mut hop);
            for port in route.ports(routing.port_lists()) {
                let Endpoint::Router(second, _) = network.endpoint(at, port) else { continue };
                if !routing.route(second, &mut hop.clone()).choice.is_weighed() {
                    continue;
                }
                // The first waypoint may be this router, so that its detour is the direct path.
                let options: Vec<_> = (2..4).filter_map(|number| routing.candidate(second, &hop, number)).collect();
                let waypoints: Vec<_> =
                    options.iter().map(|option| routing.current_waypoint(second, option.state)).collect();
                met |= waypoints.contains(&None);
                assert!(waypoints.len() < 2 || waypoints[0] != waypoints[1], "{network:?}: {waypoints:?}");
            }
        }
    }
    assert!(met, "no packet is at its first waypoint");
}

#[test]
fn four_paths_of_a_kind_are_weighed_at_most() {
    // Slingshot: four paths of both kinds together. Would catch a routing that does not check its numbers of paths.
    for (kind, keys, key) in [
        ("slingshot", r#""minimal": 2, "nonminimal": 3"#, "nonminimal"),
        ("slingshot", r#""minimal": 3, "nonminimal": 2"#, "nonminimal"),
        ("slingshot", r#""minimal": 4, "nonminimal": 1"#, "minimal"),
        ("slingshot", r#""nonminimal": 65535"#, "nonminimal"),
        ("aries", r#""minimal": 5"#, "minimal"),
        ("ugal-l", r#""nonminimal": 5"#, "nonminimal"),
        ("ugal-g", r#""nonminimal": 0"#, "nonminimal"),
        ("par", r#""nonminimal": 65535"#, "nonminimal"),
    ] {
        let spec: RoutingSpec = serde_json::from_str(&format!(r#"{{"kind": "{kind}", {keys}}}"#)).unwrap();
        assert_eq!(spec.build(&*torus(&[5], 1)).unwrap_err().key, key, "{keys}");
    }
}

#[test]
fn biases_and_lengths_of_several_paths() {
    // A dragonfly with two wires between any two groups: two direct paths, two detours. Would catch a bias on a direct
    // path, a mode with the bias of another, and the length of another path.
    let network = named("dragonfly:p=1,a=4,h=1,g=3");
    let (src, dst) = (NodeId(0), NodeId(network.nodes() - 1));
    let (at, in_port) = network.attachment(src);
    for (mode, bias) in [("unbiased", 0), ("weak", 4), ("strong", 16)] {
        let text = format!(r#"{{"kind": "aries", "mode": "{mode}"}}"#);
        let routing = build(serde_json::from_str(&text).unwrap(), &*network);
        for (state, _) in routing.initial_distribution(src, dst) {
            let hop = Hop { dst, state, in_port, vc_class: VcClass(0) };
            for number in 0..routing.route(at, &mut hop.clone()).count {
                let Some(option) = routing.candidate(at, &hop, number) else { continue };
                let waypoint = routing.current_waypoint(at, option.state);
                assert_eq!(option.bias, if waypoint.is_some() { bias } else { 0 });
                let ugal = build(spec("ugal-l"), &*network);
                let first = waypoint.map_or(state, |waypoint| ugal.with_waypoint(state, waypoint));
                let other = ugal.candidate(at, &Hop { state: first, ..hop }, u16::from(waypoint.is_some())).unwrap();
                assert_eq!((option.channels, option.state), (other.channels, other.state));
            }
        }
    }
}
