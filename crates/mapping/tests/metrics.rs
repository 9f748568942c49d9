//! The figures of mappings, against closed forms.
#![allow(clippy::expect_used, reason = "a test may fail")]

use std::path::Path;

use mapping::{Machine, MachineSource, Mapping, channel_use, measure};
use proptest::prelude::*;
use routing::RoutingSpec;
use tasks::{ArcList, Group, GroupKind, TaskGraph};
use topology::{ChannelSource, Channels, Endpoint};
use units::{ChannelId, NodeId};

fn machine(shape: &str) -> Machine {
    MachineSource { machine: shape.into(), ..MachineSource::default() }.read(Path::new(".")).expect("a machine")
}

/// Returns a graph in which every task sends `bytes` bytes to every other.
fn all_to_all(tasks: u32, bytes: u64) -> TaskGraph {
    let mut arcs = ArcList::new(tasks);
    (0..tasks).for_each(|from| (0..tasks).for_each(|to| arcs.add(from, to, bytes, 1)));
    TaskGraph::new("all", arcs.build())
}

fn identity(tasks: u32) -> Mapping {
    Mapping { place_of: (0..tasks).collect() }
}

#[test]
fn the_papers_torus_has_its_links_its_diameter_and_its_load() {
    // Would catch links counted once for both directions, and hops without wrap-around. Paper, section 1: an 8x8x8
    // torus has 512 x 6 = 3,072 links and diameter 12; random pairs are 6 hops apart (512/511 x 6 among different
    // nodes); 4 messages a node make 512 x 4 x 6 = 12,288 uses of a link (the paper prints 122884), 4 for each. Here
    // every node sends to all, so that 4/511 of a byte a pair gives an equal mean.
    let torus = machine("torus:8x8x8");
    let topology = torus.topology();
    assert_eq!(topology.routers() * 6, 3072);
    assert_eq!(topology.diameter(), 12);
    let graph = all_to_all(512, 1);
    let found = measure(&graph, &torus, &identity(512));
    assert!((found.hops_per_byte - 6.0 * 512.0 / 511.0).abs() < 1e-12);
    let channels = channel_use(&graph, &torus, &identity(512)).expect("loads");
    let messages = 4.0 / 512.0;
    assert!((channels.mean * messages - 4.0).abs() < 1e-9, "{}", channels.mean * messages);
    assert!((channels.max - channels.mean).abs() < 1e-9, "uniform traffic loads all links equally");
}

#[test]
fn a_stencil_in_place_puts_one_message_on_every_channel() {
    // Would catch a channel that is left out, or traffic in the longer direction: the optimum of the largest load.
    let torus = machine("torus:6x6x6");
    let mut arcs = ArcList::new(216);
    for task in 0..216_u32 {
        for (stride, at) in [(1, task % 6), (6, task / 6 % 6), (36, task / 36)] {
            arcs.add_both(task, task - at * stride + (at + 1) % 6 * stride, 100, 1);
        }
    }
    let graph = TaskGraph::new("stencil", arcs.build());
    let channels = channel_use(&graph, &torus, &identity(216)).expect("loads");
    assert_eq!((channels.max, channels.mean), (100.0, 100.0));
    assert_eq!(channels.hottest(&**torus.topology(), 3).len(), 3);
}

#[test]
fn proxies_are_nodes_that_a_multicast_reaches() {
    // Would catch the root's node counted, and a node counted for each of its tasks. Root on node 0; members on nodes
    // 0, 1, 1, 3 of a ring of 5: two proxies, 1 and 2 hops away; by members 0 + 1 + 1 + 2 hops.
    let ring = machine("torus:5");
    let mut graph = TaskGraph::new("multicast", ArcList::new(5).build());
    let kind = GroupKind::Multicast;
    graph.phases[0].groups.push(Group { kind, root: 0, members: vec![1, 2, 3, 4], bytes: 10 });
    let found = measure(&graph, &ring, &Mapping { place_of: vec![0, 0, 1, 1, 3] });
    assert_eq!((found.proxies, found.hop_bytes, found.multicast_hop_bytes), (2, 40.0, 30.0));
    assert_eq!(found.dilation.bytes_by_hops, [10, 20, 10]);
    assert_eq!((found.dilation.percentile(0.5), found.dilation.percentile(0.99), found.dilation.max()), (1, 2, 2));
}

#[test]
fn nothing_sent_is_nothing_measured() {
    // Would catch a division by 0 bytes, and an empty sum that is -0.
    let graph = TaskGraph::new("silent", ArcList::new(3).build());
    let found = measure(&graph, &machine("torus:4"), &identity(3));
    assert_eq!((found.hops_per_byte, found.dilation.max(), found.proxies), (0.0, 0, 0));
    assert!(found.hop_bytes.is_sign_positive() && found.multicast_hop_bytes.is_sign_positive());
}

