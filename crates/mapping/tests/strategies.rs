//! Properties of every strategy, and results of the automatic one.
#![allow(clippy::expect_used, reason = "a test may fail")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use mapping::strategies::{StrategyName, map};
use mapping::{
    Machine, MachineSpec, MapSpec, Mapping, MappingError, Objective, Problem, Silent, Watch, channel_use, measure,
};
use proptest::prelude::*;
use tasks::{ArcList, TaskGraph};
use topology::TopologySpec;
use units::Draw;
use units::NamedStream;

fn machine(shape: &str, cores: u32) -> Machine {
    let spec: TopologySpec = shape.parse().expect("a shorthand");
    let topology: Arc<dyn topology::Topology> = spec.build(std::path::Path::new(".")).expect("a topology");
    Machine::new(topology, MachineSpec { cores, ..MachineSpec::default() }).expect("a machine")
}

/// Returns a periodic stencil of equal weights.
fn stencil(dims: &[u32]) -> TaskGraph {
    let tasks: u32 = dims.iter().product();
    let mut arcs = ArcList::new(tasks);
    for task in 0..tasks {
        let mut stride = 1;
        for &size in dims {
            let at = task / stride % size;
            arcs.add_both(task, task - at * stride + (at + 1) % size * stride, 8, 1);
            stride *= size;
        }
    }
    TaskGraph::new("stencil", arcs.build())
}

fn order(count: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    let mut draw = NamedStream::new(seed, "test-order");
    for last in (1..order.len()).rev() {
        order.swap(last, draw.below(last as u32 + 1) as usize);
    }
    order
}

fn shuffled(graph: &TaskGraph, seed: u64) -> TaskGraph {
    graph.renumbered(&order(graph.tasks(), seed))
}

/// Returns a graph of random edges with random weights and loads.
fn random_graph(tasks: u32, degree: u32, seed: u64) -> TaskGraph {
    let mut draw = NamedStream::new(seed, "test-graph");
    let mut arcs = ArcList::new(tasks);
    for task in 0..tasks {
        for _ in 0..degree {
            arcs.add_both(task, draw.below(tasks), 1 + u64::from(draw.below(100)), 1);
        }
    }
    let mut graph = TaskGraph::new("random", arcs.build());
    graph.loads.iter_mut().for_each(|load| *load = f64::from(1 + draw.below(3)));
    graph
}

fn spec(strategy: StrategyName) -> MapSpec {
    MapSpec { strategy, budget: Some(0.01), ..MapSpec::default() }
}

fn solve(graph: &TaskGraph, machine: &Machine, spec: &MapSpec, fixed: &[(u32, u32)]) -> Result<Mapping, MappingError> {
    map(&Problem { graph, machine, spec, fixed, current: None, watch: &Silent })
}

fn hops(graph: &TaskGraph, machine: &Machine, mapping: &Mapping) -> f64 {
    measure(graph, machine, mapping).hops_per_byte
}

fn auto(graph: &TaskGraph, machine: &Machine) -> f64 {
    let found = solve(graph, machine, &spec(StrategyName::Auto), &[]).expect("a mapping");
    hops(graph, machine, &found)
}

/// Strategies for any graph and machine.
const GENERAL: [StrategyName; 13] = [
    StrategyName::Auto,
    StrategyName::Identity,
    StrategyName::ArrayBlocks,
    StrategyName::Random,
    StrategyName::Greedy,
    StrategyName::Annealing,
    StrategyName::Bisection,
    StrategyName::Multilevel,
    StrategyName::Hierarchical,
    StrategyName::PairwiseExchange,
    StrategyName::Genetic,
    StrategyName::Contraction,
    StrategyName::Mincut,
];

const MACHINES: [&str; 7] = [
    "torus:4x3x2",
    "mesh:6x4",
    "dragonfly:p=2,a=4,h=2",
    "fat-tree:k=3,n=3",
    "xgft:m=4x3x2,w=1x2x2,p=1x1x2,hosts=22",
    "single-switch:24",
    "torus:3x3,nodes_per_router=3",
];

