//! Dimension order on tori and meshes: the contract, and known loads.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::{OnOneClass, assert_near, bound, build, check_all, loads, max_load, mesh, torus};
use proptest::prelude::*;
use routing::algorithms::dimension_order::{DimensionOrderSpec, RingTies};
use routing::algorithms::minimal_adaptive::MinimalAdaptiveSpec;
use routing::{Choice, Hop, Route, RouteState, Routing, RoutingSpec, dependency_cycle};
use testkit::routing::{permutation, uniform};
use topology::TopologySpec;
use topology::families::torus::GridSpec;
use units::{NodeId, PortId, RouterId, VcClass};

fn dimension_order(ties: RingTies) -> RoutingSpec {
    RoutingSpec::DimensionOrder(DimensionOrderSpec { order: None, ties })
}

fn split() -> RoutingSpec {
    dimension_order(RingTies::Split)
}

fn positive() -> RoutingSpec {
    dimension_order(RingTies::Positive)
}

fn in_order(order: &[u32]) -> RoutingSpec {
    RoutingSpec::DimensionOrder(DimensionOrderSpec { order: Some(order.to_vec()), ties: RingTies::Split })
}

#[test]
fn the_contract_holds_and_the_oracles_agree() {
    // Would catch a direction that is not the shorter one, a dateline at the wrong link, and a wrong share of ties.
    for dims in [&[2][..], &[3], &[4], &[7], &[8], &[2, 2], &[4, 4], &[3, 5], &[4, 2, 3], &[2, 3, 2, 2]] {
        for grid in [torus(dims, 1), mesh(dims, 1), torus(dims, 2)] {
            check_all(&*grid, &*build(split(), &*grid));
            check_all(&*grid, &*build(positive(), &*grid));
            let backwards: Vec<u32> = (0..dims.len() as u32).rev().collect();
            check_all(&*grid, &*build(in_order(&backwards), &*grid));
        }
    }
}

#[test]
fn dimensions_may_wrap_one_by_one() {
    // Would catch a routing that takes the way around a line, or the second class there, and loads of a symmetry that
    // lines do not have.
    for (dims, wrap) in
        [(&[4, 3][..], &[true, false][..]), (&[3, 4], &[false, true]), (&[3, 2, 5], &[true, false, true])]
    {
        let grid = GridSpec { wrap: Some(wrap.to_vec()), ..GridSpec::new(dims, 1) };
        let grid = TopologySpec::Torus(grid).build(std::path::Path::new(".")).unwrap();
        for spec in [split(), positive(), minimal_adaptive()] {
            check_all(&*grid, &*build(spec, &*grid));
        }
        assert_eq!(build(split(), &*grid).classes(), 2);
    }
}

fn minimal_adaptive() -> RoutingSpec {
    RoutingSpec::MinimalAdaptive(MinimalAdaptiveSpec::default())
}

/// Minimal adaptive routing whose packets wait for the adaptive ports instead of escaping.
#[derive(Debug)]
struct WithoutEscape(Arc<dyn Routing>);

impl Routing for WithoutEscape {
    fn kind(&self) -> &'static str {
        "without-escape"
    }
    fn classes(&self) -> u8 {
        self.0.classes()
    }
    fn adaptive(&self) -> bool {
        true
    }
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let mut route = self.0.route(at, hop);
        if route.choice == Choice::Escape {
            route.choice = Choice::LeastLoaded;
        }
        route
    }
    fn port_lists(&self) -> &[PortId] {
        self.0.port_lists()
    }
    fn minimal(&self) -> bool {
        true
    }
    fn max_routers(&self) -> u32 {
        self.0.max_routers()
    }
}

#[test]
fn adaptive_routing_keeps_the_contract_and_needs_its_escape() {
    // Would catch a port that leads no nearer, an escape channel that is not dimension order, an escape class that
    // depends on the packet's past (the naive graph enters the escape network anywhere), and a check that ignores
    // dependencies.
    for dims in [&[2][..], &[3], &[4], &[7], &[8], &[2, 2], &[4, 4], &[3, 5], &[2, 3, 2]] {
        for grid in [torus(dims, 1), mesh(dims, 1), torus(dims, 2)] {
            let routing = build(minimal_adaptive(), &*grid);
            check_all(&*grid, &*routing);
            let without_escape = dependency_cycle(&*grid, &WithoutEscape(Arc::clone(&routing))).unwrap();
            // On a line, or a ring of 2 or 3 (one hop each), no packets wait in a cycle; elsewhere packets may turn in
            // any direction.
            let is_line = dims.len() == 1 && (grid.kind() == "mesh" || dims[0] <= 3);
            assert_eq!(without_escape.is_none(), is_line, "{} {dims:?}", grid.kind());
        }
    }
    let ring = torus(&[8], 1);
    let one_escape_class = OnOneClass(build(minimal_adaptive(), &*ring));
    assert_eq!(dependency_cycle(&*ring, &one_escape_class).unwrap().unwrap().channels.len(), 8);
}

