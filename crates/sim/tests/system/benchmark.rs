//! Ranks that send and receive, on whole systems: times to the picosecond, and the same bytes for any number of
//! threads.

use crate::common::{build, digest, digest_of, result};
use fabric::Grain;
use sim::{BenchmarkResult, PointResult};

/// Delays of nodes, channels, routers and overheads are different primes; 100 bytes at 4 Gb/s are 200 ns.
fn experiment(topology: &str, benchmark: &str, rest: &str) -> String {
    format!(
        r#"
        topology = {topology}
        router = {{ kind = "output-queued", delay = "13 ns", buffer = "4 packets" }}
        workload = {{ kind = "benchmark", packet_size = "100 B", benchmark = {benchmark} }}
        {rest}
        [link]
        bandwidth = "4 Gb/s"
        delay = "7 ns"
        injection = {{ delay = "5 ns" }}
        ejection = {{ delay = "11 ns" }}
        "#
    )
}

const OVERHEADS: &str = "nic = { send_overhead = \"1009 ns\", receive_overhead = \"503 ns\" }";
const TORUS: &str = r#"{ kind = "torus", dims = [5, 4, 3] }"#;

/// What a way of so many channels between routers takes a packet, without its length, in nanoseconds.
fn path_time(hops: u32) -> f64 {
    5.0 + 11.0 + 7.0 * f64::from(hops) + 13.0 * f64::from(hops + 1)
}

fn benchmark(point: &PointResult) -> BenchmarkResult {
    point.closed().and_then(|closed| closed.benchmark.clone()).unwrap()
}

fn near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-6, "{one} {other}");
}

#[test]
fn a_message_alone_takes_overheads_way_and_length() {
    // Would catch a packet counted twice, an overhead forgotten, packets of a message that do not follow one another.
    for (size, length) in [("1 B", 2.0), ("100 B", 200.0), ("1 KiB", 2048.0)] {
        let wocon = format!("{{ kind = \"wocon\", master = 7, messages = 2, message_size = \"{size}\" }}");
        let point = result(&experiment(TORUS, &wocon, OVERHEADS));
        let found = benchmark(&point);
        assert_eq!(found.pairs.len(), 59);
        for pair in &found.pairs {
            assert_eq!((pair.rank, pair.messages), (7, 2));
            let exact = 1009.0 + 503.0 + path_time(pair.channels) + length;
            near(pair.time_min_ns.unwrap(), exact);
            near(pair.time_max_ns.unwrap(), exact);
        }
        // The diameter is 2 + 2 + 1; neighbours are one hop apart.
        let spread = 4.0 * 20.0 / (1009.0 + 503.0 + path_time(1) + length);
        near(found.message_time_spread.unwrap(), spread);
        // One at a time: all round trips together.
        let sum: f64 = found.pairs.iter().map(|pair| 4.0 * pair.time_mean_ns.unwrap()).sum();
        near(point.closed().unwrap().clone().time_ns.unwrap() / sum, 1.0);
    }
}

#[test]
fn pairs_on_a_dragonfly_are_as_far_apart_as_their_messages_travel() {
    // Would catch channels counted on a path over two global channels, which minimal routing does not take: routers 1
    // and 5 of h = 2 are four such channels apart, ends included, and their messages cross five.
    let wocon = "{ kind = \"wocon\", master = 2, messages = 1, message_size = \"100 B\" }";
    let found = benchmark(&result(&experiment("{ kind = \"dragonfly\", h = 2 }", wocon, OVERHEADS)));
    for pair in &found.pairs {
        near(pair.time_mean_ns.unwrap(), 1009.0 + 503.0 + path_time(pair.channels - 2) + 200.0);
    }
    assert_eq!(found.pairs.iter().find(|pair| pair.partner == 10).map(|pair| pair.channels), Some(5));
}

#[test]
fn a_large_message_asks_first() {
    // Would catch data that go before the answer, and control messages that cost nothing.
    let wocon = "{ kind = \"wocon\", message_size = \"1 KiB\" }";
    let nic = "nic = { send_overhead = \"1009 ns\", receive_overhead = \"503 ns\", eager_limit = \"1023 B\", control_size = \"50 B\" }";
    for pair in benchmark(&result(&experiment(TORUS, wocon, nic))).pairs {
        near(pair.time_mean_ns.unwrap(), 3.0 * (1512.0 + path_time(pair.channels)) + 2.0 * 100.0 + 2048.0);
    }
    // A message of just the limit does not.
    let same = nic.replace("1023 B", "1 KiB");
    let eager = benchmark(&result(&experiment(TORUS, wocon, &same)));
    near(eager.message_time_min_ns.unwrap(), 1512.0 + path_time(1) + 2048.0);
}

