//! Engines of OpenSM: the contract, properties, recorded tables, and OpenSM itself.

mod compare;
mod subnet;

use crate::common::{build, check_analyses, fat_tree, mesh, named, network, random_network, torus};
use proptest::prelude::*;
use routing::{Routing, RoutingSpec, RoutingTable, dependency_cycle};
use std::sync::Arc;
use testkit::routing::{check_routing, paths};
use topology::Topology;
use units::NodeId;

/// Returns the routing of a table's keys, such as `{"kind": "updn"}`.
fn spec(keys: &str) -> RoutingSpec {
    serde_json::from_str(keys).unwrap()
}

fn engine(kind: &str) -> RoutingSpec {
    spec(&format!("{{\"kind\": \"{kind}\"}}"))
}

fn routers(topology: &dyn Topology, routing: &dyn Routing, src: u32, dst: u32) -> Vec<u32> {
    let all = paths(topology, routing, NodeId(src), NodeId(dst));
    assert_eq!(all.len(), 1, "an engine gives one path");
    all[0].hops.iter().map(|hop| hop.0.0).collect()
}

#[test]
fn the_contract_holds_on_every_family() {
    // Would catch outputs and lanes that the analyses read differently, and an engine that fails on a family.
    let topologies: [Arc<dyn Topology>; 7] = [
        torus(&[6], 1),
        torus(&[4, 4], 2),
        mesh(&[3, 3], 2),
        fat_tree(2, 3),
        fat_tree(3, 2),
        named("hyperx:3x3"),
        named("polarfly:2"),
    ];
    for topology in &topologies {
        for engine in RoutingSpec::engines() {
            let built = engine.build(&**topology);
            // OpenSM's own engines refuse what is no tree.
            if let Ok(routing) = built {
                assert_eq!(routing.kind(), engine.kind());
                let has_cycle = check_analyses(&**topology, &*routing);
                assert!(!has_cycle || engine.kind() == "minhop");
                if !has_cycle {
                    check_routing(&**topology, &*routing);
                }
            } else {
                assert!(["updn", "ftree"].contains(&engine.kind()) && topology.views().hierarchy.is_none());
            }
        }
    }
}

#[test]
fn nodes_may_be_in_another_order_than_their_routers() {
    // Would catch columns by router that are taken in the order of nodes.
    let reversed = network("link 0 1\nlink 1 2\nlink 2 0\nlink 2 3\nnode 3\nnode 1\nnode 2\nnode 0");
    for kind in ["minhop", "lash", "dfsssp"] {
        check_analyses(&*reversed, &*build(engine(kind), &*reversed));
    }
    assert_eq!(routers(&*reversed, &*build(engine("minhop"), &*reversed), 0, 1), [3, 2, 1]);
}

#[test]
fn dfsssp_uses_all_wires_of_a_clique_and_of_a_tree_evenly() {
    // Would catch a wire that does not count the nodes that send over it. Each leaf sends 4 x 12 pairs over 4 wires.
    let tree = fat_tree(4, 2);
    let outputs = subnet::outputs(&*tree, &*build(engine("dfsssp"), &*tree));
    let loads = subnet::loads(&*tree, &outputs);
    assert_eq!(loads.into_values().collect::<std::collections::BTreeSet<_>>(), [12].into());
}

#[test]
fn ftree_takes_wires_within_a_level_where_they_are_shorter() {
    // A ring of 6 leaves around a top: 2 hops go round the ring, by the neighbour that is found first, and 3 hops by the
    // top. Would catch a long way round that stays, and wires that are left out.
    let text: String =
        (0..6).map(|leaf| format!("link {leaf} 6\nlink {leaf} {}\nnode {leaf}\n", (leaf + 1) % 6)).collect();
    let ring = network(&text);
    let routing = build(engine("ftree"), &*ring);
    let to = |dst| routers(&*ring, &*routing, 0, dst);
    assert_eq!([1, 2, 3, 4, 5].map(to), [vec![0, 1], vec![0, 1, 2], vec![0, 6, 3], vec![0, 5, 4], vec![0, 5]]);
}

