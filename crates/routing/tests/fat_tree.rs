//! Up and down fat-trees: the contract, and loads in closed form.
#![allow(clippy::unwrap_used)]

use crate::common::{assert_near, bound, build, check_all, equal, fat_tree, loads, max_load};
use proptest::prelude::*;
use routing::algorithms::fat_tree::{AdaptiveUpDownSpec, DModKSpec, RandomUpDownSpec};
use routing::{Choice, Hop, Route, RouteState, RoutingSpec};
use testkit::routing::{permutation, uniform};
use units::{NodeId, PortId, RouterId, VcClass};

const ADAPTIVE: RoutingSpec = RoutingSpec::AdaptiveUpDown(AdaptiveUpDownSpec {});
const RANDOM: RoutingSpec = RoutingSpec::RandomUpDown(RandomUpDownSpec {});
const D_MOD_K: RoutingSpec = RoutingSpec::DModK(DModKSpec {});

#[test]
fn the_contract_holds_and_the_oracles_agree() {
    // Would catch a turn too early or too late, a digit of the wrong place, a flow that is split or merged wrongly.
    for (k, n) in [(2, 1), (2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (4, 2), (5, 1), (7, 2)] {
        let tree = fat_tree(k, n);
        for spec in [ADAPTIVE, RANDOM, D_MOD_K] {
            check_all(&*tree, &*build(spec, &*tree));
        }
    }
}

#[test]
fn uniform_traffic_is_carried_in_full() {
    // A k-ary n-tree has as many channels between levels as nodes, and at most all traffic crosses them: the load of an
    // up channel out of level l is the fraction of traffic that leaves a subtree of k^(l+1) nodes, 1 - k^(l+1-n). Would
    // catch an uneven split. The machines are the hardware-collectives paper's.
    for (k, n) in [(4, 4), (16, 2), (2, 5), (3, 3)] {
        let tree = fat_tree(k, n);
        let (k, n) = (k as f64, n as i32);
        for spec in [ADAPTIVE, RANDOM, D_MOD_K] {
            let routing = build(spec, &*tree);
            let uniform = uniform(tree.nodes());
            assert_near(bound(&*tree, &*routing, &uniform), 1.0);
            let classes = loads(&*tree, &*routing, &uniform).class_summary(&*tree);
            let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
            assert_eq!(names, ["injection", "ejection", "up", "down"]);
            assert_near(classes[0].mean, 1.0);
            assert_near(classes[1].max, 1.0);
            // The lowest level's channels carry the most.
            let mean = (0..n - 1).map(|level| 1.0 - k.powi(level + 1 - n)).sum::<f64>() / f64::from(n - 1);
            for class in &classes[2..] {
                assert_near(class.max, 1.0 - k.powi(1 - n));
                assert_near(class.mean, mean);
            }
        }
    }
}

#[test]
fn permutations_are_free_for_choosers_and_not_for_d_mod_k() {
    // Choosing among all up ports carries any permutation in full on average: at most one packet stream a node leaves a
    // subtree, spread evenly. Would catch a split over part of the ports.
    let tree = fat_tree(4, 4);
    let complement = permutation(|src| 255 - src);
    let transpose = permutation(|src| (src & 15) << 4 | src >> 4);
    for spec in [ADAPTIVE, RANDOM] {
        let routing = build(spec, &*tree);
        assert_near(max_load(&loads(&*tree, &*routing, &complement)), 1.0);
        assert_near(max_load(&loads(&*tree, &*routing, &transpose)), 1.0);
    }
    // D-mod-K routes a shift without conflict (Zahavi 2012), and the complement, whose digits all differ.
    let routing = build(D_MOD_K, &*tree);
    assert_near(max_load(&loads(&*tree, &*routing, &permutation(|src| (src + 37) % 256))), 1.0);
    assert_near(max_load(&loads(&*tree, &*routing, &complement)), 1.0);
    // The 16 nodes (a, b, c, x) below one switch of level 1 send to (c, x, a, b). The lowest digits are equal, so that
    // packets go up by one port at level 0 and again at level 1. All packets but those of the node that does not send
    // meet there.
    assert_near(max_load(&loads(&*tree, &*routing, &transpose)), 15.0);
}

#[test]
fn what_binds_is_found() {
    // All nodes of leaf 0 send to leaf 1 of a 2-level tree whose links between switches have half the bandwidth. Would
    // catch a bound that ignores capacities, and a bound that is computed from the load instead of the utilisation.
    let tree = fat_tree(4, 2);
    let routing = build(RANDOM, &*tree);
    let loads = loads(&*tree, &*routing, &|src| if src.0 < 4 { vec![(NodeId(4 + src.0), 1.0)] } else { vec![] });
    let channels = topology::Channels::new(&*tree);
    let is_link = |channel| match channels.source(channel) {
        topology::ChannelSource::Router(router, port) => {
            matches!(tree.endpoint(router, port), topology::Endpoint::Router(..))
        }
        topology::ChannelSource::Node(..) => false,
    };
    let halved = |channel| if is_link(channel) { 0.5 } else { 1.0 };
    assert_near(loads.throughput_bound(&halved), 0.5);
    let binding = loads.binding_channels(&halved);
    // Four up from leaf 0 and four down to leaf 1.
    assert_eq!(binding.len(), 8);
    assert!(binding.iter().all(|&channel| is_link(channel)));
    assert_near(loads.throughput_bound(&equal), 1.0);
    // The eight, four injections and four ejections.
    assert_eq!(loads.binding_channels(&equal).len(), 16);
}

#[test]
fn the_routes_are_the_documented_ones() {
    // The 4-ary 4-tree by hand: node 0o3210 in base 4 is 228. From leaf 0, D-mod-K goes up by digit 0, then 1, then 2.
    let tree = fat_tree(4, 4);
    let dst = NodeId(3 * 64 + 2 * 16 + 4);
    let route = |spec: RoutingSpec, at| {
        let routing = build(spec, &*tree);
        let mut hop = Hop { dst, state: RouteState::default(), in_port: PortId(0), vc_class: VcClass(0) };
        routing.route(RouterId(at), &mut hop)
    };
    assert_eq!(route(D_MOD_K, 0), Route::only(PortId(4), VcClass(0)));
    assert_eq!(route(D_MOD_K, 64), Route::only(PortId(5), VcClass(0)));
    assert_eq!(route(D_MOD_K, 128), Route::only(PortId(6), VcClass(0)));
    // The top level turns down by digit 3.
    assert_eq!(route(D_MOD_K, 192), Route::only(PortId(3), VcClass(0)));
    assert_eq!(route(ADAPTIVE, 0), Route::range(PortId(4), 4, VcClass(0), Choice::LeastLoaded));
    assert_eq!(route(RANDOM, 0), Route::range(PortId(4), 4, VcClass(0), Choice::Random));
    assert_eq!(route(RANDOM, 192), Route::only(PortId(3), VcClass(0)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_tree_keeps_the_contract(k in 2_u64..6, n in 1_u64..4, which in 0_usize..3) {
        prop_assume!(k.pow(n as u32) <= 64);
        let tree = fat_tree(k, n);
        check_all(&*tree, &*build([ADAPTIVE, RANDOM, D_MOD_K][which].clone(), &*tree));
    }
}
