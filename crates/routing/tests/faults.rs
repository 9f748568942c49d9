//! Routings that break their contract: the analyses report the fault, and end.
#![allow(clippy::unwrap_used)]

use std::fmt;

use crate::common::torus;
use routing::{Hop, Route, RouteState, Routing, RoutingContractError, channel_loads, dependency_cycle};
use testkit::routing::uniform;
use units::{NodeId, PortId, RouterId, VcClass};

/// Routing on a ring of 4 whose answers a test defines.
struct Scripted<F>(F);

impl<F> fmt::Debug for Scripted<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl<F: Fn(RouterId, &mut Hop) -> Route + Send + Sync> Routing for Scripted<F> {
    fn kind(&self) -> &'static str {
        "scripted"
    }
    fn classes(&self) -> u8 {
        2
    }
    fn adaptive(&self) -> bool {
        false
    }
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        (self.0)(at, hop)
    }
    fn minimal(&self) -> bool {
        false
    }
    fn max_routers(&self) -> u32 {
        4
    }
}

const PLUS: PortId = PortId(0);
const MINUS: PortId = PortId(1);
const NODE: PortId = PortId(2);

/// Checks that both analyses find an equal fault, and returns it.
fn fault(answer: impl Fn(RouterId, &mut Hop) -> Route + Send + Sync) -> RoutingContractError {
    let (ring, routing) = (torus(&[4], 1), Scripted(answer));
    let fault = dependency_cycle(&*ring, &routing).unwrap_err();
    assert_eq!(channel_loads(&*ring, &routing, &uniform(4)).unwrap_err(), fault);
    fault
}

#[test]
fn ports_that_lead_nowhere_are_found() {
    let dead_end = fault(|_, _| Route::only(PortId(3), VcClass(0)));
    assert_eq!(dead_end, RoutingContractError::DeadEnd { dst: NodeId(0), router: RouterId(0), port: PortId(3) });
    let edge = Scripted(|_, _: &mut Hop| Route::only(MINUS, VcClass(0)));
    let fault = dependency_cycle(&*crate::common::mesh(&[4], 1), &edge).unwrap_err();
    assert_eq!(fault.to_string(), "a packet for node 0 is sent by port 1 of router 0, which leads nowhere");
}

#[test]
fn classes_that_do_not_exist_are_found() {
    let fault = fault(|_, _| Route::only(PLUS, VcClass(2)));
    assert_eq!(fault.to_string(), "a packet for node 0 is sent on class 2 at router 0, of 2 classes");
}

#[test]
fn deliveries_to_the_wrong_node_are_found() {
    let fault = fault(|_, _| Route::only(NODE, VcClass(0)));
    assert_eq!(fault, RoutingContractError::Misdelivered { dst: NodeId(0), node: NodeId(1) });
}

#[test]
fn packets_that_wander_are_found() {
    // One router too many, by a state that counts; an endless path, by a state that counts without bound.
    let count = |hop: &mut Hop| hop.state = RouteState(hop.state.0 + 1);
    let once_around = fault(move |at, hop| {
        count(hop);
        let home = at.0 == hop.dst.0 && hop.state.0 > 4;
        Route::only(if home { NODE } else { PLUS }, VcClass(0))
    });
    assert!(matches!(once_around, RoutingContractError::Wanders { max_routers: 4, .. }), "{once_around}");
    let for_ever = fault(move |_, hop| {
        count(hop);
        Route::only(PLUS, VcClass(0))
    });
    assert!(matches!(for_ever, RoutingContractError::Wanders { .. }), "{for_ever}");
}

#[test]
fn a_loop_of_equal_states_ends_too() {
    // Back and forth between routers 1 and 2: no state is new after two hops, so that no count of routers ends the
    // path. The check for deadlock finds a cycle, the loads a flow that never arrives.
    let to_and_fro = |at: RouterId, hop: &mut Hop| match at.0 {
        here if here == hop.dst.0 => Route::only(NODE, VcClass(0)),
        1 => Route::only(PLUS, VcClass(0)),
        2 => Route::only(MINUS, VcClass(0)),
        _ => Route::only(PLUS, VcClass(0)),
    };
    let (ring, routing) = (torus(&[4], 1), Scripted(to_and_fro));
    let cycle = dependency_cycle(&*ring, &routing).unwrap().unwrap();
    assert_eq!(cycle.channels.len(), 2, "{cycle}");
    let fault = channel_loads(&*ring, &routing, &uniform(4)).unwrap_err();
    assert!(matches!(fault, RoutingContractError::Wanders { dst: NodeId(0), .. }), "{fault}");
}