#[test]
fn ftree_refuses_leaves_that_no_way_joins() {
    // Leaves 0 and 1 are under router 4, leaves 2 and 3 under router 5, and a wire joins leaves 1 and 2: it is beside the
    // climb from leaf 1, but not from leaf 0. Would catch a pair without a way that is found only when a packet needs it.
    let text = "link 0 4\nlink 1 4\nlink 2 5\nlink 3 5\nlink 1 2\nnode 0\nnode 1\nnode 2\nnode 3";
    let error = engine("ftree").build(&*network(text)).map(|_| ()).unwrap_err();
    assert!(error.message.contains("router 3 has no way up and down to the nodes of router"), "{error}");
}

/// Returns `nue` on a number of lanes.
fn nue(lanes: u8) -> RoutingSpec {
    spec(&format!("{{\"kind\": \"nue\", \"max_lanes\": {lanes}}}"))
}

#[test]
fn nue_takes_the_only_good_paths_on_one_lane() {
    // A clique has a wire for each pair, a tree 4 x 12 pairs for each leaf's 4 wires. Would catch an escape that stays
    // though shorter paths are free of deadlock, and a wire that is not counted.
    let clique = "link 0 1\nlink 0 2\nlink 0 3\nlink 1 2\nlink 1 3\nlink 2 3\nnode 0\nnode 1\nnode 2\nnode 3";
    for (topology, load) in [(network(clique), 1), (fat_tree(4, 2), 12)] {
        let routing = build(nue(1), &*topology);
        let loads = subnet::loads(&*topology, &subnet::outputs(&*topology, &*routing));
        assert_eq!(loads.into_values().collect::<std::collections::BTreeSet<_>>(), [load].into());
        assert!(routing.minimal());
    }
}

#[test]
fn nue_goes_round_a_ring_where_its_lane_is_cut() {
    // On a ring of 5 the shortest paths of each direction form a cycle: one lane has to leave out one of the 5 turns of
    // each direction, so that one pair goes 3 hops, not 2. Two lanes leave out none. Would catch a cycle, a search that
    // gives up on the whole ring, and lanes without use.
    let ring = torus(&[5], 1);
    let hops = |lanes| {
        let routing = build(nue(lanes), &*ring);
        assert!(dependency_cycle(&*ring, &*routing).unwrap().is_none());
        let outputs = subnet::outputs(&*ring, &*routing);
        subnet::pairs(&*ring).map(|(src, dst)| subnet::path(&*ring, &outputs, src, dst).len()).sum::<usize>()
    };
    assert_eq!([hops(1), hops(2)], [30 + 2, 30]);
}

#[test]
fn nue_divides_destinations_over_its_lanes() {
    // 0 is 8 lanes; a ring of 5 has 5 destinations, and 3 lanes take 2, 2 and 1.
    let ring = torus(&[5], 2);
    assert_eq!([0, 1, 3, 8].map(|lanes| build(nue(lanes), &*ring).classes()), [5, 1, 3, 5]);
}

#[test]
fn engines_balance_the_nodes_over_ports() {
    // 4 leaves of 4 nodes, 4 tops: each leaf has 12 nodes elsewhere, 3 for each top. Would catch a lost count.
    let tree = fat_tree(4, 2);
    let outputs = ["minhop", "updn", "ftree"].map(|kind| subnet::outputs(&*tree, &*build(engine(kind), &*tree)));
    for row in outputs.iter().flat_map(|outputs| &outputs[..4]) {
        let mut nodes = std::collections::BTreeMap::new();
        for port in row.iter().flatten() {
            *nodes.entry(*port).or_insert(0) += 1;
        }
        assert_eq!(nodes.into_values().collect::<Vec<_>>(), [3; 4]);
    }
}

#[test]
fn the_check_finds_the_deadlock_of_minhop_on_a_ring_and_lash_avoids_it() {
    let ring = torus(&[5], 1);
    assert!(dependency_cycle(&*ring, &*build(engine("minhop"), &*ring)).unwrap().is_some());
    let lash = build(engine("lash"), &*ring);
    assert!(dependency_cycle(&*ring, &*lash).unwrap().is_none());
    assert_eq!(lash.classes(), 2);
}

