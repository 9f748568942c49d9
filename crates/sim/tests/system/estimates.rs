//! Estimates before a run against the run, and their cost.

use std::ops::Range;

use mpi::program::{Programs, Sizes};
use sim::{Check, analyze, check};

use crate::common::{build, result};

const LINK: &str = r#"link = { bandwidth = "100 Gb/s", delay = "20 ns" }"#;

const NETWORKS: [&str; 5] = [
    r#"{ kind = "torus", dims = [3, 3] }"#,
    r#"{ kind = "torus", dims = [3, 3], planes = 2 }"#,
    r#"{ kind = "mesh", dims = [4, 3] }"#,
    r#"{ kind = "fat-tree", k = 4, n = 2 }"#,
    r#"{ kind = "dragonfly", h = 2 }"#,
];

const CLOSED: [&str; 8] = [
    r#"{ kind = "exchange", volume = "70 KiB", packet_size = "1 KiB" }"#,
    r#"{ kind = "program", program = { kind = "incast", message_size = "10 KiB" } }"#,
    r#"{ kind = "program", program = { kind = "collective", operation = "allreduce", size = "9 KiB" } }"#,
    r#"{ kind = "program", program = { kind = "collective", operation = "alltoall", size = "700 B" } }"#,
    r#"{ kind = "program", program = { kind = "collective", operation = "broadcast", size = "40 KiB" } }"#,
    r#"{ kind = "benchmark", benchmark = { kind = "barrier", repetitions = 2 } }"#,
    r#"{ kind = "benchmark", benchmark = { kind = "allgather", sizes = ["3 B", "5 KiB"], repetitions = 2 } }"#,
    r#"{ kind = "benchmark", benchmark = { kind = "osu-mbw-mr", sizes = ["3 B", "20 KiB"], repetitions = 2 } }"#,
];

fn experiment(topology: &str, workload: &str, rest: &str) -> String {
    format!("topology = {topology}\n{LINK}\nworkload = {workload}\n{rest}\n")
}

fn estimate(text: &str) -> Check {
    check(&build(text).unwrap_or_else(|error| panic!("{text}\n{error}")))
        .unwrap_or_else(|error| panic!("{text}\n{error}"))
}

#[test]
fn closed_workloads_are_estimated_within_a_fifth() {
    // Would catch messages that are counted twice or left out, a plane that is forgotten, and a part of a packet.
    for topology in NETWORKS {
        for workload in CLOSED {
            for processes in [1, 3] {
                let ranks = if workload.contains("exchange") { 1 } else { processes };
                let text = experiment(topology, workload, &format!("placement = {{ processes_per_node = {ranks} }}"));
                let (before, after) = (estimate(&text), result(&text).packet_hops as f64);
                let ratio = before.packet_hops / after;
                assert!((1.0 / 1.2..=1.2).contains(&ratio), "{text}\n{} of {after}", before.packet_hops);
                assert!(before.messages.fract() == 0.0 && before.packet_hops.fract() == 0.0, "{before:?}");
            }
        }
    }
}

