//! The paper's strategies for its applications, geometric and dynamic mapping.
#![allow(clippy::expect_used, reason = "a test may fail")]

use std::path::Path;

use mapping::strategies::{StrategyName, map};
use mapping::{Machine, MachineSource, MapSpec, Mapping, MappingError, Measures, Problem, Silent, measure};
use tasks::{GraphSpec, TaskGraph};

fn machine(shape: &str) -> Machine {
    MachineSource { machine: shape.into(), ..MachineSource::default() }.read(Path::new(".")).expect("a machine")
}

fn graph(text: &str) -> TaskGraph {
    text.parse::<GraphSpec>().expect("a spec").build(Path::new("."), 1).expect("a graph")
}

fn solve(
    graph: &TaskGraph,
    machine: &Machine,
    spec: &MapSpec,
    fixed: &[(u32, u32)],
    current: Option<&Mapping>,
) -> Result<Mapping, MappingError> {
    map(&Problem { graph, machine, spec, fixed, current, watch: &Silent })
}

fn spec(strategy: StrategyName, imbalance: f64) -> MapSpec {
    MapSpec { strategy, imbalance, budget: Some(0.03), ..MapSpec::default() }
}

fn measured(graph: &TaskGraph, machine: &Machine, strategy: StrategyName) -> Measures {
    let found = solve(graph, machine, &spec(strategy, 0.31), &[], None).expect("a mapping");
    measure(graph, machine, &found)
}

#[test]
fn namd_gains_by_its_patches_and_again_by_its_balancer_and_more_on_larger_machines() {
    // Would catch a scheme that ignores the topology although it should not. Paper, figure 6 and table 3: hop-bytes
    // fall in this order, and by more bytes as the machine grows. Proxies are fewer if places are few; otherwise their
    // number is about equal.
    let apoa1 = graph("namd:6x6x4,multicast=true");
    let gains: Vec<f64> = ["torus:4x4x4", "torus:8x8x8", "torus:12x12x12"]
        .iter()
        .map(|shape| {
            let machine = machine(shape);
            let of = |strategy| measured(&apoa1, &machine, strategy);
            let oblivious = of(StrategyName::NamdOblivious);
            let (patches, topology) = (of(StrategyName::NamdPatches), of(StrategyName::NamdTopology));
            assert!(oblivious.hop_bytes > patches.hop_bytes, "{shape}");
            assert!(patches.hop_bytes > topology.hop_bytes, "{shape}");
            assert!(topology.proxies as f64 <= 1.05 * oblivious.proxies as f64, "{shape}");
            oblivious.hop_bytes - topology.hop_bytes
        })
        .collect();
    assert!(gains.windows(2).all(|pair| pair[1] > pair[0]), "{gains:?}");
}

#[test]
fn computes_with_fixed_patches_come_near_the_least_that_is_possible() {
    // Would catch computes that do not find their bricks. 144 patches in the middle of their parts of an 8x8x8 torus,
    // 2,016 computes: five loads a node at imbalance 1.31, four at 1.06. No mapping is below the cost of computes
    // within their bricks: the distance of the two patches.
    let (apoa1, torus) = (graph("namd:6x6x4"), machine("torus:8x8x8"));
    let start = solve(&apoa1, &torus, &spec(StrategyName::NamdPatches, 0.31), &[], None).expect("a mapping");
    let fixed: Vec<(u32, u32)> = (0..144).map(|patch| (patch, start.place_of[patch as usize])).collect();
    let bytes = 92_227 * 24 / 144;
    let pairs = |compute: u32| {
        apoa1.phases[0].arcs.of(compute).map(|(patch, ..)| start.place_of[patch as usize]).collect::<Vec<_>>()
    };
    let brick: u64 = (288..apoa1.tasks()).map(pairs).map(|ends| u64::from(torus.hops().hops(ends[0], ends[1]))).sum();
    let least = (2 * brick * bytes) as f64 / apoa1.total_bytes() as f64;
    for (imbalance, most) in [(0.3158, 1.7), (0.06, 2.3)] {
        let found = solve(&apoa1, &torus, &spec(StrategyName::Auto, imbalance), &fixed, None).expect("a mapping");
        let reached = measure(&apoa1, &torus, &found);
        assert!(fixed.iter().all(|&(patch, place)| found.place_of[patch as usize] == place));
        assert!(reached.imbalance <= 1.0 + imbalance + 1e-9, "{}", reached.imbalance);
        assert!(
            reached.hops_per_byte >= least - 1e-9 && reached.hops_per_byte <= most,
            "{} {least}",
            reached.hops_per_byte
        );
    }
}

