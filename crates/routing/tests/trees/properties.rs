//! Random networks, builders and groups.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use routing::dependency_cycle_with_trees;
use routing::trees::{FixedUpPortSpec, OrderKind, TreeClasses, TreeError, TreeSpec, TreesSpec};
use testkit::routing::{has_cycle, naive_dependencies};
use testkit::trees::{check_trees, naive_tree_dependencies, wires};
use topology::Topology;
use units::NodeId;

use super::{FIXED, LEAST_LOADED, build, group, load_balanced, minimal_depth, routing_of};
use crate::common::{fat_tree, mesh, network, random_network, shorthand, torus};

/// Returns a network, a builder that fits it, and groups.
fn cases() -> impl Strategy<Value = (Arc<dyn Topology>, TreeSpec, Vec<Vec<NodeId>>)> {
    let networks = prop_oneof![
        random_network().prop_map(|lines| network(&lines)),
        prop::sample::select(vec![(2, 3), (3, 2), (4, 2), (2, 4)]).prop_map(|(k, n)| fat_tree(k, n)),
        prop::sample::select(vec![
            "xgft:m=4x3,w=1x2",
            "xgft:m=2x3x2,w=1x3x2,p=1x2x1",
            "xgft:m=3x2x3,w=1x2x2,p=1x2x2,hosts=14",
            "leaf-spine:leaves=4,spines=3,nodes_per_leaf=3",
        ])
        .prop_map(shorthand),
        prop::sample::select(vec![vec![4], vec![3, 3], vec![2, 4], vec![2, 2, 3]]).prop_map(|dims| torus(&dims, 1)),
        prop::sample::select(vec![vec![5], vec![3, 4]]).prop_map(|dims| mesh(&dims, 2)),
        prop::sample::select(vec![
            "dragonfly:h=1",
            "dragonfly:p=1,a=4,h=1,g=2",
            "dragonfly:p=1,a=4,h=2,g=3,arrangement=absolute",
            "dragonfly:p=1,a=6,h=1,g=4,group=flattened-butterfly,group_dims=2x3",
        ])
        .prop_map(shorthand),
    ];
    let sets = prop::collection::vec(prop::collection::btree_set(0_u32..1 << 20, 1..7), 1..6);
    (networks, 0_usize..12, sets, 0_u32..3).prop_map(|(topology, choice, sets, extra)| {
        let mut specs = vec![minimal_depth(OrderKind::Hops), load_balanced(OrderKind::Hops, extra)];
        specs.extend([minimal_depth(OrderKind::UpDown), load_balanced(OrderKind::UpDown, extra)]);
        let own = OrderKind::ALL.into_iter().find(|order| order.view().is_some() && topology.views().has(order.view()));
        specs.extend(own.into_iter().flat_map(|order| [minimal_depth(order), load_balanced(order, extra)]));
        if topology.views().hierarchy.is_some() {
            specs.extend([FIXED, LEAST_LOADED, TreeSpec::FixedUpPort(FixedUpPortSpec { port: Some(0) })]);
        }
        let members =
            |set: BTreeSet<u32>| group(set.into_iter().map(|node| node % topology.nodes()).collect::<BTreeSet<_>>());
        let groups = sets.into_iter().map(members).collect();
        let spec = specs[choice % specs.len()];
        (topology, spec, groups)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    /// Checks that every tree of every builder spans exactly its group, and that the proof finds what the walk of every
    /// packet finds: no cycle with separate classes, and on one class a cycle exactly where there is one.
    #[test]
    fn trees_span_their_groups_and_depend_as_walked((topology, by, groups) in cases(), directed: bool, shared: bool) {
        let classes = [None, Some(TreeClasses::Own), Some(TreeClasses::Single)];
        let routing = routing_of(&*topology);
        for rule in classes.into_iter().chain(shared.then_some(Some(TreeClasses::Shared))) {
            let spec = TreesSpec { directed, classes: rule, ..TreesSpec::new(by) };
            let trees = spec.build(&topology, &*routing, &groups).unwrap();
            check_trees(&*topology, &trees);
            let mut waits_for = naive_dependencies(&*topology, &*routing);
            for (held, wanted) in naive_tree_dependencies(&*topology, &trees) {
                waits_for.entry(held).or_default().extend(wanted);
            }
            let cycle = dependency_cycle_with_trees(&*topology, &*routing, &trees).unwrap();
            prop_assert_eq!(cycle.is_some(), has_cycle(waits_for), "{:?}", cycle);
            if rule.is_none() || rule == Some(TreeClasses::Own) {
                prop_assert!(cycle.is_none(), "{:?}", cycle);
            }
        }
    }

    /// Checks that several trees of a group share no wire, and that exactly the available number of trees can be
    /// requested.
    #[test]
    fn edge_disjoint_trees_share_no_wire((topology, by, groups) in cases(), count in 2_u32..4) {
        let spec = TreesSpec { count: Some(count), ..TreesSpec::new(by) };
        let count = match build(spec, &topology, &groups[..1]) {
            Ok(_) => count,
            Err(TreeError::TooFew { found, wanted, .. }) => {
                prop_assert!(found < wanted);
                found
            }
            Err(fault) => panic!("{fault}"),
        };
        let trees = build(TreesSpec { count: Some(count), ..spec }, &topology, &groups[..1]).unwrap();
        check_trees(&*topology, &trees);
        let mut all = BTreeSet::new();
        for tree in 0..count {
            for wire in wires(&*topology, &trees, tree) {
                prop_assert!(all.insert(wire), "two trees share {:?}", wire);
            }
        }
        prop_assert_eq!(dependency_cycle_with_trees(&*topology, &*routing_of(&*topology), &trees), Ok(None));
    }
}
