//! Algorithms of MPI libraries and of Bine trees on an idle network: closed forms of the delay model, exact to the
//! picosecond.

use crate::common::build_by_default;
use sim::{RunOptions, run};

/// Overheads, links and routers take whole nanoseconds; 100 bytes at 4 Gb/s are 200 ns. Combining takes 3 ns a byte,
/// copying 5 ns.
fn experiment(ranks: u32, program: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "single-switch", ports = {ranks} }}
        router.delay = "13 ns"
        simulation.model = "delay"
        nic = {{ send_overhead = "1009 ns", receive_overhead = "503 ns" }}
        [workload]
        kind = "program"
        [workload.program]
        kind = "collective"
        reduction_time = "3 ns"
        copy_time = "5 ns"
        {program}
        [link]
        bandwidth = "4 Gb/s"
        delay = "70 ns"
        injection = {{ delay = "50 ns" }}
        ejection = {{ delay = "110 ns" }}
        "#
    )
}

/// Send overhead, and a message without its length, in nanoseconds: both overheads, two links and the switch.
const SEND: f64 = 1009.0;
const MESSAGE: f64 = SEND + 503.0 + 50.0 + 110.0 + 13.0;

/// Time in nanoseconds of `messages` messages in sequence that have `bytes` bytes in all.
fn wire(messages: f64, bytes: f64) -> f64 {
    messages * MESSAGE + 2.0 * bytes
}

/// Returns the longest time of an operation, in nanoseconds.
fn time(ranks: u32, (operation, algorithm): (&str, &str), rest: &str) -> f64 {
    let program = format!("operation = \"{operation}\"\nalgorithm = \"{algorithm}\"\n{rest}");
    let system = build_by_default(&experiment(ranks, &program)).unwrap();
    let point = run(&system, &RunOptions::default()).unwrap();
    point.closed().unwrap().program.as_ref().unwrap().times.clone().unwrap().operation_time_max_ns.unwrap()
}

/// Times of combining and of copying a byte, in nanoseconds.
const COMBINE: f64 = 3.0;
const COPY: f64 = 5.0;

/// Compares the times of all cases, so that a failure shows every case that differs.
fn check(cases: &[(u32, (&str, &str), &str, f64)]) {
    let times =
        cases.iter().map(|&(ranks, which, rest, expected)| (time(ranks, which, rest), expected, ranks, which, rest));
    let wrong: Vec<_> = times.filter(|&(measured, expected, ..)| measured != expected).collect();
    assert!(wrong.is_empty(), "measured, expected, ranks, algorithm, keys: {wrong:#?}");
}

#[test]
fn operations_of_all_members_take_the_time_of_their_rounds() {
    // Would catch a round more or less, a message of another size, bytes that are combined or copied for free, and a
    // remapping that is left out.
    let (all, part) = ("size = \"800 B\"", "size = \"100 B\"");
    let halving = wire(3.0, 700.0) + 700.0 * COMBINE;
    check(&[
        (8, ("allreduce", "bine"), all, 3.0 * (wire(1.0, 800.0) + 800.0 * COMBINE)),
        (8, ("allreduce", "rabenseifner-doubling"), all, halving + wire(3.0, 700.0)),
        (8, ("allreduce", "bine-bandwidth"), all, halving + wire(3.0, 700.0)),
        // Messages of 400, 200 and 100 B in segments of 100 B, each of which is combined before the next one is sent.
        (
            8,
            ("allreduce", "bine-bandwidth"),
            "size = \"800 B\"\nsegment = \"100 B\"",
            wire(7.0, 700.0) + 700.0 * COMBINE + wire(3.0, 700.0),
        ),
        // All segments of a step leave at once. A segment arrives after 200 ns, and is combined in 300 ns while further
        // ones arrive.
        (
            8,
            ("allreduce", "rabenseifner-doubling"),
            "size = \"800 B\"\nsegment = \"100 B\"",
            wire(3.0, 300.0) + 700.0 * COMBINE + wire(3.0, 700.0),
        ),
        // A buffer of 1 MiB whose pages are new, and 3 rounds.
        (
            8,
            ("reduce-scatter", "recursive-halving"),
            "size = \"1 MiB\"\nbuffer_time = \"1 ns\"\nstart_time = \"7 ns\"\nstep_time = \"11 ns\"",
            f64::from(1 << 20) + 7.0 + 3.0 * 11.0 + wire(3.0, 917_504.0) + 917_504.0 * COMBINE,
        ),
        (8, ("allreduce", "nonoverlapping"), all, 6.0 * wire(1.0, 800.0) + 3.0 * 800.0 * COMBINE),
        (8, ("allreduce", "allgather-reduce"), part, wire(3.0, 700.0) + 700.0 * COMBINE),
        // Members 0 and 1 are folded. What they combine reaches the last of the 4 that remain after both steps; the
        // result is back at member 1 before.
        (5, ("allreduce", "bine"), all, 3.0 * (wire(1.0, 800.0) + 800.0 * COMBINE)),
        (8, ("reduce-scatter", "bine-permute"), all, 800.0 * COPY + halving),
        (8, ("reduce-scatter", "bine-send"), all, halving + wire(1.0, 100.0)),
        (8, ("reduce-scatter", "recursive-distance-doubling"), all, halving + wire(1.0, 100.0)),
        (8, ("reduce-scatter", "bine-blocks"), all, halving),
        (8, ("reduce-scatter", "bine-two"), all, halving),
        (8, ("reduce-scatter", "nonoverlapping"), all, 3.0 * (wire(1.0, 800.0) + 800.0 * COMBINE) + wire(1.0, 700.0)),
        (8, ("allgather", "bine-permute"), part, wire(3.0, 700.0) + 800.0 * COPY),
        (8, ("allgather", "bine-send"), part, wire(4.0, 800.0)),
        (8, ("allgather", "bine-blocks"), part, wire(3.0, 700.0)),
        (8, ("allgather", "bine-two"), part, wire(3.0, 700.0)),
        (8, ("allgather", "sparbit"), part, wire(3.0, 700.0)),
        (8, ("allgather", "bruck"), part, wire(3.0, 700.0) + 800.0 * COPY),
        (6, ("allgather", "neighbor-exchange"), part, wire(3.0, 500.0)),
    ]);
}

