//! Paths pair by pair.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::common::{assert_near, fat_tree, mesh, torus};
use routing::{PairPaths, RoutingSpec, follow_packets};
use topology::{Channels, Endpoint, Topology, TopologySpec};
use units::{NodeId, PortId, RouterId};

#[test]
fn paths_of_pairs_add_up_to_the_loads_of_all() {
    // Would catch a share that is lost where paths part or meet, a state that is entered twice, and a source taken for
    // another: the weighted paths of all pairs against all packets followed at once, under every routing that fits.
    let dragonfly: TopologySpec = "dragonfly:p=1,a=4,h=2".parse().unwrap();
    let dragonfly = dragonfly.build(Path::new(".")).unwrap();
    for topology in [fat_tree(2, 3), torus(&[4, 3], 1), mesh(&[3, 3], 2), dragonfly] {
        let topology = &*topology;
        for spec in RoutingSpec::all().into_iter().filter(|spec| spec.fits(topology)) {
            let Ok(routing) = spec.for_paths().build(topology) else { continue };
            let weight = |from: NodeId, to: NodeId| f64::from(1 + (from.0 * 7 + to.0 * 3) % 5);
            let nodes: Vec<NodeId> = (0..topology.nodes()).map(NodeId).collect();
            let others = |from: NodeId| nodes.iter().copied().filter(move |&to| to != from);
            let all =
                follow_packets(topology, &*routing, &|from| others(from).map(|to| (to, weight(from, to))).collect());
            let all = all.unwrap().load;
            let mut sums = vec![0.0; all.len()];
            let paths = PairPaths::new(topology, &*routing);
            let mut follower = paths.follower();
            for &to in &nodes {
                let sources: Vec<NodeId> = others(to).collect();
                let mut add = |source: usize, row: &routing::Shares| {
                    row.iter()
                        .for_each(|&(channel, share)| sums[channel.index()] += share * weight(sources[source], to));
                };
                follower.follow(&sources, to, &mut add).unwrap();
            }
            for (channel, is_link) in links(topology).into_iter().enumerate() {
                assert_near(sums[channel], if is_link { all[channel] } else { 0.0 });
            }
        }
    }
}

/// Returns whether a channel is between routers, by channel.
fn links(topology: &dyn Topology) -> Vec<bool> {
    let channels = Channels::new(topology);
    let mut found = vec![false; channels.count() as usize];
    for router in (0..topology.routers()).map(RouterId) {
        for port in (0..topology.ports(router)).map(PortId) {
            found[channels.output(router, port).index()] =
                matches!(topology.endpoint(router, port), Endpoint::Router(..));
        }
    }
    found
}
