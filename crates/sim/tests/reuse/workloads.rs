//! Collective operations, volumes and training: the bytes of a run without reuse, and what is saved.

use std::fmt::Write as _;
use std::sync::Arc;

use network::{ReuseModel, StateRules};

use crate::{Held, as_text, both};

const FAT_TREE: &str = r#"topology = { kind = "fat-tree", k = 4, n = 2 }
    routing = { kind = "d-mod-k" }"#;

/// Workloads of 16 ranks or tasks, and the least share of messages that are replayed.
const WORKLOADS: [(&str, f64); 11] = [
    (
        r#"kind = "program", program = { kind = "collective", operation = "allreduce", algorithm = "ring", size = "64 KiB" }"#,
        0.9,
    ),
    (
        r#"kind = "program", program = { kind = "collective", operation = "allreduce", algorithm = "recursive-doubling", size = "8 KiB" }"#,
        0.5,
    ),
    (
        r#"kind = "program", program = { kind = "collective", operation = "alltoall", algorithm = "pairwise", size = "2 KiB" }"#,
        0.5,
    ),
    (
        r#"kind = "program", program = { kind = "collective", operation = "alltoall", algorithm = "linear", size = "600 B" }"#,
        0.0,
    ),
    (
        r#"kind = "program", program = { kind = "collective", operation = "broadcast", algorithm = "binomial", size = "8 KiB", iterations = 3 }"#,
        0.05,
    ),
    (r#"kind = "program", program = { kind = "halo-2d", message_size = "4 KiB", iterations = 4 }"#, 0.0),
    (r#"kind = "program", program = { kind = "incast", message_size = "1 KiB", messages = 3 }"#, 0.0),
    (r#"kind = "program", program = { kind = "fft", message_size = "2 KiB", iterations = 2 }"#, 0.1),
    (r#"kind = "exchange", volume = "4 KiB""#, 0.0),
    (r#"kind = "exchange", volume = "4 KiB", dims = [16]"#, 0.0),
    (r#"kind = "application", graph = "stencil:4x2x2""#, 0.0),
];

const ROUTERS: [&str; 5] = [
    r#"kind = "output-queued""#,
    r#"kind = "input-output-queued""#,
    r#"kind = "virtual-output-queued""#,
    r#"kind = "input-crosspoint-queued""#,
    r#"kind = "shared-buffer", memory = "64 packets""#,
];

fn text(network: &str, workload: &str, router: &str) -> String {
    format!(
        r#"
        {network}
        router = {{ {router}, delay = "50 ns", buffer = "4 packets" }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        workload = {{ {workload}, packet_size = "256 B" }}
        measure = {{ messages = true }}
        "#
    )
}

#[test]
fn workloads_give_the_bytes_of_a_run_without_reuse() {
    // Would catch phases of volumes that end in another batch, messages of a pair that are counted apart, and episodes
    // of a step that are not recognised in the next one.
    for (workload, least) in WORKLOADS {
        for router in ROUTERS {
            let text = text(FAT_TREE, workload, router);
            let (with, without, reuse) = both(&text, None).unwrap_or_else(|error| panic!("{text}\n{error}"));
            assert_eq!(as_text(&with), as_text(&without), "{text}\n{reuse:?}");
            assert_eq!(reuse.gave_up, None, "{text}");
            let share = reuse.replayed_messages as f64 / reuse.messages as f64;
            // Messages through a router with a shared memory form longer episodes.
            let least = if router.contains("shared") { 0.0 } else { least };
            assert!(share >= least, "{text}\n{share}: {reuse:?}");
        }
    }
}

#[test]
fn a_training_step_on_several_networks_gives_the_bytes_of_a_run_without_reuse() {
    // Would catch messages that take another network or plane, arrivals at the time at which the network delivers them,
    // though they pass parts of the interface, and keys in which equal servers differ.
    let text = r#"
        node = { endpoints = 4, count = 4 }
        routing = { kind = "d-mod-k" }
        router = { kind = "output-queued", delay = "50 ns", buffer = "4 packets" }
        link = { bandwidth = "100 Gb/s", delay = "20 ns" }
        nic = { send_overhead = "600 ns", receive_overhead = "400 ns" }
        measure = { messages = true }
        network = [
            { name = "near", topology = "single-switch:4,planes=2", routing = { kind = "shortest-path" } },
            { name = "rail", topology = "fat-tree:k=4,n=2", order = "by-rail", nic = { gap = "70 ns", bus = { bandwidth = "90 Gb/s", directions = "one" } } },
        ]
        workload = { kind = "program", packet_size = "256 B", program = { kind = "training", tensor = 4, layers = 3, hidden = 64, sequence = 32, forward_time = "200 us", bucket_size = "16 KiB", allreduce = "ring" } }
    "#;
    let (with, without, reuse) = both(text, None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(as_text(&with), as_text(&without), "{reuse:?}");
    assert_eq!(reuse.gave_up, None);
    assert!(reuse.replayed_messages as f64 >= 0.9 * reuse.messages as f64, "{reuse:?}");
}

#[test]
fn a_run_that_reuse_cannot_finish_is_repeated_without_it() {
    // Would catch results of paths that are drawn. Random programs end with credits under way.
    let torus = r#"topology = { kind = "torus", dims = [4, 4] }"#;
    let text = text(torus, WORKLOADS[2].0, r#"kind = "output-queued""#) + "routing = { kind = \"dimension-order\" }";
    let (with, without, reuse) = both(&text, None).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(as_text(&with), as_text(&without), "{text}");
    assert!(reuse.gave_up.is_some_and(|why| why.contains("no single path")), "{text}");
}

/// Message of 100 kB that comes to a switch of 10 Gb/s behind one of 100 B, beside a message of another node.
const BEHIND_A_SHORT_ONE: &str = "num_ranks 4
rank 0 {\na: send 100b to 1 tag 1\nb: send 100000b to 1 tag 2\nz: calc 1000000\nz requires b\n}
rank 1 {\na: recv 100b from 0 tag 1\nb: recv 100000b from 0 tag 2\nc: recv 100000b from 2 tag 3\n}
rank 2 {\na: send 100000b to 1 tag 3\nz: calc 1000000\nz requires a\n}
rank 3 { }
";

/// Returns the experiment of this message with links and times that are `slower` times as slow, and a `gap` in ns.
fn behind_a_short_one(goal: &Held, (slower, gap): (u64, u64)) -> String {
    format!(
        r#"
        topology = {{ kind = "single-switch", ports = 4 }}
        router = {{ kind = "output-queued", delay = "{} ns", buffer = "20 packets" }}
        link = {{ bandwidth = "{} Mb/s", delay = "{} ns" }}
        nic = {{ kind = "loggp", gap = "{gap} ns", receive_gap = "0 ns", send_overhead = "0 ns", bus = {{ bandwidth = "{} Mb/s" }} }}
        workload = {{ kind = "program", packet_size = "100 B", program = {{ kind = "goal", file = '{}' }} }}
        measure = {{ messages = true }}
        "#,
        20 * slower,
        10_000 / slower,
        40 * slower,
        6_400 / slower,
        goal.0.display(),
    )
}

#[test]
fn generation_times_that_change_while_packets_are_under_way_are_seen() {
    // Would catch latencies that are continued with the growth of the packets that are generated now: the gap of the
    // short message delays packets at first by 80 ns each, and then the bus by 125 ns, while the switch takes 160 ns.
    let goal = Held::new(BEHIND_A_SHORT_ONE);
    let mut skipped = 0;
    for gap in (1000..9000).step_by(200) {
        let text = behind_a_short_one(&goal, (1, gap));
        let (with, without, reuse) = both(&text, None).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(as_text(&with), as_text(&without), "{text}");
        skipped += u32::from(reuse.skipped_packet_hops > 0);
    }
    assert!(skipped > 20, "{skipped} of 40 skip periods");
}

#[test]
fn slow_links_with_parts_give_the_bytes_of_a_run_without_reuse() {
    // Would catch times of parts, in picoseconds, that are too large for whole numbers of 64 bits.
    let goal = Held::new(BEHIND_A_SHORT_ONE);
    for slower in [100, 400] {
        let text = behind_a_short_one(&goal, (slower, 2000 * slower));
        let (with, without, reuse) = both(&text, None).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(as_text(&with), as_text(&without), "{text}");
        assert!(reuse.gave_up.is_none() && reuse.skipped_packet_hops > 0, "{text}\n{reuse:?}");
    }
}

#[test]
fn a_saved_state_of_one_place_serves_an_equal_episode_elsewhere() {
    // Would catch a state that only the nodes of its simulation use, and one that is used with the channels of others. On
    // two leaves, node 0 sends to node 2, which node 1 does 200 ns later. Then node 0 sends once more, on the second leaf
    // 20 ns later than on the first: one of these two simulations goes on where the channels of the other leaf are.
    let mut goal = String::from("num_ranks 8\n");
    for (leaf, again) in [(0, 400), (4, 420)] {
        let (to, other) = (leaf + 2, leaf + 1);
        let _ =
            write!(goal, "rank {leaf} {{\na: send 4096b to {to} tag 1\nb: calc {again}\nc: send 4096b to {to} tag 3\n");
        let _ = write!(goal, "c requires b\nz: calc 100000\nz requires c\n}}\n");
        let _ = write!(goal, "rank {other} {{\na: calc 200\nb: send 4096b to {to} tag 2\nb requires a\n");
        let _ = write!(goal, "z: calc 100000\nz requires b\n}}\nrank {to} {{\na: recv 4096b from {leaf} tag 1\n");
        let _ = write!(goal, "b: recv 4096b from {other} tag 2\nc: recv 4096b from {leaf} tag 3\n}}\n");
        let _ = writeln!(goal, "rank {} {{ }}", leaf + 3);
    }
    let goal = Held::new(&goal);
    let workload = format!("kind = \"program\", program = {{ kind = \"goal\", file = '{}' }}", goal.0.display());
    let states = StateRules { bytes_per_hop: u64::MAX, ..StateRules::default() };
    for router in ROUTERS {
        let text = text(FAT_TREE, &workload, router);
        let model = Arc::new(ReuseModel { states, ..ReuseModel::default() });
        let (with, without, reuse) = both(&text, Some(model)).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(as_text(&with), as_text(&without), "{text}");
        assert_eq!((reuse.joins, reuse.continued, reuse.merges), (4, 2, 0), "{text}\n{reuse:?}");
    }
}

/// Collective operation that routers carry out.
const IN_ROUTERS: &str = r#"kind = "program", program = { kind = "collective", operation = "allreduce", algorithm = "in-switch", size = "1 KiB" }"#;

#[test]
fn keys_that_reuse_does_not_go_with_are_refused() {
    // Would catch a key that is ignored, and an error at another key.
    let plain = text(FAT_TREE, WORKLOADS[0].0, r#"kind = "output-queued""#);
    let by_sets = r#"kind = "virtual-output-queued", multicast = "queue-per-set""#;
    let in_rounds = r#"kind = "virtual-output-queued", iterations = 2"#;
    let cases = [
        (plain.replace("output-queued\"", "output-queued\", arbitration = \"random\""), "router.arbitration"),
        (plain.replace("output-queued\"", "input-queued\", vcs = 2"), "router.vcs"),
        (plain.replace(r#"kind = "output-queued""#, by_sets), "router.multicast"),
        (plain.replace(r#"kind = "output-queued""#, in_rounds), "router.iterations"),
        (plain.replace("d-mod-k", "adaptive-up-down"), "routing.kind"),
        (plain.replace("messages = true", "series = \"1 us\""), "simulation.reuse"),
        (plain.replace("messages = true", "timeline = true"), "simulation.reuse"),
        (plain.replace("messages = true", "unproven = true"), "measure.unproven"),
        (plain.replace("messages = true", "max_time = \"20 us\""), "measure.max_time"),
        (format!("{plain}\nnode = {{ receive_buffer = \"8 packets\" }}"), "simulation.reuse"),
        (
            format!("{plain}\nnic = {{ kind = \"loggp\", pio = {{ bandwidth = \"1 Gb/s\", buffer = \"4 KiB\" }} }}"),
            "nic.pio.buffer",
        ),
        (
            format!("{plain}\nnic = {{ kind = \"loggp\", gap = \"100 ns\" }}").replace("n = 2", "n = 2, planes = 2"),
            "nic.rails.stripe_above",
        ),
        (format!("{plain}\nnic = {{ kind = \"ideal\", message_order = \"in-order\" }}"), "nic.message_order"),
        (plain.replace(WORKLOADS[0].0, "kind = \"traffic\", load = 0.1"), "workload.kind"),
        (plain.replace(WORKLOADS[0].0, IN_ROUTERS), "workload.program.algorithm"),
        (
            text(
                "topology = { kind = \"torus\", dims = [5, 5] }\nrouting = { kind = \"dimension-order\" }",
                WORKLOADS[0].0,
                r#"kind = "input-queued""#,
            ),
            "routing.kind",
        ),
    ];
    for (text, key) in cases {
        let Err(error) = both(&text, None) else { panic!("{text}\nis not refused") };
        assert!(error.contains(key) && error.contains("reuse"), "{key}: {error}");
    }
}
