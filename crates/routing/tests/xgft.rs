//! Up and down trees of any shape: the contract, and loads in closed form.
#![allow(clippy::unwrap_used)]

use crate::common::{assert_near, build, check_all, equal, fat_tree, loads, max_load, shorthand};
use proptest::prelude::*;
use routing::algorithms::fat_tree::{AdaptiveUpDownSpec, DModKSpec, RandomUpDownSpec, RoundRobinUpDownSpec};
use routing::{Choice, Demand, Hop, Route, RouteState, RoutingSpec, demand_loads};
use testkit::routing::permutation;
use topology::views::Hierarchy;
use topology::{Channels, Topology};
use units::{NodeId, PortId, RouterId, VcClass};

const ADAPTIVE: RoutingSpec = RoutingSpec::AdaptiveUpDown(AdaptiveUpDownSpec {});
const RANDOM: RoutingSpec = RoutingSpec::RandomUpDown(RandomUpDownSpec {});
const ROUND_ROBIN: RoutingSpec = RoutingSpec::RoundRobinUpDown(RoundRobinUpDownSpec {});
const D_MOD_K: RoutingSpec = RoutingSpec::DModK(DModKSpec {});

/// A full tree of 4,096 nodes, 2:1 tapered at the leaves.
const TAPERED: &str = "xgft:m=32x16x8,w=1x16x16";

fn route(topology: &dyn Topology, spec: RoutingSpec, at: RouterId, dst: NodeId) -> Route {
    let mut hop = Hop { dst, state: RouteState::default(), in_port: PortId(0), vc_class: VcClass(0) };
    build(spec, topology).route(at, &mut hop)
}

#[test]
fn the_contract_holds_and_the_oracles_agree() {
    // Full, tapered, fattened and partly filled trees, with single and parallel wires. Would catch a symmetry that a
    // tree does not have, a wire that is left out, and destinations that no representative stands for.
    for text in [
        "xgft:m=1,w=1",
        "xgft:m=5,w=1,hosts=3",
        "xgft:m=6x4,w=1x3",
        "xgft:m=3x4,w=1x5",
        "xgft:m=4x4,w=1x2,p=1x2",
        "xgft:m=4x3x2,w=1x2x2,p=1x1x3",
        "xgft:m=4x2x2,w=1x4x2",
        "xgft:m=4x2x3,w=1x3x2,p=1x2x2,hosts=17",
        "xgft:m=2x1x3x2,w=1x2x1x2",
        "leaf-spine:leaves=4,spines=3,nodes_per_leaf=6",
        "leaf-spine:leaves=3,spines=2,nodes_per_leaf=4,wires=3",
    ] {
        let tree = shorthand(text);
        for spec in [ADAPTIVE, RANDOM, ROUND_ROBIN, D_MOD_K] {
            check_all(&*tree, &*build(spec, &*tree));
        }
    }
}

#[test]
fn a_fat_tree_routes_as_the_tree_of_its_shape() {
    for (k, n, text) in [(4, 2, "xgft:m=4x4,w=1x4"), (3, 3, "xgft:m=3x3x3,w=1x3x3")] {
        let (fat, same) = (fat_tree(k, n), shorthand(text));
        for spec in [ADAPTIVE, RANDOM, ROUND_ROBIN, D_MOD_K] {
            for at in (0..fat.routers()).map(RouterId) {
                for dst in (0..fat.nodes()).map(NodeId) {
                    assert_eq!(route(&*fat, spec.clone(), at, dst), route(&*same, spec.clone(), at, dst), "{spec:?}");
                }
            }
        }
    }
}

