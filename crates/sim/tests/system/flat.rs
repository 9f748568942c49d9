//! The flat network on whole systems: closed forms to the picosecond, the same bytes for any number of threads, and
//! what is refused.

use std::path::Path;

use crate::common::{digest, result};
use sim::{Experiment, PointResult, Progress, System, analyze, check, validate_point};

fn experiment(program: &str, rest: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "flat", nodes = 64 }}
        link = {{ bandwidth = "8 Gb/s", delay = "700 ns" }}
        workload = {{ kind = "program", program = {program} }}
        {rest}
        "#
    )
}

/// 1 B/ns; overheads are primes.
const NIC: &str = r#"nic = { send_overhead = "1009 ns", receive_overhead = "503 ns" }"#;

fn time(point: &PointResult) -> Option<f64> {
    point.closed().and_then(|closed| closed.time_ns)
}

#[test]
fn messages_take_their_closed_forms() {
    // Would catch a delay that is charged twice, a link that carries two messages at once, a receiver that is a
    // bottleneck, and times that are rounded to a tick. 63 ranks send 1000 B to one.
    let one = result(&experiment(r#"{ kind = "incast", message_size = "1000 B" }"#, NIC));
    assert_eq!(time(&one), Some(1009.0 + 1000.0 + 700.0 + 503.0));
    // Each rank of a row of 8 sends 7 messages at once, and so in a column.
    let fft = result(&experiment(r#"{ kind = "fft", dims = [8, 8], message_size = "1001 B" }"#, NIC));
    assert_eq!(time(&fft), Some(2.0 * (1009.0 + 7.0 * 1001.0 + 700.0 + 503.0)));
    assert_eq!(fft.packets, 64 * 14);
    assert_eq!((fft.packet_hops, fft.latency_max_ns), (0, Some(7.0 * 1001.0 + 700.0)));
    let classes: Vec<&str> = fft.class_utilization.iter().map(|of| &*of.class).collect();
    assert_eq!(classes, ["injection"]);
}

#[test]
fn collective_operations_end_when_loggopsim_says() {
    // Would catch any term of LogGP that is charged twice, late or not at all, and an algorithm with another schedule.
    // LogGOPSim's own ends with L 2500, o 1500, g 1000, G 6, O 0 (ns): rounds of L + 2 o + (s - 1) G, as it charges no
    // gap per byte at the receiver.
    let end = |ranks: u32, operation: &str, algorithm: &str, size: &str| {
        let text = format!(
            r#"
            topology = {{ kind = "flat", nodes = {ranks} }}
            link = {{ bandwidth = "8000 Gb/s", delay = "2500 ns" }}
            workload = {{ kind = "program", program = {{ kind = "collective", operation = "{operation}",
                         algorithm = "{algorithm}", size = "{size}" }} }}
            [nic]
            kind = "loggp"
            send_overhead = "1500 ns"
            receive_overhead = "1500 ns"
            gap = "1000 ns"
            gap_per_byte = "6 ns"
            receive_gap_per_byte = "0 ns"
            "#
        );
        time(&result(&text))
    };
    assert_eq!(end(256, "alltoall", "pairwise", "1 KiB"), Some(2_967_690.0));
    assert_eq!(end(4096, "allreduce", "recursive-doubling", "8 B"), Some(66_504.0));
    assert_eq!(end(1024, "broadcast", "binomial", "1 KiB"), Some(116_380.0));
    // The interface sends a message each g + (s - 1) G, and the last of 255 takes o + L + o and its bytes.
    let gap = 1000.0 + 1023.0 * 6.0;
    let linear = 1500.0 + 254.0 * gap + 1023.0 * 6.0 + 2500.0 + 1500.0;
    assert_eq!(end(256, "alltoall", "linear", "1 KiB"), Some(linear));
}

#[test]
fn a_rendezvous_takes_three_flights() {
    // Would catch a request or an answer that is not a message of its own: control messages of 32 B, 32 ns.
    let nic = r#"nic = { send_overhead = "1009 ns", receive_overhead = "503 ns", eager_limit = "100 B" }"#;
    let text = experiment(r#"{ kind = "incast", message_size = "1000 B" }"#, nic).replace("64", "2");
    let flight = |bytes: f64| 1009.0 + bytes + 700.0 + 503.0;
    assert_eq!(time(&result(&text)), Some(2.0 * flight(32.0) + flight(1000.0)));
}

#[test]
fn a_gap_at_the_receiver_limits_an_incast() {
    // Would catch a gap that is charged in parallel: 63 messages of which each keeps the interface of the receiver for
    // 5 us, the first of which comes when it would without gaps.
    let nic = r#"nic = { kind = "loggp", send_overhead = "1 us", receive_overhead = "500 ns", receive_gap = "5 us" }"#;
    let point = result(&experiment(r#"{ kind = "incast", message_size = "1000 B" }"#, nic));
    assert_eq!(time(&point), Some(1000.0 + 1000.0 + 700.0 + 62.0 * 5000.0 + 500.0));
}

#[test]
fn a_message_within_a_node_is_copied() {
    // Would catch a memory that is not there on a flat network: two ranks of a node, 2000 B at 1 B/ns copied twice,
    // with a latency.
    let memory = r#"
        nic = { send_overhead = "1009 ns", receive_overhead = "503 ns" }
        node = { memory = { bandwidth = "1 GB/s", latency = "37 ns" } }
        placement = { strategy = "contiguous", processes_per_node = 2 }
    "#;
    let text = experiment(r#"{ kind = "incast", message_size = "2000 B" }"#, memory).replace("64", "1");
    assert_eq!(time(&result(&text)), Some(1009.0 + 2000.0 + 37.0 + 2000.0 + 503.0));
}

#[test]
fn no_operation_is_faster_than_its_bound() {
    // Would catch a bound of another network, of two delays and a router, and one that has a node receive at the
    // bandwidth of its link. Two ranks that exchange their vectors reach it.
    let of = |nodes: &str, program: &str| {
        let point = result(&experiment(program, NIC).replace("nodes = 64", nodes));
        let measured = &point.closed().unwrap().clone().program.unwrap().times.unwrap().measures[0];
        (measured.span_mean_ns.unwrap(), measured.bound_ns.unwrap())
    };
    let pair = of("nodes = 2", r#"{ kind = "collective", algorithm = "recursive-doubling", size = "1000 B" }"#);
    assert_eq!(pair, (1009.0 + 1000.0 + 700.0 + 503.0, 1009.0 + 1000.0 + 700.0 + 503.0));
    for operation in
        ["broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "reduce-scatter", "alltoall", "barrier"]
    {
        for (nodes, algorithm) in [("nodes = 2", "auto"), ("nodes = 13", "auto"), ("nodes = 13", "linear")] {
            let program = format!(
                r#"{{ kind = "collective", operation = "{operation}", algorithm = "{algorithm}", size = "8 kB" }}"#
            );
            if algorithm == "linear" && !["broadcast", "gather", "scatter", "alltoall"].contains(&operation) {
                continue;
            }
            let (span, bound) = of(nodes, &program);
            assert!(span >= bound && bound > 0.0, "{operation} {algorithm} on {nodes}: {span} {bound}");
        }
    }
}

fn ps(ns: f64) -> u64 {
    (ns * 1e3).round() as u64
}

#[test]
fn a_timeline_divides_the_time_into_links_delays_and_overheads() {
    // Would catch a message that is taken to stay within its node, a link's time that counts for the delay, and
    // messages that wait for others on the link. Rows of 8 ranks of which each sends 7 messages at once, twice: the
    // last one waits for 6.
    let measure = |nic: &str| format!("{nic}\nmeasure = {{ timeline = true }}");
    let point = result(&experiment(r#"{ kind = "fft", dims = [8, 8], message_size = "1001 B" }"#, &measure(NIC)));
    let closed = point.closed().unwrap().clone();
    let explained = closed.explained.unwrap();
    let path = explained.critical_path;
    let parts = [path.overhead_ns, path.serialization_ns, path.propagation_ns, path.queueing_ns].map(ps);
    assert_eq!(parts, [2 * 1_512_000, 2 * 1_001_000, 2 * 700_000, 12 * 1_001_000]);
    assert_eq!((ps(path.routers_ns), ps(path.host_ns), ps(path.unresolved_ns), path.messages), (0, 0, 0, 2));
    assert_eq!((&*path.classes[0].class, path.classes[0].crossed), ("injection", 2));
    let ranks = explained.breakdown.ranks;
    let rank = [ranks.overhead_ns[9], ranks.transfer_ns[9], ranks.late_sender_ns[9]].map(ps);
    assert_eq!(rank.iter().sum::<u64>(), ps(closed.time_ns.unwrap()));
    assert_eq!(explained.timeline.messages.from.len(), 64 * 14);
    // A rendezvous: request, answer and data, each over a link.
    let nic = r#"nic = { send_overhead = "1009 ns", receive_overhead = "503 ns", eager_limit = "100 B" }"#;
    let text = experiment(r#"{ kind = "incast", message_size = "1000 B" }"#, &measure(nic)).replace("64", "2");
    let path = result(&text).closed().unwrap().clone().explained.unwrap().critical_path;
    let parts = [path.overhead_ns, path.serialization_ns, path.propagation_ns, path.queueing_ns].map(ps);
    assert_eq!(parts, [3 * 1_512_000, 1_064_000, 3 * 700_000, 0]);
}

#[test]
fn a_timeline_of_interfaces_and_nodes_adds_up_for_any_threads() {
    // Would catch a part of a message that is lost between threads, and time in interfaces and memories that is
    // nobody's.
    for nic in [
        r#"nic = { kind = "loggp", send_overhead = "900 ns", receive_overhead = "1 us", gap = "2 us", gap_per_byte = "2 ns" }"#,
        r#"nic = { kind = "loggp", send_overhead = "900 ns", eager_limit = "1 KiB", dma = { bandwidth = "4 Gb/s", setup = "1 us" } }"#,
        r#"nic = { send_overhead = "900 ns", eager_credits = 1, eager_limit = "4 KiB", rendezvous = "read" }"#,
    ] {
        let rest = format!(
            "{nic}\nmeasure = {{ timeline = true }}\nplacement = {{ strategy = \"random\", processes_per_node = 2 }}"
        );
        let text = experiment(r#"{ kind = "halo-3d", iterations = 2, compute = "1 us" }"#, &rest);
        let text = text.replace("nodes = 64", "nodes = 32");
        let closed = result(&text).closed().unwrap().clone();
        let path = closed.explained.unwrap().critical_path;
        let all = path.computing_ns + path.overhead_ns + path.noise_ns + path.network_ns;
        assert_eq!(ps(all), ps(closed.time_ns.unwrap()), "{nic}");
        assert_eq!(path.unresolved_ns, 0.0, "{nic}");
        assert_eq!(digest(&text, 1), digest(&text, 5), "{nic}");
    }
}

#[test]
fn threads_change_nothing() {
    // Would catch an order of arrivals or of memory that depends on the division, and a message that comes late to
    // another thread.
    for (program, nic) in [
        (r#"{ kind = "incast", message_size = "300 B", messages = 5 }"#, NIC.to_owned()),
        (r#"{ kind = "halo-3d", iterations = 4, compute = "1 us" }"#, NIC.replace(" }", r#", eager_limit = "2 KiB" }"#)),
        (
            r#"{ kind = "collective", operation = "alltoall", algorithm = "linear", size = "700 B", iterations = 2 }"#,
            r#"nic = { kind = "loggp", send_overhead = "900 ns", receive_overhead = "1 us", gap = "2 us", receive_gap = "1500 ns" }"#
                .to_owned(),
        ),
        (
            r#"{ kind = "fft", iterations = 2 }"#,
            r#"nic = { kind = "loggp", send_overhead = "900 ns", receive_overhead = "1 us", gap = "2 us", gap_per_byte = "2 ns" }"#
                .to_owned(),
        ),
    ] {
        let placed = format!("{nic}\nplacement = {{ strategy = \"random\", processes_per_node = 2 }}");
        let text = experiment(program, &placed).replace("nodes = 64", "nodes = 32");
        let of = |threads| digest(&text, threads);
        assert_eq!(of(1), of(2), "{program}");
        assert_eq!(of(1), of(5), "{program}");
    }
}

#[test]
fn the_model_of_a_topology_may_be_named() {
    // Would catch a name that changes the result.
    let incast = experiment(r#"{ kind = "incast" }"#, NIC);
    let named = format!("{incast}\nsimulation.model = \"delay\"");
    assert_eq!(digest(&incast, 1), digest(&named, 1));
}

#[test]
fn what_has_no_meaning_is_refused_at_its_key() {
    // Would catch a key that is ignored.
    let program = r#"{ kind = "incast" }"#;
    let traffic = r#"workload = { kind = "traffic", load = 0.1 }"#;
    for (rest, replaced, key) in [
        (r#"routing = { kind = "shortest-path" }"#, "", "routing"),
        (r#"router = { kind = "input-queued" }"#, "", "router"),
        (r#"node = { receive_buffer = "64 KiB" }"#, "", "node.receive_buffer"),
        (r#"measure = { series = "1 us" }"#, "", "measure.series"),
        (r#"simulation = { model = "packet" }"#, "", "simulation.model"),
        ("", r#"delay = "700 ns", injection = { delay = "1 ns" }"#, "link.injection"),
        ("", traffic, "workload.kind"),
        ("", r#"workload = { kind = "exchange", packet_size = "1 KiB" }"#, "workload.packet_size"),
        ("", r#"job = [{ name = "one", workload = { kind = "traffic", load = 0.1 } }]"#, "job.one.workload.kind"),
    ] {
        let mut text = experiment(program, rest);
        if replaced.starts_with("delay") {
            text = text.replace(r#"delay = "700 ns""#, replaced);
        } else if !replaced.is_empty() {
            text = text.replace(&format!(r#"workload = {{ kind = "program", program = {program} }}"#), replaced);
        }
        let loaded = Experiment::load(&text, "flat.toml", Path::new("."), &[]).unwrap();
        let error = System::build(&loaded.points()[0].spec, Path::new(".")).unwrap_err();
        assert_eq!(error.key, key, "{error}");
        assert!(key != "routing" || error.message.contains("takes `link.delay`"), "{error}");
        assert!(validate_point(&loaded, &loaded.points()[0], &Progress::new()).is_err());
    }
}

#[test]
fn it_is_described_and_has_no_channels_to_analyse() {
    // Would catch routers that are not there in what `check` says, and an analysis of nothing.
    let loaded =
        Experiment::load(&experiment(r#"{ kind = "incast" }"#, NIC), "flat.toml", Path::new("."), &[]).unwrap();
    let system = System::build(&loaded.points()[0].spec, Path::new(".")).unwrap();
    let checked = check(&system).unwrap();
    assert_eq!((checked.routers, checked.nodes, checked.channels), (0, 64, 64));
    assert_eq!((checked.tick_ps, checked.window_ps), (1, Some(700_000)));
    assert_eq!((checked.routing.as_str(), checked.router.as_str()), ("none", "none"));
    assert_eq!(analyze(&system).unwrap_err().key, "topology.kind");
}