#[test]
fn adaptive_routing_offers_what_leads_nearer() {
    // From (0, 0) of an 8 x 8 torus to (2, 6): plus in dim0, minus in dim1. To (4, 0): either direction, the escape
    // channel always in the plus direction. To (0, 7): minus only, over the dateline, on class 0.
    let torus = torus(&[8, 8], 1);
    let routing = build(minimal_adaptive(), &*torus);
    let offers = |dst| {
        let mut hop = Hop { dst: NodeId(dst), state: RouteState::default(), in_port: PortId(4), vc_class: VcClass(0) };
        let escape = routing.escape(RouterId(0), &hop);
        let route = routing.route(RouterId(0), &mut hop);
        assert_eq!((route.choice, route.vc_class), (Choice::Escape, VcClass(2)));
        (route.ports(routing.port_lists()).map(|port| port.0).collect::<Vec<_>>(), (escape.0.0, escape.1.0))
    };
    assert_eq!(offers(2 + 8 * 6), (vec![0, 3], (0, 1)));
    assert_eq!(offers(4), (vec![0, 1], (0, 1)));
    assert_eq!(offers(8 * 7), (vec![3], (3, 0)));
    let home = routing.route(
        RouterId(9),
        &mut Hop { dst: NodeId(9), state: RouteState::default(), in_port: PortId(0), vc_class: VcClass(2) },
    );
    assert_eq!(home, Route::only(PortId(4), VcClass(0)));
}

#[test]
fn adaptive_routing_spreads_transpose_over_its_quadrants() {
    // Dimension order turns all traffic at the diagonal: 1/7 on a mesh and 2/7 on a torus of 8 x 8. Even choices do
    // better.
    let transpose = permutation(|src| (src % 8) * 8 + src / 8);
    for (grid, in_order) in [(mesh(&[8, 8], 1), 1.0 / 7.0), (torus(&[8, 8], 1), 2.0 / 7.0)] {
        let adaptive = bound(&*grid, &*build(minimal_adaptive(), &*grid), &transpose);
        assert!(adaptive > 1.2 * in_order, "{adaptive} on a {}", grid.kind());
    }
}

#[test]
fn too_many_dimensions_for_adaptive_routing_are_refused() {
    let error = minimal_adaptive().build(&*mesh(&[2; 9], 1)).unwrap_err();
    assert_eq!(error.key, "kind");
    assert!(error.message.contains("up to 8 dimensions; this mesh has 9"), "{error}");
}

#[test]
fn the_8x8_torus_and_mesh_have_their_known_bounds() {
    // Uniform includes a node's share to itself: only then does a ring of 8 carry (1 + 2 + 3 + 4/2) / 8 = 1 on each
    // channel with ties split, (1 + 2 + 3 + 4) / 8 = 1.25 in the plus direction otherwise, and 4 nodes send 1/2 each
    // across the middle of a row of the mesh. Would catch ties that all go in one direction, or a share of 1 / 63.
    let (torus, mesh) = (torus(&[8, 8], 1), mesh(&[8, 8], 1));
    assert_near(bound(&*torus, &*build(split(), &*torus), &uniform(64)), 1.0);
    assert_near(bound(&*torus, &*build(positive(), &*torus), &uniform(64)), 0.8);
    assert_near(bound(&*mesh, &*build(split(), &*mesh), &uniform(64)), 0.5);
}

#[test]
fn transpose_turns_on_the_diagonal() {
    // The 7 other nodes of row 0 all send to column 0 and turn at its corner: 7 on the last channel of a mesh, 1/7. On
    // the torus they arrive from both sides, 3 and 3 and half of the tie: 3.5, 2/7.
    let transpose = permutation(|src| (src % 8) * 8 + src / 8);
    let (torus, mesh) = (torus(&[8, 8], 1), mesh(&[8, 8], 1));
    assert_near(bound(&*mesh, &*build(split(), &*mesh), &transpose), 1.0 / 7.0);
    assert_near(bound(&*torus, &*build(split(), &*torus), &transpose), 2.0 / 7.0);
}

#[test]
fn tornado_loads_one_direction_three_times() {
    // 3 places on in a ring of 8: each plus channel carries the packets of 3 sources, the minus channels none.
    let torus = torus(&[8, 8], 1);
    let routing = build(split(), &*torus);
    let rows = permutation(|src| src / 8 * 8 + (src + 3) % 8);
    let both = permutation(|src| (src / 8 + 3) % 8 * 8 + (src + 3) % 8);
    for tornado in [&rows as &testkit::routing::Traffic<'_>, &both] {
        assert_near(bound(&*torus, &*routing, tornado), 1.0 / 3.0);
    }
    let loads = loads(&*torus, &*routing, &rows);
    assert_near(loads.class_summary(&*torus)[2].mean, 1.5);
    let binding = loads.binding_channels(&crate::common::equal);
    assert_eq!(binding.len(), 64, "the plus channels of the first dimension");
}

