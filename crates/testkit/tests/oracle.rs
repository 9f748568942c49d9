//! The naive simulator against closed forms, so that it is not held to the fabric alone.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;
use std::sync::Arc;

use routing::{Routing, RoutingSpec};
use testkit::oracle::{Arbitration, Architecture, Credits, Flow, Link, Network, simulate};
use topology::{Topology, TopologySpec};
use units::NodeId;

const ROUTERS: [Architecture; 6] = [
    Architecture::OutputQueued(Credits::RowMinimum, Arbitration::RoundRobin),
    Architecture::OutputQueued(Credits::RowCounter, Arbitration::OldestFirst),
    Architecture::OutputQueued(Credits::PerCrosspoint, Arbitration::RoundRobin),
    Architecture::InputQueued(Arbitration::RoundRobin),
    Architecture::VirtualOutputQueued(None),
    Architecture::InputOutputQueued { arbitration: Arbitration::RoundRobin, speedup: 2, output_buffer: 256 },
];

fn machine(shorthand: &str) -> (Arc<dyn Topology>, Arc<dyn Routing>) {
    let topology = shorthand.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap();
    let routing = RoutingSpec::default_for(&*topology).build(&*topology).unwrap();
    (topology, routing)
}

/// When the last tail arrives at the last node of a machine that is sent so many packets of 256 B by node 0.
fn last_arrival(shorthand: &str, links: &[Link], router: (Architecture, bool), packets: u64) -> u64 {
    let (topology, routing) = machine(shorthand);
    let nodes = topology.nodes();
    let network = Network {
        topology: &*topology,
        routing: &*routing,
        links: links.to_vec(),
        architecture: router.0,
        vcs: None,
        buffer: 256,
        delay: 90_000,
        frees_at_tail: router.1,
        packet: 256,
    };
    let mut flows = vec![Vec::new(); nodes as usize];
    flows[0] = vec![Flow { dst: NodeId(nodes - 1), bytes: packets * 256 }];
    let outcome = simulate(&network, &flows).unwrap();
    assert_eq!((outcome.packets, outcome.channel_bytes.iter().max()), (packets, Some(&(packets * 256))));
    outcome.arrivals[nodes as usize - 1]
}

#[test]
fn a_lone_packet_takes_its_delays_and_its_time_on_the_slowest_channel() {
    // Would catch a delay or a serialization that is counted twice or left out: the example of docs/concepts/time.md, and the
    // same with a slow first or last channel.
    let at = |bandwidth| Link { bandwidth, delay: 20_000 };
    for router in ROUTERS {
        for (bandwidths, want) in [
            ([10_000_000_000, 10_000_000_000, 10_000_000_000], 554_800),
            ([10_000_000_000, 40_000_000_000, 40_000_000_000], 554_800),
            ([40_000_000_000, 10_000_000_000, 5_000_000_000], 759_600),
        ] {
            // Classes: injection, ejection, the mesh's dimension.
            let [injection, between, ejection] = bandwidths;
            let links = [at(injection), at(ejection), at(between)];
            assert_eq!(last_arrival("mesh:3", &links, (router, false), 1), want, "{router:?} {bandwidths:?}");
        }
    }
}

#[test]
fn a_buffer_of_one_packet_passes_one_packet_a_round_trip() {
    // Would catch a credit that returns too early or too late: 1000 ns there, 90 ns in the router, the packet's time if its
    // tail frees the buffer, and 1000 ns back. With a speed-up of 2 the tail is no sooner gone than it has come.
    let links = [Link { bandwidth: 10_000_000_000, delay: 1_000_000 }; 3];
    let one = 3 * 1_000_000 + 2 * 90_000 + 204_800;
    for router in ROUTERS {
        // A packet gives its credit back on arrival where its crosspoint is not the fullest: never with one crosspoint in use.
        for (tail, round_trip) in [(false, 2_090_000), (true, 2_294_800)] {
            let time = last_arrival("mesh:2", &links, (router, tail), 10);
            assert_eq!(time, one + 9 * round_trip, "{router:?}, credits return at the tail: {tail}");
        }
    }
}
