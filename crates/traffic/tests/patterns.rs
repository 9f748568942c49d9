//! Contract of patterns, and the definition of each.

// Helpers of tests may fail a test, too.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use topology::families::file::FileTopology;
use topology::families::single_switch::{SingleSwitch, SingleSwitchSpec};
use topology::families::torus::{GridSpec, Torus};
use topology::{NetworkSpec, Topology};
use traffic::patterns::adversarial::AdversarialSpec;
use traffic::patterns::{exchange::ExchangePatternSpec, hotspot::HotspotSpec, shift::ShiftSpec, uniform::UniformSpec};
use traffic::{Pattern, PatternSpec, Shape};
use units::{KeyError, TaskId};

use crate::Bits;

fn switch(nodes: u64) -> SingleSwitch {
    SingleSwitch::new(&SingleSwitchSpec { ports: nodes }).unwrap()
}

fn torus(dims: &[u64], nodes_per_router: u64) -> Torus {
    Torus::new(&GridSpec::new(dims, nodes_per_router)).unwrap()
}

fn build(spec: &PatternSpec, topology: &dyn Topology) -> Result<Arc<dyn Pattern>, KeyError> {
    spec.build(&Shape::of(topology), 42, Path::new("."))
}

/// Returns the destination of each node; the node itself if it does not send.
fn partners(spec: &PatternSpec, topology: &dyn Topology) -> Vec<u32> {
    let pattern = build(spec, topology).unwrap();
    let partner = |src: u32| match pattern.distribution(TaskId(src)).as_slice() {
        [] => src,
        [(dst, 1.0)] => dst.0,
        others => panic!("{others:?}"),
    };
    (0..topology.nodes()).map(partner).collect()
}

fn shift(offset: i64) -> PatternSpec {
    PatternSpec::Shift(ShiftSpec { offset: Some(offset), groups: None })
}

fn hotspot(nodes: &[u64], fraction: f64) -> PatternSpec {
    PatternSpec::Hotspot(HotspotSpec { nodes: nodes.to_vec(), fraction })
}

fn uniform(include_self: bool) -> PatternSpec {
    PatternSpec::Uniform(UniformSpec { include_self })
}

/// Checks all promises of the trait.
fn check_contract(spec: &PatternSpec, topology: &dyn Topology) {
    let pattern = build(spec, topology).unwrap();
    assert_eq!(pattern.kind(), spec.kind());
    for src in (0..topology.nodes()).map(TaskId) {
        let distribution = pattern.distribution(src);
        let total: f64 = distribution.iter().map(|&(_, part)| part).sum();
        assert_eq!(pattern.sends(src), !distribution.is_empty(), "{spec:?} {src}");
        assert!(distribution.is_empty() || (total - 1.0).abs() < 1e-12, "{spec:?} {src}: {total}");
        assert!(distribution.iter().all(|&(dst, part)| dst.0 < topology.nodes() && part > 0.0), "{spec:?} {src}");
        assert!(distribution.is_sorted_by(|one, other| one.0 < other.0), "{spec:?} {src}: a node is listed twice");
        assert_eq!(pattern.weight(src), if pattern.sends(src) { 1.0 } else { 0.0 });
    }
    check_draws(&*pattern, topology.nodes());
}

