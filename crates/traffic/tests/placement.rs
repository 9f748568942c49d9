//! Patterns by groups, and tasks placed on nodes.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use topology::families::dragonfly::{Dragonfly, DragonflySpec};
use topology::families::single_switch::{SingleSwitch, SingleSwitchSpec};
use topology::{Topology, TopologySpec};
use traffic::patterns::adversarial::AdversarialSpec;
use traffic::patterns::exchange::ExchangePatternSpec;
use traffic::patterns::shift::ShiftSpec;
use traffic::{Pattern, PatternSpec, PlacedPattern, Placement, PlacementSpec, Shape, Shares, TasksPerNode};
use units::{Draw, KeyError, NodeId, TaskId};

use crate::Bits;

fn dragonfly(h: u64) -> Dragonfly {
    Dragonfly::new(&DragonflySpec::balanced(h)).unwrap()
}

fn build(spec: &PatternSpec, topology: &dyn Topology, per_node: u32) -> Result<Arc<dyn Pattern>, KeyError> {
    spec.build(&Shape::new(topology, per_node).unwrap(), 1, Path::new("."))
}

fn by_groups(groups: i64) -> PatternSpec {
    PatternSpec::Shift(ShiftSpec { offset: None, groups: Some(groups) })
}

fn many(processes_per_node: u32) -> TasksPerNode {
    TasksPerNode { processes_per_node }
}

#[test]
fn a_shift_by_groups_keeps_the_place_in_the_group() {
    // Prisacari et al., section IV: (k + mG) mod K. Would catch an offset in routers, and a group of another size.
    let network = dragonfly(2);
    for m in [1_i64, 3, -1] {
        let pattern = build(&by_groups(m), &network, 1).unwrap();
        for src in 0..72 {
            let dst = (i64::from(src) + 8 * m).rem_euclid(72) as u32;
            assert_eq!(pattern.distribution(TaskId(src)), [(TaskId(dst), 1.0)], "{m} {src}");
        }
    }
    // With two processes a node a group has twice the number of tasks.
    assert_eq!(build(&by_groups(1), &network, 2).unwrap().distribution(TaskId(3)), [(TaskId(19), 1.0)]);
}

#[test]
fn adversarial_traffic_goes_to_all_of_one_group() {
    // Would catch a group that is off by one, and a destination outside of it.
    let network = dragonfly(2);
    let pattern = build(&PatternSpec::Adversarial(AdversarialSpec { offset: -1 }), &network, 1).unwrap();
    let shares = pattern.distribution(TaskId(2));
    assert_eq!(shares.iter().map(|&(dst, _)| dst.0).collect::<Vec<_>>(), (64..72).collect::<Vec<_>>());
    let mut draw = Bits(1);
    let mut seen = [false; 8];
    (0..200).for_each(|_| seen[pattern.destination(TaskId(2), &mut draw).index() - 64] = true);
    assert_eq!(seen, [true; 8]);
}

#[test]
fn what_needs_groups_says_so() {
    // Would catch a shift by groups on a machine without, taken for a shift by nodes.
    let (switch, network) = (SingleSwitch::new(&SingleSwitchSpec { ports: 8 }).unwrap(), dragonfly(2));
    let both = PatternSpec::Shift(ShiftSpec { offset: Some(1), groups: Some(1) });
    for (spec, topology, key) in [
        (by_groups(1), &switch as &dyn Topology, "groups"),
        (by_groups(9), &network, "groups"),
        (both, &network, "groups"),
        (PatternSpec::Shift(ShiftSpec::default()), &network, "kind"),
        (PatternSpec::Adversarial(AdversarialSpec { offset: 1 }), &switch, "kind"),
        (PatternSpec::Adversarial(AdversarialSpec { offset: 0 }), &network, "offset"),
        (PatternSpec::Exchange(ExchangePatternSpec { dims: Some(vec![5, 5]), dimension: None }), &network, "dims"),
        (PatternSpec::Exchange(ExchangePatternSpec { dims: None, dimension: Some(3) }), &network, "dimension"),
        (
            PatternSpec::Exchange(ExchangePatternSpec { dims: Some(vec![1, 72]), dimension: Some(0) }),
            &network,
            "dimension",
        ),
    ] {
        assert_eq!(build(&spec, topology, 1).unwrap_err().key, key, "{spec:?}");
    }
    assert_eq!(PlacementSpec::RandomGroups(many(1)).place(&switch, 1, Path::new(".")).unwrap_err().key, "strategy");
}

