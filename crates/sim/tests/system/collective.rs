//! Collective operations of ranks on whole systems: times to the picosecond, lower bounds, several ranks a node, and
//! errors.

use crate::common::{build, digest, digest_of, result};
use fabric::Grain;
use mpi::collectives::{Operation, algorithms};
use sim::PointResult;

/// Overheads, links and routers take whole nanoseconds; 100 bytes at 4 Gb/s are 200 ns.
fn experiment(topology: &str, program: &str, rest: &str) -> String {
    format!(
        r#"
        topology = {topology}
        router = {{ kind = "output-queued", delay = "13 ns", buffer = "64 KiB" }}
        workload = {{ kind = "program", packet_size = "100 B", program = {{ kind = "collective", {program} }} }}
        nic = {{ send_overhead = "1009 ns", receive_overhead = "503 ns" }}
        {rest}
        [link]
        bandwidth = "4 Gb/s"
        delay = "70 ns"
        injection = {{ delay = "50 ns" }}
        ejection = {{ delay = "110 ns" }}
        "#
    )
}

/// A switch with a node on each of so many ports.
fn switch(ports: u32) -> String {
    format!("{{ kind = \"single-switch\", ports = {ports} }}")
}

/// A message through a switch without its length, in nanoseconds: both overheads, two links and the switch.
const MESSAGE: f64 = 1009.0 + 503.0 + 50.0 + 110.0 + 13.0;

/// The mean and the longest time of an operation, its span and its bound, in nanoseconds.
fn times(point: &PointResult) -> [f64; 4] {
    let times = point.closed().unwrap().program.as_ref().unwrap().times.clone().unwrap();
    let all = [
        times.operation_time_mean_ns,
        times.operation_time_max_ns,
        times.operation_span_mean_ns,
        times.operation_bound_ns,
    ];
    all.map(Option::unwrap)
}

#[test]
fn operations_take_the_time_of_their_rounds() {
    // Would catch a round more or less, a message of another size, an overhead that is left out, and a mean that is
    // none. No two messages meet: each round is a permutation.
    let cases = [
        (8, "operation = \"allreduce\", algorithm = \"recursive-doubling\", size = \"300 B\"", 3.0 * (MESSAGE + 600.0)),
        (8, "operation = \"allreduce\", algorithm = \"rabenseifner\", size = \"800 B\"", 6.0 * MESSAGE + 2.0 * 1400.0),
        (6, "operation = \"allreduce\", algorithm = \"ring\", size = \"600 B\"", 10.0 * (MESSAGE + 200.0)),
        (5, "operation = \"alltoall\", algorithm = \"pairwise\", size = \"200 B\"", 4.0 * (MESSAGE + 400.0)),
        (5, "operation = \"allgather\", algorithm = \"bruck\", size = \"100 B\"", 3.0 * MESSAGE + 4.0 * 200.0),
        // Segments follow one another by an overhead, which is longer than their bytes take.
        (
            5,
            "operation = \"broadcast\", algorithm = \"chain\", size = \"800 B\", segment = \"100 B\", root = 3",
            4.0 * (MESSAGE + 200.0) + 7.0 * 1009.0,
        ),
        // A message of no bytes is a packet of one.
        (5, "operation = \"barrier\", algorithm = \"dissemination\"", 3.0 * (MESSAGE + 2.0)),
    ];
    for (ranks, program, time) in cases {
        let [mean, longest, span, bound] = times(&result(&experiment(&switch(ranks), program, "")));
        assert_eq!([longest, span], [time; 2], "{program}");
        assert!(mean == time || program.contains("chain"), "{program}");
        assert!(bound <= time, "{program}: {bound}");
        if program.contains("chain") {
            continue;
        }
        let point = result(&experiment(&switch(ranks), &format!("{program}, iterations = 3, compute = \"7 us\""), ""));
        assert_eq!(times(&point)[..3], [time; 3], "{program}");
        assert_eq!(point.closed().unwrap().clone().time_ns, Some(3.0 * (time + 7000.0)), "{program}");
    }
}

#[test]
fn bounds_are_those_of_theory() {
    // Would catch a bound of another operation, one that counts bytes within a node, and one that no run can be above.
    let bound = |operation: &str, rest: &str| {
        let program = format!("operation = \"{operation}\", size = \"800 B\"");
        times(&result(&experiment(&switch(4), &program, rest)))[3]
    };
    let byte = 2.0;
    for (operation, bytes) in [
        ("broadcast", 800.0),
        ("reduce", 800.0),
        ("allreduce", 1200.0),
        ("reduce-scatter", 600.0),
        ("gather", 2400.0),
        ("scatter", 2400.0),
        ("allgather", 2400.0),
        ("alltoall", 2400.0),
        ("barrier", 0.0),
        ("scan", 800.0),
        ("exscan", 800.0),
    ] {
        assert_eq!(bound(operation, ""), MESSAGE + bytes * byte, "{operation}");
    }
    let two = "placement = { strategy = \"contiguous\", processes_per_node = 2 }";
    assert_eq!(bound("alltoall", two), MESSAGE + 2.0 * 6.0 * 800.0 * byte);
    assert_eq!(bound("allreduce", two), MESSAGE + 1200.0 * byte);
}