#[test]
fn rooted_operations_and_exchanges_take_the_time_of_their_rounds() {
    // Would catch a tree of another depth, a chain that is longer than the others, a half that is sent twice, and a
    // window that is ignored.
    let (all, part) = ("size = \"800 B\"", "size = \"100 B\"");
    let segments = "size = \"800 B\"\nsegment = \"100 B\"";
    check(&[
        (8, ("broadcast", "bine"), all, 3.0 * wire(1.0, 800.0)),
        (8, ("broadcast", "bine-doubling"), all, 3.0 * wire(1.0, 800.0)),
        (8, ("broadcast", "bine-bandwidth"), all, 2.0 * wire(3.0, 700.0)),
        (8, ("reduce", "bine"), "size = \"800 B\"\nroot = 5", 3.0 * (wire(1.0, 800.0) + 800.0 * COMBINE)),
        (8, ("reduce", "bine-bandwidth"), all, 2.0 * wire(3.0, 700.0) + 700.0 * COMBINE),
        (8, ("reduce", "rabenseifner-doubling"), all, 2.0 * wire(3.0, 700.0) + 700.0 * COMBINE),
        // A segment to the first members of four chains, an overhead after the one before, and one hop along them.
        (9, ("broadcast", "chains"), segments, 7.0 * SEND + wire(2.0, 500.0)),
        // Two children of each member, whose messages leave together, and an exchange of halves.
        (7, ("broadcast", "split-binary"), all, 2.0 * wire(1.0, 800.0) + wire(1.0, 400.0)),
        // Messages do not queue at their receiver, which combines both.
        (7, ("reduce", "in-order-binary"), "size = \"100 B\"\nroot = 6", 2.0 * (wire(1.0, 100.0) + 200.0 * COMBINE)),
        (7, ("reduce", "in-order-binary"), part, 2.0 * (wire(1.0, 100.0) + 200.0 * COMBINE) + wire(1.0, 100.0)),
        (8, ("gather", "bine"), part, wire(3.0, 700.0)),
        (8, ("scatter", "bine"), "size = \"100 B\"\nroot = 3", wire(3.0, 700.0)),
        // The root sorts its 8 parts.
        (8, ("gather", "bine-doubling"), part, wire(3.0, 700.0) + 800.0 * COPY),
        (8, ("scatter", "bine-doubling"), "size = \"100 B\"\nroot = 3", wire(3.0, 700.0) + 800.0 * COPY),
        // A message of no bytes is a packet of one.
        (5, ("gather", "linear-sync"), part, 4.0 * (wire(1.0, 1.0) + wire(1.0, 100.0))),
        (8, ("alltoall", "bine"), part, wire(3.0, 1200.0) + 5.0 * 800.0 * COPY),
        (8, ("alltoall", "bruck"), part, wire(3.0, 1200.0) + 5.0 * 800.0 * COPY),
        (8, ("alltoall", "linear-sync"), "size = \"100 B\"\nwindow = 3", wire(3.0, 700.0)),
        (8, ("alltoall", "linear-sync"), part, wire(1.0, 700.0)),
        (6, ("barrier", "double-ring"), "", 12.0 * wire(1.0, 1.0)),
    ]);
}