#[test]
fn no_run_that_is_cut_off_exceeds_what_it_takes_at_most() {
    // Would catch work in proportion to time: packets that have begun count whole.
    let mut cut = 0;
    for topology in NETWORKS {
        for workload in CLOSED {
            for (time, packet) in [("300 ns", "4 KiB"), ("2 us", "64 B"), ("11 us", "64 KiB"), ("40 us", "4 KiB")] {
                let workload = workload.replace(r#", packet_size = "1 KiB""#, "");
                let workload = workload.replacen("kind =", &format!(r#"packet_size = "{packet}", kind ="#), 1);
                let text = experiment(topology, &workload, &format!("measure.max_time = \"{time}\""));
                let before = estimate(&text);
                if before.is_upper_bound {
                    cut += 1;
                    let after = result(&text).packet_hops as f64;
                    assert!(before.packet_hops >= after, "{text}\n{} of {after}", before.packet_hops);
                }
            }
        }
    }
    assert!(cut >= 20, "{cut}");
}

#[test]
fn jobs_that_wait_for_others_are_bounded() {
    // Would catch work that is counted in proportion to a time that is not known: a bound that the run breaks, or an
    // estimate far from it that is not called a bound. A halo exchange that calculates, beside an alltoall in the
    // background (which it may outlast), open traffic, or both; one that ends before its job does.
    let halo = |rest: &str| {
        format!(
            r#"{{ name = "halo", node_count = 4, {rest} workload = {{ kind = "program", program = {{ kind = "halo-2d", dims = [2, 2],
                 message_size = "16 KiB", iterations = 20, compute = "20 us" }} }} }}"#
        )
    };
    let alltoall = |background: bool, iterations: u32| {
        format!(
            r#"{{ name = "alltoall", node_count = 4, background = {background}, workload = {{ kind = "program", program = {{
                 kind = "collective", operation = "alltoall", size = "16 KiB", iterations = {iterations}, compute = "5 us" }} }} }}"#
        )
    };
    let open = r#"{ name = "open", node_count = 4, background = true, workload = { kind = "traffic", load = 0.2 } }"#
        .to_owned();
    let cases = [
        (vec![halo(""), alltoall(false, 10)], false, false),
        (vec![halo(""), alltoall(true, 3)], false, true),
        (vec![halo(""), alltoall(true, 3000)], false, true),
        (vec![halo(""), open.clone()], true, false),
        (vec![halo(""), alltoall(true, 30), open.clone()], true, false),
        (vec![halo(""), alltoall(true, 3000), open], true, false),
        (vec![halo(r#"end = "10 ms","#), alltoall(false, 10)], false, false),
        (vec![halo(r#"end = "5 us","#), alltoall(false, 10)], false, true),
    ];
    for (jobs, is_lower, is_upper) in cases {
        let text = format!(
            "topology = {{ kind = \"fat-tree\", k = 4, n = 2 }}\n{LINK}\njob = [{}]\n",
            jobs.iter().map(|job| job.replace('\n', " ")).collect::<Vec<_>>().join(", ")
        );
        let (before, after) = (estimate(&text), result(&text));
        assert_eq!((before.is_lower_bound, before.is_upper_bound), (is_lower, is_upper), "{text}");
        // Open traffic sends messages of a packet.
        let sent = |own: &sim::PointResult| match own.closed() {
            Some(own) => own.program.as_ref().map_or(0, |own| own.program_messages),
            None => own.packets,
        };
        let messages: u64 = after.jobs.iter().map(|job| sent(&job.point)).sum();
        for (estimate, found) in [(before.packet_hops, after.packet_hops as f64), (before.messages, messages as f64)] {
            let ratio = estimate / found;
            let range = match (is_lower, is_upper) {
                (true, _) => 0.0..=1.01,
                (_, true) => 0.99..=f64::INFINITY,
                _ => 1.0 / 1.2..=1.2,
            };
            assert!(range.contains(&ratio), "{text}: {estimate}, and {found} found");
        }
    }
}

#[test]
fn load_at_the_bound_does_not_converge() {
    // Would catch an estimate of a run that is as short as it can be, although queues grow for as long as it lasts.
    let text = |load: f64| {
        let workload = format!(r#"{{ kind = "traffic", load = {load} }}"#);
        experiment(r#"{ kind = "torus", dims = [16, 16] }"#, &workload, "")
    };
    let bound = analyze(&build(&text(0.1)).unwrap()).unwrap().throughput_bound;
    let [below, near] = [0.5 * bound, bound].map(|load| estimate(&text(load)));
    let warns = |check: &Check| check.warnings.iter().any(|own| own.kind == "at-saturation");
    assert!(!warns(&below) && below.seconds < 0.1 * below.seconds_most);
    assert!(warns(&near) && near.seconds == near.seconds_most);
}

/// Checks the sizes of the messages of all ranks against those of each. Returns whether all ranks send alike.
fn sizes_are_those_of_each(programs: &dyn Programs, text: &str) -> bool {
    let of = |ranks: Range<u32>| {
        let mut sizes = Sizes::default();
        ranks.for_each(|rank| programs.sizes_of(rank, &mut |bytes, count| sizes.add(bytes, count)));
        sizes.settle();
        sizes
    };
    assert_eq!(Sizes::of(programs), of(0..programs.ranks()), "{text}");
    let is_symmetric = programs.is_symmetric();
    assert!(!is_symmetric || (1..programs.ranks()).all(|rank| of(rank..rank + 1) == of(0..1)), "{text}");
    is_symmetric
}

#[test]
fn sizes_of_all_ranks_are_those_of_each() {
    // Would catch an algorithm that is taken for symmetric although a rank sends more or other messages.
    let operations = [
        "allreduce",
        "alltoall",
        "allgather",
        "barrier",
        "bcast",
        "reduce",
        "reduce-scatter",
        "gather",
        "scatter",
        "scan",
    ];
    let (mut symmetric, mut other) = (0, 0);
    for operation in operations {
        for algorithm in
            ["auto", "linear", "pairwise", "bruck", "ring", "recursive-doubling", "rabenseifner", "dissemination"]
        {
            for (nodes, size) in [(1, "64 B"), (7, "64 B"), (8, "64 B"), (8, "20 B"), (12, "96 KiB")] {
                let program = format!(
                    r#"{{ kind = "program", program = {{ kind = "collective", operation = "{operation}", algorithm = "{algorithm}", size = "{size}" }} }}"#
                );
                let benchmark = format!(
                    r#"{{ kind = "benchmark", benchmark = {{ kind = "{operation}", algorithm = "{algorithm}", sizes = ["{size}"] }} }}"#
                );
                let kind = format!(r#"{{ kind = "flat", nodes = {nodes} }}"#);
                for workload in [program, benchmark] {
                    let Ok(system) = build(&experiment(&kind, &workload, "")) else { continue };
                    match sizes_are_those_of_each(&**system.jobs[0].workload.programs().unwrap(), &workload) {
                        true => symmetric += 1,
                        false => other += 1,
                    }
                }
            }
        }
    }
    assert!(symmetric >= 20 && other >= 20, "{symmetric} {other}");
}

#[test]
fn millions_of_ranks_take_few_visits() {
    // Would catch a pass over all ranks, of which one stands for all.
    let flat = r#"{ kind = "flat", nodes = 65536 }"#;
    for kind in ["barrier", "alltoall", "allgather"] {
        let text = experiment(flat, &format!(r#"{{ kind = "benchmark", benchmark = {{ kind = "{kind}" }} }}"#), "");
        let system = build(&text).unwrap();
        let mut visits = 0;
        system.jobs[0].workload.programs().unwrap().each_size(&mut |_, _| visits += 1);
        assert!(visits < 10_000, "{kind}: {visits}");
    }
}
