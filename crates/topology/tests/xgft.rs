//! Trees of any shape: the contract, closed forms, known figures.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use testkit::topology::{Bisection, bisection, check_topology, links};
use topology::families::fat_tree::{FatTree, FatTreeSpec};
use topology::families::leaf_spine::{LeafSpine, LeafSpineSpec};
use topology::families::xgft::{Xgft, XgftSpec};
use topology::views::Passage;
use topology::{ChannelClass, Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

fn spec(m: &[u64], w: &[u64], p: Option<&[u64]>, hosts: Option<u64>) -> XgftSpec {
    XgftSpec { m: m.to_vec(), w: w.to_vec(), p: p.map(<[u64]>::to_vec), hosts }
}

fn tree(m: &[u64], w: &[u64], p: Option<&[u64]>, hosts: Option<u64>) -> Xgft {
    Xgft::xgft(&spec(m, w, p, hosts)).unwrap()
}

/// Numbers of each level.
type List = &'static [u64];

/// Numbers of children, parents and wires by level, and of nodes, each `None` if not given; and the key of the error.
type Wrong = (List, List, Option<List>, Option<u64>, &'static str);

/// Numbers of children, parents and wires by level, and the number of nodes.
type Shape = (Vec<u64>, Vec<u64>, Vec<u64>, u64);

/// Returns trees of 1 to `levels` levels and at most `most` places, full or with some nodes.
fn shapes(levels: usize, sizes: u64, most: u64) -> impl Strategy<Value = Shape> {
    let level = (1..=sizes, 1..=sizes.min(4), 1..=3_u64);
    (prop::collection::vec(level, 1..=levels), 0.0..1.0, any::<bool>()).prop_map(move |(mut shape, part, full)| {
        while shape.iter().map(|(m, ..)| m).product::<u64>() > most {
            shape.pop();
        }
        (shape[0].1, shape[0].2) = (1, 1);
        let places = shape.iter().map(|(m, ..)| m).product::<u64>();
        let hosts = if full { places } else { 1 + (places as f64 * part) as u64 };
        let (m, wp): (Vec<u64>, Vec<(u64, u64)>) = shape.into_iter().map(|(m, w, p)| (m, (w, p))).unzip();
        let (w, p) = wp.into_iter().unzip();
        (m, w, p, hosts)
    })
}

fn build((m, w, p, hosts): &Shape) -> Xgft {
    tree(m, w, Some(p), Some(*hosts))
}

/// Checks the contract, and the closed forms of switches, wires and ports by level.
fn check(shape: &Shape) {
    let tree = build(shape);
    check_topology(&tree);
    let (m, w, p, hosts) = shape;
    assert_eq!(u64::from(tree.nodes()), *hosts);
    let mut wires = 0;
    for level in 0..m.len() {
        let count = w[1..=level].iter().chain(&m[level + 1..]).product::<u64>();
        let up = if level + 1 < m.len() { w[level + 1] * p[level + 1] } else { 0 };
        let switches = (0..tree.routers()).map(RouterId).filter(|&router| usize::from(tree.level(router)) == level);
        let ports: Vec<u64> = switches.map(|router| u64::from(tree.ports(router))).collect();
        assert_eq!(ports, vec![m[level] * p[level] + up; count as usize], "switches of level {level}");
        wires += count * up;
    }
    assert_eq!(links(&tree), 2 * wires);
}

#[test]
fn known_figures() {
    // 4,096 nodes on 128 leaf switches of 32 + 16 ports, tapered 2:1; no taper above.
    let tapered = tree(&[32, 16, 8], &[1, 16, 16], None, None);
    assert_eq!((tapered.nodes(), tapered.routers(), tapered.diameter()), (4096, 128 + 8 * 16 + 16 * 16, 4));
    assert_eq!([0, 128, 256].map(|router| tapered.ports(RouterId(router))), [48, 32, 8]);
    // 2,048 wires leave the leaves, and as many reach the top. Those of half of the leaves are cut.
    assert_eq!((links(&tapered), tapered.bisection_channels()), (2 * (2048 + 2048), Some(1024)));
    let spine = LeafSpineSpec { leaves: 16, spines: 8, nodes_per_leaf: 32, wires: 2 };
    let spine = LeafSpine::leaf_spine(&spine).unwrap();
    assert_eq!((spine.kind(), spine.nodes(), spine.routers(), spine.diameter()), ("leaf-spine", 512, 24, 2));
    assert_eq!((spine.ports(RouterId(0)), spine.ports(RouterId(23))), (48, 32));
    assert_eq!((links(&spine), spine.bisection_channels()), (512, Some(128)));
}

#[test]
fn the_numbering_is_the_documented_one() {
    // XGFT(3; 2, 3, 2; 1, 2, 3; 1, 2, 1): 6 leaves, 4 switches of level 1, 6 of level 2.
    let tree = tree(&[2, 3, 2], &[1, 2, 3], Some(&[1, 2, 1]), None);
    assert_eq!(tree.routers(), 16);
    // Leaf 5 has the digits (2, 1): up ports 2 and 3 are both wires to parent 0, of digits (0, 1): switch 2 of level 1,
    // which has them at child 2.
    assert_eq!(tree.attachment(NodeId(11)), (RouterId(5), PortId(1)));
    for (port, parent, back) in [(2, 8, 4), (3, 8, 5), (4, 9, 4), (5, 9, 5)] {
        assert_eq!(tree.endpoint(RouterId(5), PortId(port)), Endpoint::Router(RouterId(parent), PortId(back)));
    }
    // Switch 3 of level 1, (1, 1), goes up to (1, 0), (1, 1) and (1, 2): the switches 1, 3 and 5 of level 2.
    for (port, parent) in [(6, 11), (7, 13), (8, 15)] {
        assert_eq!(tree.endpoint(RouterId(9), PortId(port)), Endpoint::Router(RouterId(parent), PortId(1)));
    }
    assert_eq!((tree.ports(RouterId(15)), tree.coordinates(RouterId(15))), (2, vec![2, 5]));
    assert_eq!(tree.class_names(), ["injection", "ejection", "up", "down"]);
    assert_eq!([0, 1, 2, 5].map(|port| tree.class(RouterId(0), PortId(port))), [1, 1, 2, 2].map(ChannelClass));
    assert_eq!([0, 5, 6, 8].map(|port| tree.class(RouterId(9), PortId(port))), [3, 3, 2, 2].map(ChannelClass));
}

#[test]
fn the_ports_of_destinations_are_the_documented_ones() {
    // Leaves of 6 nodes, 3 parents by 2 wires. Node 34 is 1 modulo 3, and its quotient, 11, is 1 modulo 2: wire 1 to
    // parent 1. A parent passes it to leaf 5 by wire 1. Would catch an order of the ports by wire first.
    let tree = tree(&[6, 6], &[1, 3], Some(&[1, 2]), None);
    assert_eq!(tree.destination_port(RouterId(0), NodeId(34)), PortId(6 + 2 + 1));
    assert_eq!(tree.passage(RouterId(7), NodeId(34)), Passage { first: PortId(10), count: 2, down: true });
    assert_eq!(tree.destination_port(RouterId(7), NodeId(34)), PortId(11));
    assert_eq!(tree.destination_port(RouterId(5), NodeId(34)), PortId(4));
}

#[test]
fn places_without_nodes_are_unconnected() {
    // 7 of 16 nodes: the second leaf has one free port, the third none with a node. The nodes are below one switch of
    // level 1 of 4 leaves, and packets need not go to the top.
    let tree = tree(&[4, 2, 2], &[1, 4, 2], None, Some(7));
    assert_eq!(tree.endpoint(RouterId(1), PortId(2)), Endpoint::Node(NodeId(6)));
    assert_eq!(tree.endpoint(RouterId(1), PortId(3)), Endpoint::Unconnected);
    assert_eq!(tree.endpoint(RouterId(2), PortId(0)), Endpoint::Unconnected);
    assert_eq!((tree.nodes(), tree.diameter(), tree.bisection_channels()), (7, 2, Some(3)));
}

#[test]
fn the_contract_holds_for_all_shapes() {
    // Would catch a radix of another level, a wire that does not lead back, and a distance that counts a choice of
    // parents that is no choice on the way.
    let cases: [(List, List, List, u64); 9] = [
        (&[1], &[1], &[1], 1),
        (&[5], &[1], &[1], 3),
        (&[3, 4], &[1, 2], &[1, 1], 12),
        (&[3, 4], &[1, 5], &[1, 3], 7),
        (&[1, 1, 1], &[1, 2, 3], &[1, 1, 2], 1),
        (&[2, 3, 4], &[1, 4, 2], &[1, 2, 3], 24),
        (&[4, 2, 2], &[1, 1, 3], &[1, 3, 1], 9),
        (&[2, 2, 2, 3], &[1, 2, 3, 2], &[1, 1, 2, 1], 24),
        (&[16, 8, 4], &[1, 8, 4], &[1, 1, 1], 512),
    ];
    for (m, w, p, hosts) in cases {
        check(&(m.to_vec(), w.to_vec(), p.to_vec(), hosts));
    }
}

#[test]
fn a_fat_tree_is_the_tree_of_its_shape() {
    // Would catch a numbering by which one shape has two meanings.
    for (k, n) in [(2, 1), (4, 1), (2, 4), (3, 3), (5, 2)] {
        let fat = FatTree::new(&FatTreeSpec { k, n }).unwrap();
        let mut w = vec![k; n as usize];
        w[0] = 1;
        let same = tree(&vec![k; n as usize], &w, None, None);
        assert_eq!((fat.nodes(), fat.routers()), (same.nodes(), same.routers()));
        assert_eq!((fat.diameter(), fat.bisection_channels()), (same.diameter(), same.bisection_channels()));
        for router in (0..fat.routers()).map(RouterId) {
            assert_eq!(fat.coordinates(router), same.coordinates(router));
            for port in (0..same.ports(router)).map(PortId) {
                assert_eq!(fat.endpoint(router, port), same.endpoint(router, port), "{port} of {router}");
                assert_eq!(fat.class(router, port), same.class(router, port));
            }
            // Only the ports up from the top are those of the fat-tree alone.
            let spare = (same.ports(router)..fat.ports(router)).map(PortId);
            assert!(spare.clone().all(|port| fat.endpoint(router, port) == Endpoint::Unconnected));
            assert_eq!(spare.count() as u64, if u64::from(fat.level(router)) + 1 == n { k } else { 0 });
        }
    }
}

#[test]
fn a_leaf_spine_is_a_tree_of_two_levels() {
    let spine = LeafSpineSpec { leaves: 5, spines: 3, nodes_per_leaf: 4, wires: 2 };
    let spine = LeafSpine::leaf_spine(&spine).unwrap();
    let same = tree(&[4, 5], &[1, 3], Some(&[1, 2]), None);
    for router in (0..same.routers()).map(RouterId) {
        assert_eq!(spine.ports(router), same.ports(router));
        for port in (0..same.ports(router)).map(PortId) {
            assert_eq!(spine.endpoint(router, port), same.endpoint(router, port));
        }
    }
}

#[test]
fn numbers_out_of_range_are_refused_at_their_key() {
    let cases: [Wrong; 20] = [
        (&[], &[], None, None, "m"),
        (&[2; 21], &[1; 21], None, None, "m"),
        (&[4, 0], &[1, 2], None, None, "m"),
        (&[65_536], &[1], None, None, "m"),
        (&[u64::MAX, u64::MAX], &[1, 2], None, None, "m"),
        (&[4097, 4096], &[1, 1], None, None, "m"),
        // Switches of one port below switches of many: more than 2^24 of them.
        (&[1, 1, 4096, 4096], &[1, 1, 1, 1], None, None, "m"),
        (&[4, 4], &[1], None, None, "w"),
        (&[4, 4], &[1, 2, 2], None, None, "w"),
        (&[4, 4], &[2, 2], None, None, "w"),
        (&[4, 4], &[1, 0], None, None, "w"),
        (&[4, 4], &[1, u64::MAX], None, None, "w"),
        (&[4, 4], &[1, 65_532], None, None, "w"),
        (&[4, 4, 4, 4], &[1, 4096, 4096, 4], None, None, "w"),
        (&[4, 4], &[1, 2], Some(&[1]), None, "p"),
        (&[4, 4], &[1, 2], Some(&[2, 1]), None, "p"),
        (&[4, 4], &[1, 2], Some(&[1, 0]), None, "p"),
        (&[4, 4], &[1, 2], Some(&[1, 40_000]), None, "p"),
        (&[4, 4], &[1, 2], None, Some(0), "hosts"),
        (&[4, 4], &[1, 2], None, Some(17), "hosts"),
    ];
    for (m, w, p, hosts, key) in cases {
        let spec = spec(m, w, p, hosts);
        let error = Xgft::xgft(&spec).unwrap_err();
        assert_eq!(error.key, key, "{spec:?}: {error}");
        assert!(error.message.contains(&format!("`{key}` ")), "{error}");
    }
    for (leaves, spines, nodes_per_leaf, wires, key) in [
        (0, 8, 32, 1, "leaves"),
        (65_536, 8, 32, 1, "leaves"),
        (16, 0, 32, 1, "spines"),
        (16, 65_530, 32, 1, "spines"),
        (16, 8, 0, 1, "nodes_per_leaf"),
        (4096, 8, 4097, 1, "nodes_per_leaf"),
        (16, u64::MAX, 32, 1, "spines"),
        (16, 8, 32, 0, "wires"),
        (16, 8, 32, 8192, "wires"),
        (32_768, 32_768, 1, 1, "spines"),
    ] {
        let spec = LeafSpineSpec { leaves, spines, nodes_per_leaf, wires };
        let error = LeafSpine::leaf_spine(&spec).unwrap_err();
        assert_eq!(error.key, key, "{spec:?}: {error}");
    }
}

#[test]
fn the_largest_are_built() {
    // Would catch an overflow next to the limits; the formulas are checked from a few switches.
    let cases: [(List, List, Option<List>); 6] = [
        (&[65_535], &[1], None),
        (&[4096, 4096], &[1, 4096], None),
        (&[1, 1], &[1, 65_534], None),
        (&[1, 65_535], &[1, 1], None),
        (&[2, 2], &[1, 2], Some(&[1, 32_766])),
        (&[2; 20], &[1; 20], None),
    ];
    for (m, w, p) in cases {
        let tree = tree(m, w, p, None);
        let last = NodeId(tree.nodes() - 1);
        let (leaf, port) = tree.attachment(last);
        assert_eq!(tree.endpoint(leaf, port), Endpoint::Node(last));
        assert_eq!(tree.distance(RouterId(0), leaf), tree.diameter());
        let top = RouterId(tree.routers() - 1);
        if m.len() > 1 {
            let down = PortId(tree.ports(top) - 1);
            let Endpoint::Router(child, back) = tree.endpoint(top, down) else { panic!("a wire") };
            assert_eq!(tree.endpoint(child, back), Endpoint::Router(top, down));
        }
    }
}

#[test]
fn the_narrowest_level_is_cut() {
    // Trees that are tapered at the leaves, at the top, and at both, and by parallel wires. Would catch the cut of
    // another level.
    let cases: [(List, List, Option<List>, u64); 6] = [
        (&[3, 2], &[1, 1], None, 1),
        (&[2, 4], &[1, 1], None, 2),
        (&[2, 2, 2], &[1, 2, 1], None, 2),
        (&[2, 2, 2], &[1, 1, 1], None, 1),
        (&[3, 2, 2], &[1, 1, 1], Some(&[1, 2, 1]), 1),
        (&[5, 2], &[1, 2], Some(&[1, 2]), 4),
    ];
    for (m, w, p, channels) in cases {
        let tree = tree(m, w, p, None);
        assert_eq!(tree.bisection_channels(), Some(channels), "{m:?}, {w:?}, {p:?}");
        assert_eq!(bisection(&tree, Bisection::Nodes), channels, "{m:?}, {w:?}, {p:?}");
    }
}

#[test]
fn trees_without_a_closed_form_have_no_bisection() {
    // 3 leaves of 2 nodes, tapered 2:1: half of the nodes are not below whole leaves. And a tapered tree with free
    // places.
    assert_eq!(tree(&[2, 3], &[1, 1], None, None).bisection_channels(), None);
    assert_eq!(tree(&[4, 4], &[1, 2], None, Some(12)).bisection_channels(), None);
}

/// Returns whether down ports alone lead from a switch to a node, by trying all.
fn leads_down(tree: &Xgft, router: RouterId, port: PortId, node: NodeId) -> bool {
    match tree.endpoint(router, port) {
        Endpoint::Node(found) => found == node,
        Endpoint::Router(child, _) => {
            (0..tree.up_ports(child).0.0).any(|port| leads_down(tree, child, PortId(port), node))
        }
        Endpoint::Unconnected => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_contract_holds(shape in shapes(4, 5, 100)) {
        check(&shape);
    }

    /// Would catch a port of another child, and parallel wires that are not all found.
    #[test]
    fn passages_are_all_ports_that_lead_nearer(shape in shapes(3, 4, 30)) {
        let tree = build(&shape);
        for router in (0..tree.routers()).map(RouterId) {
            let (PortId(first_up), up_ports) = tree.up_ports(router);
            for node in (0..tree.nodes()).map(NodeId) {
                let passage = tree.passage(router, node);
                let offered: Vec<u16> = (passage.first.0..passage.first.0 + passage.count).collect();
                let down = |port: &u16| leads_down(&tree, router, PortId(*port), node);
                let mut expected: Vec<u16> = (0..first_up).filter(down).collect();
                prop_assert_eq!(passage.down, !expected.is_empty());
                if expected.is_empty() {
                    expected = (first_up..first_up + up_ports).collect();
                }
                prop_assert_eq!(&offered, &expected);
                prop_assert!(offered.contains(&tree.destination_port(router, node).0));
            }
        }
    }

    /// Would catch a level that is not the narrowest, and a closed form for a tree that has none.
    #[test]
    fn the_bisection_is_the_least_of_all(shape in shapes(3, 4, 10)) {
        let tree = build(&shape);
        prop_assume!(tree.routers() + tree.nodes() <= 18);
        if let Some(channels) = tree.bisection_channels() {
            prop_assert_eq!(channels, bisection(&tree, Bisection::Nodes), "{:?}", shape);
        }
    }
}
