//! Several networks as one topology.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use testkit::topology::check_topology;
use topology::families::networks::{Networks, Part};
use topology::{Order, Places, PlacesRule, RouterClasses, Topology, TopologySpec};
use units::{NodeId, PlaneId, RouterId};

fn part(name: &str, shorthand: &str, planes: u32, rule: PlacesRule) -> Part {
    let island: Arc<dyn Topology> = shorthand.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap();
    let places = Places::by_rule(&PlacesRule { island: island.nodes(), ..rule }).unwrap();
    Part { name: name.into(), island, planes, places, is_undivided: false, hop_cost: 1 }
}

fn rule(nodes: u32, per_node: u32, members: Option<Vec<u32>>, order: Order) -> PlacesRule {
    PlacesRule { nodes, per_node, members, order, rail_nodes: None, island: 1 }
}

/// Four nodes of four endpoints: a switch in each node, and two rails on which every second endpoint has a port.
fn machine() -> Networks {
    let inside = part("inside", "single-switch:4", 2, rule(4, 4, None, Order::ByNode));
    let rails = part("rail", "single-switch:4", 1, rule(4, 4, Some(vec![0, 2]), Order::ByRail));
    let all = part("all", "fat-tree:k=4,n=2", 1, rule(4, 4, None, Order::ByNode));
    Networks::new(vec![inside, rails, all]).unwrap()
}

#[test]
fn several_networks_keep_the_contract() {
    // Would catch a wire between networks or islands, an endpoint at two nodes of a network, and a class of channels that
    // two networks share.
    let networks = machine();
    check_topology(&networks);
    assert_eq!((networks.nodes(), networks.planes()), (16, 4));
    // 4 islands in each of 2 planes, 2 rails, and a tree of 8 switches.
    assert_eq!(networks.routers(), 8 + 2 + 8);
    let names = networks.class_names();
    assert_eq!(names[..4], ["inside.injection", "inside.ejection", "rail.injection", "rail.ejection"]);
    let classes = RouterClasses::of(&networks);
    assert_eq!(classes.names(), ["inside", "rail", "all.leaf", "all.spine"]);
    let of = |router| classes.class(RouterId(router));
    assert_eq!([of(0), of(7), of(8), of(9), of(10), of(17)], [0, 0, 1, 1, 2, 3]);
}

#[test]
fn endpoints_take_the_nodes_of_islands_in_the_order_of_their_network() {
    // By hand. Would catch an order by nodes where there are rails, a member that is counted among all endpoints, and an
    // endpoint without a port that has one.
    let networks = machine();
    let at = |endpoint, plane| networks.attachment_on(NodeId(endpoint), PlaneId(plane)).map(|(r, p)| (r.0, p.0));
    // Endpoint 6 is endpoint 2 of node 1.
    assert_eq!((at(6, 0), at(6, 1)), (Some((1, 2)), Some((5, 2))));
    assert_eq!((at(6, 2), at(7, 2)), (Some((9, 1)), None));
    assert_eq!((at(12, 2), at(0, 2)), (Some((8, 3)), Some((8, 0))));
    let joins = |part: usize, from, to| networks.parts()[part].places.joins(NodeId(from), NodeId(to));
    assert!(
        joins(0, 4, 7) && !joins(0, 3, 4) && joins(1, 0, 8) && !joins(1, 0, 2) && !joins(1, 0, 9) && joins(2, 3, 4)
    );
}

#[test]
fn routers_of_a_node_are_one_bundle() {
    // Would catch a node whose attachments lie in two partitions. Without the tree, the switches of two nodes are joined
    // by the rails only.
    let networks = machine();
    for bundle in networks.bundles() {
        for node in (0..networks.nodes()).map(NodeId) {
            let planes = (0..4).map(PlaneId).filter_map(|plane| networks.attachment_on(node, plane));
            let inside: Vec<bool> = planes.map(|(router, _)| bundle.contains(&router)).collect();
            assert!(inside.iter().all(|&own| own == inside[0]), "node {node}: {inside:?}");
        }
    }
    let spines = networks.bundles().into_iter().filter(|bundle| bundle.len() == 1).count();
    assert_eq!(spines, 4, "spines have no nodes");
}

#[test]
fn wrong_networks_name_their_key() {
    // Would catch networks whose planes or endpoints overflow their numbers.
    let one = |planes| part("one", "single-switch:4", planes, rule(1, 4, None, Order::ByNode));
    for planes in [0, 17] {
        assert_eq!(Networks::new(vec![one(planes)]).unwrap_err().key, "planes");
    }
    assert_eq!(Networks::new((0..5).map(|_| one(16)).collect()).unwrap_err().key, "planes");
    let outside = rule(2, 4, Some(vec![4]), Order::ByNode);
    assert_eq!(Places::by_rule(&outside).unwrap_err().key, "endpoints");
    for nodes in [0, 1 << 24] {
        assert_eq!(Places::by_rule(&rule(nodes, 4, None, Order::ByNode)).unwrap_err().key, "nodes");
    }
}

#[test]
fn interfaces_of_the_nodes_of_a_chassis_are_on_its_switches() {
    // Four interfaces of 16 nodes on four switches of 16 ports. Would catch rails over all nodes, and a last chassis of
    // fewer nodes whose endpoints lie beyond its places.
    let members = [0, 2, 4, 6];
    let chassis = |nodes| PlacesRule { rail_nodes: Some(16), ..rule(nodes, 8, Some(members.to_vec()), Order::ByRail) };
    let places = Places::by_rule(&PlacesRule { island: 64, ..chassis(32) }).unwrap();
    for (node, (number, member)) in (0..32).flat_map(|node| (0..).zip(members).map(move |own| (node, own))) {
        let expected = (node / 16, NodeId(16 * number + node % 16));
        assert_eq!(places.place(NodeId(8 * node + member)), Some(expected));
    }
    let places = Places::by_rule(&PlacesRule { island: 68, ..chassis(17) }).unwrap();
    assert_eq!((places.islands(), places.place(NodeId(8 * 16 + 6))), (1, Some((0, NodeId(67)))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn places_are_a_numbering_of_the_members(
        nodes in 1_u32..20,
        per_node in 1_u32..9,
        mask in 1_u32..256,
        island in 1_u32..30,
        by_rail: bool,
        rail_nodes in proptest::option::of(1_u32..25),
    ) {
        // Would catch an endpoint that shares a place, and a place whose endpoint is at another.
        let members: Vec<u32> = (0..per_node).filter(|member| mask >> member & 1 == 1).collect();
        prop_assume!(!members.is_empty());
        let order = if by_rail { Order::ByRail } else { Order::ByNode };
        let rule = PlacesRule { nodes, per_node, members: Some(members.clone()), order, rail_nodes, island };
        let places = Places::by_rule(&rule).unwrap();
        prop_assert_eq!(places.ports(), nodes * members.len() as u32);
        let mut seen = std::collections::BTreeSet::new();
        for endpoint in (0..nodes * per_node).map(NodeId) {
            let place = places.place(endpoint);
            prop_assert_eq!(place.is_some(), members.contains(&(endpoint.0 % per_node)));
            let Some((number, own)) = place else { continue };
            prop_assert!(number < places.islands() && own.0 < island && seen.insert((number, own)));
            prop_assert_eq!(places.node(number, own), Some(endpoint));
        }
    }
}
