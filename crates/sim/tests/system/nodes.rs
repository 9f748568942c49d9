//! Nodes of the catalogue by name: exact times of messages inside and between two nodes, and an all-reduce of each.

use sim::check;

use crate::common::{build, result};
use crate::program::ProgramFile;

/// Size of a packet in bytes, whose time is a whole number of picoseconds at most published rates.
const PACKET: u64 = 37_800;

/// Two nodes whose interfaces are on one switch. `endpoints` is the number of all interfaces.
fn machine(name: &str, endpoints: u32, program: &str) -> String {
    format!(
        r#"
        node = {{ name = "{name}", count = 2 }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
        workload = {{ kind = "program", packet_size = "{PACKET} B", program = {program} }}
        [[network]]
        name = "out"
        topology = "single-switch:{endpoints}"
        link = {{ delay = "20 ns" }}
        "#
    )
}

fn end_ns(text: &str) -> f64 {
    result(text).closed().unwrap().clone().time_ns.unwrap()
}

/// A message of some packets from rank 0 to another, among `ranks` ranks.
fn message(ranks: u32, to: u32, packets: u64) -> ProgramFile {
    let others: String = (1..ranks).filter(|&rank| rank != to).map(|rank| format!("rank {rank} {{\n}}\n")).collect();
    let bytes = packets * PACKET;
    let text = format!(
        "num_ranks {ranks}\nrank 0 {{\nsend {bytes}b to {to} tag 0\n}}\nrank {to} {{\nrecv {bytes}b from 0 tag 0\n}}\n{others}"
    );
    ProgramFile::goal(&format!("{ranks}-{to}-{packets}"), &text)
}

#[test]
fn messages_take_the_published_bandwidths() {
    // A message of 36 packets leaves at the rate of all planes of NVLink inside a node, and at the rate of one interface
    // between nodes. Would catch planes that a message does not use, and a message that takes the other network.
    let switch = 20.0 + 100.0 + 20.0;
    for (name, endpoints, planes, inside, outside) in
        [("dgx-h100", 8, 4, 112.5, 50.0), ("gb200-nvl72", 4, 9, 100.0, 50.0)]
    {
        let ends = |to: u32| end_ns(&machine(name, 2 * endpoints, &message(2 * endpoints, to, 36).program()));
        let packets = |count: f64, rate: f64| count * PACKET as f64 / rate;
        assert_eq!(ends(1), switch + packets(36.0 / f64::from(planes), inside), "{name}");
        if name != "gb200-nvl72" {
            assert_eq!(ends(endpoints), switch + packets(36.0, outside), "{name}");
        }
    }
}

#[test]
fn an_allreduce_runs_on_two_nodes_of_each_name() {
    // Would catch sections that contradict each other, endpoints that nothing joins, and networks that can deadlock.
    for (name, endpoints, interfaces) in [
        ("dgx-a100", 8, 16),
        ("dgx-h100", 8, 16),
        ("dgx-b200", 8, 16),
        ("gb200-nvl72", 4, 8),
        ("mi300x", 8, 16),
        ("frontier", 8, 8),
        ("aurora", 12, 16),
        ("cpu-1-nic", 2, 2),
        ("cpu-2-nic", 2, 4),
        ("tpu-v4", 4, 8),
    ] {
        let program = r#"{ kind = "collective", operation = "allreduce", size = "64 KiB" }"#;
        let text = machine(name, interfaces, program)
            .replace("delay = \"20 ns\"", "bandwidth = \"100 Gb/s\", delay = \"20 ns\"");
        let system = build(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = check(&system).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((found.nodes, found.deadlock_free), (2 * endpoints, true), "{name}");
        assert!(end_ns(&text) > 0.0, "{name}");
    }
}

#[test]
fn nodes_that_no_network_joins_are_refused() {
    // Would catch two nodes without a network between them whose ranks wait for each other.
    let text = r#"
        node = { name = "dgx-h100", count = 2 }
        workload = { kind = "program", program = { kind = "collective", operation = "allreduce", size = "1 KiB" } }
        "#;
    let error = build(text).unwrap_err().to_string();
    assert!(error.contains("no network joins endpoints 0 and 8"), "{error}");
    build(&text.replace("count = 2", "count = 1")).unwrap();
}