#[test]
fn uniform_loads_of_rings_are_in_closed_form() {
    // With ties split, the mean distance k/4 (even) or (k - 1/k) / 4 (odd) is spread over 2 channels a router.
    for k in 2..=13 {
        let ring = torus(&[k], 1);
        let routing = build(split(), &*ring);
        let expected = if k % 2 == 0 { k as f64 / 8.0 } else { (k as f64 - 1.0 / k as f64) / 8.0 };
        let link = &loads(&*ring, &*routing, &uniform(k as u32)).class_summary(&*ring)[2];
        assert_near(link.max, expected);
        assert_near(link.mean, expected);
    }
}

#[test]
fn without_datelines_a_torus_has_a_cycle_and_with_them_none() {
    // Would catch a check that ignores the classes of channels, or finds no dependencies at all.
    for dims in [&[4][..], &[8], &[5, 3], &[4, 4, 4]] {
        let torus = torus(dims, 1);
        let routing = build(split(), &*torus);
        assert_eq!(dependency_cycle(&*torus, &*routing).unwrap(), None);
        let cycle = dependency_cycle(&*torus, &OnOneClass(routing)).unwrap().unwrap();
        // A ring is the shortest cycle there is.
        assert!(dims.contains(&(cycle.channels.len() as u64)), "{cycle}");
        let mesh = mesh(dims, 1);
        assert_eq!(dependency_cycle(&*mesh, &OnOneClass(build(split(), &*mesh))).unwrap(), None);
    }
}

#[test]
fn a_cycle_is_named_channel_by_channel() {
    let ring = torus(&[4], 1);
    let cycle = dependency_cycle(&*ring, &OnOneClass(build(positive(), &*ring))).unwrap().unwrap();
    let text = cycle.to_string();
    assert_eq!(cycle.channels.len(), 4);
    let line = "dim0 channel from router 1 port 0 to router 2 port 1, virtual-channel class 0, waits for";
    assert!(text.contains(line), "{text}");
}

#[test]
fn classes_change_at_the_dateline() {
    // From 6 to 1 in a ring of 8: up to router 7 and over the dateline on class 0, then on class 1. From 1 to 3, which
    // does not cross the dateline, on class 1; the ejection on class 0.
    let ring = torus(&[8], 1);
    let routing = build(split(), &*ring);
    let step = |at, dst| {
        let mut hop = Hop { dst: NodeId(dst), state: RouteState::default(), in_port: PortId(2), vc_class: VcClass(0) };
        let route = routing.route(RouterId(at), &mut hop);
        (route.first().0, route.vc_class.0)
    };
    let (plus, minus, node) = (0, 1, 2);
    assert_eq!([step(6, 1), step(7, 1), step(0, 1), step(1, 1)], [(plus, 0), (plus, 0), (plus, 1), (node, 0)]);
    assert_eq!([step(1, 6), step(0, 6), step(7, 6)], [(minus, 0), (minus, 0), (minus, 1)]);
    assert_eq!([step(1, 3), step(3, 1)], [(plus, 1), (minus, 1)]);
}

#[test]
fn the_order_of_dimensions_is_kept() {
    // From (0, 0) to (2, 3): first sideways by default, first upwards with order [1, 0]. The state's bits belong to
    // legs.
    let torus = torus(&[8, 8], 1);
    let first = |spec: RoutingSpec| {
        let mut hop = Hop { dst: NodeId(26), state: RouteState::default(), in_port: PortId(4), vc_class: VcClass(0) };
        build(spec, &*torus).route(RouterId(0), &mut hop).first()
    };
    assert_eq!((first(split()), first(in_order(&[1, 0]))), (PortId(0), PortId(2)));
}

#[test]
fn an_order_that_is_none_is_refused() {
    let torus = torus(&[4, 4], 1);
    for order in [&[0][..], &[0, 0], &[0, 1, 2], &[1, 2], &[]] {
        let error = in_order(order).build(&*torus).unwrap_err();
        assert_eq!(error.key, "order");
        assert!(error.message.ends_with("it names each of the dimensions 0 to 1 once"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_grid_keeps_the_contract(
        dims in prop::collection::vec(2_u64..7, 1..4),
        per_router in 1_u64..3,
        wraps: bool,
        ties_split: bool,
    ) {
        prop_assume!(dims.iter().product::<u64>() * per_router <= 80);
        let grid = if wraps { torus(&dims, per_router) } else { mesh(&dims, per_router) };
        let routing = build(if ties_split { split() } else { positive() }, &*grid);
        check_all(&*grid, &*routing);
        // The total uniform load of a minimal routing is the mean distance, however ties are resolved.
        let total: f64 = loads(&*grid, &*routing, &uniform(grid.nodes())).load.iter().sum();
        let pairs = (0..grid.nodes()).flat_map(|src| (0..grid.nodes()).map(move |dst| (NodeId(src), NodeId(dst))));
        let hops: u64 = pairs.map(|(src, dst)| u64::from(grid.routers_between(src, dst)) + 1).sum();
        prop_assert!((total - hops as f64 / f64::from(grid.nodes())).abs() < 1e-9);
        prop_assert!(max_load(&loads(&*grid, &*routing, &uniform(grid.nodes()))) >= 1.0 - 1e-12);
    }
}
