//! Tori and meshes: the contract, closed forms, known figures.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use testkit::topology::{Bisection, bisection, check_topology, links};
use topology::TopologySpec;
use topology::families::torus::{GridSpec, Torus};
use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

fn spec(dims: &[u64]) -> GridSpec {
    GridSpec::new(dims, 1)
}

fn torus(dims: &[u64]) -> Torus {
    Torus::new(&spec(dims)).unwrap()
}

fn mesh(dims: &[u64]) -> Torus {
    Torus::mesh(&spec(dims)).unwrap()
}

#[test]
fn known_figures() {
    // The topology-aware-mapping paper: an 8x8x8 torus has 3072 directed links and diameter 12. Its bisection cuts 2 x
    // 64 wires; that of the 8x8 mesh cuts 8.
    let cube = torus(&[8, 8, 8]);
    assert_eq!((links(&cube), cube.diameter(), cube.bisection_channels()), (3072, 12, Some(128)));
    let mesh = mesh(&[8, 8]);
    assert_eq!((links(&mesh), mesh.diameter(), mesh.bisection_channels()), (224, 14, Some(8)));
}

const SIZES: [&[u64]; 12] = [
    &[2],
    &[3],
    &[9],
    &[2, 2],
    &[3, 2],
    &[2, 5],
    &[8, 8],
    &[7, 3],
    &[2, 3, 4],
    &[4, 4, 4],
    &[2, 2, 2, 2, 2],
    &[8, 8, 8],
];

#[test]
fn the_contract_holds_for_all_shapes() {
    // Would catch a stride taken from the wrong dimension, a wrap on the wrong side, and the two wires of a ring of 2
    // crossed.
    for dims in SIZES {
        for grid in [torus(dims), mesh(dims)] {
            check_topology(&grid);
            let routers: u64 = dims.iter().product();
            assert_eq!((u64::from(grid.routers()), u64::from(grid.nodes())), (routers, routers));
            // A torus has a wire in each dimension for each router; a mesh lacks those that would wrap.
            let lacking = if grid.is_torus() { 0 } else { dims.iter().map(|size| routers / size).sum() };
            assert_eq!(links(&grid), 2 * (routers * dims.len() as u64 - lacking), "{grid:?}");
        }
    }
}

#[test]
fn the_bisection_is_the_least_of_all() {
    // With odd and mixed sizes the cut is not a plane.
    for dims in [&[2][..], &[3], &[8], &[2, 2], &[3, 2], &[3, 3], &[4, 3], &[5, 3], &[5, 4], &[4, 4], &[2, 3, 3]] {
        for grid in [torus(dims), mesh(dims)] {
            assert_eq!(grid.bisection_channels(), Some(bisection(&grid, Bisection::Routers)), "{grid:?}");
        }
    }
}

#[test]
fn the_numbering_is_the_documented_one() {
    // 4 x 3 routers with 2 nodes each: router 6 is at (2, 1), and carries the nodes 12 and 13 on ports 4 and 5.
    let grid = Torus::new(&GridSpec::new(&[4, 3], 2)).unwrap();
    assert_eq!(grid.coordinates(RouterId(6)), [2, 1]);
    assert_eq!(grid.router_at(&[2, 1]), Some(RouterId(6)));
    assert_eq!((grid.router_at(&[4, 0]), grid.router_at(&[0]), grid.router_at(&[0, 0, 0])), (None, None, None));
    assert_eq!(grid.attachment(NodeId(13)), (RouterId(6), PortId(5)));
    assert_eq!(grid.endpoint(RouterId(6), Torus::plus_port(0)), Endpoint::Router(RouterId(7), PortId(1)));
    assert_eq!(grid.endpoint(RouterId(6), Torus::minus_port(1)), Endpoint::Router(RouterId(2), PortId(2)));
    assert_eq!(grid.endpoint(RouterId(7), Torus::plus_port(0)), Endpoint::Router(RouterId(4), PortId(1)));
    let grid = mesh(&[4, 3]);
    assert_eq!(grid.endpoint(RouterId(7), Torus::plus_port(0)), Endpoint::Unconnected);
    assert_eq!(grid.endpoint(RouterId(0), Torus::minus_port(1)), Endpoint::Unconnected);
}