/// Checks draws against the distribution: chi-square of the sources' draws together, within 6 standard deviations.
fn check_draws(pattern: &dyn Pattern, nodes: u32) {
    const DRAWS: u32 = 2000;
    let mut draw = Bits(11);
    for src in (0..nodes).step_by(1 + nodes as usize / 4).map(TaskId).filter(|&src| pattern.sends(src)) {
        let mut counts = vec![0_u32; nodes as usize];
        (0..DRAWS).for_each(|_| counts[pattern.destination(src, &mut draw).index()] += 1);
        let distribution = pattern.distribution(src);
        let expected = |&(dst, part): &(TaskId, f64)| (counts[dst.index()], part * f64::from(DRAWS));
        let known: u32 = distribution.iter().map(|entry| expected(entry).0).sum();
        assert_eq!(known, DRAWS, "a destination that the distribution does not know");
        let square = |(count, mean): (u32, f64)| (f64::from(count) - mean).powi(2) / mean;
        let chi: f64 = distribution.iter().map(|entry| square(expected(entry))).sum();
        let freedom = distribution.len() as f64 - 1.0;
        assert!(
            chi <= freedom + 6.0 * (2.0 * freedom).sqrt() + 1e-9,
            "{pattern:?} {src}: chi-square {chi} of {freedom}"
        );
    }
}

/// Returns the patterns that work on every topology of two nodes and more (of three, for tornado).
fn for_any_number() -> [PatternSpec; 10] {
    let (tornado, neighbor) = (PatternSpec::Tornado {}, PatternSpec::Neighbor {});
    let random = PatternSpec::RandomPermutation {};
    let (complement, exchange) = (PatternSpec::BitComplement {}, PatternSpec::Exchange(ExchangePatternSpec::default()));
    let hot = [hotspot(&[0], 0.2), hotspot(&[2, 0], 1.0)];
    let [one, other] = hot;
    [uniform(false), uniform(true), tornado, neighbor, random, shift(1), one, other, complement, exchange]
}

fn on_bits() -> [PatternSpec; 3] {
    [PatternSpec::BitReversal {}, PatternSpec::Transpose {}, PatternSpec::Shuffle {}]
}

#[test]
fn the_textbooks_permutations() {
    // Would catch a rotation in the wrong direction or halves that are cut wrongly. Dally and Towles, table 3.1, for 16
    // nodes, by hand.
    let sixteen = switch(16);
    let complement: Vec<u32> = (0..16).rev().collect();
    assert_eq!(partners(&PatternSpec::BitComplement {}, &sixteen), complement);
    let reversal = [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15];
    assert_eq!(partners(&PatternSpec::BitReversal {}, &sixteen), reversal);
    let transpose = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];
    assert_eq!(partners(&PatternSpec::Transpose {}, &sixteen), transpose);
    let shuffle = [0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15];
    assert_eq!(partners(&PatternSpec::Shuffle {}, &sixteen), shuffle);
}

#[test]
fn transpose_exchanges_the_coordinates_of_a_square() {
    // Would catch a numbering of nodes under which the two definitions differ: (x, y) -> (y, x) on 8x8.
    let square = torus(&[8, 8], 1);
    let expected: Vec<u32> = (0..64).map(|node| node / 8 + node % 8 * 8).collect();
    assert_eq!(partners(&PatternSpec::Transpose {}, &square), expected);
}

#[test]
fn adversarial_traffic_has_the_blocks_of_its_family() {
    // Would catch blocks of another size than the routers' nodes, groups of a dragonfly+ that are not seen, and a grid
    // whose routers send to the next.
    let network = |shorthand: &str| shorthand.parse::<NetworkSpec>().unwrap().build(Path::new("")).unwrap();
    let uneven = FileTopology::from_text("link 0 1\nnode 0 x2\nnode 1", "uneven").unwrap();
    let spec = |offset| PatternSpec::Adversarial(AdversarialSpec { offset });
    for (shorthand, offset, block, target) in [
        ("hyperx:4x4,nodes_per_router=4", 1, 4, 4),
        ("hyperx:4x4,nodes_per_router=4", -2, 4, 56),
        ("dragonfly-plus:leaves=4,spines=2,groups=5", 1, 8, 8),
        ("dragonfly:h=2", 3, 8, 24),
        ("fat-tree:k=4,n=2", 1, 4, 4),
        // Tornado: 3 of 8 and 2 of 5, with two nodes on each router.
        ("torus:8x5,nodes_per_router=2", 1, 2, 2 * (3 + 2 * 8)),
    ] {
        let topology = network(shorthand);
        let pattern = build(&spec(offset), &*topology).unwrap();
        let expected: Vec<(TaskId, f64)> =
            (target..target + block).map(|task| (TaskId(task), 1.0 / f64::from(block))).collect();
        for src in 0..block {
            assert_eq!(pattern.distribution(TaskId(src)), expected, "{shorthand}, {offset}");
        }
    }
    for (topology, offset, key) in [
        (&uneven as &dyn Topology, 1, "kind"),
        (&switch(4), 1, "kind"),
        (&*network("hyperx:4x4"), 16, "offset"),
        (&*network("slim-fly:q=5"), 2, "offset"),
        (&torus(&[8], 1), 2, "offset"),
    ] {
        let error = build(&spec(offset), topology).unwrap_err();
        assert_eq!(error.key, key, "{error}");
    }
}

