//! Twisted tori: the contract, distances of the lattice, published diameters, and refusals.

// Helpers of tests may unwrap as tests may.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use testkit::topology::{check_topology, links};
use topology::{NetworkSpec, Topology, View};
use units::{KeyError, RouterId};

fn build(text: &str) -> Result<Arc<dyn Topology>, KeyError> {
    text.parse::<NetworkSpec>()?.build(Path::new("."))
}

/// Returns the least number of steps along the axes between points that differ by a vector, if the points of a lattice
/// are one: the shortest of the vectors plus few multiples of each vector of the lattice.
fn lattice_distance(difference: &[i64], lattice: &[Vec<i64>]) -> i64 {
    let Some((first, rest)) = lattice.split_first() else { return difference.iter().map(|step| step.abs()).sum() };
    let moved =
        |times: i64| -> Vec<i64> { difference.iter().zip(first).map(|(own, step)| own + times * step).collect() };
    (-3..=3).map(|times| lattice_distance(&moved(times), rest)).min().unwrap()
}

#[test]
fn distances_are_those_of_the_lattice() {
    // A walk around dimension d is a walk by its shifts. Would catch a shift in the wrong direction, which in dimensions
    // of other sizes than twice the shift is another network, and a minus port that leads elsewhere than back.
    for (dims, twist) in [
        (&[8_i64, 4][..], vec![vec![0_i64, 0], vec![4, 0]]),
        (&[5, 4], vec![vec![0, 0], vec![2, 0]]),
        (&[3, 7], vec![vec![0, 2], vec![0, 0]]),
        (&[2, 6], vec![vec![0, 1], vec![0, 0]]),
        (&[3, 3, 6], vec![vec![0, 0, 3], vec![0, 0, 3], vec![0, 0, 0]]),
        (&[2, 4, 5], vec![vec![0, 1, 2], vec![0, 0, 0], vec![0, 0, 0]]),
    ] {
        let join = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join("x");
        let rows = twist.iter().map(|row| join(row)).collect::<Vec<_>>().join("/");
        let torus = build(&format!("torus:{},nodes_per_router=2,twist={rows}", join(dims))).unwrap();
        check_topology(&*torus);
        assert_eq!(links(&*torus), 2 * dims.len() as u64 * u64::from(torus.routers()));
        assert_eq!(torus.nodes(), 2 * torus.routers());
        assert!(!View::ALL.iter().any(|&view| torus.views().has(Some(view))));
        let lattice: Vec<Vec<i64>> = (0..dims.len())
            .map(|dim| (0..dims.len()).map(|other| if other == dim { dims[dim] } else { -twist[dim][other] }).collect())
            .collect();
        let at = |router: u32| -> Vec<i64> { torus.coordinates(RouterId(router)).into_iter().map(i64::from).collect() };
        for from in (0..torus.routers()).step_by(3) {
            for to in 0..torus.routers() {
                let difference: Vec<i64> = at(to).iter().zip(at(from)).map(|(to, from)| to - from).collect();
                let expected = lattice_distance(&difference, &lattice);
                assert_eq!(
                    i64::from(torus.distance(RouterId(from), RouterId(to))),
                    expected,
                    "{dims:?}: {from} to {to}"
                );
            }
        }
    }
}

#[test]
fn a_twist_shortens_tori_by_the_published_factor() {
    // 2a x a has the diameter a (Cámara et al.) in place of 3a/2, and a x a x 2a has 3a/2 in place of 2a.
    for a in [2, 3, 4, 6, 8] {
        let plane = build(&format!("torus:{0}x{a},twist=0x0/{a}x0", 2 * a)).unwrap();
        assert_eq!(plane.diameter(), a);
        assert_eq!(build(&format!("torus:{0}x{a}", 2 * a)).unwrap().diameter(), a + a / 2);
        let slice = build(&format!("torus:{a}x{a}x{0},twist=0x0x{a}/0x0x{a}/0x0x0", 2 * a)).unwrap();
        assert_eq!(slice.diameter(), 3 * a / 2);
    }
    // Without shifts it is the torus.
    let (plain, same) = (build("torus:4x6").unwrap(), build("torus:4x6,twist=0x0/0x0").unwrap());
    for (from, to) in (0..24).flat_map(|from| (0..24).map(move |to| (RouterId(from), RouterId(to)))) {
        assert_eq!(plain.distance(from, to), same.distance(from, to));
    }
    let wraps_once = build("torus:4x6,wrap=0x1,twist=0x0/0x0").unwrap();
    check_topology(&*wraps_once);
}

#[test]
fn twists_that_do_not_fit_are_refused_at_the_key() {
    for (text, expected) in [
        ("torus:4x4,twist=0x0", "must be a table of 2 rows of 2 shifts"),
        ("torus:4x4,twist=0x0/0x0x0", "must be a table of 2 rows of 2 shifts"),
        ("torus:4x4,twist=0x4/0x0", "shifts dimension 1 by 4; less than its size of 4"),
        ("torus:4x4,twist=0x1/1x0", "shifts dimension 1, whose own wrap has shifts"),
        ("torus:4x4,twist=1x0/0x0", "shifts dimension 0, whose own wrap has shifts"),
        ("torus:4x4,wrap=0x1,twist=0x1/0x0", "has shifts for dimension 0, which does not wrap"),
        ("torus:4x4,wrap=1x0,twist=0x1/0x0", "shifts dimension 1, which does not wrap"),
        ("torus:4x4,twist=0x0/y", "`twist` has `y`"),
        ("mesh:4x4,twist=0x0/0x0", "a mesh is not twisted"),
        ("torus:70x70,twist=0x1/0x0", "at most 4096 routers"),
    ] {
        let error = build(text).unwrap_err();
        assert_eq!(error.key, "twist", "{text}");
        assert!(error.message.contains(expected), "{text}: {error}");
    }
}
