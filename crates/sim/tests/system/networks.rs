//! Several networks of a machine: closed forms of messages inside nodes, over rails and by relays, loads of each
//! network, and the same bytes for any division.

use fabric::Grain;
use sim::{RunOptions, analyze, check, run};

use crate::common::{build, digest_of, result};
use crate::program::{ProgramFile, per_rank};

/// Nodes of two endpoints: a switch inside each of `count` nodes on which a packet of 1 KiB takes 100 ns, and a switch
/// for all on which it takes 1 us. A head takes 300 ns inside a node, and 2.1 us between nodes.
fn machine(count: u32, network: &str, program: &str, rest: &str) -> String {
    format!(
        r#"
        node = {{ endpoints = 2 }}
        router = {{ kind = "output-queued", buffer = "64 packets" }}
        workload = {{ kind = "program", packet_size = "1 KiB", program = {program} }}
        {rest}
        [[network]]
        name = "inside"
        topology = "single-switch:2"
        link = {{ bandwidth = "81.92 Gb/s", delay = "100 ns" }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
        [[network]]
        name = "between"
        topology = "single-switch:{}"
        link = {{ bandwidth = "8.192 Gb/s", delay = "1 us" }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
        {network}
        "#,
        2 * count
    )
}

fn end_ns(text: &str) -> f64 {
    result(text).closed().unwrap().clone().time_ns.unwrap()
}

/// A message of some bytes from rank 0 to another, among `ranks` ranks.
fn message(name: &str, ranks: u32, to: u32, bytes: u64) -> ProgramFile {
    let others: String = (1..ranks).filter(|&rank| rank != to).map(|rank| format!("rank {rank} {{\n}}\n")).collect();
    let text = format!(
        "num_ranks {ranks}\nrank 0 {{\nsend {bytes}b to {to} tag 0\n}}\nrank {to} {{\nrecv {bytes}b from 0 tag 0\n}}\n{others}"
    );
    ProgramFile::goal(name, &text)
}

#[test]
fn a_message_takes_the_first_network_that_joins_its_ends() {
    // Would catch a message inside a node on the slow network, and times of one network's links on the other.
    let inside = message("inside", 4, 1, 4096);
    assert_eq!(end_ns(&machine(2, "", &inside.program(), "")), 300.0 + 4.0 * 100.0);
    let between = message("between", 4, 2, 4096);
    assert_eq!(end_ns(&machine(2, "", &between.program(), "")), 2100.0 + 4.0 * 1000.0);
}

#[test]
fn a_message_takes_a_network_by_its_size() {
    // Would catch a limit that excludes its own size, and a message that no network takes by its size.
    let large = |bytes| message("size", 4, 1, bytes);
    let time = |bytes, key: &str| {
        let text = machine(2, "", &large(bytes).program(), "");
        end_ns(&text.replace("topology = \"single-switch:2\"", &format!("topology = \"single-switch:2\"\n{key}")))
    };
    assert_eq!(time(2048, "up_to = \"2 KiB\""), 300.0 + 200.0);
    assert_eq!(time(2049, "up_to = \"2 KiB\""), 2100.0 + 2000.0 + 1.0);
    assert_eq!(time(1024, "above = \"1 KiB\""), 2100.0 + 1000.0);
}

#[test]
fn a_stripe_over_unequal_networks_ends_on_both_at_once() {
    // 11 packets: 10 on the link that takes 100 ns, and one on the link that takes 1 us, behind its longer path. Would
    // catch equal shares, and a stripe on a network that does not join the ends.
    let goal = message("stripe", 4, 1, 11 * 1024);
    let nic = "nic = { rails = { stripe_above = \"1 KiB\", stripe_over = \"all-networks\" } }";
    assert_eq!(end_ns(&machine(2, "", &goal.program(), nic)), 2100.0 + 1000.0);
    let far = message("far", 4, 2, 11 * 1024);
    assert_eq!(end_ns(&machine(2, "", &far.program(), nic)), 2100.0 + 11.0 * 1000.0);
}
