//! The naive simulator against closed forms, so that the fabric is not its only reference.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::Path;
use std::sync::Arc;

use routing::{Routing, RoutingSpec};
use testkit::oracle::{
    Arbitration, Architecture, Credits, Flow, Job, Link, Network, ReceiveBuffer, RouterModel, simulate,
};
use topology::{Topology, TopologySpec};
use units::NodeId;

const ROUTERS: [Architecture; 10] = [
    Architecture::OutputQueued(Credits::RowMinimum, Arbitration::RoundRobin),
    Architecture::OutputQueued(Credits::RowCounter, Arbitration::OldestFirst),
    Architecture::OutputQueued(Credits::PerCrosspoint, Arbitration::RoundRobin),
    Architecture::InputQueued(Arbitration::RoundRobin),
    Architecture::VirtualOutputQueued(None),
    Architecture::InputOutputQueued { arbitration: Arbitration::RoundRobin, speedup: 2, output_buffer: 256 },
    Architecture::InputCrosspointQueued { arbitration: Arbitration::RoundRobin, fifo: false, crosspoint: 256 },
    Architecture::InputCrosspointQueued { arbitration: Arbitration::OldestFirst, fifo: true, crosspoint: 512 },
    Architecture::SharedBuffer { arbitration: Arbitration::RoundRobin, memory: 256, alpha: 1.0 },
    NEVER_ADMITS,
];

/// Shared memory that admits no packet: a queue may not exceed half of the free memory, which is one packet.
const NEVER_ADMITS: Architecture =
    Architecture::SharedBuffer { arbitration: Arbitration::OldestFirst, memory: 256, alpha: 0.5 };

fn machine(shorthand: &str) -> (Arc<dyn Topology>, Arc<dyn Routing>) {
    let topology = shorthand.parse::<TopologySpec>().unwrap().build(Path::new(".")).unwrap();
    let routing = RoutingSpec::default_for(&*topology).build(&*topology).unwrap();
    (topology, routing)
}

/// Returns the arrival of the last tail at the last node, in picoseconds. Node 0 sends it `packets` packets of 256 B.
fn last_arrival(shorthand: &str, links: &[Link], router: (Architecture, bool), packets: u64) -> u64 {
    last_arrival_behind(None, (shorthand, links), router, packets)
}

/// Returns the arrival of the last tail at the last node, in picoseconds, with receive buffers at the nodes.
fn last_arrival_behind(
    receive_buffer: Option<ReceiveBuffer>,
    (shorthand, links): (&str, &[Link]),
    router: (Architecture, bool),
    packets: u64,
) -> u64 {
    let (topology, routing) = machine(shorthand);
    let nodes = topology.nodes();
    let own = RouterModel { architecture: router.0, buffers: vec![256; links.len()], delay: 90_000 };
    let network = Network {
        topology: &*topology,
        routing: &*routing,
        links: links.to_vec(),
        routers: (0..topology.routers()).map(|_| own.clone()).collect(),
        vcs: None,
        frees_at_tail: router.1,
        packet: 256,
        receive_buffer,
        groups: None,
        mutant: None,
    };
    let mut flows = vec![Vec::new(); nodes as usize];
    flows[0] = vec![Flow { to: vec![NodeId(nodes - 1)], bytes: packets * 256 }];
    let outcome = simulate(&network, &[Job { phases: vec![flows], ..Job::default() }]).unwrap().remove(0);
    assert_eq!((outcome.packets, outcome.channel_bytes.iter().max()), (packets, Some(&(packets * 256))));
    outcome.arrivals[0][nodes as usize - 1]
}

#[test]
fn a_lone_packet_takes_its_delays_and_its_time_on_the_slowest_channel() {
    // Would catch a delay or a serialization that is counted twice or left out: the example of docs/concepts/time.md,
    // and its variants with a slow first or last channel.
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
    // Would catch a credit that returns too early or too late: 1000 ns there, 90 ns in the router, the packet's time if
    // its tail frees the buffer, and 1000 ns back. With a speedup of 2 the tail does not leave earlier than it has
    // arrived. A shared memory that admits the packet frees its buffer as it arrives.
    let links = [Link { bandwidth: 10_000_000_000, delay: 1_000_000 }; 3];
    let one = 3 * 1_000_000 + 2 * 90_000 + 204_800;
    for router in ROUTERS {
        // A packet returns its credit on arrival if its crosspoint is not the fullest: never if only one crosspoint is
        // in use.
        for (tail, round_trip) in [(false, 2_090_000), (true, 2_294_800)] {
            let admits = matches!(router, Architecture::SharedBuffer { alpha: 1.0, .. });
            let round_trip = if admits { 2_090_000 } else { round_trip };
            let time = last_arrival("mesh:2", &links, (router, tail), 10);
            assert_eq!(time, one + 9 * round_trip, "{router:?}, credits return at the tail: {tail}");
        }
    }
}

#[test]
fn a_receive_buffer_of_one_packet_passes_one_packet_a_round_trip() {
    // Would catch a drain that is left out or charged twice, and a credit that returns as the packet arrives: 1000 ns
    // there, the packet's time, the drain's time at half of that rate, and 1000 ns back.
    let links = [Link { bandwidth: 10_000_000_000, delay: 1_000_000 }; 3];
    let buffer = ReceiveBuffer { depth: 256, drain: 5_000_000_000 };
    let one = 3 * 1_000_000 + 2 * 90_000 + 204_800;
    for router in ROUTERS {
        let time = last_arrival_behind(Some(buffer), ("mesh:2", &links), (router, true), 10);
        assert_eq!(time, one + 9 * (2_000_000 + 204_800 + 409_600), "{router:?}");
    }
}