#[test]
fn placements_are_permutations_of_what_they_say() {
    // Would catch a group that is split, a task that is lost, a seed that is ignored.
    let network = dragonfly(2);
    let plain = PlacementSpec::Contiguous(many(2)).place(&network, 1, Path::new(".")).unwrap();
    assert!((0..144).all(|task| plain.node(TaskId(task)) == NodeId(task / 2)));
    let groups = PlacementSpec::RandomGroups(many(1)).place(&network, 1, Path::new(".")).unwrap();
    let moved: Vec<u32> = (0..9).map(|group| groups.node(TaskId(group * 8)).0 / 8).collect();
    assert!((0..72).all(|task| groups.node(TaskId(task)).0 == moved[task as usize / 8] * 8 + task % 8));
    let mut sorted = moved.clone();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..9) && !moved.into_iter().eq(0..9));
    assert_ne!(groups, PlacementSpec::RandomGroups(many(1)).place(&network, 2, Path::new(".")).unwrap());
    let random = PlacementSpec::Random(many(3)).place(&network, 1, Path::new(".")).unwrap();
    for node in 0..72 {
        assert_eq!(random.tasks(NodeId(node)).len(), 3);
        assert!(random.tasks(NodeId(node)).iter().all(|&task| random.node(task) == NodeId(node)));
    }
}

