//! HyperX: the contract, closed forms, known figures.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use testkit::topology::{Bisection, bisection, check_topology, links};
use topology::families::hyperx::{HyperX, HyperXSpec};
use topology::{ChannelClass, Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

fn spec(dims: &[u64], wires: &[u64], nodes_per_router: u64) -> HyperXSpec {
    HyperXSpec { dims: dims.to_vec(), wires: wires.to_vec(), nodes_per_router }
}

/// Checks the contract and the closed forms of the paper.
fn check(dims: &[u64], wires: &[u64], nodes_per_router: u64) {
    let hyperx = HyperX::new(&spec(dims, wires, nodes_per_router)).unwrap();
    check_topology(&hyperx);
    let routers: u64 = dims.iter().product();
    let link_ports: u64 = dims.iter().zip(wires).map(|(size, wires)| (size - 1) * wires).sum();
    assert_eq!((u64::from(hyperx.routers()), u64::from(hyperx.nodes())), (routers, routers * nodes_per_router));
    assert_eq!(u64::from(hyperx.ports(RouterId(0))), nodes_per_router + link_ports);
    assert_eq!(hyperx.diameter() as usize, dims.len());
    // A wire is two channels: sum over d of R (S_d - 1) K_d / 2 wires.
    assert_eq!(links(&hyperx), routers * link_ports, "{hyperx:?}");
    if dims.iter().all(|size| size.is_multiple_of(2)) {
        let least = dims.iter().zip(wires).map(|(size, wires)| routers * size * wires / 4).min();
        assert_eq!(hyperx.bisection_channels(), least, "{hyperx:?}");
    }
}

#[test]
fn known_figures() {
    // 8 x 8 x 8 routers of 8 + 3 x 7 ports: 512 x 21 / 2 wires. A cut of one dimension takes 4 x 4 wires of each of its
    // 64 lines.
    let cube = HyperX::new(&spec(&[8, 8, 8], &[1, 1, 1], 8)).unwrap();
    assert_eq!((cube.nodes(), cube.ports(RouterId(0)), cube.diameter()), (4096, 29, 3));
    assert_eq!((links(&cube), cube.bisection_channels()), (512 * 21, Some(1024)));
}

#[test]
fn the_contract_holds_for_all_shapes() {
    // Would catch the stride or the wires of another dimension, and a peer whose own place is not left out.
    let shapes: [(&[u64], &[u64], u64); 9] = [
        (&[2], &[1], 1),
        (&[2], &[3], 2),
        (&[9], &[1], 1),
        (&[2, 2], &[1, 1], 1),
        (&[3, 2], &[2, 1], 3),
        (&[4, 6], &[3, 2], 1),
        (&[2, 3, 4], &[1, 2, 3], 2),
        (&[8, 8, 8], &[1, 1, 1], 1),
        (&[2; 8], &[1; 8], 1),
    ];
    for (dims, wires, nodes_per_router) in shapes {
        check(dims, wires, nodes_per_router);
    }
}

#[test]
fn odd_sizes_with_unequal_wires_have_no_closed_form() {
    // Would catch the cut by slabs, of 42 wires: the least cut has 40.
    let hyperx = HyperX::new(&spec(&[3, 5], &[3, 2], 1)).unwrap();
    assert_eq!((hyperx.bisection_channels(), bisection(&hyperx, Bisection::Routers)), (None, 40));
    assert!(HyperX::new(&spec(&[3, 5], &[2, 2], 1)).unwrap().bisection_channels().is_some());
}

#[test]
fn the_numbering_is_the_documented_one() {
    // 4 x 3 routers with 2 nodes, and wires 1 and 2: router 6 is at (2, 1). Its ports are two of nodes, the peers 0, 1
    // and 3 of dimension 0, then two of each of the peers 0 and 2 of dimension 1.
    let hyperx = HyperX::new(&spec(&[4, 3], &[1, 2], 2)).unwrap();
    let router = RouterId(6);
    assert_eq!((hyperx.coordinates(router), hyperx.ports(router)), (vec![2, 1], 9));
    assert_eq!(hyperx.attachment(NodeId(13)), (router, PortId(1)));
    let ends = [(4, 3), (5, 3), (7, 4), (2, 5), (2, 6), (10, 7), (10, 8)];
    for (port, (next, back)) in (2..).zip(ends) {
        assert_eq!(
            hyperx.endpoint(router, PortId(port)),
            Endpoint::Router(RouterId(next), PortId(back)),
            "port {port}"
        );
    }
    assert_eq!(hyperx.class_names(), ["injection", "ejection", "dim0", "dim1"]);
    assert_eq!([1, 2, 4, 5, 8].map(|port| hyperx.class(router, PortId(port))), [1, 2, 2, 3, 3].map(ChannelClass));
}

#[test]
fn sizes_out_of_range_are_refused_at_their_key() {
    let cases: [(&[u64], &[u64], u64, &str); 14] = [
        (&[], &[], 1, "dims"),
        (&[0], &[1], 1, "dims"),
        (&[8, 1], &[1, 1], 1, "dims"),
        (&[2; 9], &[1; 9], 1, "dims"),
        (&[u64::MAX, 2], &[1, 1], 1, "dims"),
        (&[32_769], &[1], 1, "dims"),
        (&[8, 8], &[1, 1, 1], 1, "wires"),
        (&[8, 8], &[], 1, "wires"),
        (&[8, 8], &[1, 0], 1, "wires"),
        (&[8, 8], &[1, u64::MAX], 1, "wires"),
        (&[4096, 4096], &[1, 1], 1, "dims"),
        (&[8, 8], &[10_000, 1], 1, "wires"),
        (&[8, 8], &[1, 1], 0, "nodes_per_router"),
        (&[8, 8], &[1, 1], 65_530, "nodes_per_router"),
    ];
    for (dims, wires, nodes_per_router, key) in cases {
        let spec = spec(dims, wires, nodes_per_router);
        let error = HyperX::new(&spec).unwrap_err();
        assert_eq!(error.key, key, "{spec:?}: {error}");
        assert!(error.message.contains(&format!("`{key}` ")), "{error}");
    }
}

#[test]
fn the_largest_are_built() {
    // Would catch an overflow next to the limits.
    for (dims, wires) in
        [(&[32_768_u64][..], &[1_u64][..]), (&[256, 256], &[1, 1]), (&[2, 8], &[65_527, 1]), (&[8; 8], &[1; 8])]
    {
        let hyperx = HyperX::new(&spec(dims, wires, 1)).unwrap();
        let last = RouterId(hyperx.routers() - 1);
        let port = PortId(hyperx.ports(last) - 1);
        let Endpoint::Router(next, back) = hyperx.endpoint(last, port) else { panic!("a wire") };
        assert_eq!(hyperx.endpoint(next, back), Endpoint::Router(last, port));
        assert_eq!(hyperx.distance(RouterId(0), last), hyperx.diameter());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_contract_holds(
        shape in prop::collection::vec((2_u64..7, 1_u64..4), 1..4),
        nodes_per_router in 1_u64..4,
    ) {
        let (dims, wires): (Vec<u64>, Vec<u64>) = shape.into_iter().unzip();
        check(&dims, &wires, nodes_per_router);
    }

    #[test]
    fn the_bisection_is_the_least_of_all(shape in prop::collection::vec((2_u64..=5, 1_u64..=5), 1..4)) {
        // Would catch an odd size that is taken as even, and a dimension of many wires that is cut first.
        let (mut dims, mut wires): (Vec<u64>, Vec<u64>) = shape.into_iter().unzip();
        while dims.iter().product::<u64>() > 16 {
            dims.pop();
            wires.pop();
        }
        let hyperx = HyperX::new(&spec(&dims, &wires, 1)).unwrap();
        if let Some(channels) = hyperx.bisection_channels() {
            prop_assert_eq!(channels, bisection(&hyperx, Bisection::Routers));
        }
    }
}
