//! Spanning trees: those of the paper on k-ary n-trees, exactly; those of any topology by the contract suite, against
//! breadth-first search and against the walk of every multicast.
#![allow(clippy::unwrap_used, clippy::panic)]

mod properties;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{fat_tree, mesh, network, shorthand, single_switch, torus};
use routing::trees::{
    FixedUpPortSpec, LeastLoadedParentSpec, LoadBalancedSpec, MinimalDepthSpec, OrderKind, TreeClasses, TreeError,
    TreeSpec, Trees, TreesSpec,
};
use routing::{Routing, RoutingSpec, dependency_cycle_with_trees};
use testkit::trees::{Turn, check_trees, multicast, switches, wires};
use topology::{ChannelClass, Topology};
use units::{NodeId, PortId, RouterId};

const FIXED: TreeSpec = TreeSpec::FixedUpPort(FixedUpPortSpec { port: None });
const LEAST_LOADED: TreeSpec = TreeSpec::LeastLoadedParent(LeastLoadedParentSpec {});

fn minimal_depth(order: OrderKind) -> TreeSpec {
    TreeSpec::MinimalDepth(MinimalDepthSpec { order: Some(order) })
}

fn load_balanced(order: OrderKind, extra_depth: u32) -> TreeSpec {
    TreeSpec::LoadBalanced(LoadBalancedSpec { order: Some(order), extra_depth })
}

fn group(nodes: impl IntoIterator<Item = u32>) -> Vec<NodeId> {
    nodes.into_iter().map(NodeId).collect()
}

fn routing_of(topology: &dyn Topology) -> Arc<dyn Routing> {
    RoutingSpec::default_for(topology).build(topology).unwrap()
}

fn build(spec: TreesSpec, topology: &Arc<dyn Topology>, groups: &[Vec<NodeId>]) -> Result<Trees, TreeError> {
    spec.build(topology, &*routing_of(&**topology), groups)
}

/// Returns random groups of a size, from a generator of this test.
fn random_groups(seed: u64, (groups, size): (usize, usize), nodes: u32) -> Vec<Vec<NodeId>> {
    let mut state = seed;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % u64::from(nodes)) as u32
    };
    let mut one = || {
        let mut members = BTreeSet::new();
        while members.len() < size {
            members.insert(draw());
        }
        group(members)
    };
    (0..groups).map(|_| one()).collect()
}

/// Returns the number of trees by root.
fn roots(topology: &dyn Topology, trees: &Trees) -> Vec<u32> {
    let mut count = vec![0; topology.routers() as usize];
    (0..trees.len()).for_each(|tree| count[trees.entry(trees.root(tree)).router.index()] += 1);
    count
}

#[test]
fn the_papers_simple_tree_goes_up_by_the_last_port() {
    // Figure 4's 4-ary 2-tree of 16 nodes: would catch an up port that is not stored, or a port of a child without
    // members.
    let tree = fat_tree(4, 2);
    let trees = build(TreesSpec::new(FIXED), &tree, &[group([0, 5, 7, 10])]).unwrap();
    check_trees(&*tree, &trees);
    let ports = |router: u32| -> Vec<u16> {
        let entry = trees.entry_at(RouterId(router), 0);
        entry.map_or(Vec::new(), |entry| trees.exits(entry).iter().map(|exit| exit.port.0).collect())
    };
    // Leaf switches 0 to 3, top switches 4 to 7: the last up port, 7, leads to switch 7, whose down ports are 0 to 3.
    assert_eq!([ports(0), ports(1), ports(2), ports(3)], [vec![0, 7], vec![1, 3, 7], vec![2, 7], vec![]]);
    assert_eq!([ports(4), ports(5), ports(6), ports(7)], [vec![], vec![], vec![], vec![0, 1, 2]]);
    assert_eq!(trees.entry(trees.root(0)).router, RouterId(7));
    assert_eq!((trees.depth(0), trees.classes()), (1, 1));
}

