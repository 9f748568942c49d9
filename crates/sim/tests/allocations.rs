//! Allocations of runs, by their length: nothing is allocated after warm-up.

#![allow(clippy::panic, reason = "a test may fail")]

use std::path::Path;

use sim::{Experiment, RunOptions, System, reference, run};

const TREE: &str = r#"topology = { kind = "fat-tree", k = 4, n = 2 }
    router = { kind = "input-output-queued" }"#;

/// Keys that a work leaves out.
const DEFAULTS: [(&str, &str); 3] = [
    ("topology =", r#"{ kind = "torus", dims = [4, 4] }"#),
    ("link =", r#"{ bandwidth = "10 Gb/s", delay = "20 ns" }"#),
    ("measure =", r#"{ warm_up = "100 us", min_time = "TIME", max_time = "TIME", precision = 0.001 }"#),
];

/// Most allocations by which a run exceeds one of half its length: lists of results and of batches double.
const DOUBLINGS: u64 = 40;

/// Work that lasts `TIME`, or has `COUNT` iterations: the most allocations by which a run exceeds one of half its
/// length, and the keys.
const WORKS: &[(u64, &str)] = &[
    (DOUBLINGS, r#"workload = { kind = "traffic", load = 0.9 }"#),
    (DOUBLINGS, r#"workload = { kind = "traffic", load = 1.0, injection = "backlogged" }"#),
    (
        DOUBLINGS,
        r#"workload = { kind = "traffic", load = 0.2,
                        pacer = { kind = "window", window = "1 KiB", ack_size = "16 B" } }"#,
    ),
    (DOUBLINGS, "workload = { kind = \"traffic\", load = 0.2 }\nnode = { receive_buffer = \"2 packets\" }"),
    (DOUBLINGS, r#"workload = { kind = "traffic", load = 0.2, packet_size = "256 B", message_size = "600 B" }"#),
    (
        DOUBLINGS,
        r#"topology = { kind = "torus", dims = [4, 4], planes = 2 }
           workload = { kind = "traffic", load = 0.2 }"#,
    ),
    (
        DOUBLINGS,
        r#"topology = { kind = "dragonfly", h = 2 }
           routing = { kind = "ugal-g" }
           router = { kind = "input-output-queued", vcs = 8 }
           workload = { kind = "traffic", load = 0.2 }"#,
    ),
    (
        DOUBLINGS,
        r#"topology = { kind = "fat-tree", k = 4, n = 2 }
           workload = { kind = "traffic", load = 0.5 }"#,
    ),
    (
        DOUBLINGS,
        r#"measure = { warm_up = "100 us", min_time = "TIME", max_time = "TIME", precision = 0.001, messages = true }
           workload = { kind = "traffic", load = 0.2 }"#,
    ),
    // Each of 60 samples has lists by job and by class of channels.
    (
        500,
        r#"measure = { warm_up = "100 us", min_time = "TIME", max_time = "TIME", precision = 0.001, series = "10 us" }
           workload = { kind = "traffic", load = 0.2 }"#,
    ),
    (
        DOUBLINGS,
        r#"
        [[job]]
        name = "a"
        nodes = "0-7"
        workload = { kind = "traffic", load = 0.2 }
        [[job]]
        name = "b"
        nodes = "8-15"
        workload = { kind = "traffic", load = 0.1 }"#,
    ),
    (DOUBLINGS, r#"workload = { kind = "exchange", dims = [4, 4], volume = "COUNT KiB" }"#),
    (
        DOUBLINGS,
        r#"workload = { kind = "application", graph = "stencil:4x4,bytes=COUNT000", execution = "bulk-synchronous" }"#,
    ),
    (
        DOUBLINGS,
        r#"workload = { kind = "application", graph = "stencil:4x4,bytes=3000", execution = "message-driven",
                        iterations = COUNT, time_per_load = "1 us" }"#,
    ),
    (
        DOUBLINGS,
        r#"workload = { kind = "benchmark",
                        benchmark = { kind = "wicon", pairs = "random", messages = COUNT, message_size = "600 B" } }"#,
    ),
    (
        DOUBLINGS,
        r#"workload = { kind = "benchmark",
                        benchmark = { kind = "ping-pong", sizes = ["600 B"], repetitions = COUNT } }"#,
    ),
    // Two for each repetition.
    (
        80,
        r#"workload = { kind = "benchmark",
                        benchmark = { kind = "osu-bw", sizes = ["600 B"], window = 4, repetitions = COUNT } }"#,
    ),
    (
        DOUBLINGS,
        r#"workload = { kind = "benchmark",
                        benchmark = { kind = "allreduce", sizes = ["600 B"], repetitions = COUNT } }"#,
    ),
    (DOUBLINGS, r#"workload = { kind = "program", program = { kind = "fft", message_size = "COUNT00 B" } }"#),
    // Senders run ahead in each sweep: a queue of unexpected messages is indexed whenever it has become long.
    (1200, r#"workload = { kind = "program", program = { kind = "sweep", sweeps = COUNT, message_size = "600 B" } }"#),
    (
        DOUBLINGS,
        r#"workload = { kind = "program",
                        program = { kind = "incast", message_size = "600 B", messages = COUNT } }"#,
    ),
    (
        DOUBLINGS,
        r#"workload = { kind = "program",
                        program = { kind = "halo-2d", iterations = COUNT, message_size = "600 B" } }"#,
    ),
    (
        DOUBLINGS,
        r#"nic = { kind = "loggp", send_overhead = "500 ns", receive_overhead = "300 ns", eager_limit = "100 B" }
           workload = { kind = "program",
                        program = { kind = "halo-2d", iterations = COUNT, message_size = "600 B" } }"#,
    ),
    (
        DOUBLINGS,
        r#"topology = { kind = "flat", nodes = 16 }
           workload = { kind = "program",
                        program = { kind = "halo-2d", iterations = COUNT, message_size = "600 B" } }"#,
    ),
    // A timeline keeps all that ranks do.
    (
        600,
        r#"measure = { timeline = true }
           workload = { kind = "program",
                        program = { kind = "halo-2d", iterations = COUNT, message_size = "600 B" } }"#,
    ),
    (
        DOUBLINGS,
        r#"workload = { kind = "program",
                        program = { kind = "collective", operation = "allreduce", size = "600 B",
                                    iterations = COUNT } }"#,
    ),
    (
        DOUBLINGS,
        r#"workload = { kind = "program",
                        program = { kind = "collective", operation = "allreduce", size = "600 B",
                                    algorithm = "in-switch", iterations = COUNT } }"#,
    ),
];

