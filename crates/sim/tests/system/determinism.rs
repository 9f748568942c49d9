//! Same seed, same bytes, whatever the threads; and golden results, so that a change of results is seen.

use std::fmt::Write as _;
use std::path::Path;

use crate::common::run_on;

/// One small case of everything, and why its numbers are what they are.
const CASES: &[(&str, &str)] = &[
    ("adaptive tree, row-minimum", r#"topology = { kind = "fat-tree", k = 4, n = 3 }"#),
    (
        "adaptive tree, per-crosspoint, tail, random arbiter",
        r#"topology = { kind = "fat-tree", k = 4, n = 3 }
           router = { kind = "output-queued", credits = "per-crosspoint", credit_return = "tail", arbitration = "random" }"#,
    ),
    (
        "random tree, row-counter, oldest first",
        r#"topology = { kind = "fat-tree", k = 2, n = 4 }
           routing = { kind = "random-up-down" }
           router = { kind = "output-queued", credits = "row-counter", arbitration = "oldest-first" }"#,
    ),
    (
        "adaptive tree, row-minimum at tail, 3 lanes",
        r#"topology = { kind = "fat-tree", k = 4, n = 2 }
           router = { kind = "output-queued", credit_return = "tail", vcs = 3 }"#,
    ),
    ("torus with datelines", r#"topology = { kind = "torus", dims = [4, 3, 2] }"#),
    (
        "mesh, input-queued, 4 lanes",
        r#"topology = { kind = "mesh", dims = [4, 4] }
           router = { kind = "input-queued", vcs = 4 }"#,
    ),
    (
        "mesh, iSLIP, adaptive shortest paths",
        r#"topology = { kind = "mesh", dims = [4, 4] }
           routing = { kind = "shortest-path", ties = "least-loaded" }
           router = { kind = "virtual-output-queued" }"#,
    ),
    (
        "torus, input-output-queued",
        r#"topology = { kind = "torus", dims = [4, 4], nodes_per_router = 2 }
           router = { kind = "input-output-queued", speedup = 2, arbitration = "random" }"#,
    ),
    ("single switch", r#"topology = { kind = "single-switch", ports = 16 }"#),
];

/// What is varied of the workload.
const WORKLOADS: &[(&str, &str)] = &[
    ("load 0.3", "load = 0.3"),
    ("load 1", "load = 1.0, pattern = \"uniform\""),
    ("Poisson messages of 600 B", "load = 0.4, injection = \"poisson\", message_size = \"600 B\""),
    ("periodic", "load = 0.25, injection = \"periodic\""),
];

fn text(case: &str, workload: &str) -> String {
    format!(
        r#"
        seed = 5
        {case}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns", injection = {{ bandwidth = "20 Gb/s", delay = "9 ns" }} }}
        workload = {{ kind = "traffic", {workload} }}
        measure = {{ warm_up = "10 us", max_time = "60 us" }}
        "#
    )
}

/// Everything that a run says but its wall-clock time.
fn digest(text: &str, threads: usize) -> String {
    let mut found = run_on(text, threads).unwrap_or_else(|error| panic!("{text}\n{error}"));
    found.wall_s = 0.0;
    serde_json::to_string(&found).unwrap()
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_and_those_of_the_golden_file() {
    // Would catch an order that depends on memory or on threads, a window longer than a channel's delay, a stream that
    // is shared, and any unintended change of results. `CUTTHROUGH_BLESS=1 cargo test` writes the file anew.
    let mut golden = String::from(
        "# case, workload: accepted load (uniform traffic: the offered load, less past saturation), mean latency, mean\n\
         # routers traversed (a property of topology and pattern), packets measured\n",
    );
    for (name, case) in CASES {
        for (load, workload) in WORKLOADS {
            let text = text(case, workload);
            let one = digest(&text, 1);
            for threads in [2, 3, 7] {
                assert_eq!(digest(&text, threads), one, "{name}, {load}: {threads} threads differ from one");
            }
            let found: serde_json::Value = serde_json::from_str(&one).unwrap();
            let short = |key: &str| found[key].as_f64().map_or("-".into(), |value| format!("{value:.6}"));
            writeln!(
                golden,
                "{name}, {load}: {} {} {} {}",
                short("accepted_load"),
                short("latency_mean_ns"),
                short("hops_mean"),
                found["packets"]
            )
            .unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system/golden.txt");
    if std::env::var_os("CUTTHROUGH_BLESS").is_some() {
        std::fs::write(&path, &golden).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    for (got, want) in golden.lines().zip(want.lines()) {
        assert_eq!(got, want, "a result has changed; if that is meant, run with CUTTHROUGH_BLESS=1 and say why");
    }
    assert_eq!(golden.lines().count(), want.lines().count());
}

#[test]
fn another_seed_gives_other_packets_and_the_same_statistics() {
    // Would catch a seed that is not read, and a result that hangs on one stream.
    let base = text(CASES[0].1, "load = 0.5").replace("max_time = \"60 us\"", "max_time = \"2 ms\", precision = 0.01");
    let one = run_on(&base, 1).unwrap();
    let other = run_on(&base.replace("seed = 5", "seed = 6"), 1).unwrap();
    assert_ne!(one.latency_mean_ns, other.latency_mean_ns);
    let (a, b) = (one.latency_mean_ns.unwrap(), other.latency_mean_ns.unwrap());
    assert!((a / b - 1.0).abs() < 0.04, "{a} {b}");
}