#[test]
fn the_least_loaded_parents_take_turns() {
    // By hand: five groups over two leaf switches, and one below a leaf switch, which has no parent to choose.
    let tree = fat_tree(4, 2);
    let groups = vec![group([0, 4]), group([1, 5]), group([0, 1]), group([2, 6]), group([3, 7]), group([8, 15])];
    let trees = build(TreesSpec::new(LEAST_LOADED), &tree, &groups).unwrap();
    check_trees(&*tree, &trees);
    let tops: Vec<u32> = (0..trees.len()).map(|tree| trees.entry(trees.root(tree)).router.0).collect();
    assert_eq!(tops, [4, 5, 0, 6, 7, 4]);
    let up = |router, tree| trees.up(trees.entry_at(RouterId(router), tree).unwrap()).map(|exit| exit.port);
    assert_eq!([up(0, 1), up(1, 1), up(0, 2), up(2, 5)], [Some(PortId(5)), Some(PortId(5)), None, Some(PortId(4))]);
}

#[test]
fn least_loaded_parents_balance_the_top_switches() {
    for seed in 0..20 {
        // Two levels: of random groups over more than one leaf switch, whichever these are.
        let tree = fat_tree(4, 2);
        let groups = random_groups(seed, (37, 6), 16);
        let least = roots(&*tree, &build(TreesSpec::new(LEAST_LOADED), &tree, &groups).unwrap());
        let tops = &least[4..];
        assert!(tops.iter().max().unwrap() - tops.iter().min().unwrap() <= 1, "{tops:?}");
        let fixed = roots(&*tree, &build(TreesSpec::new(FIXED), &tree, &groups).unwrap());
        assert_eq!(fixed[7], 37, "all meet at one top switch: {fixed:?}");
        // Three: of groups with members below every child of the top switches.
        let tree = fat_tree(3, 3);
        let some = random_groups(seed, (31, 2), 27);
        let spread = |(number, members): (usize, Vec<NodeId>)| {
            let more = (0..3).map(|pod| NodeId(9 * pod + (number as u32 * 5 + seed as u32) % 9));
            more.chain(members).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let groups: Vec<Vec<NodeId>> = some.into_iter().enumerate().map(spread).collect();
        let least = roots(&*tree, &build(TreesSpec::new(LEAST_LOADED), &tree, &groups).unwrap());
        let tops = &least[18..];
        assert_eq!(tops.iter().sum::<u32>(), 31);
        assert!(tops.iter().max().unwrap() - tops.iter().min().unwrap() <= 1, "{tops:?}");
    }
}

/// Returns the numbers of channels between switches to the last copy of a multicast, over all senders.
fn farthest_copies(topology: &dyn Topology, trees: &Trees, tree: u32, turn: Turn) -> BTreeSet<u32> {
    let from = |&sender: &NodeId| {
        let walk = multicast(topology, trees, (tree, sender, turn), &mut Default::default());
        walk.copies.iter().map(|&(_, hops)| hops).max().unwrap()
    };
    trees.members(tree).iter().map(from).collect()
}

#[test]
fn on_fat_trees_the_sender_does_not_matter() {
    for (k, n) in [(2, 4), (3, 3), (4, 2)] {
        let tree = fat_tree(k, n);
        for build_by in [FIXED, LEAST_LOADED] {
            let groups = random_groups(k * n, (20, 5), tree.nodes());
            let trees = build(TreesSpec::new(build_by), &tree, &groups).unwrap();
            for number in 0..trees.len() {
                for turn in [Turn::Everywhere, Turn::Root] {
                    let hops = farthest_copies(&*tree, &trees, number, turn);
                    assert_eq!(hops, BTreeSet::from([2 * trees.depth(number)]), "{turn:?}");
                }
            }
        }
    }
    // In a row of routers it matters: from the middle, the distance is half.
    let row = mesh(&[5], 1);
    let trees = build(TreesSpec::new(minimal_depth(OrderKind::Hops)), &row, &[group(0..5)]).unwrap();
    assert_eq!(farthest_copies(&*row, &trees, 0, Turn::Everywhere), BTreeSet::from([2, 3, 4]));
}

#[test]
fn fat_trees_have_k_edge_disjoint_trees_a_group() {
    let tree = fat_tree(3, 3);
    for build_by in [FIXED, LEAST_LOADED, load_balanced(OrderKind::UpDown, 0)] {
        let spec = TreesSpec { count: Some(3), ..TreesSpec::new(build_by) };
        let groups = random_groups(7, (5, 6), 27);
        let trees = build(spec, &tree, &groups).unwrap();
        check_trees(&*tree, &trees);
        assert_eq!(trees.len(), 15);
        for number in 0..5 {
            let each: Vec<_> = trees.trees_of(number).map(|tree_of| wires(&*tree, &trees, tree_of)).collect();
            let all: BTreeSet<_> = each.iter().flatten().collect();
            assert_eq!(all.len(), each.iter().map(BTreeSet::len).sum::<usize>(), "trees of a group share a wire");
        }
        let fault = build(TreesSpec { count: Some(4), ..spec }, &tree, &groups).unwrap_err();
        assert!(matches!(fault, TreeError::TooFew { group: 0, wanted: 4, found: 3, .. }), "{fault}");
        let fault = build(TreesSpec { count: Some(2), ..spec }, &tree, &[group([3, 4, 5])]).unwrap_err();
        assert!(matches!(fault, TreeError::TooFew { wanted: 2, found: 1, .. }), "below one leaf switch: {fault}");
    }
}

#[test]
fn tori_have_edge_disjoint_trees_by_several_orders() {
    let grid = torus(&[4, 4], 1);
    for order in [OrderKind::UpDown, OrderKind::Hops] {
        let spec = TreesSpec { count: Some(2), ..TreesSpec::new(load_balanced(order, 0)) };
        let trees = build(spec, &grid, &[group([0, 5, 10, 15]), group([1, 2, 9])]).unwrap();
        check_trees(&*grid, &trees);
        for number in 0..2 {
            let [one, other] = [0, 1].map(|i| wires(&*grid, &trees, trees.trees_of(number).start + i));
            assert!(one.is_disjoint(&other), "{order:?}");
        }
        assert_eq!(dependency_cycle_with_trees(&*grid, &*routing_of(&*grid), &trees), Ok(None));
    }
    // A member's router has four wires.
    let spec = TreesSpec { count: Some(5), ..TreesSpec::new(load_balanced(OrderKind::Hops, 0)) };
    let fault = build(spec, &grid, &[group([0, 5])]).unwrap_err();
    assert!(matches!(fault, TreeError::TooFew { wanted: 5, found: 1..=4, .. }), "{fault}");
}

/// Returns the least distance from a switch to the farthest of some members, by a metric.
fn least_depth(topology: &dyn Topology, members: &[NodeId], distance: impl Fn(RouterId, RouterId) -> u32) -> u32 {
    let farthest = |root| members.iter().map(|&node| distance(root, topology.attachment(node).0)).max().unwrap_or(0);
    (0..topology.routers()).map(|root| farthest(RouterId(root))).min().unwrap()
}

#[test]
fn trees_are_as_shallow_as_distances_allow() {
    // In dimension order and by remaining hops, paths are shortest paths. On a dragonfly with one wire between two
    // groups no path over one global channel is shorter than the direct one.
    let networks: [(Arc<dyn Topology>, &[OrderKind]); 6] = [
        (torus(&[5, 4], 1), &[OrderKind::Hops, OrderKind::DimensionOrder]),
        (torus(&[2, 3, 4], 2), &[OrderKind::Hops, OrderKind::DimensionOrder]),
        (mesh(&[4, 3], 1), &[OrderKind::Hops, OrderKind::DimensionOrder]),
        (shorthand("dragonfly:h=2"), &[OrderKind::Hops]),
        (
            network("link 0 1\nlink 1 2\nlink 2 3\nlink 3 0\nlink 1 4\nnode 0\nnode 2\nnode 3\nnode 4\nnode 4\n"),
            &[OrderKind::Hops],
        ),
        (fat_tree(3, 2), &[OrderKind::UpDown, OrderKind::Hops]),
    ];
    for (topology, orders) in networks {
        for seed in 0..12 {
            let groups = random_groups(seed, (4, 4), topology.nodes());
            for &order in orders {
                for build_by in [minimal_depth(order), load_balanced(order, 0)] {
                    let trees = build(TreesSpec::new(build_by), &topology, &groups).unwrap();
                    check_trees(&*topology, &trees);
                    for tree in 0..trees.len() {
                        let least =
                            least_depth(&*topology, trees.members(tree), |one, other| topology.distance(one, other));
                        assert_eq!(trees.depth(tree), least, "{order:?} on {}", topology.kind());
                    }
                }
            }
        }
    }
}

#[test]
fn trees_of_dragonflies_are_as_shallow_as_direct_paths_allow() {
    let machine = shorthand("dragonfly:h=2");
    let dragonfly = machine.views().groups.unwrap();
    for seed in 0..12 {
        let groups = random_groups(seed, (4, 5), machine.nodes());
        let trees = build(TreesSpec::new(minimal_depth(OrderKind::LocalGlobal)), &machine, &groups).unwrap();
        check_trees(&*machine, &trees);
        for tree in 0..trees.len() {
            let least = least_depth(&*machine, trees.members(tree), |root, from| dragonfly.direct_distance(from, root));
            assert_eq!(trees.depth(tree), least);
        }
    }
}

#[test]
fn balanced_trees_keep_away_from_one_another() {
    // On a ring all routers are equally good for a group of all: the balanced roots go round, those of least depth
    // stay.
    let ring = torus(&[8], 1);
    let groups = vec![group(0..8); 16];
    let balanced = build(TreesSpec::new(load_balanced(OrderKind::UpDown, 8)), &ring, &groups).unwrap();
    assert_eq!(roots(&*ring, &balanced)[0], 16, "up and down, only the highest switch is above all");
    let balanced = build(TreesSpec::new(load_balanced(OrderKind::DimensionOrder, 0)), &ring, &groups).unwrap();
    let minimal = build(TreesSpec::new(minimal_depth(OrderKind::DimensionOrder)), &ring, &groups).unwrap();
    assert_eq!(roots(&*ring, &minimal)[0], 16);
    // Every tree passes all switches, so that the loads are equal and the first root is taken; over pairs they differ.
    assert_eq!(roots(&*ring, &balanced)[0], 16);
    let pairs = vec![group([0, 4]); 2];
    let balanced = build(TreesSpec::new(load_balanced(OrderKind::Hops, 0)), &ring, &pairs).unwrap();
    let [one, other] = [0, 1].map(|tree| wires(&*ring, &balanced, tree));
    assert!(one.is_disjoint(&other), "one tree goes each way round");
    let minimal = build(TreesSpec::new(minimal_depth(OrderKind::Hops)), &ring, &pairs).unwrap();
    assert_eq!(wires(&*ring, &minimal, 0), wires(&*ring, &minimal, 1));
}

#[test]
fn directed_trees_need_an_entry_for_each_sender() {
    for (topology, by) in [
        (fat_tree(4, 2), LEAST_LOADED),
        (torus(&[4, 4], 1), minimal_depth(OrderKind::DimensionOrder)),
        (shorthand("dragonfly:h=2"), load_balanced(OrderKind::LocalGlobal, 0)),
        (mesh(&[3, 3], 1), load_balanced(OrderKind::UpDown, 0)),
    ] {
        let groups = vec![group([0, 5, 8]), group([2, 3, 4, 7])];
        let spec = TreesSpec { directed: true, ..TreesSpec::new(by) };
        let trees = build(spec, &topology, &groups).unwrap();
        check_trees(&*topology, &trees);
        assert_eq!((trees.len(), trees.trees_of(1)), (7, 3..7));
        let senders: Vec<Option<NodeId>> = (3..7).map(|tree| trees.sender(tree)).collect();
        assert_eq!(senders, [2, 3, 4, 7].map(|node| Some(NodeId(node))));
        assert_eq!(dependency_cycle_with_trees(&*topology, &*routing_of(&*topology), &trees), Ok(None));
        let undirected = build(TreesSpec::new(by), &topology, &groups).unwrap();
        assert!(trees.entries() > undirected.entries());
        assert!(trees.classes() <= undirected.classes());
        if topology.kind() == "torus" {
            // Rooted at the sender, so that the last copy is as near as possible; and with only half the classes.
            let distance = |node| topology.routers_between(NodeId(0), NodeId(node)) - 1;
            assert_eq!(farthest_of(&*topology, &trees), distance(5).max(distance(8)));
            assert_eq!((trees.classes(), undirected.classes()), (4, 6));
        }
    }
}

/// Returns the number of channels to the last copy of a multicast on tree 0 from its sender.
fn farthest_of(topology: &dyn Topology, trees: &Trees) -> u32 {
    let sender = trees.sender(0).unwrap();
    let walk = multicast(topology, trees, (0, sender, Turn::Everywhere), &mut Default::default());
    walk.copies.iter().map(|&(_, hops)| hops).max().unwrap()
}

#[test]
fn classes_toward_the_root_lie_below_those_from_it() {
    let by_class = |trees: &Trees, classes: u8| -> Vec<u8> {
        (0..classes).map(|class| trees.classes_on(ChannelClass(class))).collect()
    };
    let groups = vec![group([0, 3, 5, 8]), group([1, 2, 7])];
    // Injection, ejection, up, down: the up and down channels are already ordered.
    let tree = fat_tree(4, 2);
    let trees = build(TreesSpec::new(LEAST_LOADED), &tree, &groups).unwrap();
    assert_eq!((by_class(&trees, 4), trees.classes()), (vec![0; 4], 1));
    let other = RoutingSpec::ShortestPath(Default::default()).build(&*tree).unwrap();
    let own = TreesSpec::new(LEAST_LOADED).build(&tree, &*other, &groups).unwrap();
    assert_eq!(by_class(&own, 4), [0, 0, 1, 1], "beside another routing, a class of their own");
    // A torus has two classes each way, a mesh one; two of them can be the routing's.
    let grid = torus(&[3, 4], 1);
    let spec = TreesSpec::new(minimal_depth(OrderKind::DimensionOrder));
    assert_eq!(by_class(&build(spec, &grid, &groups).unwrap(), 4), [0, 0, 4, 4]);
    let shared = TreesSpec { classes: Some(TreeClasses::Shared), ..spec };
    assert_eq!(by_class(&build(shared, &grid, &groups).unwrap(), 4), [0, 0, 2, 2]);
    assert_eq!(by_class(&build(spec, &mesh(&[3, 4], 1), &groups).unwrap(), 4), [0, 0, 2, 2]);
    // Local channels of a dragonfly have two classes, global ones one.
    let machine = shorthand("dragonfly:h=2");
    let spec = TreesSpec::new(minimal_depth(OrderKind::LocalGlobal));
    assert_eq!(by_class(&build(spec, &machine, &groups).unwrap(), 4), [0, 0, 4, 2]);
    let shared = TreesSpec { classes: Some(TreeClasses::Shared), ..spec };
    let trees = build(shared, &machine, &groups).unwrap();
    assert_eq!(by_class(&trees, 4), [0, 0, 2, 1]);
    assert_eq!(dependency_cycle_with_trees(&*machine, &*routing_of(&*machine), &trees), Ok(None));
}

#[test]
fn trees_of_a_ring_on_one_class_are_a_cycle_that_is_named() {
    // Two trees have adjacent roots: a packet that turns at one root waits for packets that are about to turn at the
    // other.
    let ring = torus(&[4], 1);
    let groups: Vec<Vec<NodeId>> = (0..4).map(|first| group((0..3).map(|i| (first + i) % 4))).collect();
    let spec = TreesSpec::new(minimal_depth(OrderKind::Hops));
    let routing = RoutingSpec::DimensionOrder(Default::default()).build(&*ring).unwrap();
    let check = |classes, groups: &[Vec<NodeId>]| {
        let trees = TreesSpec { classes: Some(classes), ..spec }.build(&ring, &*routing, groups).unwrap();
        check_trees(&*ring, &trees);
        dependency_cycle_with_trees(&*ring, &*routing, &trees).unwrap()
    };
    let cycle = check(TreeClasses::Single, &groups).unwrap();
    let named: Vec<String> = cycle.channels.iter().map(|held| format!("{} {:?}", held.name, held.tree)).collect();
    assert_eq!(cycle.channels.len(), 2, "{named:?}");
    let trees: Vec<u32> = cycle.channels.iter().filter_map(|held| held.tree).collect();
    assert!(trees.len() == 2 && trees[0] != trees[1], "one tree alone is no cycle: {named:?}");
    assert!(cycle.to_string().contains("virtual-channel class 0, held by packets of tree"), "{cycle}");
    assert!(cycle.to_string().contains("dim0 channel from router"), "{cycle}");
    assert_eq!(check(TreeClasses::Own, &groups), None);
    assert_eq!(check(TreeClasses::Single, &groups[..1]), None);
    // Directed trees have no turns at a root: each covers a part of the ring, and together they close it.
    let directed = |classes| {
        let spec = TreesSpec { classes: Some(classes), directed: true, ..spec };
        let trees = spec.build(&ring, &*routing, &groups).unwrap();
        dependency_cycle_with_trees(&*ring, &*routing, &trees).unwrap()
    };
    assert_eq!(directed(TreeClasses::Single).map(|cycle| cycle.channels.len()), Some(4));
    assert_eq!(directed(TreeClasses::Own), None);
}

#[test]
fn tables_are_counted_and_limited() {
    let tree = fat_tree(4, 2);
    let groups = vec![group([0, 4]), group([1, 8]), group([2, 12]), group([5, 9])];
    let spec = TreesSpec::new(LEAST_LOADED);
    let trees = build(spec, &tree, &groups).unwrap();
    // A bit for each of 8 ports, and 4 to number one of them or none.
    let memory = trees.memory(&*tree, RouterId(0));
    assert_eq!((memory.entries, memory.bits), (3, 3 * 12));
    assert_eq!(trees.fullest(&*tree), Some((RouterId(0), memory)));
    assert_eq!((0..8).map(|router| trees.entries_of(RouterId(router)).len()).sum::<usize>(), 12);
    let directed = build(TreesSpec { directed: true, ..spec }, &tree, &groups).unwrap();
    assert_eq!(directed.memory(&*tree, RouterId(0)).bits, 6 * 8, "two senders a group, and no way up");
    assert!(build(TreesSpec { table_entries: Some(3), ..spec }, &tree, &groups).is_ok());
    let fault = build(TreesSpec { table_entries: Some(2), ..spec }, &tree, &groups).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "the table of router 0 (level 0, index 0) is full: `table_entries` is 2, and group 2 needs one more"
    );
}