#[test]
fn messages_within_a_node_take_the_overheads_alone() {
    // Would catch messages of one node that go through its router.
    let placement = "placement = { strategy = \"contiguous\", processes_per_node = 2 }";
    let both = "{ kind = \"wocon\", message_size = \"1 KiB\" }";
    let found = benchmark(&result(&experiment(TORUS, both, &format!("{OVERHEADS}\n{placement}"))));
    let own = &found.pairs[0];
    assert_eq!((own.partner, own.channels), (1, 0));
    near(own.time_mean_ns.unwrap(), 1512.0);
    assert!(found.pairs[1..].iter().all(|pair| pair.channels > 0));
    // Nor does it ask first.
    let asking = OVERHEADS.replace(" }", ", eager_limit = \"1 B\" }");
    let found = benchmark(&result(&experiment(TORUS, both, &format!("{asking}\n{placement}"))));
    near(found.pairs[0].time_mean_ns.unwrap(), 1512.0);
    near(found.pairs[1].time_mean_ns.unwrap(), 3.0 * (1512.0 + path_time(1)) + 2.0 * 64.0 + 2048.0);
}

#[test]
fn near_partners_are_one_hop_apart_and_random_ones_are_not() {
    // Would catch another order of ranks than XYZT, a rank with two partners, and pairs that do not depend on the seed.
    let torus = r#"{ kind = "torus", dims = [4, 4, 4] }"#;
    let rest = |seed: u64| {
        format!("{OVERHEADS}\nseed = {seed}\nplacement = {{ strategy = \"round-robin\", processes_per_node = 3 }}")
    };
    let of = |pairs: &str, seed| {
        let wicon = format!("{{ kind = \"wicon\", pairs = \"{pairs}\", messages = 1, message_size = \"2 KiB\" }}");
        benchmark(&result(&experiment(torus, &wicon, &rest(seed))))
    };
    let (near, random) = (of("near-neighbour", 1), of("random", 1));
    assert!(near.pairs.iter().all(|pair| pair.channels == 1 && pair.partner == pair.rank + 1));
    let mut ranks: Vec<u32> = random.pairs.iter().flat_map(|pair| [pair.rank, pair.partner]).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, (0..192).collect::<Vec<_>>());
    assert!(random.pairs.iter().all(|pair| pair.rank < pair.partner));
    // Three on each dimension's four: a mean of 1 each.
    assert!((random.pair_channels_mean - 3.0).abs() < 0.5, "{}", random.pair_channels_mean);
    let partners = |found: &BenchmarkResult| found.pairs.iter().map(|pair| pair.partner).collect::<Vec<_>>();
    assert_ne!(partners(&random), partners(&of("random", 2)));
    // Three ranks of a node share its link packet by packet: their messages end together, but for two packets of 200
    // ns.
    let alone = 1512.0 + path_time(1) + 4096.0;
    let shared = near.message_time_mean_ns.unwrap() - alone;
    assert!((2.0 * 4096.0 - 2.0 * 200.0..=2.0 * 4096.0).contains(&shared), "{shared}");
}

/// Threads and partitions that have to give the bytes of one thread.
const DIVISIONS: [(usize, Grain); 4] =
    [(1, Grain::Exactly(5)), (2, Grain::Fine), (2, Grain::Exactly(3)), (3, Grain::Fine)];