#[test]
fn bounds_within_a_node_are_those_of_its_memory() {
    // By hand, four ranks of a node, in messages of 800 B: the memory carries 3 of a broadcast, 6 of an allreduce, 12 of
    // an alltoall, in two copies of a byte a nanosecond. Would catch an operation within a node without a bound, a bound
    // that no run reaches, and one that a run is below: all algorithms, with and without a memory, in one copy or two.
    let of = |operation: &str, algorithm: &str, memory: &str| {
        let program =
            format!("operation = \"{operation}\", algorithm = \"{algorithm}\", size = \"800 B\", iterations = 3");
        let rest = "placement = { strategy = \"contiguous\", processes_per_node = 4 }";
        let text = experiment(&switch(1), &program, rest).replace("\"503 ns\" }", memory);
        let [.., span, bound] = times(&result(&text));
        assert!(span >= bound && bound >= 1512.0, "{operation} {algorithm} {memory}: {span} {bound}");
        (span, bound)
    };
    let none = "\"503 ns\" }";
    let twice = "\"503 ns\" }\nnode = { memory = { bandwidth = \"1 GB/s\" } }";
    let once = "\"503 ns\", eager_limit = \"100 B\" }\n\
                node = { memory = { bandwidth = \"1 GB/s\", latency = \"7 ns\", copies = 1 } }";
    for (operation, bytes) in [("broadcast", 2400.0), ("allreduce", 4800.0), ("alltoall", 9600.0), ("barrier", 0.0)] {
        assert_eq!(of(operation, "auto", twice).1, 1512.0 + 2.0 * bytes, "{operation}");
        assert_eq!(of(operation, "auto", once).1, 1512.0 + bytes, "{operation}");
    }
    assert_eq!(of("broadcast", "linear", none), (1512.0, 1512.0));
    for operation in Operation::ALL {
        for algorithm in algorithms(operation).filter(|&algorithm| !algorithm.is_of_switches()) {
            for memory in [none, twice, once] {
                of(operation.name(), algorithm.name(), memory);
            }
        }
    }
}

#[test]
fn computing_hides_what_goes_on_meanwhile() {
    // Would catch an operation that waits for the calculation, and one whose time leaves the calculation out.
    let program =
        "operation = \"allreduce\", algorithm = \"ring\", size = \"600 B\", overlap = true, compute = \"50 us\"";
    let point = result(&experiment(&switch(6), program, ""));
    assert_eq!(times(&point)[0], 50_000.0);
    let point = result(&experiment(&switch(6), &program.replace("50 us", "5 us"), ""));
    assert_eq!(times(&point)[0], 10.0 * (MESSAGE + 200.0));
}

#[test]
fn combining_takes_its_time() {
    // Would catch bytes that are combined twice or for free: a ring combines all but its own part once.
    let program = "operation = \"allreduce\", algorithm = \"ring\", size = \"600 B\", reduction_time = \"10 ns\"";
    let point = result(&experiment(&switch(6), program, ""));
    assert_eq!(times(&point)[0], 10.0 * (MESSAGE + 200.0) + 5.0 * 100.0 * 10.0);
    // Along a chain a member combines a segment before it sends it, and the segments behind wait for both.
    let program = "operation = \"reduce\", algorithm = \"chain\", size = \"800 B\", segment = \"100 B\", reduction_time = \"1 ns\"";
    let point = result(&experiment(&switch(5), program, ""));
    assert_eq!(times(&point)[1], 4.0 * (MESSAGE + 200.0 + 100.0) + 7.0 * (1009.0 + 100.0));
}

#[test]
fn groups_carry_their_operations_out_at_once() {
    // Would catch groups that wait for one another, or whose members are others.
    let group = |rest: &str| {
        let program = format!("operation = \"allreduce\", algorithm = \"ring\", size = \"300 B\", {rest}");
        result(&experiment(&switch(12), &program, ""))
    };
    for rest in ["group_size = 3", "group_size = 3, group_stride = 4", "group_size = 3, group_stride = 2"] {
        let point = group(rest);
        assert_eq!(times(&point)[..3], [4.0 * (MESSAGE + 200.0); 3], "{rest}");
        assert_eq!(point.closed().unwrap().clone().program.unwrap().program_messages, 12 * 4, "{rest}");
    }
    // Peers wrap around modulo the members, also in the group whose members are numbered like ranks.
    for operation in ["alltoall", "allgather", "reduce-scatter"] {
        let program = format!("operation = \"{operation}\", algorithm = \"linear\", size = \"300 B\", group_size = 3");
        let point = result(&experiment(&switch(12), &program, ""));
        assert_eq!(point.closed().unwrap().clone().program.unwrap().program_messages, 12 * 2, "{operation}");
    }
}