#[test]
fn updn_goes_round_a_ring_by_its_root() {
    // Ranks 0, 1, 2, 3, 2, 1: no packet goes down to router 3 and up again. From 2 to 4 the short path is by 3.
    let ring = torus(&[6], 1);
    let routing = build(spec(r#"{"kind": "updn", "roots": [0]}"#), &*ring);
    assert_eq!(routers(&*ring, &*routing, 2, 4), [2, 1, 0, 5, 4]);
    assert_eq!(routers(&*ring, &*routing, 3, 5), [3, 4, 5]);
}

#[test]
fn what_an_engine_does_not_accept_is_refused_with_the_reason() {
    let refused = |keys: &str, topology: &dyn Topology| {
        let error = spec(keys).build(topology).map(|routing| routing.kind()).unwrap_err();
        format!("{}: {}", error.key, error.message)
    };
    assert_eq!(
        refused(r#"{"kind": "updn"}"#, &*torus(&[6, 6], 1)),
        "roots: updn finds no root: from no router nearly all nodes are equally far, as from the top of a tree; give \
         `roots` (OpenSM falls back to minhop)"
    );
    assert_eq!(
        refused(r#"{"kind": "updn", "roots": [6]}"#, &*torus(&[6], 1)),
        "roots: `roots` has 6; this torus has the routers 0 to 5"
    );
    assert_eq!(
        refused(r#"{"kind": "updn", "roots": []}"#, &*torus(&[6], 1)),
        "roots: `roots` is empty; this torus has the routers 0 to 5"
    );
}

#[test]
fn ftree_says_why_a_network_is_no_tree() {
    let refused = |topology: &dyn Topology| engine("ftree").build(topology).map(|routing| routing.kind()).unwrap_err();
    let parts = [
        (torus(&[6, 6], 1), "it has 1 levels and 36 routers with nodes"),
        (
            network("link 0 2\nlink 1 2\nlink 0 3\nnode 0\nnode 1"),
            "routers 0 and 1 of level 0 have different numbers of",
        ),
        (
            network("link 0 2\nlink 1 2\nlink 1 2\nnode 0\nnode 1"),
            "routers 0 and 1 of level 0 have different numbers of",
        ),
    ];
    for (topology, part) in parts {
        let error = refused(&*topology);
        assert!(error.key == "kind" && error.message.contains(part), "{}", error.message);
    }
}

#[test]
fn an_engine_written_as_a_table_sends_packets_as_before() {
    // Would catch lanes that a table file does not keep.
    let ring = torus(&[5], 2);
    let routing = build(engine("lash"), &*ring);
    let table = RoutingTable::of(&*ring, &*routing).unwrap();
    assert_eq!((table.layers, table.candidates), (3, 1), "packets that enter, and two lanes");
    assert_eq!(table.classes.iter().max(), Some(&1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_network_keeps_the_contract(text in random_network(), root in 0_u32..4, lanes in 0_u8..=8) {
        let topology = network(&text);
        check_analyses(&*topology, &*build(engine("minhop"), &*topology));
        let dfsssp = build(engine("dfsssp"), &*topology);
        prop_assert!(dfsssp.minimal() && !check_analyses(&*topology, &*dfsssp), "a lane of dfsssp has a cycle");
        let nue = build(nue(lanes), &*topology);
        prop_assert!(!check_analyses(&*topology, &*nue), "a lane of nue has a cycle");
        prop_assert!((1..=[lanes, 8][usize::from(lanes == 0)]).contains(&nue.classes()));
        let lash = build(engine("lash"), &*topology);
        prop_assert!(lash.minimal() && !check_analyses(&*topology, &*lash), "a lane of lash has a cycle");
        if let Ok(updn) = spec(&format!("{{\"kind\": \"updn\", \"roots\": [{root}]}}")).build(&*topology) {
            prop_assert!(!check_analyses(&*topology, &*updn), "updn has a cycle");
        }
    }
}