/// Configures the number of cases of a property: `usual`, and eight times that in `make test-long`, which gives a seed.
fn cases(usual: u32) -> ProptestConfig {
    let factor = if std::env::var_os("CUTTHROUGH_TEST_SEED").is_some() { 8 } else { 1 };
    ProptestConfig::with_cases(usual * factor)
}

proptest! {
    // Each case tries all strategies.
    #![proptest_config(cases(12))]

    #[test]
    fn every_strategy_keeps_to_room_and_fixed_tasks(
        shape in prop::sample::select(MACHINES.to_vec()), share in 0.3_f64..3.0, seed in any::<u64>()
    ) {
        // Would catch a task that is lost, a node that is overfull, and a fixed task that is moved, on any kind of
        // machine.
        let machine = machine(shape, 1);
        let tasks = ((f64::from(machine.places()) * share) as u32).max(2);
        let graph = random_graph(tasks, 2, seed);
        let fixed: Vec<(u32, u32)> = vec![(0, machine.places() - 1), (1, 0)];
        for strategy in GENERAL {
            let spec = MapSpec { seed, ..spec(strategy) };
            let problem = Problem { graph: &graph, machine: &machine, spec: &spec, fixed: &fixed, current: None, watch: &Silent };
            let room = problem.room().expect("room");
            let found = map(&problem).expect("a mapping");
            prop_assert_eq!(found.place_of.len(), tasks as usize);
            prop_assert!(fixed.iter().all(|&(task, place)| found.place_of[task as usize] == place), "{:?}", strategy);
            let mut count = vec![0; machine.places() as usize];
            let mut load = vec![0.0; machine.places() as usize];
            for (&place, own) in found.place_of.iter().zip(&graph.loads) {
                count[place as usize] += 1;
                load[place as usize] += own;
            }
            prop_assert!(count.iter().all(|&count| count <= room.tasks), "{:?}", strategy);
            // A packing with a remainder may exceed the limit by less than the largest task.
            prop_assert!(load.iter().all(|&load| load <= room.load + 3.0), "{:?} {:?} {}", strategy, load, room.load);
        }
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn auto_is_never_worse_than_the_baselines(
        shape in prop::sample::select(MACHINES.to_vec()), share in 0.3_f64..3.0, degree in 1_u32..5, seed in any::<u64>()
    ) {
        // Would catch a candidate that is dropped, and a refinement that makes the result worse.
        let machine = machine(shape, 1);
        let tasks = ((f64::from(machine.places()) * share) as u32).max(2);
        let graph = random_graph(tasks, degree, seed);
        let of = |strategy| {
            let found = solve(&graph, &machine, &MapSpec { seed, ..spec(strategy) }, &[]).expect("a mapping");
            measure(&graph, &machine, &found).hop_bytes
        };
        let best = of(StrategyName::Auto);
        for baseline in [StrategyName::Identity, StrategyName::Random, StrategyName::Greedy] {
            prop_assert!(best <= of(baseline) + 1e-6, "{:?}", baseline);
        }
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn no_measure_pays_for_another_beyond_tasks_in_order(
        shape in prop::sample::select(MACHINES.to_vec()), share in 0.3_f64..2.0, degree in 1_u32..5, seed in any::<u64>()
    ) {
        // Would catch a product of hop-bytes and load that falls while one of the two rises above that of tasks in order.
        let machine = machine(shape, 1);
        let tasks = ((f64::from(machine.places()) * share) as u32).max(2);
        let graph = random_graph(tasks, degree, seed);
        let of = |strategy, objective| {
            let spec = MapSpec { seed, objective, ..spec(strategy) };
            let found = solve(&graph, &machine, &spec, &[]).expect("a mapping");
            let max = channel_use(&graph, &machine, &found).expect("loads").max;
            (measure(&graph, &machine, &found).hop_bytes, max)
        };
        let found = of(StrategyName::Auto, Objective::Both);
        let in_order = of(StrategyName::Identity, Objective::HopBytes);
        prop_assert!(found.0 <= in_order.0 * (1.0 + 1e-6), "{found:?} {in_order:?}");
        prop_assert!(found.1 <= in_order.1 * (1.0 + 1e-6), "{found:?} {in_order:?}");
    }
}

proptest! {
    // Each case runs three strategies on one thread and on three.
    #![proptest_config(cases(8))]

    #[test]
    fn the_same_seed_gives_the_same_mapping_on_any_number_of_threads(seed in any::<u64>()) {
        // Would catch a result that depends on the order of threads.
        let machine = machine("torus:4x4x2", 1);
        let graph = random_graph(90, 3, seed);
        for strategy in [StrategyName::Auto, StrategyName::Hierarchical, StrategyName::Multilevel] {
            let on = |threads: usize| {
                workers::limited(threads, || solve(&graph, &machine, &MapSpec { seed, ..spec(strategy) }, &[]))
            };
            prop_assert_eq!(on(1).expect("a mapping"), on(3).expect("a mapping"));
        }
    }
}

#[test]
fn grids_fold_to_their_closed_forms() {
    // Would catch a folding that is not found. The values are sums over the steps of one row: a grid of the machine's
    // shape 1; 8^4 with three rings doubled and one of eight bits 7/4; 64 = 16 x 4 along one axis (64 + 76)/128; 32^3
    // in blocks of 2^3 1/2; blocks of 4x2x2 and 8x8x4 under a tree 2 + 2 (5/12) + 2/6.
    let cases: [(&[u32], &str, f64); 5] = [
        (&[16, 16, 16], "torus:16x16x16", 1.0),
        (&[8, 8, 8, 8], "torus:16x16x16", 1.75),
        (&[64, 64], "torus:16x16x16", 140.0 / 128.0),
        (&[32, 32, 32], "torus:16x16x16", 0.5),
        (&[16, 16, 16], "fat-tree:k=16,n=3", 2.0 + 2.0 * 5.0 / 12.0 + 2.0 / 6.0),
    ];
    for (seed, (dims, shape, expected)) in (1..).zip(cases) {
        let found = auto(&shuffled(&stencil(dims), seed), &machine(shape, 1));
        assert!(found <= expected + 1e-9, "{dims:?} on {shape}: {found}, expected {expected}");
    }
}

#[test]
fn rings_of_four_fold_as_rings() {
    // Would catch a ring of four that is always taken for a square: grids of the machine's shape have one hop a byte.
    for dims in [&[3_u32, 4, 5][..], &[4, 4], &[4, 4, 4]] {
        let shape = dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
        let machine = machine(&format!("torus:{shape}"), 1);
        let graph = shuffled(&stencil(dims), 3);
        let found = solve(&graph, &machine, &spec(StrategyName::Embedding), &[]).expect("a mapping");
        assert_eq!(hops(&graph, &machine, &found), 1.0, "{shape}");
    }
}

#[test]
fn an_allocation_that_is_a_part_of_the_machine_is_used_as_it_is() {
    // Would catch wrap-around links that a sub-box does not have: a 4x4 mesh of an 8x8 torus holds a 4x4 mesh of tasks
    // at one hop, and no task leaves the allocation.
    let spec: TopologySpec = "torus:8x8".parse().expect("a shorthand");
    let topology = spec.build(std::path::Path::new(".")).expect("a topology");
    let nodes = (0..16).map(|at| units::NodeId(2 + at % 4 + 8 * (3 + at / 4))).collect();
    let machine = Machine::with_allocation(topology, MachineSpec::default(), nodes).expect("a machine");
    let mut arcs = ArcList::new(16);
    for task in 0..16_u32 {
        if task % 4 < 3 {
            arcs.add_both(task, task + 1, 8, 1);
        }
        if task / 4 < 3 {
            arcs.add_both(task, task + 4, 8, 1);
        }
    }
    let graph = shuffled(&TaskGraph::new("mesh", arcs.build()), 5);
    assert_eq!(auto(&graph, &machine), 1.0);
}

#[test]
fn the_numbering_of_tasks_does_not_matter() {
    // Would catch a strategy that depends on the order of tasks: three numberings of an irregular graph agree within 3
    // %.
    let graph = {
        let mut graph = random_graph(200, 2, 11);
        graph.loads.fill(1.0);
        graph
    };
    let machine = machine("torus:8x5x5", 1);
    let spec = MapSpec { budget: Some(0.35), ..MapSpec::default() };
    let values: Vec<f64> = (0..3)
        .map(|seed| {
            let graph = shuffled(&graph, seed);
            hops(&graph, &machine, &solve(&graph, &machine, &spec, &[]).expect("a mapping"))
        })
        .collect();
    let (low, high) = values.iter().fold((f64::MAX, 0.0_f64), |(low, high), &value| (low.min(value), high.max(value)));
    assert!(high <= 1.03 * low, "{values:?}");
}

#[test]
fn the_load_of_the_worst_channel_can_be_lowered() {
    // Would catch an objective that is ignored, a kind of machine that is not searched, and loads that are not those of
    // the routing: the most loaded channel carries less than under the mapping with the least hop-bytes.
    let graph = {
        let mut graph = random_graph(64, 2, 5);
        graph.loads.fill(1.0);
        graph
    };
    for shape in ["torus:4x4x4", "fat-tree:k=4,n=3", "dragonfly:h=2"] {
        let machine = machine(shape, 1);
        // Half of the second budget is used as the whole of the first.
        let of = |objective, budget| {
            let spec = MapSpec { objective, budget: Some(budget), ..MapSpec::default() };
            let found = solve(&graph, &machine, &spec, &[]).expect("a mapping");
            (channel_use(&graph, &machine, &found).expect("loads").max, measure(&graph, &machine, &found).hop_bytes)
        };
        let plain = of(Objective::HopBytes, 0.1);
        let (lowered, both) = (of(Objective::MaxChannelLoad, 0.2), of(Objective::Both, 0.2));
        assert!(lowered.0 < 0.95 * plain.0, "{shape}: {lowered:?} {plain:?}");
        assert!(both.0 * both.1 < plain.0 * plain.1, "{shape}: {both:?} {plain:?}");
    }
}

#[test]
fn tasks_in_order_are_not_made_worse_on_trees() {
    // Would catch a tree that is searched by hop-bytes alone: rings of 16 tasks in order fill the 4 routers of a
    // subtree, where no channel carries more than the four messages each way between its nodes and the next router's.
    let graph = stencil(&[8, 8]);
    let machine = machine("fat-tree:k=4,n=3", 1);
    let order = solve(&graph, &machine, &spec(StrategyName::Identity), &[]).expect("a mapping");
    for objective in [Objective::MaxChannelLoad, Objective::Both] {
        let spec = MapSpec { objective, budget: Some(0.04), ..MapSpec::default() };
        let found = solve(&graph, &machine, &spec, &[]).expect("a mapping");
        let load = |mapping| channel_use(&graph, &machine, mapping).expect("loads").max;
        assert!(load(&found) <= load(&order), "{objective:?}: {} {}", load(&found), load(&order));
    }
}

#[test]
fn more_tasks_than_room_is_one_error() {
    // Would catch a mapping that silently overfills nodes.
    let graph = stencil(&[4, 4]);
    let spec = MapSpec { tasks_per_node: Some(3), ..spec(StrategyName::Auto) };
    let error = solve(&graph, &machine("torus:5", 1), &spec, &[]).expect_err("too many tasks");
    assert!(matches!(&error, MappingError::Unfit { key: "tasks_per_node", .. }), "{error:?}");
    assert!(error.to_string().contains("15"), "{error}");
}

/// Observer that stops a search at once, or allows it a number of polls as its time.
struct Limit {
    polls: u32,
    asked: AtomicU32,
    decided: AtomicBool,
}

impl Limit {
    fn new(polls: u32) -> Self {
        Self { polls, asked: AtomicU32::new(0), decided: AtomicBool::new(false) }
    }
}

impl Watch for Limit {
    fn report(&self, _share: f64, _doing: &str) {}
    fn stopped(&self) -> bool {
        self.polls == 0
    }
    fn time_share(&self) -> f64 {
        if self.polls == 0 {
            0.0
        } else {
            f64::from(self.asked.fetch_add(1, Ordering::Relaxed)) / f64::from(self.polls)
        }
    }
    fn time_decides(&self) {
        self.decided.store(true, Ordering::Relaxed);
    }
}

fn watched(graph: &TaskGraph, machine: &Machine, spec: &MapSpec, watch: &Limit) -> Result<Mapping, MappingError> {
    map(&Problem { graph, machine, spec, fixed: &[], current: None, watch })
}

#[test]
fn a_search_that_is_stopped_keeps_the_best_so_far() {
    // Would catch a search that cannot be interrupted, and one that loses its best mapping: tasks in order, at least.
    let (graph, machine) = (random_graph(60, 3, 1), machine("torus:4x4x4", 1));
    let order = solve(&graph, &machine, &spec(StrategyName::Identity), &[]).expect("a mapping");
    for strategy in [StrategyName::Annealing, StrategyName::Auto, StrategyName::PairwiseExchange, StrategyName::Genetic]
    {
        let spec = MapSpec { budget: Some(1e6), ..spec(strategy) };
        let found = watched(&graph, &machine, &spec, &Limit::new(0)).expect("a mapping");
        assert!(hops(&graph, &machine, &found) <= hops(&graph, &machine, &order), "{strategy:?}");
    }
    for strategy in [StrategyName::Bisection, StrategyName::Multilevel, StrategyName::Greedy] {
        let stopped = watched(&graph, &machine, &spec(strategy), &Limit::new(0));
        assert_eq!(stopped, Err(MappingError::Cancelled), "{strategy:?}");
    }
}

#[test]
fn a_search_ends_with_its_time() {
    // Would catch a budget that outlasts the time, and a temperature that is still high when the time ends: a search
    // limited to 200 polls reaches the result of a search with an equal number of steps, and reports that the time has
    // decided.
    let (graph, machine) = (random_graph(60, 3, 1), machine("torus:4x4x4", 1));
    let order = solve(&graph, &machine, &spec(StrategyName::Identity), &[]).expect("a mapping");
    for objective in [Objective::HopBytes, Objective::Both] {
        let endless = MapSpec { budget: Some(1e6), objective, ..MapSpec::default() };
        let limit = Limit::new(200);
        let found = watched(&graph, &machine, &endless, &limit).expect("a mapping");
        assert!(limit.decided.load(Ordering::Relaxed));
        let (reached, before) = (hops(&graph, &machine, &found), hops(&graph, &machine, &order));
        assert!(reached < 0.8 * before, "{reached} {before}");
    }
    let short = Limit::new(1_000_000);
    watched(&graph, &machine, &spec(StrategyName::Auto), &short).expect("a mapping");
    assert!(!short.decided.load(Ordering::Relaxed), "the steps ended long before the time");
}

#[test]
fn exchanges_and_generations_reach_the_optimum_of_a_small_problem() {
    // Would catch a search that is stuck or that loses its best mapping: a shuffled ring of eight on a ring of eight,
    // for which the least cost of all orders is known: one hop a byte.
    let graph = shuffled(&stencil(&[8]), 9);
    let machine = machine("torus:8", 1);
    for strategy in [StrategyName::PairwiseExchange, StrategyName::Genetic, StrategyName::Contraction] {
        let found = solve(&graph, &machine, &spec(strategy), &[]).expect("a mapping");
        assert_eq!(hops(&graph, &machine, &found), 1.0, "{strategy:?}");
    }
}

#[test]
fn bisection_falls_back_on_what_graph_and_machine_share() {
    // Would catch a recursion that confuses the halves: a path on a path is cut in order, one hop an edge.
    let mut arcs = ArcList::new(64);
    (1..64).for_each(|task| arcs.add_both(task - 1, task, 8, 1));
    let graph = shuffled(&TaskGraph::new("path", arcs.build()), 2);
    let machine = machine("mesh:64", 1);
    let found = solve(&graph, &machine, &spec(StrategyName::Bisection), &[]).expect("a mapping");
    let reached = hops(&graph, &machine, &found);
    assert!(reached < 1.5, "{reached}");
}
