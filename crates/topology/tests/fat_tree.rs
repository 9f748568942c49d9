//! k-ary n-trees: the contract, closed forms, known figures.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use testkit::topology::{Bisection, bisection, check_topology, links};
use topology::families::fat_tree::{FatTree, FatTreeSpec};
use topology::views::Passage;
use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

fn tree(k: u64, n: u64) -> FatTree {
    FatTree::new(&FatTreeSpec { k, n }).unwrap()
}

#[test]
fn the_papers_machines_have_their_sizes() {
    // Section 3 of the hardware-collectives paper: 256 nodes of 8-port switches in 4 levels, or of 32-port switches in
    // 2. Would catch k counted as all ports of a switch, or a half-sized top level.
    let small = tree(4, 4);
    assert_eq!((small.nodes(), small.routers(), small.ports(RouterId(0)), small.levels()), (256, 256, 8, 4));
    assert_eq!((small.diameter(), small.bisection_channels()), (6, Some(128)));
    let large = tree(16, 2);
    assert_eq!((large.nodes(), large.routers(), large.ports(RouterId(0)), large.levels()), (256, 32, 32, 2));
    assert_eq!((large.diameter(), large.bisection_channels()), (2, Some(128)));
}

#[test]
fn the_contract_holds_for_small_trees() {
    // Would catch a digit replaced at the wrong place, a wire that does not lead back, and a distance that ignores that
    // a path may go down before it goes up.
    for (k, n) in [(2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3), (4, 4), (5, 2), (16, 2), (7, 3), (40, 1)] {
        let tree = tree(k, n);
        check_topology(&tree);
        assert_eq!(u64::from(tree.nodes()), k.pow(n as u32));
        assert_eq!(u64::from(tree.routers()), n * k.pow(n as u32 - 1));
        // The number of wires between two levels equals the number of nodes.
        assert_eq!(links(&tree), 2 * (n - 1) * k.pow(n as u32));
    }
}

#[test]
fn the_bisection_is_the_least_of_all() {
    for (k, n) in [(2, 1), (2, 2), (2, 3), (3, 2), (9, 1)] {
        let tree = tree(k, n);
        assert_eq!(tree.bisection_channels(), Some(bisection(&tree, Bisection::Nodes)), "{k}-ary {n}-tree");
    }
}

#[test]
fn the_numbering_is_the_documented_one() {
    // The 2-ary 3-tree by hand: leaf switch 1 (digits 01) goes up by port 2 + j to switch 0j of level 1, where it is
    // attached on the down port of its own digit 0, which is 1.
    let tree = tree(2, 3);
    assert_eq!(tree.attachment(NodeId(5)), (RouterId(2), PortId(1)));
    assert_eq!(tree.endpoint(RouterId(1), PortId(2)), Endpoint::Router(RouterId(4), PortId(1)));
    assert_eq!(tree.endpoint(RouterId(1), PortId(3)), Endpoint::Router(RouterId(5), PortId(1)));
    // Switch 01 of level 1 goes up to the switches 01 and 11 of level 2.
    assert_eq!(tree.endpoint(RouterId(5), PortId(3)), Endpoint::Router(RouterId(11), PortId(0)));
    assert_eq!(tree.endpoint(RouterId(8), PortId(2)), Endpoint::Unconnected);
    assert_eq!(tree.coordinates(RouterId(11)), [2, 3]);
}

/// Returns whether down ports alone lead from a switch to a node, by trying all.
fn leads_down(tree: &FatTree, router: RouterId, node: NodeId) -> bool {
    (0..tree.up_ports(router).0.0).any(|port| leads_down_by(tree, router, PortId(port), node))
}

fn leads_down_by(tree: &FatTree, router: RouterId, port: PortId, node: NodeId) -> bool {
    match tree.endpoint(router, port) {
        Endpoint::Node(found) => found == node,
        Endpoint::Router(child, _) => leads_down(tree, child, node),
        Endpoint::Unconnected => false,
    }
}

#[test]
fn down_ports_lead_to_their_nodes_and_only_they() {
    for (k, n) in [(2, 3), (3, 3), (4, 2), (5, 1)] {
        let tree = tree(k, n);
        for router in (0..tree.routers()).map(RouterId) {
            for node in (0..tree.nodes()).map(NodeId) {
                let expected = (0..k as u16).map(PortId).find(|&port| leads_down_by(&tree, router, port, node));
                let passage = tree.passage(router, node);
                assert_eq!(passage.down.then_some(passage.first), expected, "router {router}, node {node}");
                assert_eq!(tree.is_ancestor(router, node), expected.is_some());
            }
        }
    }
}

#[test]
fn sizes_out_of_range_are_refused_at_their_key() {
    let big = 1 << 40;
    for (k, n, key) in [
        (0, 2, "k"),
        (1, 2, "k"),
        (32_768, 1, "k"),
        (u64::MAX, 1, "k"),
        (4, 0, "n"),
        (2, 21, "n"),
        (4, 13, "n"),
        (16, big, "n"),
        (32_767, 2, "n"),
        (2, u64::MAX, "n"),
    ] {
        let error = FatTree::new(&FatTreeSpec { k, n }).unwrap_err();
        assert_eq!(error.key, key, "k={k}, n={n}: {error}");
        assert!(error.message.contains(&format!("`{key}` is ")), "{error}");
    }
}

#[test]
fn the_largest_trees_are_built() {
    // Would catch an overflow next to the limits; the formulas are checked from a few switches.
    for (k, n) in [(4096, 2), (2, 20), (4, 11), (32_767, 1)] {
        let tree = tree(k, n);
        assert_eq!(u64::from(tree.nodes()), k.pow(n as u32));
        let last = NodeId(tree.nodes() - 1);
        let (leaf, port) = tree.attachment(last);
        assert_eq!(tree.endpoint(leaf, port), Endpoint::Node(last));
        assert_eq!(tree.distance(RouterId(0), leaf), tree.diameter());
        let passage = tree.passage(RouterId(tree.routers() - 1), last);
        assert_eq!(passage, Passage { first: PortId(k as u16 - 1), count: 1, down: true });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_contract_holds((k, n) in (1_u64..=6).prop_flat_map(|n| {
        let most = [64_u64, 20, 9, 5, 4, 3][n as usize - 1];
        (2..=most, Just(n))
    })) {
        check_topology(&tree(k, n));
    }
}