/// Every benchmark on several machines and with several interfaces.
fn divided() -> Vec<String> {
    let machines = [TORUS, r#"{ kind = "dragonfly", p = 2, a = 4, h = 2 }"#, r#"{ kind = "fat-tree", k = 4, n = 3 }"#];
    let mut texts = Vec::new();
    for topology in machines {
        for benchmark in [
            "{ kind = \"wocon\", message_size = \"700 B\" }",
            "{ kind = \"wicon\", pairs = \"random\", messages = 4, message_size = \"2100 B\" }",
            "{ kind = \"wicon\", messages = 4, message_size = \"700 B\" }",
        ] {
            let nics = ["", OVERHEADS, "nic = { receive_overhead = \"3 ns\", eager_limit = \"1 KiB\" }"];
            for nic in if topology == TORUS { &nics[..] } else { &nics[2..] } {
                let rest = format!("{nic}\nplacement = {{ strategy = \"random\", processes_per_node = 2 }}");
                // Ten times the delays: windows as long, and a tenth as many.
                texts.push([5, 7, 11].iter().fold(experiment(topology, benchmark, &rest), |text, delay| {
                    text.replace(&format!("\"{delay} ns\""), &format!("\"{delay}0 ns\""))
                }));
            }
        }
    }
    texts
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    // Would catch events of one instant in an order that depends on partitions, and an operation that none or two own.
    // The divisions take turns, so that each has every benchmark.
    for (index, text) in divided().iter().enumerate() {
        let (threads, grain) = DIVISIONS[(index + index / DIVISIONS.len()) % DIVISIONS.len()];
        assert_eq!(digest_of(text, threads, grain), digest(text, 1), "{threads} threads, {grain:?}: {text}");
    }
}

#[test]
#[ignore = "long: make test-long"]
fn every_division_gives_the_same_bytes() {
    for text in divided() {
        let one = digest(&text, 1);
        for (threads, grain) in DIVISIONS {
            assert_eq!(digest_of(&text, threads, grain), one, "{threads} threads, {grain:?}: {text}");
        }
    }
}

#[test]
fn a_run_that_is_cut_short_says_what_it_has() {
    // Would catch a time of a benchmark that has not ended, and a loop that does not end.
    let wocon = "{ kind = \"wocon\", message_size = \"1 KiB\" }";
    let found = result(&experiment(TORUS, wocon, "measure = { max_time = \"20 us\" }"));
    let closed = found.closed().unwrap().clone();
    assert_eq!(closed.time_ns, None);
    let pairs = closed.benchmark.unwrap().pairs;
    assert!(pairs[0].time_mean_ns.is_some() && pairs.last().unwrap().time_mean_ns.is_none());
}

#[test]
fn a_way_longer_than_many_packets_is_no_deadlock() {
    // Would catch a watchdog that counts a packet on its way as one that does not move.
    let text = experiment(TORUS, "{ kind = \"wocon\", message_size = \"1 B\" }", "").replace("\"7 ns\"", "\"900 us\"");
    let found = benchmark(&result(&text));
    near(found.message_time_min_ns.unwrap(), path_time(1) - 7.0 + 900_000.0 + 2.0);
}

#[test]
fn ranks_that_share_all_nodes_or_leave_some_without_any_run() {
    // Would catch a benchmark that needs a network, and one that needs a rank on every node.
    let wicon = "{ kind = \"wicon\", messages = 2 }";
    let local = "placement = { strategy = \"contiguous\", processes_per_node = 2 }";
    let found = benchmark(&result(&experiment(TORUS, wicon, &format!("{OVERHEADS}\n{local}"))));
    assert_eq!((found.message_time_mean_ns, found.pairs.len()), (None, 60));
    assert!(found.pairs.iter().all(|pair| pair.channels == 0 && pair.time_mean_ns == Some(1512.0)));
    let path = std::env::temp_dir().join(format!("cutthrough-{}-ranks", std::process::id()));
    std::fs::write(&path, "0\n1\n2\n").unwrap();
    let few = format!("{OVERHEADS}\nplacement = {{ strategy = \"file\", path = '{}' }}", path.display());
    let found = benchmark(&result(&experiment(TORUS, "{ kind = \"wocon\" }", &few)));
    assert_eq!(found.pairs.len(), 2);
    // What is left behind in the temporary folder harms nobody.
    let _ = std::fs::remove_file(&path);
}

#[test]
fn contention_gives_the_numbers_that_it_gave() {
    // Would catch any unintended change of who is served when: random pairs, several ranks a node, by rendezvous.
    let wicon = "{ kind = \"wicon\", pairs = \"random\", messages = 3, message_size = \"1500 B\" }";
    let rest = format!(
        "{}\nseed = 4\nplacement = {{ strategy = \"round-robin\", processes_per_node = 2 }}",
        OVERHEADS.replace(" }", ", eager_limit = \"1 KiB\" }")
    );
    let point = result(&experiment(TORUS, wicon, &rest));
    let found = benchmark(&point);
    let times = [point.closed().unwrap().clone().time_ns, found.message_time_mean_ns, found.message_time_max_ns];
    assert_eq!(times.map(|time| time.unwrap().round() as u64), PINNED);
    assert_eq!(point.packets, 60 * 3 * 2 * 17);
}

/// The time of the run above, and of its messages: the mean and the slowest pair's, in nanoseconds.
const PINNED: [u64; 3] = [70_159, 9_684, 11_693];

#[test]
fn what_cannot_be_is_refused_at_its_key() {
    // Would catch a panic, or a run of something else than what was asked for.
    let wocon = "{ kind = \"wocon\" }";
    let cases = [
        (TORUS, "{ kind = \"wocon\", master = 60 }", "", "workload.benchmark.master"),
        (TORUS, "{ kind = \"wicon\", message_size = \"2 GiB\" }", "", "workload.benchmark.message_size"),
        (TORUS, wocon, "nic = { control_size = \"101 B\", eager_limit = \"1 KiB\" }", "nic.control_size"),
        (TORUS, wocon, "nic = { control_size = \"32 B\" }", "nic.control_size"),
        (TORUS, wocon, "nic = { send_overhead = \"2000 s\" }", "nic.send_overhead"),
        (TORUS, wocon, "placement = { strategy = \"greedy\" }", "placement.strategy"),
        (
            r#"{ kind = "torus", dims = [128, 128] }"#,
            "{ kind = \"wocon\", messages = 1000000 }",
            "",
            "workload.benchmark.messages",
        ),
    ];
    for (topology, benchmark, rest, key) in cases {
        let error = build(&experiment(topology, benchmark, rest)).unwrap_err();
        assert_eq!(error.key, key, "{error}");
        assert!(!error.message.is_empty());
    }
    let traffic = "topology = { kind = \"single-switch\", ports = 4 }\nlink = { bandwidth = \"1 Gb/s\", delay = \"1 ns\" }\n\
                   workload = { kind = \"traffic\", load = 0.5 }\nnic = { eager_limit = \"1 KiB\" }";
    assert_eq!(build(traffic).unwrap_err().key, "nic.eager_limit");
}