#[test]
fn adversarial_traffic_is_the_worst_permutation_elsewhere() {
    // Would catch a family that loses its pattern, and one that keeps routers as blocks, whatever its wires.
    let network = |shorthand: &str| shorthand.parse::<NetworkSpec>().unwrap().build(Path::new("")).unwrap();
    let spec = PatternSpec::Adversarial(AdversarialSpec { offset: 1 });
    for (shorthand, needs) in [
        ("hyperx:4x4", false),
        ("xgft:m=4x4x2,w=1x2x2", false),
        ("leaf-spine:leaves=4,spines=2,nodes_per_leaf=4", false),
        ("dragonfly:h=2", false),
        ("dragonfly-plus:leaves=4,spines=2,groups=5", false),
        ("mesh:8x5", false),
        // No dimension has a way around.
        ("torus:2x2x2", true),
        ("slim-fly:q=5", true),
        ("polarfly:q=3", true),
        ("jellyfish:routers=8,degree=3,nodes_per_router=2", true),
        ("single-switch:4", true),
    ] {
        let shape = Shape::of(&*network(shorthand));
        assert_eq!(spec.needs_worst(&shape), needs, "{shorthand}");
        assert!(!PatternSpec::default().needs_worst(&shape));
    }
    let worst = Some([2, 0, 1, 3].map(TaskId).into_iter().collect());
    let pattern = spec.build(&Shape { worst, ..Shape::of(&switch(4)) }, 1, Path::new("")).unwrap();
    assert_eq!(pattern.distribution(TaskId(1)), [(TaskId(0), 1.0)]);
    assert!(!pattern.sends(TaskId(3)) && pattern.notes().len() == 1);
}

#[test]
fn tornado_and_neighbor_move_along_the_dimensions() {
    // Would catch an offset of the whole numbering instead of each dimension, and k/2 instead of (k/2) - 1. On 8x5:
    // tornado (+3, +2), neighbor (+1, +1).
    let grid = torus(&[8, 5], 1);
    let moved = |x: u32, y: u32| (0..40).map(move |node| (node % 8 + x) % 8 + (node / 8 + y) % 5 * 8);
    assert!(partners(&PatternSpec::Tornado {}, &grid).into_iter().eq(moved(3, 2)));
    assert!(partners(&PatternSpec::Neighbor {}, &grid).into_iter().eq(moved(1, 1)));
    // With several nodes on a router each sends to its counterpart: node 3 * 2 + 1 of router 3 to that of router 3 + 3.
    let ring = torus(&[8], 2);
    assert_eq!(partners(&PatternSpec::Tornado {}, &ring)[7], 13);
    // Without dimensions the numbering is the ring.
    assert_eq!(partners(&PatternSpec::Tornado {}, &switch(9))[8], 3);
    assert_eq!(partners(&PatternSpec::Neighbor {}, &switch(9))[8], 0);
}