/// All works: traffic on each router, every operation of groups in hardware and software, and `WORKS`.
fn works() -> Vec<(u64, String)> {
    let routers = reference().into_iter().filter(|doc| doc.section == "router").filter_map(|doc| doc.kind);
    let traffic = r#"workload = { kind = "traffic", load = 0.3, injection = "poisson" }"#;
    let mut works: Vec<_> =
        routers.map(|(_, kind)| (DOUBLINGS, format!("router = {{ kind = \"{kind}\" }}\n{traffic}"))).collect();
    for by in ["hardware", "software"] {
        for (most, operation) in [
            (DOUBLINGS, r#""multicast", groups = "one-shot""#),
            (DOUBLINGS, r#""multicast", groups = "persistent""#),
            (DOUBLINGS, r#""reduce", groups = "persistent", size = "600 B""#),
            (DOUBLINGS, r#""allreduce", groups = "persistent", size = "600 B""#),
            // Operations under way are entries of a sorted map, whose nodes come and go. Barriers are the shortest.
            (600, r#""barrier", groups = "persistent""#),
        ] {
            let workload = format!("operation = {operation}, collectives = \"{by}\", load = 0.01");
            works.push((
                most,
                format!("{TREE}\nworkload = {{ kind = \"collective\", {workload}, fanout = {{ mean = 3 }} }}"),
            ));
        }
    }
    works.extend(WORKS.iter().map(|&(most, keys)| (most, keys.to_owned())));
    works
}

/// The number of allocations of a run on one thread, which is the test's.
fn allocations(text: &str) -> u64 {
    let base = Path::new(".");
    let experiment = Experiment::load(text, "work.toml", base, &[]).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let system = System::build(&experiment.points()[0].spec, base).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let options = RunOptions { threads: 1, ..RunOptions::default() };
    let run = || drop(run(&system, &options).unwrap_or_else(|error| panic!("{text}\n{error}")));
    allocation_counter::measure(run).count_total
}

#[test]
fn nothing_is_allocated_after_warm_up() {
    // Would catch an allocation for each packet, message, operation or decision: a run allocates no more than one of
    // half its length, but for the numbers that are listed.
    let mut far = Vec::new();
    for (most, keys) in works() {
        let found = [("600 us", "32"), ("1200 us", "64")].map(|(time, count)| {
            let absent = DEFAULTS.iter().filter(|(key, _)| !keys.contains(key));
            let absent = absent.filter(|(key, _)| !(*key == "measure =" && keys.contains("COUNT")));
            let rest: String = absent.map(|(key, value)| format!("{key} {value}\n")).collect();
            let text = format!("{rest}{keys}").replace("TIME", time).replace("COUNT", count);
            allocations(&text)
        });
        println!("{keys}: {found:?} allocations");
        if found[1] > found[0] + most {
            far.push(format!("{keys}: {found:?} allocations, {most} more are allowed"));
        }
    }
    assert!(far.is_empty(), "{far:#?}");
}
