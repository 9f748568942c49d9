//! Up*/down* on any topology: the contract, freedom from deadlock on random networks, the path on a tree.
#![allow(clippy::unwrap_used)]

use crate::common::{
    assert_near, bound, build, check_all, check_analyses, fat_tree, mesh, network, random_network, single_switch, torus,
};
use proptest::prelude::*;
use routing::RoutingSpec;
use routing::algorithms::shortest_path::{ShortestPathSpec, TieRule, VcRule};
use routing::algorithms::up_down::UpDownSpec;
use testkit::routing::{paths, uniform};
use units::NodeId;

const TIES: [TieRule; 3] = [TieRule::First, TieRule::Random, TieRule::LeastLoaded];

fn up_down(root: Option<u32>, ties: TieRule) -> RoutingSpec {
    RoutingSpec::UpDown(UpDownSpec { root, ties })
}

#[test]
fn the_contract_holds_on_every_family() {
    // Would catch a packet that goes up after it has gone down, and a down path that is invalid.
    let topologies =
        [torus(&[6], 1), torus(&[4, 4], 1), mesh(&[3, 3], 2), single_switch(5), fat_tree(2, 3), fat_tree(3, 2)];
    for topology in &topologies {
        for ties in TIES {
            check_all(&**topology, &*build(up_down(None, ties), &**topology));
            check_all(&**topology, &*build(up_down(Some(0), ties), &**topology));
        }
    }
}

#[test]
fn a_ring_is_cut_opposite_to_its_root() {
    // Routers 0 to 5 in a ring, root 0: routers 2, 3 and 4 have the levels 2, 3 and 2, so that no packet goes down to 3
    // and up again. From 2 to 4 the short path is by 3; the up*/down* path is 2, 1, 0, 5, 4.
    let ring = torus(&[6], 1);
    let routing = build(up_down(Some(0), TieRule::First), &*ring);
    let routers = |src, dst| -> Vec<u32> {
        paths(&*ring, &*routing, NodeId(src), NodeId(dst))[0].hops.iter().map(|hop| hop.0.0).collect()
    };
    assert_eq!(routers(2, 4), [2, 1, 0, 5, 4]);
    assert_eq!(routers(2, 3), [2, 3]);
    assert_eq!(routers(3, 5), [3, 4, 5]);
    assert_eq!(routing.max_routers(), 5);
}

#[test]
fn all_of_a_fat_tree_goes_by_its_root() {
    // From a top switch as root, the other top switches are below the leaves: 4 nodes of a leaf send 3/4 each by one
    // channel to the root. Would catch a root that is ignored.
    let tree = fat_tree(4, 2);
    assert_near(bound(&*tree, &*build(up_down(Some(4), TieRule::Random), &*tree), &uniform(16)), 1.0 / 3.0);
}

#[test]
fn a_root_that_is_none_is_refused() {
    let error = up_down(Some(6), TieRule::First).build(&*torus(&[6], 1)).unwrap_err();
    assert_eq!(
        (error.key.as_str(), error.message.as_str()),
        ("root", "`root` is 6; this torus has the routers 0 to 5")
    );
}

#[test]
fn the_root_is_a_centre_if_none_is_named() {
    // A square 3, 0, 1, 2 with the tail 4, 5 on router 3, the only router at most 2 hops from all. From 0 to 2, the
    // path is by 3; from another root (0 itself, or 1) it would be by 1, whose wire comes first.
    let wires = "link 0 1\nlink 1 2\nlink 3 0\nlink 2 3\nlink 3 4\nlink 4 5\n";
    let square = network(&format!("{wires}node 0\nnode 2"));
    let by =
        |root| paths(&*square, &*build(up_down(root, TieRule::First), &*square), NodeId(0), NodeId(1))[0].hops[1].0.0;
    assert_eq!([by(None), by(Some(0)), by(Some(1))], [3, 1, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_network_keeps_the_contract(network in random_network(), which in 0_usize..3, root in 0_u32..4) {
        let topology = crate::common::network(&network);
        check_all(&*topology, &*build(up_down(None, TIES[which]), &*topology));
        check_all(&*topology, &*build(up_down(Some(root), TIES[which]), &*topology));
        let shortest = |vc_rule| RoutingSpec::ShortestPath(ShortestPathSpec { ties: TIES[which], vc_rule });
        check_all(&*topology, &*build(shortest(VcRule::Hops), &*topology));
        check_analyses(&*topology, &*build(shortest(VcRule::Single), &*topology));
    }
}
