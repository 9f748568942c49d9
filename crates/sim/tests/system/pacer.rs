//! Pacers: windows against their closed form, what they must not change, and the same bytes for any number of threads.

use fabric::Grain;
use sim::PointResult;
use units::NodeId;

use crate::common::{Matrix, ROUTERS, build, digest, digest_of, idle_ns, result};

/// 256 bytes at 10 Gb/s.
pub const SLOT_NS: f64 = 204.8;

/// Networks and two of their nodes: with one router between them, and with several.
const PAIRS: &[(&str, (u32, u32))] = &[
    (r#"kind = "single-switch", ports = 4"#, (0, 3)),
    (r#"kind = "mesh", dims = [6]"#, (5, 0)),
    (r#"kind = "fat-tree", k = 2, n = 3"#, (1, 6)),
    (r#"kind = "dragonfly", p = 2, a = 2, h = 2, g = 4"#, (3, 14)),
];

/// An experiment with links of 10 Gb/s and a delay in nanoseconds.
fn experiment(topology: &str, delay: u32, rest: &str) -> String {
    format!("topology = {{ {topology} }}\nlink = {{ bandwidth = \"10 Gb/s\", delay = \"{delay} ns\" }}\n{rest}")
}

/// The keys of a window.
pub fn window(bytes: u32, ack_size: Option<u32>) -> String {
    let ack_size = ack_size.map_or(String::new(), |size| format!(", ack_size = \"{size} B\""));
    format!("pacer = {{ kind = \"window\", window = \"{bytes} B\"{ack_size} }}")
}

/// The round trip of a packet of 256 B between two nodes that are alone: until its tail has arrived, and then by the
/// channels and routers back, with the length of the acknowledgement if it has one.
fn round_trip_ns(text: &str, (src, dst): (u32, u32), ack_size: Option<u32>) -> f64 {
    let system = build(text).unwrap();
    let there = idle_ns(&system, f64::from(system.network.topology.routers_between(NodeId(src), NodeId(dst))));
    2.0 * there - SLOT_NS + f64::from(ack_size.unwrap_or(0)) * 0.8
}

#[test]
fn a_flow_alone_carries_its_window_a_round_trip_up_to_its_link() {
    // Would catch bytes that count as outstanding too long or too short, acknowledgements by the wrong path or of the
    // wrong length, a window that is overrun, and one that does not use what it has. Windows that are no multiple of a
    // packet hold the packets that fit.
    for &(topology, (src, dst)) in PAIRS {
        let matrix = Matrix::pair("window", src, dst);
        for ack_size in [None, Some(64), Some(256)] {
            for bytes in [256, 511, 512, 1024, 2000, 4096, 8192] {
                let workload = format!(
                    "workload = {{ kind = \"traffic\", load = 1.0, injection = \"backlogged\", pattern = {}, {} }}\n\
                     measure = {{ warm_up = \"50 us\", min_time = \"2 ms\", max_time = \"3 ms\" }}",
                    matrix.pattern(),
                    window(bytes, ack_size)
                );
                let text = experiment(topology, 97, &workload);
                let packets = f64::from(bytes / 256);
                let expected = (packets * SLOT_NS / round_trip_ns(&text, (src, dst), ack_size)).min(1.0);
                let found = result(&text).open().unwrap().accepted_load;
                assert!((found / expected - 1.0).abs() < 1e-3, "{text}: {found}, not {expected}");
            }
        }
    }
}

#[test]
fn a_message_larger_than_its_window_takes_a_round_trip_a_window() {
    // Would catch a message that waits for a window that it never fits into, and a packet that is released late. Two
    // nodes send one another 32 packets: the acknowledgements of one direction share links with the packets of the
    // other, and go first.
    for (ack_size, packets) in [(None, 1_u32), (None, 4), (Some(64), 1)] {
        let workload = format!(
            "workload = {{ kind = \"exchange\", dims = [2], volume = \"8 KiB\", {} }}",
            window(packets * 256, ack_size)
        );
        let text = experiment(r#"kind = "single-switch", ports = 2"#, 500, &workload);
        let point = result(&text);
        let round_trip = round_trip_ns(&text, (0, 1), ack_size);
        let there = (round_trip + SLOT_NS - f64::from(ack_size.unwrap_or(0)) * 0.8) / 2.0;
        // Of a window's packets the last leaves some slots after the first.
        let windows = f64::from(32 / packets - 1);
        let expected = windows * round_trip + f64::from(packets - 1) * SLOT_NS + there;
        let found = point.closed().unwrap().clone().time_ns.unwrap();
        assert!((found - expected).abs() < 1e-6, "{text}: {found}, not {expected}");
        assert_eq!(point.packets, 64, "{point:?}");
    }
}

/// Workloads of every kind, without a pacer's key.
pub const WORKLOADS: &[&str] = &[
    r#"kind = "traffic", load = 0.4"#,
    r#"kind = "traffic", load = 0.3, injection = "poisson", message_size = "600 B", pattern = "tornado""#,
    r#"kind = "traffic", load = 0.2, injection = "periodic""#,
    r#"kind = "traffic", load = 1.0, injection = "backlogged""#,
    r#"kind = "exchange", volume = "3 KiB""#,
    r#"kind = "application", graph = "matmul:2,matrix=64", time_per_load = "3 us""#,
    r#"kind = "benchmark", benchmark = { kind = "wicon", pairs = "random", messages = 2, message_size = "600 B" }"#,
];

pub const MEASURE: &str = r#"measure = { warm_up = "5 us", max_time = "40 us" }"#;
const TORUS: &str = r#"kind = "torus", dims = [4, 2, 2]"#;

#[test]
fn a_window_that_never_fills_changes_nothing() {
    // Would catch a pacer that delays packets, changes their order or draws from a workload's streams. Acknowledgements
    // that are packets change when others are served; those that are none do not.
    for workload in WORKLOADS {
        let with =
            |pacer: &str| digest(&experiment(TORUS, 20, &format!("workload = {{ {workload}{pacer} }}\n{MEASURE}")), 1);
        let none = with("");
        assert_eq!(with(", pacer = { kind = \"none\" }"), none);
        assert_eq!(with(&format!(", {}", window(1 << 30, None))), none, "{workload}");
        assert_ne!(with(&format!(", {}", window(1 << 30, Some(64)))), none, "{workload}");
        assert_ne!(with(&format!(", {}", window(256, None))), none, "{workload}");
    }
}

#[test]
fn every_workload_gives_the_same_bytes_for_any_number_of_threads() {
    // Would catch an acknowledgement that comes sooner than the window of lookahead, or is handled in the order of
    // memory.
    let turns = [(2, Grain::Fine), (1, Grain::Exactly(5)), (2, Grain::Exactly(3))];
    for (number, workload) in WORKLOADS.iter().enumerate() {
        for (ack_size, bytes) in [(None, 300), (None, 1024), (Some(40), 300), (Some(200), 1024)] {
            let router = ROUTERS[(number + bytes as usize) % ROUTERS.len()];
            let rest = format!(
                "workload = {{ {workload}, {} }}\nrouter = {{ kind = \"{router}\" }}\n{MEASURE}\n\
                 node = {{ receive_buffer = \"2 packets\", drain = \"9 Gb/s\" }}",
                window(bytes, ack_size)
            );
            let text = experiment(TORUS, 50, &rest);
            let one = digest(&text, 1);
            for (threads, grain) in turns {
                assert_eq!(digest_of(&text, threads, grain), one, "{threads} threads, {grain:?}: {text}");
            }
        }
    }
}

/// The share of time in which the channel into a node is busy.
fn ejection(text: &str, point: &PointResult, node: u32) -> f64 {
    let system = build(text).unwrap();
    let (router, port) = system.network.topology.attachment(NodeId(node));
    let id = system.network.plan.channels().output(router, port);
    point.channel_utilization[id.index()]
}

#[test]
fn a_flow_that_waits_does_not_block_the_others() {
    // Would catch a queue of a node in which a packet waits for the window of another flow. Node 0 sends to node 1,
    // into which six others send as fast as they can, and to node 2, which nobody else sends to.
    let mut lines = vec![(0, 1, 1.0), (0, 2, 1.0)];
    lines.extend((3..9).map(|src| (src, 1, 2.0)));
    let matrix = Matrix::new("blocked", &lines);
    let run = |pacer: &str, injection: &str| {
        let rest = format!(
            "workload = {{ kind = \"traffic\", load = 0.6, injection = \"{injection}\", pattern = {}, {pacer} }}\n\
             measure = {{ warm_up = \"200 us\", min_time = \"2 ms\", max_time = \"2200 us\" }}",
            matrix.pattern()
        );
        let text = experiment(r#"kind = "single-switch", ports = 9"#, 20, &rest);
        let point = result(&text);
        (ejection(&text, &point, 1), ejection(&text, &point, 2))
    };
    for injection in ["bernoulli", "poisson", "periodic"] {
        for ack_size in [None, Some(16)] {
            let (busy, free) = run(&window(512, ack_size), injection);
            assert!(busy > 0.95, "{busy}");
            assert!((free - 0.3).abs() < 0.02, "{injection}: {free}");
        }
        let (_, behind) = run("pacer = { kind = \"none\" }", injection);
        assert!(behind < 0.2, "{injection}: the source's queue is what this test is about: {behind}");
    }
}

#[test]
fn a_flow_that_waits_for_long_delays_no_packet_of_another() {
    // Would catch a node that sleeps until an acknowledgement while the packet that it holds may not be sent. Node 0
    // sends to node 2, which is 50 us away and acknowledges a packet each 100 us, and to node 1 on the same router; the
    // two in turn, by chance.
    let matrix = Matrix::new("far", &[(0, 1, 1.0), (0, 2, 1.0)]);
    for injection in ["bernoulli", "poisson", "periodic"] {
        for ack_size in [None, Some(16)] {
            let text = format!(
                "topology = {{ kind = \"mesh\", dims = [2], nodes_per_router = 2 }}\n\
                 link = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\", dim0 = {{ delay = \"50 us\" }} }}\n\
                 workload = {{ kind = \"traffic\", load = 0.2, injection = \"{injection}\", pattern = {}, {} }}\n\
                 measure = {{ warm_up = \"200 us\", min_time = \"6 ms\", max_time = \"6200 us\" }}",
                matrix.pattern(),
                window(256, ack_size)
            );
            let point = result(&text);
            let (near, far) = (ejection(&text, &point, 1), ejection(&text, &point, 2));
            assert!((near - 0.1).abs() < 0.01, "{injection}: {near}");
            assert!((far / (SLOT_NS / 100_000.0) - 1.0).abs() < 0.03, "{injection}: {far}");
        }
    }
}

/// Jobs with pacers of their own that share nodes, beside one without.
const JOBS: &[&str] = &[
    "name = \"open\"\nworkload = { kind = \"traffic\", load = 0.3, pacer = { kind = \"window\", window = \"300 B\", ack_size = \"30 B\" } }",
    "name = \"steps\"\nnodes = \"0-7\"\nstart = \"3 us\"\n\
     workload = { kind = \"exchange\", dims = [4, 2], volume = \"3 KiB\", pacer = { kind = \"window\", window = \"256 B\" } }",
    "name = \"ranks\"\nnodes = \"4-11\"\nstart = \"2 us\"\n\
     workload = { kind = \"benchmark\", benchmark = { kind = \"wicon\", pairs = \"random\", messages = 2, message_size = \"600 B\" } }",
    "name = \"graph\"\nnodes = \"8-15\"\nworkload = { kind = \"application\", graph = \"matmul:2,matrix=64\", time_per_load = \"1 us\", \
     pacer = { kind = \"window\", window = \"512 B\", ack_size = \"64 B\" } }",
    "name = \"behind\"\nnodes = \"1,3,5,7\"\nbackground = true\nend = \"20 us\"\n\
     workload = { kind = \"traffic\", load = 0.5, packet_size = \"100 B\", injection = \"periodic\", pacer = { kind = \"window\", window = \"100 B\" } }",
];

#[test]
fn jobs_have_pacers_of_their_own() {
    // Would catch acknowledgements that are handed to another job or counted as its messages, ranks that miss the
    // arrivals of a machine whose deliveries are reported, and a head that is not due and keeps an acknowledgement
    // waiting.
    let jobs: String = JOBS.iter().map(|job| format!("[[job]]\n{job}\n")).collect();
    let measure = "measure = { warm_up = \"5 us\", max_time = \"40 us\", compare_alone = true }";
    let text = experiment(r#"kind = "torus", dims = [4, 4]"#, 20, &format!("{measure}\n{jobs}"));
    let one = digest(&text, 1);
    assert_eq!(digest_of(&text, 1, Grain::Exactly(5)), one);
    assert_eq!(digest_of(&text, 2, Grain::Fine), one);
    let point = result(&text);
    assert!(point.jobs.iter().all(|job| job.point.packets > 0), "{point:#?}");
    for name in ["steps", "graph", "ranks"] {
        let job = point.jobs.iter().find(|job| job.name == name).unwrap();
        assert!(job.point.closed().unwrap().time_ns.is_some() && job.slowdown.unwrap() > 1.0, "{name}: {job:?}");
    }
}

#[test]
fn acknowledgements_load_channels_and_count_as_no_messages() {
    // Would catch acknowledgements that are packets, latencies or bytes of their workload, and channels that are not
    // charged for them. Each of eight nodes sends to the next at load 0.25: an acknowledgement of a quarter of a packet
    // for each.
    let run = |pacer: String| {
        let rest = format!(
            "workload = {{ kind = \"traffic\", load = 0.25, injection = \"periodic\", pattern = {{ kind = \"shift\", offset = 1 }}{pacer} }}\n\
             measure = {{ warm_up = \"50 us\", min_time = \"1 ms\", max_time = \"1050 us\" }}"
        );
        result(&experiment(r#"kind = "single-switch", ports = 8"#, 20, &rest))
    };
    let (with, without) = (run(format!(", {}", window(4096, Some(64)))), run(String::new()));
    assert_eq!(with.packets, without.packets);
    assert!((with.open().unwrap().accepted_load - without.open().unwrap().accepted_load).abs() < 1e-3, "{with:?}");
    assert!((with.hops_mean.unwrap() - 1.0).abs() < 1e-12);
    let busy = |point: &PointResult| point.channel_utilization.iter().filter(|&&share| share > 0.0).sum::<f64>() / 16.0;
    assert!(
        (busy(&without) - 0.25).abs() < 1e-3 && (busy(&with) - 0.3125).abs() < 1e-3,
        "{} {}",
        busy(&without),
        busy(&with)
    );
    assert!((with.packet_hops as f64 / without.packet_hops as f64 - 2.0).abs() < 1e-2, "{with:?}");
}

#[test]
fn what_is_wrong_with_a_pacer_is_refused_at_its_key() {
    // Would catch a window that holds no packet, and a refusal without what is allowed.
    let refused = |rest: &str| {
        let error = build(&experiment(TORUS, 20, rest)).unwrap_err();
        (error.key, error.message)
    };
    let workload =
        |pacer: &str| format!("workload = {{ kind = \"traffic\", load = 0.1, packet_size = \"1 KiB\", {pacer} }}");
    let (key, message) = refused(&workload(&window(1023, None)));
    assert_eq!(key, "workload.pacer.window");
    assert!(message.contains("at least 1 KiB"), "{message}");
    let (key, message) = refused(&workload(&window(2048, Some(1025))));
    assert_eq!(key, "workload.pacer.ack_size");
    assert!(message.contains("at most 1 KiB"), "{message}");
    let job = |name: &str, pacer: String| format!("[[job]]\nname = \"{name}\"\n{}\n", workload(&pacer));
    let jobs = job("a", window(2048, None)) + &job("b", window(100, None));
    assert_eq!(refused(&jobs).0, "job.b.workload.pacer.window");
    let many: String = (0..33).map(|number| job(&format!("j{number}"), window(2048, Some(64)))).collect();
    let (key, message) = refused(&many);
    assert_eq!(key, "job.j32.workload.pacer.ack_size");
    assert!(message.contains("at most 64"), "{message}");
}