#[test]
fn parallel_wires_are_candidates_and_d_mod_k_takes_one() {
    // 3 spines by 2 wires each. Would catch one wire of several, and a down port that is not the child's.
    let tree = shorthand("leaf-spine:leaves=3,spines=3,nodes_per_leaf=6,wires=2");
    let dst = NodeId(6 + 4);
    let (leaf, spine) = (RouterId(0), RouterId(3));
    assert_eq!(route(&*tree, ADAPTIVE, leaf, dst), Route::range(PortId(6), 6, VcClass(0), Choice::LeastLoaded));
    assert_eq!(route(&*tree, ADAPTIVE, spine, dst), Route::range(PortId(2), 2, VcClass(0), Choice::LeastLoaded));
    assert_eq!(route(&*tree, RANDOM, spine, dst), Route::range(PortId(2), 2, VcClass(0), Choice::Random));
    assert_eq!(route(&*tree, ROUND_ROBIN, spine, dst), Route::range(PortId(2), 2, VcClass(0), Choice::RoundRobin));
    assert_eq!(route(&*tree, ADAPTIVE, RouterId(1), dst), Route::only(PortId(4), VcClass(0)));
    // 10 = 1 + 3 * 3 and 3 = 1 + 2 * 1: parent 1, wire 1.
    assert_eq!(route(&*tree, D_MOD_K, leaf, dst), Route::only(PortId(6 + 2 + 1), VcClass(0)));
    assert_eq!(route(&*tree, D_MOD_K, RouterId(4), dst), Route::only(PortId(2 + 1), VcClass(0)));
}

/// Returns the levels and directions of a tree's channels between switches with the least and the largest load of each.
fn loads_by_level(topology: &dyn Topology, load: &[f64]) -> Vec<(u8, bool, f64, f64)> {
    let tree: &Hierarchy = topology.views().hierarchy.unwrap();
    let channels = Channels::new(topology);
    let mut found: Vec<(u8, bool, f64, f64)> = Vec::new();
    for router in (0..topology.routers()).map(RouterId) {
        for port in (0..topology.ports(router)).map(PortId) {
            let (level, up) = (tree.level(router), port >= tree.up_ports(router).0);
            let load = load[channels.output(router, port).index()];
            match found.iter_mut().find(|entry| (entry.0, entry.1) == (level, up)) {
                Some((.., least, most)) => (*least, *most) = (least.min(load), most.max(load)),
                None => found.push((level, up, load, load)),
            }
        }
    }
    found
}

#[test]
fn a_tapered_tree_has_the_loads_of_its_closed_form() {
    // Of uniform traffic that includes a node itself, the fraction 1 - B / n leaves a subtree of B of n nodes, over its
    // U channels up, and as much enters over its channels down: B / U (1 - B / n) on each. All-to-all traffic to the
    // others is n / (n - 1) of it. Would catch an uneven split, at every level. At 4,096 nodes the loads are those of
    // the symmetry for routings that choose.
    for (text, levels) in [
        (TAPERED, vec![(32.0, 16.0), (512.0, 256.0)]),
        ("xgft:m=16x8x4,w=1x4x4,p=1x2x1", vec![(16.0, 8.0), (128.0, 16.0)]),
        ("leaf-spine:leaves=16,spines=8,nodes_per_leaf=32,wires=2", vec![(32.0, 16.0)]),
    ] {
        let tree = shorthand(text);
        let n = f64::from(tree.nodes());
        for spec in [ADAPTIVE, RANDOM, ROUND_ROBIN, D_MOD_K] {
            let routing = build(spec, &*tree);
            let to_all = |_: NodeId| Demand { everyone: 1.0 / n, besides: Vec::new() };
            let to_others = |src: NodeId| Demand { everyone: 1.0 / (n - 1.0), besides: vec![(src, -1.0 / (n - 1.0))] };
            let uniform = demand_loads(&*tree, &*routing, &to_all, &|_| true).unwrap();
            let others = demand_loads(&*tree, &*routing, &to_others, &|_| true).unwrap();
            for (found, more) in [(&uniform, 1.0), (&others, n / (n - 1.0))] {
                for (level, up, least, most) in loads_by_level(&*tree, &found.load) {
                    // The channels down from a level are those into the subtrees of the level below.
                    let below = usize::from(level).checked_sub(usize::from(!up));
                    let expected = below.map_or(1.0, |level| {
                        let (nodes, wires) = levels[level];
                        nodes / wires * (1.0 - nodes / n) * more
                    });
                    assert_near(least, expected);
                    assert_near(most, expected);
                }
            }
            let narrowest = levels.iter().map(|(nodes, wires)| nodes / wires * (1.0 - nodes / n)).fold(1.0, f64::max);
            assert_near(uniform.throughput_bound(&equal), 1.0 / narrowest);
        }
    }
}

