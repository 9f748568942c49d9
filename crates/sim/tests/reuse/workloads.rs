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
