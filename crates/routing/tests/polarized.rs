//! Polarized routing: the paths that it allows, their number of hops, classes, refusals.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{build, check_all, fat_tree, named, network, random_network, torus};
use proptest::prelude::*;
use routing::{Routing, RoutingSpec, dependency_cycle};
use testkit::routing::{check_routing, paths};
use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

fn polarized(keys: &str, network: &dyn Topology) -> Arc<dyn Routing> {
    build(serde_json::from_str(&format!(r#"{{"kind": "polarized"{keys}}}"#)).unwrap(), network)
}

/// A leaf behind a router of a ring: packets that leave both ends come to it and are stuck.
const DEAD_END: &str = "link 0 1\nlink 1 2\nlink 2 3\nlink 3 4\nlink 4 5\nlink 5 0\nlink 1 6\nlink 5 7\n\
                        node 0\nnode 3\nnode 6\nnode 4\n";

#[test]
fn the_contract_holds_and_the_oracles_agree() {
    // Would catch a class that is used twice, a longest path that is not the longest, and a packet that is stuck.
    let small = ["hyperx:2", "hyperx:4,wires=2", "hyperx:3x2", "hyperx:2x2x2", "polarfly:q=2"];
    let mut networks: Vec<Arc<dyn Topology>> = small.map(named).into();
    networks.extend([torus(&[5], 1), torus(&[6], 1), torus(&[3, 3], 1), network(DEAD_END)]);
    for network in networks {
        check_all(&*network, &*polarized("", &*network));
    }
}

/// Returns the paths that the rule of the paper allows, by routers.
fn allowed(network: &dyn Topology, (from, to): (RouterId, RouterId), at: RouterId) -> Vec<Vec<RouterId>> {
    if at == to {
        return vec![vec![at]];
    }
    let ends = |router| (network.distance(from, router) as i32, network.distance(router, to) as i32);
    let mut all = Vec::new();
    for port in 0..network.ports(at) {
        let Endpoint::Router(next, _) = network.endpoint(at, PortId(port)) else { continue };
        let (here, there) = (ends(at), ends(next));
        let may = match (there.0 - here.0, there.1 - here.1) {
            (1, 1) => here.0 < here.1,
            (-1, -1) => here.0 >= here.1,
            (away, nearer) => away - nearer > 0,
        };
        if may {
            let rest = allowed(network, (from, to), next);
            all.extend(rest.into_iter().map(|rest| [vec![at], rest].concat()));
        }
    }
    all
}

#[test]
fn packets_take_the_paths_that_the_paper_allows() {
    // Every pair of routers, by an enumeration with the topology's own distances. Would catch a label that is left out,
    // a hop that keeps both distances, and paths that `max_hops` cuts on the networks for which the paper has them.
    for text in ["hyperx:4x3", "hyperx:3x3x2", "slim-fly:q=3,nodes_per_router=1", "polarfly:q=3,nodes_per_router=1"] {
        let network = named(text);
        let routing = polarized("", &*network);
        let mut longest = 0;
        for (src, dst) in (0..network.nodes()).flat_map(|src| (0..network.nodes()).map(move |dst| (src, dst))) {
            let [from, to] = [src, dst].map(|node| network.attachment(NodeId(node)).0);
            let expected: BTreeSet<_> = allowed(&*network, (from, to), from).into_iter().collect();
            let taken = paths(&*network, &*routing, NodeId(src), NodeId(dst));
            assert_eq!(taken.len(), expected.len(), "{text}, {src} to {dst}");
            let routers = |path: &testkit::routing::Path| path.hops.iter().map(|hop| hop.0).collect::<Vec<_>>();
            longest = expected.iter().map(|path| path.len() - 1).fold(longest, usize::max);
            assert_eq!(taken.iter().map(routers).collect::<BTreeSet<_>>(), expected, "{text}, {src} to {dst}");
        }
        assert_eq!(usize::from(routing.classes()), longest, "{text}");
    }
}

#[test]
fn classes_are_the_hops_of_the_longest_path() {
    // Would catch a bound instead of the exact number.
    for (text, classes) in
        [("hyperx:8x8x8", 6), ("hyperx:9,nodes_per_router=2", 2), ("hyperx:4x4", 4), ("polarfly:q=5", 4)]
    {
        let network = named(text);
        assert_eq!(polarized("", &*network).classes(), classes, "{text}");
    }
    let ring = torus(&[9], 1);
    assert_eq!(polarized(r#", "max_hops": 4"#, &*ring).classes(), 4);
}

#[test]
fn hundreds_of_routers_are_proven_by_representatives() {
    // Would catch a proof that follows the packets of each source.
    for network in [named("hyperx:8x8x8"), named("jellyfish:routers=200,degree=8")] {
        assert!(dependency_cycle(&*network, &*polarized("", &*network)).unwrap().is_none());
    }
}

#[test]
fn trees_and_paths_beyond_64_hops_are_refused_with_the_number() {
    let spec = |keys: &str| serde_json::from_str::<RoutingSpec>(&format!(r#"{{"kind": "polarized"{keys}}}"#)).unwrap();
    let error = spec("").build(&*torus(&[80], 1)).unwrap_err();
    assert!(error.key == "kind" && error.message.contains("80 hops"), "{}", error.message);
    assert!(spec(r#", "max_hops": 50"#).build(&*torus(&[80], 1)).is_ok());
    // A ring without the view of a torus, on which Valiant routing needs 66 classes.
    let ring = (0..66).map(|at| format!("link {at} {}\nnode {at}\n", (at + 1) % 66)).collect::<String>();
    let routing = polarized(r#", "max_hops": 40"#, &*network(&ring));
    assert_eq!((routing.options().len(), routing.options()[0].kind()), (1, "shortest-path"));
    let error = spec(r#", "max_hops": 3"#).build(&*torus(&[9], 1)).unwrap_err();
    assert!(error.key == "max_hops" && error.message.contains("of 4 (the diameter) to 64"), "{}", error.message);
    assert!(spec("").build(&*fat_tree(2, 2)).unwrap_err().message.contains("no detour is useful in a tree"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_network_keeps_the_contract(text in random_network()) {
        let network = network(&text);
        // Would catch a dead end without a way out, and one that leads beyond `max_hops`.
        if let Ok(routing) = serde_json::from_str::<RoutingSpec>(r#"{"kind": "polarized"}"#).unwrap().build(&*network) {
            check_routing(&*network, &*routing);
        }
    }
}
