//! Division of networks among threads and partitions.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeSet;
use std::path::Path;

use fabric::{FabricSpec, Grain, LinkParameters, PartitionMap, Plan};
use proptest::prelude::*;
use routing::RoutingSpec;
use topology::{Endpoint, TopologySpec};
use units::{Bytes, PortId, RouterId};

/// Returns a network of packets of 64 B that take 1 ns. Delays are in nanoseconds: of channels to nodes, then of each
/// further class.
fn plan(topology: &str, to_nodes: u64, between: &[u64]) -> Plan {
    plan_with_pipelines(topology, to_nodes, between, 0)
}

/// Returns such a network with routers whose pipelines take `pipeline` nanoseconds.
fn plan_with_pipelines(topology: &str, to_nodes: u64, between: &[u64], pipeline: u64) -> Plan {
    let topology = topology.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap();
    let routing = RoutingSpec::default_for(&*topology).build(&*topology).unwrap();
    let link = |&delay: &u64| LinkParameters {
        bandwidth: "512 Gb/s".parse().unwrap(),
        delay: format!("{delay} ns").parse().unwrap(),
    };
    let delays = [to_nodes, to_nodes].into_iter().chain(between.iter().copied().cycle());
    let links = delays.take(topology.class_names().len()).map(|delay| link(&delay)).collect();
    let router = toml::from_str(&format!("kind = \"input-output-queued\"\ndelay = \"{pipeline} ns\"")).unwrap();
    let (other_packets, other_times) = (vec![], vec![]);
    let packet = Bytes(64);
    let spec = FabricSpec {
        topology,
        routing,
        links,
        router,
        packet,
        other_packets,
        other_times,
        receive_buffer: None,
        multicasts: false,
        groups: None,
        continuous: false,
        seed: 1,
    };
    Plan::new(spec).unwrap()
}

/// Returns the lookahead window in nanoseconds.
fn window(plan: &Plan, map: &PartitionMap) -> u64 {
    map.window() * plan.tick().0 / 1000
}

#[test]
fn groups_of_a_dragonfly_stay_whole_so_that_windows_are_as_long_as_its_long_cables() {
    // Would catch a window that counts channels within a partition, or a cut through fast channels.
    let plan = plan("dragonfly:h=4", 1, &[10, 100]);
    for (workers, grain) in [(2, Grain::Coarse), (1, Grain::Exactly(7)), (3, Grain::Exactly(4))] {
        let map = PartitionMap::new(&plan, workers, grain);
        assert_eq!(window(&plan, &map), 100);
        for part in 0..map.parts() {
            let groups: BTreeSet<u32> = map.routers(part).iter().map(|router| router / 8).collect();
            assert_eq!(map.routers(part).len(), 8 * groups.len(), "part {part} has a piece of a group");
        }
    }
}

#[test]
fn a_group_that_is_too_large_for_its_share_is_cut() {
    // 9 groups among 8 threads: whole groups would give one thread twice the work of another.
    let plan = plan("dragonfly:h=2", 1, &[10, 100]);
    let map = PartitionMap::new(&plan, 8, Grain::Coarse);
    assert_eq!((map.parts(), window(&plan, &map)), (8, 10));
    assert!((0..8).all(|part| (4..=5).contains(&map.routers(part).len())));
}

#[test]
fn partitions_are_fine_where_the_network_is_large_and_its_channels_are_slow() {
    // Would catch a small network torn into pieces, and pieces that alternate at every instant.
    let parts = |topology: &str, delay: u64, workers: usize| {
        let plan = plan(topology, 1, &[delay]);
        PartitionMap::new(&plan, workers, Grain::Fine).parts()
    };
    assert_eq!([1, 2].map(|workers| parts("torus:8x8", 10, workers)), [1, 2]);
    assert_eq!([1, 2].map(|workers| parts("torus:16x16x16", 1, workers)), [1, 2]);
    // The content of a partition decides: an equal network with longer links, which hold more packets, has more
    // partitions.
    assert_eq!([1, 2].map(|workers| parts("torus:16x16x16", 10, workers)), [21, 22]);
    assert_eq!([1, 2].map(|workers| parts("torus:16x16x16", 100, workers)), [119, 120]);
    // Longer pipelines also give more partitions, with an equal window.
    let piped = plan_with_pipelines("torus:16x16x16", 1, &[10], 90);
    let map = PartitionMap::new(&piped, 1, Grain::Fine);
    assert_eq!((map.parts(), window(&piped, &map)), (119, 10));
    // Groups are not split, however many packets the cables between them hold.
    let cables = plan("dragonfly:h=4", 1, &[10, 5000]);
    let map = PartitionMap::new(&cables, 1, Grain::Fine);
    assert_eq!((map.parts(), window(&cables, &map)), (33, 5000));
    let whole = plan("torus:16x16x16", 1, &[10]);
    assert_eq!(PartitionMap::new(&whole, 1, Grain::Coarse).window(), u64::MAX);
}

proptest! {
    #[test]
    fn every_router_and_node_is_somewhere_once_and_no_channel_between_is_faster_than_the_window(
        topology in prop::sample::select(vec!["dragonfly:h=2", "torus:5x4x3", "fat-tree:k=3,n=3", "single-switch:5"]),
        delays in prop::array::uniform2(1_u64..5),
        workers in 1_usize..9,
        parts in 1_u64..9,
    ) {
        // Would catch a router lost, a worker without work, and a packet that arrives in the window in which it is
        // sent.
        let plan = plan(topology, 1, &delays);
        let map = PartitionMap::new(&plan, workers, Grain::Exactly(parts));
        let mut home = vec![usize::MAX; plan.topology().routers() as usize];
        let mut nodes = 0;
        for part in 0..map.parts() {
            prop_assert!(!map.routers(part).is_empty());
            for &router in map.routers(part) {
                prop_assert_eq!(std::mem::replace(&mut home[router as usize], part), usize::MAX);
            }
            nodes += map.nodes(part).len();
        }
        prop_assert_eq!(nodes, plan.topology().nodes() as usize);
        let mut crossing = u64::MAX;
        for router in (0..plan.topology().routers()).map(RouterId) {
            for port in (0..plan.topology().ports(router)).map(PortId) {
                if let Endpoint::Router(to, _) = plan.topology().endpoint(router, port)
                    && home[router.index()] != home[to.index()]
                {
                    crossing = crossing.min(plan.link_delay(plan.topology().class(router, port)));
                }
            }
        }
        prop_assert_eq!(map.window(), crossing);
        let crewed: Vec<usize> = map.workers().flatten().collect();
        prop_assert_eq!(crewed, (0..map.parts()).collect::<Vec<_>>());
        prop_assert!(map.workers().all(|worker| !worker.is_empty()));
    }
}