#[test]
fn prisms_keep_planes_together_and_states_in_line() {
    // Would catch a plane that leaves its prism. 16 planes on an 8x4x4 torus, whose long dimension is the first, have a
    // column each, with state s of 8 at coordinate s.
    let water = graph("openatom:water-32,states=8,planes=16,real_planes=16,block=4");
    let torus = machine("torus:8x4x4");
    let found = solve(&water, &torus, &spec(StrategyName::Prisms, 1.0), &[], None).expect("a mapping");
    for plane in 0..16_usize {
        let column: Vec<u32> = (0..8).map(|state| found.place_of[state + 8 * plane]).collect();
        assert!(column.iter().zip(0..).all(|(&place, state)| place % 8 == state), "{column:?}");
        assert!(column.iter().all(|&place| place / 8 == column[0] / 8), "{column:?}");
    }
    let better = measure(&water, &torus, &found).hop_bytes;
    assert!(better < 0.8 * measured(&water, &torus, StrategyName::Identity).hop_bytes);
}

#[test]
fn strategies_refuse_what_they_are_not_made_for() {
    // Would catch a panic on a graph without arrays or on a machine without dimensions.
    let key = |text: &str, shape: &str, strategy| {
        solve(&graph(text), &machine(shape), &spec(strategy, 0.1), &[], None).expect_err("an error").to_string()
    };
    assert!(key("stencil:8", "torus:8", StrategyName::NamdTopology).contains("patches"));
    assert!(key("openatom:water-32,states=8,planes=4,block=4", "dragonfly:h=2", StrategyName::Prisms).contains("tori"));
    assert!(key("random:8", "torus:8", StrategyName::Geometric).contains("positions"));
    assert!(key("random:8", "torus:8", StrategyName::Dynamic).contains("current"));
}

#[test]
fn positions_lead_to_the_machine() {
    // Would catch halves that are mixed up: a grid of tasks on a mesh of equal shape keeps its place, whatever the cut.
    let found = measured(&graph("stencil:8x8,periodic=false"), &machine("mesh:8x8"), StrategyName::Geometric);
    assert_eq!(found.hops_per_byte, 1.0);
    let mesh = graph("mesh:2500");
    let torus = machine("torus:8x8");
    assert!(
        measured(&mesh, &torus, StrategyName::Geometric).hop_bytes
            < 0.3 * measured(&mesh, &torus, StrategyName::Identity).hop_bytes
    );
}

#[test]
fn balancing_moves_what_it_must_and_not_far() {
    // Would catch a balancer that moves tasks of balanced nodes, or moves tasks far. Sixteen tasks on each of 16 nodes;
    // one node's loads double: of 32 on a mean of 17, about 15 have to go, and they go to neighbours.
    let mut stencil = graph("stencil:16x16,periodic=false");
    let mesh = machine("mesh:4x4");
    let start = solve(&stencil, &mesh, &spec(StrategyName::Geometric, 0.01), &[], None).expect("a mapping");
    let moved = |other: &Mapping| start.place_of.iter().zip(&other.place_of).filter(|(a, b)| a != b).count();
    let same = solve(&stencil, &mesh, &spec(StrategyName::Dynamic, 0.05), &[], Some(&start)).expect("a mapping");
    assert_eq!(moved(&same), 0);
    let hot = start.place_of[100];
    for (task, load) in stencil.loads.iter_mut().enumerate() {
        *load = if start.place_of[task] == hot { 2.0 } else { 1.0 };
    }
    let spec = spec(StrategyName::Dynamic, 0.15);
    let found = solve(&stencil, &mesh, &spec, &[], Some(&start)).expect("a mapping");
    let after = measure(&stencil, &mesh, &found);
    assert!(after.imbalance <= 1.15 + 1e-9, "{}", after.imbalance);
    assert!(moved(&found) <= 12, "{}", moved(&found));
    let before = measure(&stencil, &mesh, &start);
    assert!(after.hop_bytes < 1.6 * before.hop_bytes, "{} {}", after.hop_bytes, before.hop_bytes);
}

#[test]
fn every_array_is_spread_over_all_nodes_in_order() {
    // Would catch arrays placed in sequence, whose nodes would idle while the others compute, and blocks that are out
    // of order or of unequal load. 128 elements of GSpace, 128 of RealSpace and 64 calculators of load 2 on 32 nodes:
    // four, four and two each.
    let water = graph("openatom:water-32,states=8,planes=16,real_planes=16,block=4,pair_load=2");
    let torus = machine("torus:4x4x2");
    let found = solve(&water, &torus, &spec(StrategyName::ArrayBlocks, 0.03), &[], None).expect("a mapping");
    for (first, tasks, each) in [(0_u32, 128, 4), (128, 128, 4), (256, 64, 2)] {
        let expected: Vec<u32> = (0..tasks).map(|task| task / each).collect();
        assert_eq!(found.place_of[first as usize..(first + tasks) as usize], expected);
    }
    // Without arrays the order is that of the tasks.
    let plain = graph("random:64");
    let of = |strategy| solve(&plain, &torus, &spec(strategy, 0.03), &[], None).expect("a mapping").place_of;
    assert_eq!(of(StrategyName::ArrayBlocks), of(StrategyName::Identity));
}
