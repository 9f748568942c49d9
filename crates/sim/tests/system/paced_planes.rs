//! Pacers on several planes and networks: the window of a flow on all links of its node together against closed forms,
//! legs of relayed messages, what windows must not change, and the same bytes for any number of threads.

use fabric::Grain;
use units::NodeId;

use crate::common::{Matrix, ROUTERS, build, digest, digest_of, idle_ns, nodes_with_rails, result};
use crate::pacer::{MEASURE, SLOT_NS, WORKLOADS, window};
use crate::program::ProgramFile;

#[test]
fn a_flow_alone_carries_its_window_a_round_trip_up_to_its_links_together() {
    // Would catch a window on each link, one that a link keeps from the others, acknowledgements on another plane, and a
    // link that stands idle although the window has room. A packet of 256 B takes a slot.
    for (topology, ports, dst) in [("single-switch", "ports = 4", 3), ("mesh", "dims = [6]", 5)] {
        let matrix = Matrix::pair("window-planes", 0, dst);
        for (planes, ack_size) in [(1, None), (2, None), (3, None), (2, Some(64)), (3, Some(256))] {
            for packets in [1_u32, 2, 3, 4, 5, 7, 10, 30] {
                let text = format!(
                    "topology = {{ kind = \"{topology}\", {ports}, planes = {planes} }}\n\
                     link = {{ bandwidth = \"10 Gb/s\", delay = \"97 ns\" }}\n\
                     workload = {{ kind = \"traffic\", load = 1.0, injection = \"backlogged\", pattern = {}, {} }}\n\
                     measure = {{ warm_up = \"50 us\", min_time = \"2 ms\", max_time = \"3 ms\" }}",
                    matrix.pattern(),
                    window(packets * 256 + 20, ack_size)
                );
                let system = build(&text).unwrap();
                let routers = system.network.topology.routers_between(NodeId(0), NodeId(dst));
                let there = idle_ns(&system, f64::from(routers));
                let round_trip = 2.0 * there - SLOT_NS + f64::from(ack_size.unwrap_or(0)) * 0.8;
                // Load 1 is all links of a node.
                let expected = (f64::from(packets) * SLOT_NS / round_trip / f64::from(planes)).min(1.0);
                let found = result(&text).open().unwrap().accepted_load;
                assert!((found / expected - 1.0).abs() < 1e-3, "{text}: {found}, not {expected}");
            }
        }
    }
}

/// Two nodes on two equal networks, with links of 10 Gb/s, over which the messages of a program are striped.
fn twins(goal: &ProgramFile, pacer: &str) -> String {
    let network = |name: &str| {
        format!(
            "[[network]]\nname = \"{name}\"\ntopology = \"single-switch:2\"\n\
             link = {{ bandwidth = \"10 Gb/s\", delay = \"500 ns\" }}\n"
        )
    };
    format!(
        "node = {{ endpoints = 1 }}\nrouter = {{ kind = \"output-queued\", delay = \"100 ns\", buffer = \"64 packets\" }}\n\
         nic = {{ rails = {{ stripe_above = \"1 B\", stripe_over = \"all-networks\" }} }}\n\
         workload = {{ kind = \"program\", program = {}, {pacer} }}\n{}{}",
        goal.program(),
        network("one"),
        network("other")
    )
}

fn end_ns(text: &str) -> f64 {
    result(text).closed().unwrap().clone().time_ns.unwrap()
}

#[test]
fn the_stripes_of_a_message_share_its_window() {
    // 32 packets, 16 on each network. Would catch a window for each network, and acknowledgements on another network,
    // which has a port of the sender too. Of a window of two packets, each link has one.
    let goal = "num_ranks 2\nrank 0 {\nsend 8192b to 1 tag 0\n}\nrank 1 {\nrecv 8192b from 0 tag 0\n}";
    let goal = ProgramFile::goal("paced-twins", goal);
    for ack_size in [None, Some(64)] {
        let there = 1100.0 + SLOT_NS;
        let round_trip = there + 1100.0 + f64::from(ack_size.unwrap_or(0)) * 0.8;
        for (packets, rounds, last) in [(1, 32.0, 0.0), (2, 16.0, 0.0), (4, 8.0, SLOT_NS)] {
            let found = end_ns(&twins(&goal, &window(packets * 256, ack_size)));
            let expected = (rounds - 1.0) * round_trip + last + there;
            assert!((found - expected).abs() < 1e-6, "{packets}, {ack_size:?}: {found}, not {expected}");
        }
    }
    // Wide enough for both links: each sends its stripe without a pause.
    assert!((end_ns(&twins(&goal, &window(1 << 20, None))) - (1100.0 + 16.0 * SLOT_NS)).abs() < 1e-6);
}