#[test]
fn what_cannot_be_built_is_refused_by_name() {
    let (tree, grid) = (fat_tree(4, 2), torus(&[4, 4], 1));
    let message = |spec, topology: &Arc<dyn Topology>, groups: &[Vec<NodeId>]| {
        build(spec, topology, groups).unwrap_err().to_string()
    };
    let pair = [group([0, 5])];
    assert_eq!(
        message(TreesSpec::new(LEAST_LOADED), &grid, &pair),
        "trees of kind \"least-loaded-parent\" are for topologies of kind fat-tree, xgft and leaf-spine, not torus; for \
         torus: \"minimal-depth\", \"load-balanced\""
    );
    assert_eq!(
        message(TreesSpec::new(minimal_depth(OrderKind::LocalGlobal)), &grid, &pair),
        "`order` is \"local-global\", which is for topologies of kind dragonfly, not torus; for torus: \"up-down\", \
         \"dimension-order\", \"hops\""
    );
    let port = TreeSpec::FixedUpPort(FixedUpPortSpec { port: Some(4) });
    assert_eq!(
        message(TreesSpec::new(port), &tree, &pair),
        "`port` is 4; every switch of this tree has the up ports 0 to 3"
    );
    // Switches of level 1 have 3 up ports, all others more, or none.
    let narrow = shorthand("xgft:m=4x4x4,w=1x4x3");
    let port = TreeSpec::FixedUpPort(FixedUpPortSpec { port: Some(3) });
    assert_eq!(
        message(TreesSpec::new(port), &narrow, &pair),
        "`port` is 3; every switch of this tree has the up ports 0 to 2"
    );
    let spec = TreesSpec::new(FIXED);
    assert_eq!(
        message(TreesSpec { count: Some(0), ..spec }, &tree, &pair),
        "`count` is 0; a group has at least 1 tree"
    );
    assert_eq!(message(spec, &tree, &[group([1]), vec![]]), "group 1 has no members; at least 1 is needed");
    assert_eq!(message(spec, &tree, &[group([3, 16])]), "group 0 has member 16; this machine has the nodes 0 to 15");
    assert_eq!(message(spec, &tree, &[group([3, 1, 3])]), "group 0 has member 3 twice");
    let long = mesh(&[80], 1);
    assert_eq!(
        message(TreesSpec::new(minimal_depth(OrderKind::Hops)), &long, &[group([0, 79])]),
        "the trees and the routing need 81 classes of virtual channels on dim0 channels; at most 64 are possible"
    );
}

#[test]
fn groups_below_one_switch_are_a_tree_of_one_switch() {
    let switch = single_switch(8);
    let trees =
        build(TreesSpec::new(TreeSpec::default_for(&*switch)), &switch, &[group([0, 3, 7]), group([2])]).unwrap();
    check_trees(&*switch, &trees);
    assert_eq!((trees.depth(0), switches(&*switch, &trees, 0).len()), (0, 1));
    assert_eq!(dependency_cycle_with_trees(&*switch, &*routing_of(&*switch), &trees), Ok(None));
}
