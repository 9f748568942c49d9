//! Interfaces of endpoints into one of several networks: closed forms of messages through their parts, what they leave
//! alone, and what is refused or warned of.

use std::path::Path;

use sim::{Experiment, warnings};

use crate::common::{build, digest, result};
use crate::program::ProgramFile;

/// Two nodes of two endpoints: a packet of 1 KiB takes 100 ns on a link inside, and 1 us on a link between nodes, which
/// has some planes. A head takes 300 ns inside, and 2.1 us between.
fn machine(goal: &ProgramFile, planes: u32, [inside, between]: [&str; 2], rest: &str) -> String {
    let nic = |keys: &str| if keys.is_empty() { String::new() } else { format!("nic = {keys}") };
    format!(
        r#"
        node = {{ endpoints = 2, count = 2 }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
        workload = {{ kind = "program", packet_size = "1 KiB", program = {} }}
        {rest}
        [[network]]
        name = "inside"
        topology = "single-switch:2"
        link = {{ bandwidth = "81.92 Gb/s", delay = "100 ns" }}
        {}
        [[network]]
        name = "between"
        topology = {{ kind = "single-switch", ports = 4, planes = {planes} }}
        link = {{ bandwidth = "8.192 Gb/s", delay = "1 us" }}
        {}
        "#,
        goal.program(),
        nic(inside),
        nic(between)
    )
}

/// A message of rank 0 to another of four.
fn message(name: &str, to: u32, bytes: u64) -> ProgramFile {
    let others: String = (1..4).filter(|&rank| rank != to).map(|rank| format!("rank {rank} {{\n}}\n")).collect();
    let text = format!(
        "num_ranks 4\nrank 0 {{\nsend {bytes}b to {to} tag 0\n}}\nrank {to} {{\nrecv {bytes}b from 0 tag 0\n}}\n{others}"
    );
    ProgramFile::goal(name, &text)
}

fn end_ns(text: &str) -> f64 {
    result(text).closed().unwrap().clone().time_ns.unwrap()
}

#[test]
fn a_message_passes_the_parts_of_its_network() {
    // Four packets. Would catch parts of another network or of none, a part of one end only, a latency for each packet
    // of a message in turn, and a bus that the packets of a network without one cross.
    let (inside, between) = (message("parts-inside", 1, 4096), message("parts-between", 2, 4096));
    let (near, far) = (300.0 + 4.0 * 100.0, 2100.0 + 4.0 * 1000.0);
    // The bus takes 2 us a packet: the last tail leaves with it, and follows its head by 1 us at the other end.
    let bus = r#"{ bus = { bandwidth = "4.096 Gb/s" } }"#;
    for (nic, time) in [
        ("{}", far),
        (r#"{ latency = "600 ns" }"#, far + 2.0 * 600.0),
        (bus, 4.0 * 2000.0 + 2100.0 + 1000.0),
        (r#"{ bus = { bandwidth = "8192 Gb/s", per_packet = "50 ns" } }"#, far + 50.0),
        (r#"{ dma = { bandwidth = "4.096 Gb/s", setup = "500 ns" } }"#, 500.0 + 4.0 * 2000.0 + 2100.0),
        (r#"{ dma = { bandwidth = "8192 Gb/s", setup = "500 ns", engines = 4 } }"#, far + 500.0),
        // 1023 of the first 1024 B, and all of the others, at 2 ns.
        (r#"{ gap_per_byte = "2 ns", receive_gap_per_byte = "0 ns" }"#, 4.0 * 2048.0 - 2.0 + 2100.0),
    ] {
        assert_eq!(end_ns(&machine(&between, 1, ["", nic], "")), time, "{nic}");
        assert_eq!(end_ns(&machine(&inside, 1, ["", nic], "")), near, "{nic}");
        // An empty section is an interface without parts, whatever [nic] has.
        let common = r#"nic = { kind = "loggp", bus = { bandwidth = "1.024 Gb/s" }, gap = "3 us" }"#;
        assert_eq!(end_ns(&machine(&between, 1, ["{}", nic], common)), time, "{nic}");
        assert_eq!(end_ns(&machine(&inside, 1, ["{}", nic], common)), near, "{nic}");
    }
    // Without a section the parts are those of [nic]: the bus takes 1 us a packet on either network.
    let common = r#"nic = { kind = "loggp", bus = { bandwidth = "8.192 Gb/s" } }"#;
    assert_eq!(end_ns(&machine(&inside, 1, ["", bus], common)), 4.0 * 1000.0 + 300.0 + 900.0);
    assert_eq!(end_ns(&machine(&between, 1, ["", bus], common)), 4.0 * 2000.0 + 2100.0 + 1000.0);
    // Overheads are of processors.
    let overheads = r#"nic = { send_overhead = "70 ns", receive_overhead = "30 ns" }"#;
    assert_eq!(end_ns(&machine(&inside, 1, ["", bus], overheads)), near + 100.0);
}

#[test]
fn planes_of_a_network_share_the_bus_of_a_node() {
    // Eight packets in two stripes; the bus is as fast as one link. Would catch a bus for each plane, and one for both if
    // each has its own.
    let goal = message("planes-bus", 2, 8192);
    let nic = r#"nic = { rails = { stripe_above = "1 KiB" } }"#;
    let time = |of: &str| {
        let bus = format!(r#"{{ bus = {{ bandwidth = "8.192 Gb/s", of = "{of}" }} }}"#);
        end_ns(&machine(&goal, 2, ["", &bus], nic))
    };
    assert_eq!(time("rail"), 2100.0 + 4.0 * 1000.0);
    assert_eq!(time("node"), 2100.0 + 8.0 * 1000.0);
}

#[test]
fn interfaces_without_parts_change_nothing() {
    // Would catch a packet that waits for a part that takes no time.
    for program in [
        r#"{ kind = "collective", operation = "alltoall", size = "3000 B" }"#,
        r#"{ kind = "fft", message_size = "900 B" }"#,
    ] {
        let text = |nic: &str| {
            format!(
                r#"
                node = {{ endpoints = 2, count = 4 }}
                router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
                workload = {{ kind = "program", packet_size = "1 KiB", program = {program} }}
                nic = {{ send_overhead = "70 ns", eager_limit = "1 KiB" }}
                [[network]]
                name = "inside"
                topology = "single-switch:2"
                link = {{ bandwidth = "81.92 Gb/s", delay = "100 ns" }}
                {nic}
                [[network]]
                name = "between"
                topology = "single-switch:8"
                link = {{ bandwidth = "8.192 Gb/s", delay = "1 us" }}
                {nic}
                "#
            )
        };
        assert_eq!(digest(&text("nic = {}"), 1), digest(&text(""), 1), "{program}");
        let parts = r#"nic = { latency = "7 ns", gap = "3 ns", bus = { bandwidth = "8 Gb/s" } }"#;
        assert_eq!(digest(&text(parts), 2), digest(&text(parts), 1), "{program}");
        assert_ne!(digest(&text(parts), 1), digest(&text(""), 1), "{program}");
    }
}

#[test]
fn relays_pass_the_interfaces_of_both_networks() {
    // Would catch a relay whose second leg passes the parts of the first. Each leg takes the latency of its network
    // twice; a packet takes 100 ns inside and 1 us on a rail.
    let goal = message("relay-parts", 3, 1024);
    let text = machine(
        &goal,
        1,
        [r#"{ latency = "10 ns" }"#, r#"{ latency = "400 ns" }"#],
        "relay = { network = \"inside\" }",
    );
    let rails = text.replace("ports = 4, planes = 1 }", "ports = 2 }\norder = \"by-rail\"");
    assert_eq!(end_ns(&rails), 400.0 + 2.0 * 10.0 + 3100.0 + 2.0 * 400.0);
}

#[test]
fn what_an_interface_of_a_network_may_not_have_is_refused() {
    // Would catch a key of the library by network, a section without effect, a rate that interfaces disagree on, and an
    // interface that two jobs share.
    let goal = message("refused", 2, 1024);
    let refused = |text: &str| {
        let error = build(text).unwrap_err();
        (error.key, error.message)
    };
    for key in ["eager_limit = \"1 KiB\"", "send_overhead = \"1 us\"", "matching = { per_entry = \"1 ns\" }"] {
        let text = machine(&goal, 1, ["", &format!("{{ {key} }}")], "");
        let error = Experiment::load(&text, "test.toml", Path::new("."), &[]).unwrap_err();
        let name = key.split(' ').next().unwrap();
        assert_eq!(error.key, format!("network.between.nic.{name}"));
        assert_eq!(error.help, Some(format!("`{name}` belongs to [nic]: `nic.{name}`")));
    }
    let nic = r#"{ latency = "2 s" }"#;
    assert_eq!(refused(&machine(&goal, 1, ["", nic], "")).0, "network.between.nic.latency");
    let nic = r#"{ latency = "2 ns" }"#;
    let text = machine(&goal, 1, ["", nic], "");
    let (key, message) = refused(&text.replace("count = 2", "count = 2, receive_buffer = \"4 packets\""));
    assert!(key == "network.between.nic" && message.contains("node.drain"), "{key}: {message}");
    let program = text.lines().find(|line| line.contains("workload")).unwrap();
    let (key, message) = refused(&text.replace(program, "workload = { kind = \"traffic\", load = 0.1 }"));
    assert!(key == "network.between.nic" && message.contains("send and receive"), "{key}: {message}");
    let job = |name: &str| format!("[[job]]\nname = \"{name}\"\nnodes = \"0-3\"\n{}\n", program.trim());
    let (key, message) = refused(&(text.replace(program, "") + &job("one") + &job("two")));
    assert!(key == "job.two.nodes" && message.contains("serves one job"), "{key}: {message}");
}

#[test]
fn a_bus_that_is_slower_than_its_links_is_warned_of() {
    // Would catch a warning of another network, and one of a bus that is as fast as its links.
    let goal = message("slow-bus", 2, 1024);
    let found = |planes: u32, nics: [&str; 2], rest: &str| -> Vec<(&'static str, String)> {
        let all = warnings(&build(&machine(&goal, planes, nics, rest)).unwrap()).unwrap();
        let slow = all.into_iter().filter(|warning| warning.kind == "slow-bus");
        slow.map(|warning| (warning.key, warning.message)).collect()
    };
    let slow = r#"{ bus = { bandwidth = "4 Gb/s" } }"#;
    let [(key, message)] = &found(1, ["", slow], "")[..] else { panic!() };
    assert!(*key == "network.nic.bus" && message.contains("network `between`"), "{message}");
    assert!(message.contains("4 Gb/s") && message.contains("8192 Mb/s"), "{message}");
    let even = r#"{ bus = { bandwidth = "8.192 Gb/s" } }"#;
    assert_eq!(found(1, ["", even], ""), []);
    assert_eq!(found(2, ["", even], ""), []);
    // Two planes share it.
    let shared = r#"{ bus = { bandwidth = "8.192 Gb/s", of = "node" } }"#;
    assert_eq!((found(1, ["", shared], "").len(), found(2, ["", shared], "").len()), (0, 1));
    // [nic] has the bus of networks without their own.
    let common = r#"nic = { kind = "loggp", bus = { bandwidth = "20 Gb/s" } }"#;
    let [(key, message)] = &found(1, ["", ""], common)[..] else { panic!() };
    assert!(*key == "nic.bus" && message.contains("network `inside`"), "{message}");
    assert_eq!(found(1, ["{}", ""], common), []);
}