#[test]
fn a_tapered_tree_carries_a_permutation_at_its_taper() {
    // Every node sends to another leaf: a leaf of 4 nodes and 2 wires has the load 2 on each if packets go by any.
    // D-mod-K meets at one spine if all destinations are even. Would catch a taper that is filled unevenly.
    let tree = shorthand("xgft:m=4x4,w=1x2");
    let next_leaf = permutation(|src| (src + 4) % 16);
    for spec in [ADAPTIVE, RANDOM, ROUND_ROBIN, D_MOD_K] {
        assert_near(max_load(&loads(&*tree, &*build(spec, &*tree), &next_leaf)), 2.0);
    }
    // Leaves 0 and 1 send to the even nodes of leaves 2 and 3, which are all below spine 0.
    let to_even = |src: NodeId| if src.0 < 8 { vec![(NodeId(8 + src.0 / 2 * 2), 1.0)] } else { vec![] };
    assert_near(max_load(&loads(&*tree, &*build(D_MOD_K, &*tree), &to_even)), 4.0);
    assert_near(max_load(&loads(&*tree, &*build(RANDOM, &*tree), &to_even)), 2.0);
}

#[test]
fn only_symmetric_trees_claim_a_symmetry() {
    // Would catch the symmetry of the full tree at places without nodes, and destinations that share a parent with an
    // unequal number of others.
    for (text, choosers, d_mod_k) in [
        ("xgft:m=4x4,w=1x4", true, true),
        ("xgft:m=4x4,w=1x4,hosts=15", false, false),
        ("xgft:m=6x4,w=1x3", true, true),
        ("xgft:m=6x4,w=1x4", true, false),
        ("xgft:m=4x4,w=1x2,p=1x2", true, true),
        ("xgft:m=4x4x4,w=1x2x4", true, false),
        ("xgft:m=4x3x2,w=1x4x3", true, true),
    ] {
        let tree = shorthand(text);
        for (spec, expected) in [(ADAPTIVE, choosers), (RANDOM, choosers), (ROUND_ROBIN, choosers), (D_MOD_K, d_mod_k)]
        {
            assert_eq!(build(spec, &*tree).symmetry().is_some(), expected, "{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_tree_keeps_the_contract(
        shape in prop::collection::vec((1_u64..6, 1_u64..4, 1_u64..3), 1..4),
        part in 0.0..1.6,
        which in 0_usize..3,
    ) {
        let places: u64 = shape.iter().map(|(m, ..)| m).product();
        // Paths are enumerated: choices of parents and wires on the way up, and of wires on the way down.
        let paths: u64 = shape[1..].iter().map(|(_, w, p)| w * p * p).product();
        prop_assume!(places <= 48 && paths <= 40);
        let hosts = (1 + (places as f64 * part) as u64).min(places);
        let list = |of: fn(&(u64, u64, u64)) -> u64| {
            let first = shape[..1].iter().map(|_| "1".to_owned());
            first.chain(shape[1..].iter().map(|level| of(level).to_string())).collect::<Vec<_>>().join("x")
        };
        let m: Vec<String> = shape.iter().map(|(m, ..)| m.to_string()).collect();
        let (w, p) = (list(|level| level.1), list(|level| level.2));
        let tree = shorthand(&format!("xgft:m={},w={w},p={p},hosts={hosts}", m.join("x")));
        check_all(&*tree, &*build([ADAPTIVE, RANDOM, D_MOD_K][which].clone(), &*tree));
    }
}
