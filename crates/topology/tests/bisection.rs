//! Bounds of bisections, against closed forms and all bisections of small networks.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use testkit::topology::{Bisection, bisection};
use topology::{BisectionBounds, Topology, TopologySpec, bisection_bounds};

fn built(shorthand: &str) -> Arc<dyn Topology> {
    shorthand.parse::<TopologySpec>().unwrap().build(Path::new("")).unwrap()
}

#[test]
fn bounds_hold_the_closed_form() {
    // Would catch a wrong factor of the spectral bound, and a cut that is no bisection. The bounds meet on a ring of
    // four routers, on a complete graph and on a hypercube.
    for (shorthand, tight) in [
        ("torus:4", true),
        ("hyperx:8", true),
        ("hyperx:7", true),
        ("hyperx:2x2x2x2", true),
        ("hyperx:4x4,wires=2x2", true),
        ("torus:8x8", false),
        ("torus:5x5", false),
        ("mesh:6x4", false),
    ] {
        let topology = built(shorthand);
        let bounds = bisection_bounds(&*topology).unwrap();
        let exact = topology.bisection_channels().unwrap();
        assert!(bounds.least <= exact && exact <= bounds.most, "{shorthand}: {bounds:?}, {exact}");
        assert_eq!(bounds.most, exact, "{shorthand}: a better cut is known");
        assert!(!tight || bounds.least == exact, "{shorthand}: {bounds:?}, {exact}");
    }
}

#[test]
fn known_figures() {
    // The Hoffman-Singleton graph has the eigenvalues 7, 2 and -3: the bound is 50 (7 - 2) / 4, or 63. A polarity graph
    // of q has the eigenvalue sqrt(q) next to q + 1.
    let BisectionBounds { least, most } = bisection_bounds(&*built("slim-fly:q=5")).unwrap();
    assert!(least == 63 && (63..80).contains(&most), "{least} {most}");
    let two = bisection_bounds(&*built("dragonfly-plus:leaves=4,spines=4,groups=6")).unwrap();
    // Three groups of each side are joined by nine wires.
    assert_eq!(two.most, 9);
    assert!(two.least <= 9);
    // Nothing to halve: one router, and an odd number of nodes on unequal routers.
    assert_eq!(bisection_bounds(&*built("single-switch:8")), None);
}

#[test]
fn planes_are_cut_alike() {
    let plane = bisection_bounds(&*built("polarfly:q=3")).unwrap();
    let network: topology::NetworkSpec = "polarfly:q=3,planes=4".parse().unwrap();
    let all = bisection_bounds(&*network.build(Path::new("")).unwrap()).unwrap();
    assert_eq!(all, BisectionBounds { least: 4 * plane.least, most: 4 * plane.most });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn bounds_hold_the_least_of_all_bisections(routers in 4_u32..15, wires in 3_u32..6, seed in 0_u64..1000) {
        let degree = wires.min(routers - 1);
        prop_assume!(routers * degree % 2 == 0);
        let fish = built(&format!("jellyfish:routers={routers},degree={degree},nodes_per_router=1,seed={seed}"));
        let bounds = bisection_bounds(&*fish).unwrap();
        let exact = bisection(&*fish, Bisection::Routers);
        prop_assert!(bounds.least <= exact && exact <= bounds.most, "{:?}, {}", bounds, exact);
        prop_assert!(bounds.most <= exact + 2, "{:?}, {}: the cut is far from the least", bounds, exact);
    }
}
