//! Latencies and slowdowns of messages: against closed forms, against packets, and for any number of threads.

use fabric::Grain;
use sim::{MessageResult, PointResult};

use crate::common::{Matrix, ROUTERS, as_text, build, digest, digest_of, result, run_on};

/// 100 bytes at 3 Gb/s are 266,666 2/3 ps, rounded up.
const SERIALIZATION_PS: u64 = 266_667;

fn messages(found: &PointResult) -> MessageResult {
    found.messages.clone().unwrap()
}

/// One pair of nodes on a network whose delays are all different primes, with messages that are rare enough to be
/// alone.
fn lone(topology: &str, router: &str, size: &str, pattern: &str) -> String {
    format!(
        r#"
        topology = {topology}
        link = {{ bandwidth = "3 Gb/s", delay = "7 ns", injection = {{ delay = "5 ns" }}, ejection = {{ delay = "11 ns" }} }}
        router = {{ kind = "{router}", delay = "13 ns", buffer = "4 packets" }}
        workload = {{ kind = "traffic", load = 0.05, packet_size = "100 B", message_size = "{size}", pattern = {pattern} }}
        measure = {{ messages = true, warm_up = "10 us", max_time = "500 us" }}
        "#
    )
}

/// Topologies, and destinations of node 0 at several distances.
const PLACES: &[(&str, &[u32])] = &[
    (r#"{ kind = "single-switch", ports = 4 }"#, &[1]),
    (r#"{ kind = "fat-tree", k = 2, n = 4 }"#, &[1, 2, 15]),
    (r#"{ kind = "torus", dims = [4, 4] }"#, &[1, 5, 10]),
    (r#"{ kind = "torus", dims = [9], nodes_per_router = 2 }"#, &[1, 8]),
    (r#"{ kind = "mesh", dims = [2, 3, 4] }"#, &[3, 23]),
    (r#"{ kind = "file", path = "data/line.edges" }"#, &[1, 4]),
    (r#"{ kind = "dragonfly", h = 2 }"#, &[1, 8, 40, 71]),
];

#[test]
fn a_message_alone_takes_its_idle_time_on_every_topology_and_router() {
    // Packets follow one another without a gap: delays, and the time of all bytes. Would catch a message that is over
    // with its first packet, an idle time of another path or of store-and-forward, a rest that is charged as a whole
    // packet.
    for &(topology, destinations) in PLACES {
        for (router, &dst) in ROUTERS.iter().flat_map(|router| destinations.iter().map(move |dst| (router, dst))) {
            for (size, whole, rest) in [("100 B", 1, 0), ("1000 B", 10, 0), ("1030 B", 10, 80_000)] {
                let matrix = Matrix::pair("lone", 0, dst);
                let text = lone(topology, router, size, &matrix.pattern());
                let found = result(&text);
                let routers = found.hops_mean.unwrap() as u64;
                let exact = 16_000 + 7_000 * (routers - 1) + 13_000 * routers + whole * SERIALIZATION_PS + rest;
                let own = messages(&found).figures;
                assert!(own.count > 10, "{text}: {own:?}");
                assert_eq!((own.slowdown_mean, own.slowdown_max), (Some(1.0), Some(1.0)), "{text}: {own:?}");
                assert_eq!((own.slowdown_p50, own.slowdown_p999), (Some(1.0), Some(1.0)), "{text}: {own:?}");
                assert_eq!(own.latency_max_ns, Some(exact as f64 / 1e3), "{text}: {own:?}");
                assert!((own.latency_mean_ns.unwrap() * 1e3 - exact as f64).abs() < 1e-3, "{text}: {own:?}");
            }
        }
    }
}

#[test]
fn the_slowest_channel_of_a_path_carries_a_message() {
    // Injection is four times as fast as what follows, ejection twice: the local or global channels hold the packets
    // up. Would catch an idle time at the rate of the injection or of the ejection channel, and one that charges each
    // channel.
    for (router, slow) in ROUTERS.into_iter().flat_map(|router| ["local", "global"].map(|slow| (router, slow))) {
        let matrix = Matrix::pair("slow", 0, 71);
        let text = format!(
            r#"
            topology = {{ kind = "dragonfly", h = 2 }}
            router = {{ kind = "{router}", delay = "13 ns", buffer = "16 packets" }}
            workload = {{ kind = "traffic", load = 0.01, packet_size = "100 B", message_size = "1030 B",
                         injection = "periodic", pattern = {} }}
            measure = {{ messages = true, warm_up = "10 us", max_time = "900 us" }}
            [link]
            bandwidth = "10 Gb/s"
            delay = "7 ns"
            injection = {{ bandwidth = "12 Gb/s" }}
            ejection = {{ bandwidth = "6 Gb/s" }}
            {slow} = {{ bandwidth = "3 Gb/s" }}
            "#,
            matrix.pattern()
        );
        let found = result(&text);
        let routers = found.hops_mean.unwrap() as u64;
        assert!(routers > 2, "a path with both classes: {routers}");
        let exact = 7_000 * (routers + 1) + 13_000 * routers + 10 * SERIALIZATION_PS + 80_000;
        let own = messages(&found).figures;
        assert_eq!((own.slowdown_mean, own.slowdown_max), (Some(1.0), Some(1.0)), "{text}: {own:?}");
        assert_eq!(own.latency_max_ns, Some(exact as f64 / 1e3), "{text}: {own:?}");
    }
}

#[test]
fn two_flows_that_share_a_channel_end_a_packet_apart() {
    // Nodes 0 and 1 send 20 packets each to node 2, whose channel takes them in turn: the flows end with its 39th and
    // its 40th packet, and alone would take 20. Would catch a flow that is over with its first or with its node's last
    // packet, flows of two senders or of two arcs taken for one another, and a slowdown against the wrong volume.
    for router in ROUTERS {
        let graph = std::env::temp_dir().join(format!("cutthrough-{}-{router}-two.csv", std::process::id()));
        std::fs::write(&graph, "from,to,bytes\n0,2,1000\n1,2,2000\n0,2,1000\n").unwrap();
        let text = format!(
            r#"
            topology = {{ kind = "single-switch", ports = 4 }}
            link = {{ bandwidth = "4 Gb/s", delay = "7 ns", injection = {{ delay = "5 ns" }}, ejection = {{ delay = "11 ns" }} }}
            router = {{ kind = "{router}", delay = "13 ns", buffer = "8 packets" }}
            workload = {{ kind = "application", graph = '{}', packet_size = "100 B" }}
            measure = {{ messages = true }}
            "#,
            graph.display()
        );
        let found = messages(&result(&text));
        std::fs::remove_file(&graph).unwrap();
        let (delays, slot) = (5.0 + 13.0 + 11.0, 200.0);
        let idle = delays + 20.0 * slot;
        let own = &found.figures;
        let [first, last] = [39.0, 40.0].map(|packets| delays + packets * slot);
        let spread = found.distribution.as_ref().unwrap();
        assert_eq!(
            (own.count, own.latency_max_ns, spread.latency_ns[0]),
            (2, Some(last), first),
            "{router}: {found:?}"
        );
        assert!((own.latency_mean_ns.unwrap() - (first + last) / 2.0).abs() < 1e-9);
        for (found, latency) in [(own.slowdown_max.unwrap(), last), (spread.slowdown[0], first)] {
            assert!((found - latency / idle).abs() < 1e-6, "{router}: {found} {}", latency / idle);
        }
        assert_eq!((found.sizes.len(), found.sizes[0].smallest_bytes, found.sizes[0].largest_bytes), (1, 2000, 2000));
    }
}

#[test]
fn messages_of_a_lone_sender_wait_as_an_md1_queue_does() {
    // Of p the load, M/D/1 waits p / (2 (1 - p)) messages (Kleinrock, Queueing Systems, volume 1, section 5.5). Would
    // catch a message that is generated packet by packet, a latency without the source queue, an idle time that is a
    // packet's.
    let matrix = Matrix::pair("message-queue", 0, 1);
    let text = format!(
        r#"
        topology = {{ kind = "single-switch", ports = 2 }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        workload = {{ kind = "traffic", load = 0.7, injection = "poisson", message_size = "1 KiB", pattern = {} }}
        measure = {{ messages = true, warm_up = "2 ms", min_time = "400 ms", precision = 0.01 }}
        "#,
        matrix.pattern()
    );
    let own = messages(&result(&text)).figures;
    let (slot, delays) = (819.2, 20.0 + 90.0 + 20.0);
    let (idle, wait) = (delays + slot, slot * 0.7 / (2.0 * 0.3));
    let (mean, slowdown) = (own.latency_mean_ns.unwrap(), own.slowdown_mean.unwrap());
    assert!(((mean - idle) / wait - 1.0).abs() < 0.02, "waits {}, not {wait}", mean - idle);
    assert!(((slowdown - 1.0) * idle / wait - 1.0).abs() < 0.02, "{slowdown}");
    assert!(own.slowdown_p50 < own.slowdown_p90 && own.slowdown_p90 < own.slowdown_p99);
    assert!(own.slowdown_p99 < own.slowdown_p999 && own.slowdown_p999 < own.slowdown_max);
}

/// Open traffic on a torus at a load, with a workload's and a measurement's own keys.
fn torus(keys: &str, measure: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "torus", dims = [4, 4] }}
        link = {{ bandwidth = "10 Gb/s", delay = "40 ns" }}
        workload = {{ kind = "traffic", load = 0.4, {keys} }}
        measure = {{ warm_up = "20 us", max_time = "100 us", {measure} }}
        "#
    )
}

#[test]
fn a_message_of_one_packet_is_its_packet_and_the_last_packet_ends_a_message() {
    // Would catch messages that are measured over another interval than packets, and one that is lost or counted twice.
    let one = result(&torus(r#"injection = "poisson""#, "messages = true"));
    let own = messages(&one).figures;
    assert_eq!(own.count, one.packets);
    assert_eq!(
        [own.latency_mean_ns, own.latency_p50_ns, own.latency_p99_ns, own.latency_max_ns],
        [one.latency_mean_ns, one.latency_p50_ns, one.latency_p99_ns, one.latency_max_ns]
    );
    for keys in ["", r#", pacer = { kind = "window", window = "600 B" }"#, r#", injection = "poisson""#] {
        let several = result(&torus(&format!(r#"message_size = "1000 B"{keys}"#), "messages = true"));
        let own = messages(&several).figures;
        assert_eq!(own.count * 4, several.packets, "{keys}");
        assert_eq!(own.latency_max_ns, several.latency_max_ns, "{keys}");
        assert!(own.latency_mean_ns > several.latency_mean_ns, "{keys}");
        assert!(own.slowdown_mean > Some(1.0), "{keys}");
    }
}

#[test]
fn past_saturation_there_are_no_percentiles_of_messages() {
    // Would catch a tail without the messages that have not arrived.
    let text = torus(r#"message_size = "1000 B""#, "messages = true").replace("load = 0.4", "load = 1.0");
    let found = result(&text);
    let own = messages(&found);
    assert!(found.open().unwrap().saturated && own.figures.latency_mean_ns.is_some());
    assert_eq!((own.figures.latency_p50_ns, own.figures.slowdown_max, own.distribution), (None, None, None));
}

#[test]
fn ranks_alone_send_messages_without_slowdown() {
    // WOCON sends one message at a time. Would catch a latency that has overheads in it, a message that is counted for
    // each packet, control messages that are counted, and messages within a node.
    for (nic, processes) in [("", 1), ("eager_limit = \"200 B\", ", 1), ("send_overhead = \"17 ps\", ", 2)] {
        let text = format!(
            r#"
            topology = {{ kind = "torus", dims = [5, 4, 3] }}
            router = {{ kind = "output-queued", delay = "13 ns", buffer = "4 packets" }}
            workload = {{ kind = "benchmark", packet_size = "100 B",
                         benchmark = {{ kind = "wocon", master = 7, messages = 2, message_size = "1 KiB" }} }}
            nic = {{ {nic} receive_overhead = "503 ns" }}
            placement = {{ processes_per_node = {processes} }}
            link = {{ bandwidth = "4 Gb/s", delay = "7 ns" }}
            measure = {{ messages = true }}
            "#
        );
        let own = messages(&result(&text)).figures;
        let others = 60 * processes - processes;
        assert_eq!(own.count, 2 * 2 * others, "{nic}: {own:?}");
        assert_eq!((own.slowdown_mean, own.slowdown_max), (Some(1.0), Some(1.0)), "{nic}: {own:?}");
    }
}

#[test]
fn many_sizes_are_counted_in_powers_of_two() {
    // Would catch a class that loses messages, and sizes that are merged while they are few.
    for (tasks, classes) in [(8, 7), (40, 6)] {
        let mut graph = "from,to,bytes\n".to_owned();
        (1..tasks).for_each(|to| graph += &format!("0,{to},{}\n", 100 * to));
        let path = std::env::temp_dir().join(format!("cutthrough-{}-{tasks}-sizes.csv", std::process::id()));
        std::fs::write(&path, graph).unwrap();
        let text = format!(
            "topology = {{ kind = \"single-switch\", ports = 64 }}\nlink = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\n\
             workload = {{ kind = \"application\", graph = '{}' }}\nmeasure = {{ messages = true }}",
            path.display()
        );
        let own = messages(&result(&text));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(own.figures.count, tasks - 1);
        assert_eq!(own.sizes.iter().map(|size| size.figures.count).sum::<u64>(), tasks - 1);
        assert_eq!(own.sizes.len(), classes, "{:?}", own.sizes);
        assert!(own.sizes.is_sorted_by(|one, next| one.largest_bytes < next.smallest_bytes));
    }
}

#[test]
fn measuring_messages_changes_nothing_else() {
    // Would catch a measurement that draws, delays or decides.
    for keys in
        ["", "message_size = \"600 B\", injection = \"poisson\"", "pacer = { kind = \"window\", window = \"512 B\" }"]
    {
        for measure in ["messages = true", "messages = true, series = \"700 ns\""] {
            let mut found = run_on(&torus(keys, measure), 1).unwrap();
            assert!(found.messages.take().is_some());
            assert_eq!(found.series.take().is_some(), measure.contains("series"));
            found.wall_s = 0.0;
            assert_eq!(as_text(&found), digest(&torus(keys, ""), 1), "{keys} {measure}");
        }
    }
}

/// Jobs of every kind that share nodes, messages of several packets, and routers and links of different speeds.
const CASES: &[(&str, &str)] = &[
    (
        r#"kind = "torus", dims = [4, 4]"#,
        r#"workload = { kind = "traffic", load = 0.4, message_size = "1000 B", injection = "poisson" }"#,
    ),
    (r#"kind = "dragonfly", h = 2"#, r#"workload = { kind = "exchange", volume = "2 KiB" }"#),
    (r#"kind = "fat-tree", k = 4, n = 2"#, r#"workload = { kind = "application", graph = "random:16,bytes=3000" }"#),
    (
        r#"kind = "mesh", dims = [4, 4]"#,
        r#"workload = { kind = "benchmark", benchmark = { kind = "wicon", pairs = "random", message_size = "600 B" } }"#,
    ),
    (
        r#"kind = "torus", dims = [4, 4]"#,
        "[[job]]\nname = \"open\"\nworkload = { kind = \"traffic\", load = 0.3, message_size = \"700 B\" }\n\
         [[job]]\nname = \"steps\"\nstart = \"3 us\"\nworkload = { kind = \"exchange\", dims = [4, 4], volume = \"3 KiB\" }\n\
         [[job]]\nname = \"ranks\"\nnodes = \"4-11\"\nworkload = { kind = \"benchmark\", benchmark = { kind = \"wicon\", \
         pairs = \"random\", messages = 2, message_size = \"600 B\" }, pacer = { kind = \"window\", window = \"512 B\" } }",
    ),
];

#[test]
fn messages_and_series_are_the_same_for_any_number_of_threads_and_partitions() {
    // Would catch a message whose packets are counted in two places, a sample of one partition, an order that matters.
    for (topology, workload) in CASES {
        let text = format!(
            "seed = 3\ntopology = {{ {topology} }}\nlink = {{ bandwidth = \"10 Gb/s\", delay = \"130 ns\" }}\n\
             measure = {{ messages = true, series = \"1 us\", warm_up = \"5 us\", max_time = \"40 us\" }}\n{workload}"
        );
        let one = digest(&text, 1);
        assert!(one.contains("\"slowdown_max\":") && !one.contains("\"slowdown_max\":null"), "{one}");
        assert!(one.contains("\"time_ns\":[1000.0,2000.0"), "{one}");
        for (threads, grain) in [(2, Grain::Fine), (3, Grain::Fine), (1, Grain::Exactly(5))] {
            assert_eq!(digest_of(&text, threads, grain), one, "{threads} {grain:?}: {text}");
        }
        assert!(build(&text).is_ok());
    }
}