#[test]
fn a_ring_of_two_has_two_wires_and_a_line_of_two_has_one() {
    let ring = torus(&[2]);
    assert_eq!(ring.endpoint(RouterId(0), PortId(0)), Endpoint::Router(RouterId(1), PortId(1)));
    assert_eq!(ring.endpoint(RouterId(0), PortId(1)), Endpoint::Router(RouterId(1), PortId(0)));
    assert_eq!((links(&ring), links(&mesh(&[2]))), (4, 2));
}

#[test]
fn dimensions_wrap_one_by_one() {
    // Tofu-D: X x Y x Z x 2 x 3 x 2, of which the fourth and the last dimension do not wrap (Ajima et al. 2018). A
    // router has 10 wires: two in each of the four rings, one in each of the two lines.
    let wrap = Some(vec![true, true, true, false, true, false]);
    let spec = GridSpec { wrap, ..GridSpec::new(&[3, 4, 5, 2, 3, 2], 1) };
    let tofu = Torus::new(&spec).unwrap();
    check_topology(&tofu);
    assert_eq!((tofu.routers(), links(&tofu), tofu.diameter()), (720, 720 * 10, 1 + 2 + 2 + 1 + 1 + 1));
    assert_eq!((tofu.kind(), tofu.bisection_channels()), ("torus", None));
    // Would catch a kind that overrides the key.
    let mesh = Torus::mesh(&spec).unwrap();
    assert_eq!((mesh.kind(), links(&mesh)), ("mesh", 7200));
    for (text, key) in [("torus:4x4,wrap=1", "wrap"), ("torus:4x4,wrap=1x2", "wrap"), ("mesh:4,wrap=1x0", "wrap")] {
        let built = text.parse::<TopologySpec>().and_then(|spec| spec.build(std::path::Path::new("")));
        assert_eq!(built.unwrap_err().key, key, "{text}");
    }
}

#[test]
fn sizes_out_of_range_are_refused_at_their_key() {
    let million = 1 << 20;
    let cases: [(&[u64], u64, &str); 9] = [
        (&[], 1, "dims"),
        (&[0], 1, "dims"),
        (&[8, 1], 1, "dims"),
        (&[1 << 40], 1, "dims"),
        (&[million, million, million, million], 1, "dims"),
        (&[2; 25], 1, "dims"),
        (&[8, 8], 0, "nodes_per_router"),
        (&[8, 8], 65_532, "nodes_per_router"),
        (&[1024, 1024], 17, "nodes_per_router"),
    ];
    for (dims, nodes_per_router, key) in cases {
        let spec = GridSpec::new(dims, nodes_per_router);
        for result in [Torus::new(&spec), Torus::mesh(&spec)] {
            let error = result.unwrap_err();
            assert_eq!(error.key, key, "{spec:?}: {error}");
            assert!(error.message.contains(&format!("`{key}` ")), "{error}");
        }
    }
}

#[test]
fn the_largest_grids_are_built() {
    for dims in [&[1 << 24][..], &[2; 24], &[256, 256, 256]] {
        let grid = torus(dims);
        assert_eq!(grid.nodes(), 1 << 24);
        let last = RouterId(grid.routers() - 1);
        let all_last: Vec<u32> = grid.dims().iter().map(|size| size - 1).collect();
        assert_eq!(grid.coordinates(last), all_last);
        assert_eq!(grid.class_names().len(), dims.len() + 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_contract_holds(
        dims in prop::collection::vec(2_u64..9, 1..4),
        nodes_per_router in 1_u64..4,
        wraps: bool,
        by_dim: Option<[bool; 3]>,
    ) {
        let wrap = by_dim.map(|wraps| wraps[..dims.len()].to_vec());
        let spec = GridSpec { wrap, ..GridSpec::new(&dims, nodes_per_router) };
        let grid = if wraps { Torus::new(&spec) } else { Torus::mesh(&spec) }.unwrap();
        check_topology(&grid);
        if let Some(channels) = grid.bisection_channels().filter(|_| grid.routers() <= 12) {
            prop_assert_eq!(channels, bisection(&grid, Bisection::Routers));
        }
        prop_assert_eq!(u64::from(grid.nodes()), u64::from(grid.routers()) * nodes_per_router);
    }

    #[test]
    fn coordinates_and_routers_are_inverse(dims in prop::collection::vec(2_u64..30, 1..5), router: u32) {
        let grid = torus(&dims);
        let router = RouterId(router % grid.routers());
        prop_assert_eq!(grid.router_at(&grid.coordinates(router)), Some(router));
    }
}