#[test]
fn imbalance_is_the_largest_over_the_mean() {
    // Would catch a mean over only the nodes that have tasks, by which all tasks on one node would be balanced, and a
    // mean that includes nodes that must stay idle, by which a task on each of three nodes of four would not.
    let imbalance = |tasks: u32, place_of: Vec<u32>| {
        measure(&all_to_all(tasks, 1), &machine("torus:4"), &Mapping { place_of }).imbalance
    };
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    close(imbalance(6, vec![0, 0, 0, 1, 2, 2]), 3.0 / (6.0 / 4.0));
    close(imbalance(3, vec![0, 1, 3]), 1.0);
    close(imbalance(3, vec![0, 0, 2]), 2.0);
    close(imbalance(3, vec![1, 1, 1]), 3.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_walk_is_what_the_routing_does(
        shape in prop::sample::select(vec!["torus:4x3x2", "torus:2x5", "mesh:4x3", "torus:6", "torus:4x4,nodes_per_router=2"]),
        places in prop::collection::vec(0_u32..12, 20), pairs in prop::collection::vec((0_u32..20, 0_u32..20, 1_u64..100), 1..40)
    ) {
        // Would catch a tie that always takes one direction, a dimension out of order, an edge of a mesh that is
        // crossed: the walk against the analysis that follows every packet of the simulator's own routing.
        let machine = machine(shape);
        let mut arcs = ArcList::new(20);
        pairs.iter().for_each(|&(from, to, bytes)| arcs.add(from, to, bytes, 1));
        let graph = TaskGraph::new("pairs", arcs.build());
        let mapping = Mapping { place_of: places.iter().map(|&place| place % machine.places()).collect() };
        let found = channel_use(&graph, &machine, &mapping).expect("loads");
        let topology = &**machine.topology();
        let routing = RoutingSpec::default_for(topology).build(topology).expect("a routing");
        let traffic = |node: NodeId| {
            let of = |task: u32| mapping.place_of[task as usize];
            let sent = graph.phases[0].arcs.iter().filter(|&(from, to, ..)| of(from) == node.0 && of(to) != node.0);
            sent.map(|(_, to, bytes, _)| (NodeId(of(to)), bytes as f64)).collect()
        };
        let exact = routing::follow_packets(topology, &*routing, &traffic).expect("loads");
        for (channel, (walked, exact)) in found.bytes.iter().zip(&exact.load).enumerate() {
            prop_assert!((walked - exact).abs() < 1e-6, "channel {}: {} {}", channel, walked, exact);
        }
    }

    #[test]
    fn loads_of_channels_add_up_to_hop_bytes(
        shape in prop::sample::select(FAMILIES.to_vec()), at in prop::collection::vec(any::<u32>(), 30),
        pairs in prop::collection::vec((0_u32..30, 0_u32..30, 1_u64..100), 1..60)
    ) {
        // Would catch flows that are lost or counted twice, and hops that the routing does not take: a path over two
        // global channels of a dragonfly, where minimal routing crosses one.
        let machine = machine(shape);
        let mut arcs = ArcList::new(30);
        pairs.iter().for_each(|&(from, to, bytes)| arcs.add(from, to, bytes, 1));
        let graph = TaskGraph::new("pairs", arcs.build());
        let mapping = Mapping { place_of: at.iter().map(|at| at % machine.places()).collect() };
        let crossed = crossed(&machine, &channel_use(&graph, &machine, &mapping).expect("loads").bytes);
        let found = measure(&graph, &machine, &mapping);
        prop_assert!((crossed - found.hop_bytes).abs() < 1e-6, "{}: {} {}", shape, crossed, found.hop_bytes);
    }
}

/// Families whose default routing has paths of one length between two nodes.
const FAMILIES: [&str; 12] = [
    "torus:5x3x2",
    "torus:4x4,nodes_per_router=2",
    "mesh:4x3x2",
    "fat-tree:k=3,n=3",
    "xgft:m=4x3x2,w=1x2x2,p=1x1x2,hosts=22",
    "single-switch:40",
    "dragonfly:h=1",
    "dragonfly:h=2",
    "dragonfly:h=3",
    "dragonfly:p=1,a=4,h=2,arrangement=absolute",
    "dragonfly:p=2,a=6,h=2,arrangement=circulant",
    "dragonfly:p=1,a=6,h=2,group=flattened-butterfly",
];

/// Returns the bytes over all channels that hops count: on a grid with a router for every node the channels between
/// routers.
fn crossed(machine: &Machine, bytes: &[f64]) -> f64 {
    let topology = &**machine.topology();
    let ends = !(topology.views().grid.is_some() && topology.nodes() == topology.routers());
    let channels = Channels::new(topology);
    let counts = |channel: &usize| match channels.source(ChannelId(*channel as u32)) {
        ChannelSource::Node(..) => ends,
        ChannelSource::Router(router, port) => ends || matches!(topology.endpoint(router, port), Endpoint::Router(..)),
    };
    (0..bytes.len()).filter(counts).map(|channel| bytes[channel]).sum()
}

#[test]
fn hops_of_a_dragonfly_are_those_of_minimal_routing() {
    // Would catch the graph's distance instead of the routing's: on a balanced dragonfly of h = 2 there are 36 pairs of
    // routers that two global channels join by a shorter path (18 each way).
    let machine = machine("dragonfly:h=2");
    let topology = machine.topology();
    let mut longer = 0;
    for (from, to) in (0..36).flat_map(|from| (0..36).map(move |to| (from, to))).filter(|(from, to)| from != to) {
        let hops = machine.hops().hops(2 * from, 2 * to) - 2;
        let distance = topology.distance(units::RouterId(from), units::RouterId(to));
        assert!(hops >= distance && hops <= 3);
        longer += u32::from(hops > distance);
    }
    assert_eq!(longer, 36);
    assert_eq!(machine.hops().hops(2, 10), 5, "routers 1 and 5: local, global, local and both ends");
}