#[test]
fn each_leg_of_a_relayed_message_has_a_window() {
    // Would catch an acknowledgement of the second leg that goes to the sender of the message: the relay would wait for
    // ever. Packets of 1 KiB take 100 ns inside and 1 us on a rail, their heads 300 ns and 2.1 us.
    let goal = "num_ranks 4\nrank 0 {\nsend 4096b to 3 tag 0\n}\nrank 3 {\nrecv 4096b from 0 tag 0\n}\nrank 1 {\n}\nrank 2 {\n}";
    let goal = ProgramFile::goal("paced-relay", goal);
    let links = [r#"bandwidth = "81.92 Gb/s", delay = "100 ns""#, r#"bandwidth = "8.192 Gb/s", delay = "1 us""#];
    for (at, ack_size) in [("source", None), ("destination", None), ("source", Some(256)), ("destination", Some(256))] {
        for rendezvous in [false, true] {
            let nic = if rendezvous { "eager_limit = \"1 KiB\", control_size = \"1 KiB\"" } else { "" };
            let keys = format!(
                "workload = {{ kind = \"program\", packet_size = \"1 KiB\", program = {}, {} }}\n\
                 relay = {{ network = \"inside\", at = \"{at}\" }}\nnic = {{ {nic} }}",
                goal.program(),
                window(1024, ack_size)
            );
            let of_ack = |slot: f64| ack_size.map_or(0.0, |size| slot * f64::from(size) / 1024.0);
            let leg = |head: f64, slot: f64| 3.0 * (head + slot + head + of_ack(slot)) + head + slot;
            let control = 2.0 * (300.0 + 100.0 + 2100.0 + 1000.0);
            let expected = leg(300.0, 100.0) + leg(2100.0, 1000.0) + if rendezvous { control } else { 0.0 };
            let found = end_ns(&nodes_with_rails((2, 2), links, &keys));
            // A request leaves its window before the data follow.
            assert!((found - expected).abs() < 1e-6, "{keys}: {found}, not {expected}");
        }
    }
}

/// A torus of 16 nodes on several planes, with links of 10 Gb/s.
fn torus(planes: u32, rest: &str) -> String {
    format!(
        "topology = {{ kind = \"torus\", dims = [4, 2, 2], planes = {planes} }}\n\
         link = {{ bandwidth = \"10 Gb/s\", delay = \"50 ns\" }}\n{rest}\n{MEASURE}"
    )
}

/// Two networks that differ, of which messages take the second by size.
fn networks(rest: &str) -> String {
    format!(
        "node = {{ endpoints = 1 }}\n{rest}\n{MEASURE}\n\
         [[network]]\nname = \"one\"\ntopology = {{ kind = \"torus\", dims = [4, 2, 2], planes = 2 }}\n\
         link = {{ bandwidth = \"10 Gb/s\", delay = \"50 ns\" }}\nup_to = \"500 B\"\n\
         [[network]]\nname = \"other\"\ntopology = {{ kind = \"fat-tree\", k = 4, n = 2 }}\n\
         link = {{ bandwidth = \"20 Gb/s\", delay = \"70 ns\" }}\n"
    )
}

#[test]
fn a_window_that_never_fills_changes_nothing_on_planes_and_networks() {
    // Would catch a packet that leaves later because it was not due when its link asked, and draws of a workload's
    // streams.
    for workload in WORKLOADS {
        for machine in [|rest: &str| torus(2, rest), |rest: &str| torus(3, rest), networks] {
            let with = |pacer: &str| digest(&machine(&format!("workload = {{ {workload}{pacer} }}")), 1);
            let none = with("");
            assert_eq!(with(&format!(", {}", window(1 << 30, None))), none, "{workload}");
            assert_ne!(with(&format!(", {}", window(256, None))), none, "{workload}");
        }
    }
}

#[test]
fn a_packet_that_is_not_due_keeps_no_other_link_waiting() {
    // Would catch a packet of one link that takes the window until it is due: at a low load, a window of one packet
    // delays nothing but packets of the same moment.
    let matrix = Matrix::pair("window-due", 0, 3);
    for injection in ["bernoulli", "poisson", "periodic"] {
        let run = |pacer: &str| {
            let text = format!(
                "topology = {{ kind = \"single-switch\", ports = 4, planes = 2 }}\n\
                 link = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\n\
                 workload = {{ kind = \"traffic\", load = 0.01, injection = \"{injection}\", pattern = {}{pacer} }}\n\
                 measure = {{ warm_up = \"50 us\", min_time = \"8 ms\", max_time = \"9 ms\" }}",
                matrix.pattern()
            );
            result(&text).latency_mean_ns.unwrap()
        };
        let (free, paced) = (run(""), run(&format!(", {}", window(256, None))));
        assert!(paced >= free && paced < 1.1 * free, "{injection}: {paced}, without a window {free}");
    }
}

#[test]
fn paced_planes_and_networks_give_the_same_bytes_for_any_number_of_threads() {
    // Would catch an acknowledgement that comes sooner than the window of lookahead, and links that are woken in the
    // order of memory.
    let turns = [(2, Grain::Fine), (1, Grain::Exactly(5)), (2, Grain::Exactly(3))];
    for (number, workload) in WORKLOADS.iter().enumerate() {
        for (ack_size, bytes) in [(None, 300), (Some(40), 300), (Some(200), 1024)] {
            let router = ROUTERS[(number + bytes as usize) % ROUTERS.len()];
            let work = format!("workload = {{ {workload}, {} }}", window(bytes, ack_size));
            let rest = format!("router = {{ kind = \"{router}\" }}\n{work}");
            for text in [torus(2, &rest), networks(&rest)] {
                let one = digest(&text, 1);
                for (threads, grain) in turns {
                    assert_eq!(digest_of(&text, threads, grain), one, "{threads} threads, {grain:?}: {text}");
                }
            }
        }
    }
}