#[test]
fn shift_counts_both_ways_and_around() {
    // Would catch a remainder that keeps its sign, and an overflow at the ends of the range.
    let ten = switch(10);
    assert_eq!(partners(&shift(3), &ten)[9], 2);
    assert_eq!(partners(&shift(-3), &ten)[0], 7);
    assert_eq!(partners(&shift(13), &ten), partners(&shift(3), &ten));
    assert_eq!(partners(&shift(i64::MIN), &ten)[0], 2);
    assert_eq!(partners(&shift(i64::MAX), &ten)[0], 7);
}

#[test]
fn hot_nodes_share_the_hot_part() {
    // Would catch a hot node that sends to itself, and a rest that is not reduced by the fraction. Of 5 nodes, 0 and 3
    // hot with 0.4: from node 1 the rest is 0.6 / 4 = 0.15, a hot node gets 0.15 + 0.2; from node 3 node 0 gets all.
    let pattern = build(&hotspot(&[3, 0], 0.4), &switch(5)).unwrap();
    let parts = |src| pattern.distribution(TaskId(src)).into_iter().map(|(dst, part)| (dst.0, (part * 1e6).round()));
    assert!(parts(1).eq([(0, 350e3), (2, 150e3), (3, 350e3), (4, 150e3)]));
    assert!(parts(3).eq([(0, 550e3), (1, 150e3), (2, 150e3), (4, 150e3)]));
    let alone = build(&hotspot(&[0], 1.0), &switch(5)).unwrap();
    assert_eq!(alone.distribution(TaskId(0)).len(), 4);
    assert_eq!(alone.distribution(TaskId(1)), [(TaskId(0), 1.0)]);
}

#[test]
fn a_random_permutation_is_its_seeds() {
    // Would catch a seed that is not used, and a seed that the platform or the run changes. No theory gives the
    // numbers; the first version drew them.
    let eight = switch(8);
    let of_seed = |seed| {
        let pattern = PatternSpec::RandomPermutation {}.build(&Shape::of(&eight), seed, Path::new(".")).unwrap();
        (0..8).map(|src| pattern.distribution(TaskId(src))[0].0.0).collect::<Vec<_>>()
    };
    assert_eq!(of_seed(1), of_seed(1));
    assert_ne!(of_seed(1), of_seed(2));
    assert_eq!(of_seed(42), [6, 3, 5, 2, 1, 7, 0, 4]);
}

#[test]
fn all_derangements_are_as_likely() {
    // Would catch a biased shuffle. Four nodes have 9 permutations without fixed points; 9000 seeds give each 1000
    // times, to 5 standard deviations (150).
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..9000 {
        let pattern = PatternSpec::RandomPermutation {}.build(&Shape::of(&switch(4)), seed, Path::new(".")).unwrap();
        let partners = [0, 1, 2, 3].map(|src| pattern.destination(TaskId(src), &mut Bits(0)).0);
        *counts.entry(partners).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 9);
    assert!(counts.values().all(|count| (850..=1150).contains(count)), "{counts:?}");
}

#[test]
fn what_does_not_fit_is_refused_with_what_does() {
    // Would catch a pattern that wraps, truncates or panics on an unsupported number of nodes.
    let refusal = |spec: &PatternSpec, nodes: u64| build(spec, &switch(nodes)).map(|_| ()).unwrap_err();
    for spec in on_bits() {
        let KeyError { key, message } = refusal(&spec, 100);
        assert_eq!(key, "kind");
        assert!(message.contains(spec.kind()) && message.contains("such as 64 or 128"), "{message}");
        assert!(message.contains("the workload has 100"), "{message}");
    }
    let odd = refusal(&PatternSpec::Transpose {}, 32).message;
    assert!(odd.contains("such as 16 or 64; the workload has 32 (2^5)"), "{odd}");
    for (spec, nodes) in [
        (PatternSpec::BitReversal {}, 2),
        (PatternSpec::Shuffle {}, 2),
        (PatternSpec::Tornado {}, 2),
        (PatternSpec::BitComplement {}, 1),
        (PatternSpec::Transpose {}, 1),
        (PatternSpec::Neighbor {}, 1),
        (PatternSpec::RandomPermutation {}, 1),
    ] {
        let error = refusal(&spec, nodes);
        assert!(error.message.contains("so that none sends"), "{spec:?}: {error}");
    }
    assert!(refusal(&uniform(false), 1).message.contains("include_self"));
    assert!(build(&uniform(true), &switch(1)).is_ok());
}

