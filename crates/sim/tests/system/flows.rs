//! Hashed flows (ECMP) and packets sprayed in turn: channels carry what the exact analysis says.

use rayon::prelude::*;
use sim::{PointResult, System, analyze};
use topology::{Channels, Endpoint};
use units::{PortId, RouterId};

use crate::common::{build, result};

const TREE: &str = r#"kind = "leaf-spine", leaves = 6, spines = 4, nodes_per_leaf = 4"#;

/// A workload on a network, with ranks on its nodes in order.
fn text(topology: &str, routing: &str, workload: &str) -> String {
    format!(
        r#"
        topology = {{ {topology} }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        routing = {{ {routing} }}
        workload = {{ {workload} }}
        "#
    )
}

/// Returns the busy time of each channel by the load that the analysis expects of it, of all channels that any packet
/// is expected on. Panics if another channel carries packets.
fn ratios(system: &System, found: &PointResult) -> Vec<f64> {
    let expected = analyze(system).unwrap();
    let mut ratios = Vec::new();
    for (channel, (&load, &used)) in expected.channel_loads.iter().zip(&found.channel_utilization).enumerate() {
        match load > 1e-12 {
            true => ratios.push(used / load),
            false => assert_eq!(used, 0.0, "channel {channel} is not expected to carry packets"),
        }
    }
    ratios
}

#[test]
fn channels_carry_the_flows_that_the_analysis_hashes_to_them() {
    // A closed exchange sends a given number of bytes from each node to each other, so that loads are exact. Would catch
    // a packet that takes another path than its flow's, an analysis that takes nodes of a router for one another, jobs
    // and rank programs that start packets in another state, and planes whose flows differ from those of the first.
    let topologies = [TREE, r#"kind = "xgft", m = [3, 3, 2], w = [1, 2, 3]"#, r#"kind = "hyperx", dims = [3, 3]"#];
    let workloads = [
        r#"kind = "exchange", volume = "8 KiB", packet_size = "256 B""#,
        r#"kind = "program", program = { kind = "collective", operation = "alltoall", algorithm = "pairwise", size = "4 KiB" }"#,
    ];
    let hashes = ["path", "salted", "polarized"];
    let cases = topologies.iter().flat_map(|topology| workloads.iter().map(move |workload| (topology, workload)));
    let cases: Vec<_> = cases.flat_map(|case| hashes.map(|hash| (case, hash))).collect();
    cases.par_iter().for_each(|&((topology, workload), hash)| {
        let text = text(topology, &format!("kind = \"ecmp\", hash = \"{hash}\", seed = 3"), workload);
        let system = build(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        system.refuse_deadlock().unwrap();
        let ratios = ratios(&system, &result(&text));
        assert!(ratios.iter().all(|ratio| (ratio / ratios[0] - 1.0).abs() < 1e-6), "{text}\n{ratios:?}");
    });
}

#[test]
fn several_flows_of_a_pair_share_its_packets() {
    // Each node sends some 600 packets by eight flows. Would catch a draw of flows that is not even, or that is made
    // once for a message.
    let workload = r#"kind = "traffic", load = 0.2, pattern = { kind = "shift", offset = 4 }, packet_size = "256 B", message_size = "4 KiB""#;
    let routing = r#"kind = "ecmp", hash = "path", flows = 8"#;
    let text = text(TREE, routing, workload) + "measure = { warm_up = \"5 us\", min_time = \"600 us\" }";
    let system = build(&text).unwrap();
    let found = result(&text);
    let load = found.open().unwrap().accepted_load;
    for ratio in ratios(&system, &found) {
        assert!((ratio / load - 1.0).abs() < 0.2, "{ratio} of {load}");
    }
}

#[test]
fn ports_in_turn_carry_equal_numbers_of_packets() {
    // Would catch a counter that is not kept from packet to packet, that counts packets without a choice, and a turn
    // that leaves a port out. A leaf's packets to other leaves have one counter and four ports: any two of them differ
    // by one packet.
    for routing in [r#"kind = "round-robin-up-down""#, r#"kind = "shortest-path", ties = "round-robin""#] {
        let text = text(TREE, routing, r#"kind = "exchange", volume = "9472 B", packet_size = "256 B""#);
        let (system, found) = (build(&text).unwrap(), result(&text));
        let topology = &*system.network.topology;
        let channels = Channels::new(topology);
        for leaf in (0..6).map(RouterId) {
            let up = |port: &PortId| matches!(topology.endpoint(leaf, *port), Endpoint::Router(..));
            let ups = (0..topology.ports(leaf)).map(PortId).filter(up);
            // 37 packets from each of four nodes; the time of a packet is 204.8 ns.
            let sent =
                |port| found.channel_utilization[channels.output(leaf, port).index()] * found.measured_ns / 204.8;
            let sent: Vec<f64> = ups.map(sent).collect();
            let (least, most) = sent.iter().fold((f64::MAX, 0.0_f64), |(least, most), &n| (least.min(n), most.max(n)));
            assert!(sent.len() == 4 && most - least < 1.001 && least > 20.0, "leaf {leaf}: {sent:?}");
        }
    }
}
