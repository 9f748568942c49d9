//! Multicasts in input-queued switches: saturated ones against the numbers of independent simulations, and every policy
//! on any number of threads.

use fabric::Grain;

use crate::common::{as_text, build, result, run_divided};

/// A switch whose nodes always have another multicast to send, each for so many of all nodes, themselves included.
fn switch(ports: usize, fanout: usize, router: &str, measure: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "single-switch", ports = {ports} }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ buffer = "64 packets", {router} }}
        measure = {{ {measure} }}
        [workload]
        kind = "collective"
        load = 1.0
        injection = "backlogged"
        fanout = {{ mean = {fanout}, law = "fixed" }}
        include_self = true
        "#
    )
}

/// Copies that an output gets in a slot.
fn throughput(ports: usize, fanout: usize, router: &str) -> f64 {
    // 100,000 slots: a standard error of some 0.1 %.
    let measure = r#"warm_up = "1 ms", precision = 0.004, min_time = "20 ms", max_time = "40 ms""#;
    result(&switch(ports, fanout, router, measure)).open().unwrap().accepted_load * fanout as f64
}

const NO_SPLITTING: &str = r#"kind = "input-queued", arbitration = "random", multicast = { fanout = "no-splitting" }"#;

#[test]
fn a_saturated_fifo_switch_carries_the_copies_that_independent_models_say() {
    // Would catch a head that asks for one output at a time, an input that is free before its slot has ended, a residue
    // that loses its place at the head, and whole packets that leave copies behind. Simulated numbers, with a 90 %
    // half-width of 0.002.
    let cases = [
        (r#"kind = "input-queued", arbitration = "random""#, 2, 0.743),
        (r#"kind = "input-queued", arbitration = "random""#, 4, 0.851),
        (NO_SPLITTING, 2, 0.662),
        (NO_SPLITTING, 4, 0.548),
    ];
    for (router, fanout, expected) in cases {
        let found = throughput(8, fanout, router);
        assert!((found - expected).abs() < 0.004, "{router}, F = {fanout}: {found} instead of {expected}");
    }
}

/// Keys of routers with FIFOs or queues for multicasts.
const POLICIES: [&str; 7] = [
    r#"kind = "input-queued""#,
    r#"kind = "input-queued", multicast = { policy = "concentrating-residue" }"#,
    r#"kind = "input-output-queued", speedup = 2, multicast = { policy = "tatra" }"#,
    r#"kind = "input-queued", arbitration = "random", multicast = { policy = "wba" }"#,
    r#"kind = "input-output-queued", multicast = { fanout = "no-splitting" }"#,
    r#"kind = "virtual-output-queued", multicast = "queue""#,
    r#"kind = "virtual-output-queued", multicast = "queue-per-set""#,
];

#[test]
fn policies_give_the_same_bytes_on_any_number_of_threads() {
    // Would catch an order of candidates that depends on events in memory, and a bypass that changes whose turn it is.
    for router in POLICIES {
        let text = format!(
            r#"
            topology = {{ kind = "torus", dims = [4, 4] }}
            link = {{ bandwidth = "10 Gb/s", delay = "130 ns" }}
            router = {{ {router} }}
            measure = {{ warm_up = "5 us", max_time = "25 us" }}
            [[job]]
            name = "multicasts"
            workload = {{ kind = "collective", fanout = {{ mean = 3, law = "uniform" }}, load = 0.05, size = "600 B" }}
            [[job]]
            name = "others"
            workload = {{ kind = "traffic", load = 0.1, injection = "poisson" }}
            "#
        );
        let system = build(&text).unwrap();
        let alone = as_text(&run_divided(&system, 1, Grain::Coarse));
        for (threads, grain) in [(2, Grain::Fine), (1, Grain::Exactly(5))] {
            assert_eq!(as_text(&run_divided(&system, threads, grain)), alone, "{router}, {threads} threads");
        }
    }
}
