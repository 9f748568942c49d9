//! Shortest paths from tables: the contract on every family, ties, classes.
#![allow(clippy::unwrap_used)]

use crate::common::{
    OnOneClass, assert_near, bound, build, check_all, check_analyses, fat_tree, loads, max_load, mesh, single_switch,
    torus,
};
use proptest::prelude::*;
use routing::algorithms::shortest_path::{ShortestPathSpec, TieRule, VcRule};
use routing::{Choice, Hop, Route, RouteState, RoutingSpec, dependency_cycle};
use testkit::routing::uniform;
use units::{NodeId, PortId, RouterId, VcClass};

const TIES: [TieRule; 4] = [TieRule::First, TieRule::Random, TieRule::RoundRobin, TieRule::LeastLoaded];

fn shortest_path(ties: TieRule, vc_rule: VcRule) -> RoutingSpec {
    RoutingSpec::ShortestPath(ShortestPathSpec { ties, vc_rule })
}

#[test]
fn the_contract_holds_on_every_family_and_classes_by_hops_are_free_of_deadlock() {
    // Would catch a table read by the wrong column, a list of ports that is cut short, and a missing class.
    let grids = [torus(&[5], 1), torus(&[4, 4], 1), mesh(&[3, 4], 2), mesh(&[3, 3, 3], 1)];
    let others = [single_switch(1), single_switch(7), fat_tree(2, 3), fat_tree(3, 2), fat_tree(4, 1)];
    for topology in grids.iter().chain(&others) {
        for ties in TIES {
            let routing = build(shortest_path(ties, VcRule::Hops), &**topology);
            assert_eq!(u32::from(routing.classes()), topology.diameter().max(1));
            check_all(&**topology, &*routing);
        }
    }
}

#[test]
fn one_class_is_safe_on_trees_and_not_on_rings() {
    // Rings of 3 have no path of two hops, from 5 on paths follow each other all around: the smallest cycles of a
    // torus.
    for (topology, safe) in [
        (fat_tree(3, 2), true),
        (single_switch(4), true),
        (mesh(&[6], 1), true),
        (torus(&[3], 1), true),
        (torus(&[5], 1), false),
        (torus(&[5, 5], 1), false),
    ] {
        for ties in TIES {
            let routing = build(shortest_path(ties, VcRule::Single), &*topology);
            assert_eq!(routing.classes(), 1);
            assert_eq!(check_analyses(&*topology, &*routing), !safe, "{topology:?}");
        }
    }
    // Any shortest path allows all turns on a mesh: there is a cycle around a square.
    let square = mesh(&[2, 2], 1);
    assert!(check_analyses(&*square, &*build(shortest_path(TieRule::Random, VcRule::Single), &*square)));
}

#[test]
fn ties_are_resolved_as_asked() {
    // From a corner of a mesh to the opposite one: ports 0 and 2, which are not consecutive.
    let mesh = mesh(&[3, 3], 1);
    let route = |ties| {
        let routing = build(shortest_path(ties, VcRule::Single), &*mesh);
        let mut hop = Hop { dst: NodeId(8), state: RouteState::default(), in_port: PortId(4), vc_class: VcClass(0) };
        let route = routing.route(RouterId(0), &mut hop);
        (route, route.ports(routing.port_lists()).collect::<Vec<_>>())
    };
    assert_eq!(route(TieRule::First), (Route::only(PortId(0), VcClass(0)), vec![PortId(0)]));
    let (random, ports) = route(TieRule::Random);
    assert_eq!((random.choice, ports), (Choice::Random, vec![PortId(0), PortId(2)]));
    let (turns, ports) = route(TieRule::RoundRobin);
    assert_eq!((turns.choice, ports), (Choice::RoundRobin, vec![PortId(0), PortId(2)]));
    let (adaptive, ports) = route(TieRule::LeastLoaded);
    assert_eq!((adaptive.choice, ports), (Choice::LeastLoaded, vec![PortId(0), PortId(2)]));
}

#[test]
fn up_ports_of_a_fat_tree_need_no_list() {
    // Would catch a list of ports where a range suffices; a list costs the router a memory access for every candidate.
    let tree = fat_tree(4, 2);
    let routing = build(shortest_path(TieRule::Random, VcRule::Single), &*tree);
    assert!(routing.port_lists().is_empty());
    assert_near(bound(&*tree, &*routing, &uniform(16)), 1.0);
}

#[test]
fn random_ties_spread_what_the_first_port_concentrates() {
    // All leaves of a fat-tree choose the first up port: the leaf's k nodes share one channel with all but 1/k of their
    // traffic.
    let tree = fat_tree(4, 2);
    let first = build(shortest_path(TieRule::First, VcRule::Single), &*tree);
    assert_near(max_load(&loads(&*tree, &*first, &uniform(16))), 3.0);
    let random = build(shortest_path(TieRule::Random, VcRule::Single), &*tree);
    assert_near(loads(&*tree, &*random, &uniform(16)).class_summary(&*tree)[2].max, 0.75);
}

#[test]
fn too_many_hops_for_classes_are_refused() {
    // A ring of 128 has a diameter of 64, of 130 one of 65.
    assert_eq!(build(shortest_path(TieRule::First, VcRule::Hops), &*torus(&[128], 1)).classes(), 64);
    let error = shortest_path(TieRule::First, VcRule::Hops).build(&*torus(&[130], 1)).unwrap_err();
    assert_eq!(error.key, "vc_rule");
    assert!(shortest_path(TieRule::First, VcRule::Single).build(&*torus(&[130], 1)).is_ok());
}

#[test]
fn a_table_that_would_not_fit_is_refused() {
    let error = shortest_path(TieRule::First, VcRule::Single).build(&*mesh(&[300, 300], 1)).unwrap_err();
    assert_eq!(error.key, "kind");
}

#[test]
fn a_shortest_cycle_is_reported() {
    let ring = torus(&[6], 1);
    let routing = build(shortest_path(TieRule::First, VcRule::Hops), &*ring);
    let cycle = dependency_cycle(&*ring, &OnOneClass(routing)).unwrap().unwrap();
    assert_eq!(cycle.channels.len(), 6, "{cycle}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_grid_keeps_the_contract(dims in prop::collection::vec(2_u64..5, 1..4), wraps: bool, which in 0_usize..4) {
        prop_assume!(dims.iter().product::<u64>() <= 36);
        let grid = if wraps { torus(&dims, 1) } else { mesh(&dims, 1) };
        check_all(&*grid, &*build(shortest_path(TIES[which], VcRule::Hops), &*grid));
        check_analyses(&*grid, &*build(shortest_path(TIES[which], VcRule::Single), &*grid));
    }
}