#[test]
fn hierarchical_operations_cross_the_network_between_leaders_only() {
    // Would catch a leader on another node, and ranks of one node that send over the network: two nodes exchange what
    // one rank of each has, between two stages within nodes.
    let program = "operation = \"allreduce\", algorithm = \"hierarchical\", size = \"400 B\"";
    let placement = |strategy| format!("placement = {{ strategy = \"{strategy}\", processes_per_node = 4 }}");
    let within = 1009.0 + 503.0;
    for strategy in ["contiguous", "round-robin", "random"] {
        let point = result(&experiment(&switch(2), program, &placement(strategy)));
        assert_eq!(point.packets, 2 * 4, "{strategy}");
        let stages = 2.0 * within + MESSAGE + 800.0 + 2.0 * within;
        assert_eq!(times(&point)[1..3], [stages; 2], "{strategy}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    // Would catch an operation that takes the message of another one where partitions change the order of what happens.
    let programs = [
        "operation = \"alltoall\", algorithm = \"linear\", size = \"250 B\", iterations = 2",
        "operation = \"allreduce\", algorithm = \"hierarchical\", size = \"2 KiB\", iterations = 3",
        "operation = \"alltoall\", algorithm = \"hierarchical\", size = \"300 B\"",
        "operation = \"allreduce\", algorithm = \"chain\", size = \"3 KiB\", segment = \"256 B\", reduction_time = \"1 ns\"",
        "operation = \"allgather\", algorithm = \"bruck\", radix = 3, size = \"130 B\", overlap = true, compute = \"3 us\"",
        "operation = \"allreduce\", algorithm = \"bine-bandwidth\", size = \"3 KiB\", segment = \"256 B\", reduction_time = \"1 ns\"",
    ];
    let topology = "{ kind = \"dragonfly\", p = 2, a = 4, h = 2 }";
    for (program, (threads, grain)) in
        programs.iter().zip([(2, Grain::Exactly(3)), (1, Grain::Exactly(5)), (2, Grain::Fine)].into_iter().cycle())
    {
        let rest = "placement = { strategy = \"random\", processes_per_node = 2 }\nrouting = { kind = \"ugal-l\" }";
        let text = experiment(topology, program, rest).replace("\"503 ns\" }", "\"503 ns\", eager_limit = \"200 B\" }");
        assert_eq!(digest_of(&text, threads, grain), digest(&text, 1), "{text}");
    }
}

#[test]
fn what_cannot_be_is_refused_at_its_key() {
    // Would catch a panic, a key that is ignored, and an algorithm that does something else.
    let cases = [
        ("operation = \"alltoall\", algorithm = \"ring\"", "algorithm"),
        ("operation = \"scan\", algorithm = \"hierarchical\"", "algorithm"),
        ("algorithm = \"ring\", segment = \"0 B\"", "segment"),
        ("algorithm = \"rabenseifner\", segment = \"1 KiB\"", "segment"),
        ("algorithm = \"auto\", segment = \"1 KiB\"", "segment"),
        ("algorithm = \"ring\", size = \"1 GiB\", segment = \"1 B\"", "segment"),
        ("operation = \"broadcast\", root = 8", "root"),
        ("operation = \"alltoall\", root = 1", "root"),
        ("radix = 3", "radix"),
        ("operation = \"broadcast\", algorithm = \"k-nomial\", radix = 1", "radix"),
        ("size = \"10 B\", element_size = \"4 B\"", "element_size"),
        ("element_size = \"0 B\"", "element_size"),
        ("size = \"2 TiB\"", "size"),
        ("group_size = 3", "group_size"),
        ("group_size = 4, group_stride = 3", "group_size"),
        ("selection = \"absent.csv\"", "selection"),
        ("algorithm = \"ring\", selection = \"absent.csv\"", "selection"),
        ("reduction_time = \"2 us\"", "reduction_time"),
        ("compute = \"2000 s\"", "compute"),
    ];
    for (program, key) in cases {
        let error = build(&experiment(&switch(8), program, "")).unwrap_err();
        assert_eq!(error.key, format!("workload.program.{key}"), "{program}: {error}");
    }
}