#[test]
fn placed_patterns_send_what_their_tasks_do_and_keep_inside_what_stays() {
    // Draws agree with the distribution, and nothing goes to the sender's node; weights are the shares that leave.
    // Would catch a message to another process of the node that crosses the network.
    let network = TopologySpec::Dragonfly(DragonflySpec::balanced(2)).build(Path::new(".")).unwrap();
    for placement in
        [PlacementSpec::Contiguous(many(3)), PlacementSpec::Random(many(3)), PlacementSpec::RandomGroups(many(3))]
    {
        for spec in ["\"uniform\"", "\"bit-complement\"", r#"{"kind": "shift", "offset": 1}"#, "\"exchange\""] {
            let spec: PatternSpec = serde_json::from_str(spec).unwrap();
            let tasks = build(&spec, &*network, 3).unwrap();
            let place = Arc::new(placement.place(&*network, 1, Path::new(".")).unwrap());
            let nodes = PlacedPattern::new(Arc::clone(&tasks), &place, false);
            for src in (0..72).step_by(7).map(NodeId) {
                let shares = nodes.distribution(src);
                assert!(shares.is_sorted_by(|one, other| one.0 < other.0), "{shares:?}");
                assert!(shares.iter().all(|&(dst, _)| dst != src));
                let spread = nodes.spread(src);
                for dst in (0..72).map(NodeId) {
                    let of =
                        |list: &[(NodeId, f64)]| list.iter().filter(|own| own.0 == dst).map(|own| own.1).sum::<f64>();
                    let (found, expected) = (spread.everyone + of(&spread.besides), of(&shares));
                    assert!((found - expected).abs() < 1e-12, "{spec:?} {src} to {dst}: {found} not {expected}");
                }
                let leaves = |task: TaskId| -> f64 {
                    let shares = tasks.distribution(task).into_iter();
                    shares.filter(|&(dst, _)| place.node(dst) != src).map(|(_, share)| share).sum()
                };
                let weight = place.tasks(src).iter().map(|&task| leaves(task)).sum::<f64>() / 3.0;
                assert!((nodes.weight(src) - weight).abs() < 1e-9, "{spec:?}: {} not {weight}", nodes.weight(src));
                assert_eq!(nodes.sends(src), weight > 0.0);
                if weight == 0.0 {
                    assert!(shares.is_empty());
                    continue;
                }
                assert!((shares.iter().map(|&(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-9);
                let mut draw = Bits(7);
                let mut counts = [0_u32; 72];
                (0..4000).for_each(|_| counts[nodes.destination(src, &mut draw).index()] += 1);
                for (dst, &count) in (0..).map(NodeId).zip(&counts) {
                    let share = shares.iter().find(|&&(node, _)| node == dst).map_or(0.0, |&(_, share)| share);
                    let mean = 4000.0 * share;
                    assert!(
                        (f64::from(count) - mean).abs() <= 6.0 * mean.sqrt() + 1e-9,
                        "{spec:?} {src} to {dst}: {count}"
                    );
                }
            }
        }
    }
}

#[test]
fn one_task_a_node_in_order_is_the_pattern_itself() {
    // Would catch draws that are taken in another order, weights that are scaled, and a node that is not its task's.
    let network = TopologySpec::Dragonfly(DragonflySpec::balanced(2)).build(Path::new(".")).unwrap();
    let place = Arc::new(PlacementSpec::Contiguous(many(1)).place(&*network, 1, Path::new(".")).unwrap());
    for spec in ["\"uniform\"", "\"random-permutation\"", r#"{"kind": "hotspot", "nodes": [3, 40]}"#] {
        let spec: PatternSpec = serde_json::from_str(spec).unwrap();
        let tasks = build(&spec, &*network, 1).unwrap();
        let nodes = PlacedPattern::new(Arc::clone(&tasks), &place, true);
        let (mut one, mut other) = (Bits(5), Bits(5));
        for (task, node) in (0..72).map(|number| (TaskId(number), NodeId(number))) {
            assert_eq!((nodes.sends(node), nodes.weight(node)), (tasks.sends(task), tasks.weight(task)));
            assert_eq!(nodes.destination(node, &mut one).0, tasks.destination(task, &mut other).0, "{spec:?}");
            let shares = tasks.distribution(task).into_iter().map(|(dst, share)| (NodeId(dst.0), share));
            assert_eq!(nodes.distribution(node), shares.collect::<Vec<_>>());
        }
        assert_eq!(nodes.kind(), tasks.kind());
    }
}

/// Pattern whose tasks send to their neighbours, and that counts its calls.
#[derive(Debug, Default)]
struct Counted {
    draws: AtomicU64,
    listed: AtomicU64,
}

/// Number of tasks of `Counted`.
const COUNTED: u32 = 1 << 18;

impl Pattern for Counted {
    fn kind(&self) -> &'static str {
        "counted"
    }

    fn sends(&self, _src: TaskId) -> bool {
        true
    }

    fn destination(&self, src: TaskId, _draw: &mut dyn Draw) -> TaskId {
        self.draws.fetch_add(1, Relaxed);
        TaskId((src.0 + 1) % COUNTED)
    }

    fn shares(&self, src: TaskId) -> Shares {
        self.listed.fetch_add(1, Relaxed);
        Shares::of_single(vec![(TaskId((src.0 + 1) % COUNTED), 1.0)])
    }
}

#[test]
fn many_tasks_on_a_node_cost_a_step_each() {
    // Would catch pairs of tasks that are visited one by one, whether few tasks send to few or all to all: both lists
    // would have 2^33 pairs.
    let placement = Arc::new(Placement::new((0..COUNTED).map(|task| task / (COUNTED / 8)).collect(), 8));
    let counted = Arc::new(Counted::default());
    let nodes = PlacedPattern::new(Arc::clone(&counted) as Arc<dyn Pattern>, &placement, true);
    assert_eq!(nodes.distribution(NodeId(3)), [(NodeId(4), 1.0)]);
    assert!(counted.listed.load(Relaxed) <= u64::from(COUNTED) * 5 / 4);
    (0..1000).for_each(|_| assert_eq!(nodes.destination(NodeId(7), &mut Bits(1)), NodeId(0)));
    // Only the last task of a node sends to another, and each draw finds it.
    assert_eq!(counted.draws.load(Relaxed), 1000);
    let shape = Shape { tasks: COUNTED, grid: None, groups: Some(4), routers: None, worst: None };
    for spec in ["\"uniform\"", r#"{"kind": "hotspot", "nodes": [3, 40]}"#, r#"{"kind": "adversarial", "offset": 1}"#] {
        let spec: PatternSpec = serde_json::from_str(spec).unwrap();
        let tasks = spec.build(&shape, 1, Path::new(".")).unwrap();
        let nodes = PlacedPattern::new(tasks, &placement, true);
        let sum: f64 = nodes.distribution(NodeId(1)).iter().map(|own| own.1).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{spec:?}: {sum}");
    }
}

#[test]
fn a_draw_ends_whatever_stays_on_the_node() {
    // Would catch draws that are repeated until a destination is on another node, if none is, or one in 10^11.
    #[derive(Debug)]
    struct Local(f64);

    impl Pattern for Local {
        fn kind(&self) -> &'static str {
            "local"
        }

        fn sends(&self, _src: TaskId) -> bool {
            true
        }

        fn destination(&self, src: TaskId, draw: &mut dyn Draw) -> TaskId {
            if draw.unit() < self.0 { TaskId(2) } else { src }
        }

        fn shares(&self, src: TaskId) -> Shares {
            Shares::of_single(vec![(src, 1.0 - self.0), (TaskId(2), self.0)])
        }
    }

    let placement = Arc::new(Placement::new(vec![0, 0, 1], 2));
    for (leaving, node) in [(1e-11, NodeId(1)), (0.0, NodeId(0))] {
        let nodes = PlacedPattern::new(Arc::new(Local(leaving)), &placement, false);
        assert_eq!(nodes.destination(NodeId(0), &mut Bits(3)), node);
    }
}