#[test]
fn algorithms_of_nccl_take_the_time_of_their_rounds() {
    // Would catch a round more or less, halves that wait for one another, flags that take no time, shares of channels
    // that do not use the link in turn, and a launch or a step that is left out or counted twice.
    let (all, part) = ("size = \"800 B\"", "size = \"100 B\"");
    // 100 B on two channels by LL: 7 lines of 16 B each. A step follows each round, and copies the last part, 1 ns a byte.
    let keys = "size = \"100 B\"\nnccl = { gpu = \"a100\", protocol = \"ll\", channels = 2, launch = \"5 us\", ll_step = \"700 ns\", copy_bandwidth = \"8 Gb/s\" }";
    let servers = "size = \"100 B\"\nnccl = { gpu = \"a100\", protocol = \"simple\", channels = 2, gpus_per_node = 2, launch = \"5 us\", simple_step = \"700 ns\" }";
    let lines = 5000.0 + wire(7.0, 7.0 * 224.0) + 8.0 * 700.0 + 100.0;
    check(&[
        (8, ("reduce-scatter", "pat"), all, wire(3.0, 700.0) + 700.0 * COMBINE),
        (8, ("allgather", "pat"), part, wire(3.0, 700.0)),
        // Messages of 1, 1 and 3 parts.
        (6, ("allgather", "pat"), part, wire(3.0, 500.0)),
        // Both halves at once, in opposite directions.
        (2, ("allreduce", "double-tree"), all, 2.0 * wire(1.0, 400.0) + 400.0 * COMBINE),
        // Both halves along one chain.
        (4, ("allreduce", "double-tree"), "size = \"800 B\"\nradix = 4", wire(6.0, 4800.0) + 3.0 * 800.0 * COMBINE),
        (8, ("allgather", "ring"), keys, lines),
        // Two servers of two ranks: two lanes, by other ranks, share the link of a rank.
        (4, ("allgather", "ring"), servers, 5000.0 + wire(3.0, 300.0) + 4.0 * 700.0),
    ]);
}

#[test]
fn what_an_algorithm_does_not_allow_is_refused_at_its_key() {
    // Would catch a number of ranks with which a run would hang, and keys that are ignored.
    let cases = [
        ("operation = \"allgather\"\nalgorithm = \"neighbor-exchange\"", "algorithm"),
        ("operation = \"gather\"\nalgorithm = \"bine\"", "algorithm"),
        ("operation = \"alltoall\"\nalgorithm = \"pairwise\"\nwindow = 4", "window"),
        ("operation = \"gather\"\nalgorithm = \"linear-sync\"\nwindow = 4", "window"),
        ("operation = \"allreduce\"\nalgorithm = \"double-tree\"\nradix = 2\nnccl = { gpu = \"h100\" }", "radix"),
        ("operation = \"scan\"\nnccl = { gpu = \"h100\" }", "operation"),
        ("operation = \"allgather\"\nalgorithm = \"bruck\"\nnccl = { gpu = \"h100\" }", "algorithm"),
        ("operation = \"allreduce\"\nalgorithm = \"nvls\"\nnccl = { gpu = \"a100\" }", "algorithm"),
        ("operation = \"alltoall\"\nnccl = { gpu = \"h100\", protocol = \"ll128\" }", "nccl.protocol"),
        ("operation = \"allreduce\"\nnccl = { gpu = \"h100\", gpus_per_node = 3 }", "nccl.gpus_per_node"),
        ("operation = \"allreduce\"\nnccl = { gpu = \"h100\", nvls_efficiency = 0.0 }", "nccl.nvls_efficiency"),
        ("operation = \"broadcast\"\nalgorithm = \"bine-bandwidth\"\nsegment = \"1 KiB\"", "segment"),
    ];
    for (program, key) in cases {
        let error = build_by_default(&experiment(7, program)).unwrap_err();
        assert_eq!(error.key, format!("workload.program.{key}"), "{program}: {error}");
    }
    let text = experiment(8, "").replace("copy_time = \"5 ns\"", "copy_time = \"2 us\"");
    assert_eq!(build_by_default(&text).unwrap_err().key, "workload.program.copy_time");
    let on_nic = experiment(8, "").replace("reduction_time = \"3 ns\"", "");
    let error = build_by_default(&on_nic.replace("kind = \"program\"", "kind = \"program\"\ncollectives = \"nic\""))
        .unwrap_err();
    assert_eq!(error.key, "workload.program.copy_time", "{error}");
    // Other work of ranks is refused, too. NCCL has its own times.
    for key in ["buffer_time", "start_time", "step_time"] {
        let own = on_nic.replace("copy_time = \"5 ns\"", &format!("{key} = \"5 ns\""));
        let by_nic = own.replace("kind = \"program\"", "kind = \"program\"\ncollectives = \"nic\"");
        let by_nccl = own.replace("kind = \"collective\"", "kind = \"collective\"\nnccl = { gpu = \"h100\" }");
        for text in [by_nic, by_nccl] {
            assert_eq!(build_by_default(&text).unwrap_err().key, format!("workload.program.{key}"));
        }
        let long = own.replace("\"5 ns\"", "\"2000 s\"");
        assert_eq!(build_by_default(&long).unwrap_err().key, format!("workload.program.{key}"));
    }
}