#[test]
fn keys_out_of_range_are_named() {
    // Would catch an error at the wrong key, which the user interface shows at the wrong line.
    for (spec, key, part) in [
        (shift(0), "offset", "multiple of 10"),
        (shift(-20), "offset", "multiple of 10"),
        (hotspot(&[], 0.2), "nodes", "is empty"),
        (hotspot(&[3, 10], 0.2), "nodes", "there is no task 10; the tasks are 0 to 9"),
        (hotspot(&[1 << 32], 0.2), "nodes", "there is no task 4294967296"),
        (hotspot(&[3, 1, 3], 0.2), "nodes", "task 3 is given twice"),
        (hotspot(&[3], 1.5), "fraction", "between 0 and 1"),
        (hotspot(&[3], f64::NAN), "fraction", "between 0 and 1"),
    ] {
        let error = build(&spec, &switch(10)).map(|_| ()).unwrap_err();
        assert!(error.key == key && error.message.contains(part), "{spec:?}: {error:?}");
    }
}

/// Returns whether a permutation is its own inverse.
fn is_involution(partners: &[u32]) -> bool {
    partners.iter().enumerate().all(|(src, &dst)| partners[dst as usize] == src as u32)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_pattern_keeps_the_contract(nodes in 3_u64..200, exponent in 1_u64..4) {
        // Would catch a node out of range, a distribution that differs from the draws, or one that does not add up.
        for spec in for_any_number() {
            check_contract(&spec, &switch(nodes));
        }
        for spec in on_bits() {
            check_contract(&spec, &switch(1 << (2 * exponent)));
        }
    }

    #[test]
    fn permutations_are_bijections(dims in prop::collection::vec(2_u64..7, 1..4), each in 1_u64..4, offset: i64) {
        // Would catch two nodes that send to one.
        let grid = torus(&dims, each);
        let nodes = i64::from(grid.nodes());
        let mut specs = vec![PatternSpec::Neighbor {}, PatternSpec::RandomPermutation {}];
        specs.extend((dims.iter().any(|&size| size > 2)).then_some(PatternSpec::Tornado {}));
        specs.extend((offset.rem_euclid(nodes) != 0).then(|| shift(offset)));
        for spec in specs {
            let mut partners = partners(&spec, &grid);
            partners.sort_unstable();
            prop_assert!(partners.into_iter().eq(0..grid.nodes()), "{:?}", spec);
        }
    }

    #[test]
    fn bit_permutations_are_bijections_and_most_are_involutions(half in 1_u64..6) {
        // Would catch a shuffle that loses a bit, and an exchange that is not its own inverse.
        let switch = switch(1 << (2 * half));
        for spec in on_bits() {
            let partners = partners(&spec, &switch);
            let mut sorted = partners.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..switch.nodes()));
            // The shuffle of two bits exchanges them; the shuffle of more bits is a rotation.
            let involution = spec != PatternSpec::Shuffle {} || half == 1;
            prop_assert_eq!(is_involution(&partners), involution, "{:?}", spec);
        }
    }

    #[test]
    fn a_random_permutation_has_no_fixed_point(nodes in 2_u64..300, seed: u64) {
        // Would catch a node that does not send although the documentation promises that all do.
        let pattern = PatternSpec::RandomPermutation {}.build(&Shape::of(&switch(nodes)), seed, Path::new(".")).unwrap();
        prop_assert!((0..nodes as u32).all(|src| pattern.sends(TaskId(src))));
    }
}
