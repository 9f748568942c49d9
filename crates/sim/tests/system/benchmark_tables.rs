//! Benchmarks that give a table: closed forms to the picosecond on a flat network, where nothing but ranks, interfaces
//! and a link take time.

use crate::common::{build, digest, digest_of, result};
use fabric::Grain;
use sim::{PointResult, RowResult};

/// 1 B/ns; overheads are primes.
fn experiment(nodes: u32, benchmark: &str, rest: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "flat", nodes = {nodes} }}
        link = {{ bandwidth = "8 Gb/s", delay = "700 ns" }}
        workload = {{ kind = "benchmark", benchmark = {benchmark} }}
        {rest}
        "#
    )
}

/// Overheads that are latency, and the same that occupy processors.
const IDEAL: &str = r#"nic = { send_overhead = "1009 ns", receive_overhead = "503 ns" }"#;
const LOGGP: &str = r#"nic = { kind = "loggp", send_overhead = "1009 ns", receive_overhead = "503 ns", gap = "2003 ns",
                               gap_per_byte = "3 ns", receive_gap = "0 ns", receive_gap_per_byte = "0 ns" }"#;

/// The time of a message of so many bytes, alone, by the first of these.
fn alone(bytes: f64) -> f64 {
    1009.0 + bytes + 700.0 + 503.0
}

fn rows(point: &PointResult) -> Vec<RowResult> {
    point.closed().unwrap().table.as_ref().unwrap().benchmark_rows.clone()
}

fn rows_of(nodes: u32, benchmark: &str, rest: &str) -> Vec<RowResult> {
    rows(&result(&experiment(nodes, benchmark, rest)))
}

/// The times of rows, whose ranks all took the same.
fn times(rows: &[RowResult]) -> Vec<f64> {
    let same = |row: &RowResult| {
        assert_eq!((row.time_min_ns, row.time_mean_ns), (row.time_max_ns, row.time_max_ns), "{row:?}");
        row.time_max_ns.unwrap()
    };
    rows.iter().map(same).collect()
}

#[track_caller]
fn near(one: f64, other: f64) {
    assert!((one - other).abs() <= 1e-9 * other.abs(), "{one} {other}");
}

#[test]
fn imb_s_messages_take_their_closed_forms() {
    // Would catch a round trip that is counted whole, ranks that wait for one another where the benchmark does not, a
    // bandwidth of one direction for two, and an iteration before the measured ones that is counted.
    let sizes = r#"sizes = ["1 B", "1000 B", "1 MiB"]"#;
    let bytes = [1.0, 1000.0, 1_048_576.0];
    for (kind, nodes, flights, moved) in [
        ("ping-pong", 2, 1.0, 1.0),
        ("PingPong", 5, 1.0, 1.0),
        ("ping-ping", 3, 1.0, 1.0),
        ("sendrecv", 8, 1.0, 2.0),
        ("imb-exchange", 8, 2.0, 4.0),
    ] {
        let found = rows_of(nodes, &format!("{{ kind = \"{kind}\", {sizes}, repetitions = 3 }}"), IDEAL);
        for ((row, time), bytes) in found.iter().zip(times(&found)).zip(bytes) {
            let exact = 1009.0 + flights * bytes + 700.0 + 503.0;
            near(time, exact);
            near(row.bandwidth_bytes_per_s.unwrap(), moved * bytes / exact * 1e9);
            assert_eq!((row.size_bytes as f64, row.repetitions, row.messages_per_s), (bytes, 3, None));
        }
    }
    // A message of no bytes is a packet of one.
    near(times(&rows_of(2, "{ kind = \"osu-latency\", sizes = [\"0 B\"] }", IDEAL))[0], alone(1.0));
    // Without sizes IMB's, and those of the OSU benchmarks.
    let sizes = |kind: &str| {
        let found = rows_of(2, &format!("{{ kind = \"{kind}\", repetitions = 1 }}"), IDEAL);
        (found.len(), found[0].size_bytes, found[found.len() - 1].size_bytes)
    };
    assert_eq!((sizes("ping-pong"), sizes("osu_latency")), ((24, 0, 4 << 20), (23, 1, 4 << 20)));
}

#[test]
fn windows_take_their_closed_forms() {
    // Would catch windows that do not wait for their answer, a rate of one pair for all, and messages that are received
    // before they are expected.
    let keys = r#"sizes = ["8 B", "1000 B"], repetitions = 3, answer_size = "4 B""#;
    for (kind, nodes, window, pairs) in [
        ("osu-bw", 2, 64.0, 1.0),
        ("osu-bibw", 2, 64.0, 2.0),
        ("streaming", 2, 160.0, 1.0),
        ("osu-mbw-mr", 6, 64.0, 3.0),
    ] {
        let found = rows_of(nodes, &format!("{{ kind = \"{kind}\", {keys} }}"), IDEAL);
        for (row, time) in found.iter().zip(times(&found)) {
            let bytes = row.size_bytes as f64;
            let exact = alone(window * bytes) + alone(4.0);
            near(time, exact);
            near(row.bandwidth_bytes_per_s.unwrap(), pairs * window * bytes / exact * 1e9);
            let rate = row.messages_per_s;
            assert_eq!(rate.is_some(), kind == "streaming" || kind == "osu-mbw-mr");
            rate.into_iter().for_each(|rate| near(rate, pairs * window / exact * 1e9));
        }
    }
    // The gap binds: (n - 1) (g + (s - 1) G) + T, then the answer. A byte takes the interface 3 ns, and the link 1 ns,
    // which the last one adds.
    let found = rows_of(2, &format!("{{ kind = \"streaming\", {keys} }}"), LOGGP);
    let message = |bytes: f64| 1009.0 + ((bytes - 1.0) * 3.0).max(bytes) + 700.0 + 503.0;
    for (row, time) in found.iter().zip(times(&found)) {
        let bytes = row.size_bytes as f64;
        near(time, 159.0 * (2003.0 + (bytes - 1.0) * 3.0) + message(bytes) + message(4.0));
    }
}

#[test]
fn collective_operations_take_their_closed_forms() {
    // Would catch a size that is taken for the whole buffer where IMB means a part, a root that stays where IMB's moves
    // on, and a barrier that is counted with the operation.
    let sizes = r#"sizes = ["8 B", "1000 B"], repetitions = 3"#;
    for (kind, algorithm, rounds, share) in [
        ("allreduce", "recursive-doubling", 3.0, 1.0),
        ("alltoall", "pairwise", 7.0, 1.0),
        ("allgather", "ring", 7.0, 1.0),
    ] {
        let found = rows_of(8, &format!("{{ kind = \"{kind}\", algorithm = \"{algorithm}\", {sizes} }}"), IDEAL);
        for (row, time) in found.iter().zip(times(&found)) {
            near(time, rounds * alone(share * row.size_bytes as f64));
            assert_eq!(row.bandwidth_bytes_per_s, None);
        }
    }
    let found = rows_of(8, "{ kind = \"Barrier\", repetitions = 4 }", IDEAL);
    assert_eq!((found.len(), found[0].size_bytes), (1, 0));
    near(times(&found)[0], 3.0 * alone(1.0));
    // The same by the benchmark of any operation, and a segmented chain: (3 + 2 segments) hops.
    let found = rows_of(
        8,
        "{ kind = \"collective\", operation = \"allreduce\", algorithm = \"recursive-doubling\", sizes = [\"400 B\"] }",
        IDEAL,
    );
    near(times(&found)[0], 3.0 * alone(400.0));
    let found = rows_of(
        4,
        "{ kind = \"collective\", operation = \"reduce\", algorithm = \"linear\", root = 3, sizes = [\"8 B\"] }",
        IDEAL,
    );
    // The root is the slowest: it has received three messages.
    assert!((alone(8.0)..2.0 * alone(8.0)).contains(&found[0].time_max_ns.unwrap()), "{found:?}");
    let found = rows_of(8, "{ kind = \"collective\", operation = \"barrier\" }", IDEAL);
    assert_eq!((found.len(), found[0].size_bytes), (1, 0));
    // Two ranks, the root of a linear broadcast in turn: of two broadcasts each rank sends one and receives one, and
    // goes on with its own when it has received the other's: two take o_s + T for the rank that begins, as it is done
    // when it has handed its own over, and T + o_s for the other.
    let two = "{ kind = \"bcast\", algorithm = \"linear\", sizes = [\"100 B\"], repetitions = 2, warm_up = 0 }";
    let found = rows_of(2, two, IDEAL);
    near(found[0].time_max_ns.unwrap() * 2.0, 2.0 * alone(100.0));
    // With one root, which goes on when it has handed a broadcast over, the other waits for the second.
    let one = two.replace("warm_up", "root = 1, warm_up");
    near(rows_of(2, &one, IDEAL)[0].time_max_ns.unwrap() * 2.0, 1009.0 + alone(100.0));
}

#[test]
fn polling_takes_what_messages_take() {
    // Would catch overheads that are counted as computation, messages that nobody replaces, and two ranks that end with
    // different numbers of messages, which would wait for ever.
    let comb = |keys: &str| format!("{{ kind = \"comb-polling\", message_size = \"100 B\", queue = 1, {keys} }}");
    // Overheads that are latency take no processor: all of the time is computation, whatever flows.
    let found = rows_of(2, &comb(r#"intervals = ["1 us", "5 us"], work = "1 ms""#), IDEAL);
    assert_eq!(found.iter().map(|row| row.availability).collect::<Vec<_>>(), [Some(1.0), Some(1.0)]);
    // A message takes 2312 ns, so that every third poll of 1 us finds one, and every poll of 5 us.
    let per_rank = |row: &RowResult| row.messages_per_s.unwrap() * row.time_mean_ns.unwrap() / 1e9;
    near(per_rank(&found[0]), 333.0);
    near(per_rank(&found[1]), 200.0);
    near(found[1].bandwidth_bytes_per_s.unwrap(), 200.0 * 100.0 / 1e-3);
    // Overheads that occupy: each 10 us of computation come after a send and before a receive.
    let found =
        rows_of(2, &comb(r#"intervals = ["10 us"], work = "1 ms""#), &IDEAL.replace(" }", ", occupies = true }"));
    near(found[0].time_mean_ns.unwrap(), 100.0 * (1009.0 + 10_000.0 + 503.0));
    near(found[0].availability.unwrap(), 1e6 / found[0].time_mean_ns.unwrap());
    assert_eq!(found[0].interval_ns, Some(10_000.0));
}

#[test]
fn connections_take_memory_at_both_ends() {
    // Would catch connections within a node that are counted, and those of one rank for all of its node.
    let nic = r#"nic = { kind = "loggp", connections = { mode = "at-start", memory = "1 KiB" } }
                 placement = { strategy = "contiguous", processes_per_node = 2 }"#;
    let memory = |benchmark: &str, nic: &str| {
        let point = result(&experiment(8, benchmark, nic));
        let program = point.closed().unwrap().clone().program.unwrap();
        (program.connections_max, program.connection_memory_max_bytes)
    };
    assert_eq!(memory("{ kind = \"connection-memory\" }", nic), (14, 2 * 14 * 1024));
    // On demand: the barrier before it takes 1, 2, 4 and 8 on and back; 8 on is 8 back.
    let demand = nic.replace("at-start", "on-demand");
    let (connections, bytes) = memory("{ kind = \"connections\", peers = 15 }", &demand);
    assert_eq!((connections, bytes), (14, 2 * 14 * 1024));
    assert!(memory("{ kind = \"connections\" }", &demand).0 < 14);
}

/// A 4-ary 2-tree whose 16 ranks run a benchmark.
fn tree(benchmark: &str, carrier: &str, rest: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "fat-tree", k = 4, n = 2 }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ kind = "output-queued", delay = "90 ns" }}
        workload = {{ kind = "benchmark", packet_size = "256 B", {carrier} benchmark = {benchmark} }}
        {rest}
        "#
    )
}

#[test]
fn who_carries_an_operation_out_is_chosen() {
    // Would catch a carrier that is not listened to, an operation that is counted with the barriers before it, and a
    // benchmark without operations that takes one.
    for kind in ["bcast", "allreduce", "alltoall", "allgather", "collective"] {
        let benchmark = format!("{{ kind = \"{kind}\", sizes = [\"0 B\", \"64 B\", \"1 KiB\"], repetitions = 2 }}");
        let time = |carrier: &str| {
            let point = result(&tree(&benchmark, carrier, IDEAL));
            assert!(rows(&point).iter().all(|row| row.time_max_ns.unwrap() > 1512.0), "{kind} {carrier}");
            (rows(&point)[2].time_max_ns.unwrap(), point.closed().unwrap().clone().program.unwrap().groups)
        };
        let (software, none) = time("collectives = \"software\",");
        assert_eq!((time("").0, none), (software, None));
        let (hardware, groups) = time("collectives = \"hardware\",");
        assert_eq!(
            groups.map(|groups| (groups.groups, groups.groups_verified)),
            (kind != "alltoall").then_some((1, true))
        );
        assert!(kind == "alltoall" || hardware < software, "{kind}: {hardware} {software}");
        let (nic, none) = time("collectives = \"nic\",");
        assert!(nic != software && none.is_none(), "{kind}: {nic} {software}");
    }
    // A barrier in the switches takes both overheads once, whatever the number of ranks.
    let barrier = tree("{ kind = \"barrier\" }", "collectives = \"hardware\",", IDEAL);
    let time = rows(&result(&barrier))[0].time_max_ns.unwrap();
    assert!((1512.0..2500.0).contains(&time), "{time}");
    let error = build(&tree("{ kind = \"ping-pong\" }", "collectives = \"nic\",", "")).unwrap_err();
    assert_eq!(error.key, "workload.collectives", "{error}");
}

#[test]
fn a_row_does_not_depend_on_the_row_behind_it() {
    // Would catch a row that carries the barrier behind it: messages of a rank that is done take turns with the last
    // ones that it has sent, and a gap behind them delays these.
    let pairs =
        ["osu-latency", "ping-ping", "sendrecv", "imb-exchange", "osu-bw", "osu-bibw", "osu-mbw-mr", "streaming"];
    let collectives = ["bcast", "allreduce", "alltoall", "allgather", "collective"];
    for nic in ["infinipath", "rapidarray", "elan4", "infiniband", "ndr", "slingshot"] {
        for kind in pairs.into_iter().chain(collectives) {
            let row = |sizes: &str| {
                let text = format!(
                    r#"
                    topology = {{ kind = "single-switch", ports = 4 }}
                    link = {{ bandwidth = "1.5 GB/s", delay = "20 ns" }}
                    nic = {{ kind = "{nic}" }}
                    workload = {{ kind = "benchmark", benchmark = {{ kind = "{kind}", sizes = [{sizes}], repetitions = 2 }} }}
                    "#
                );
                let own = rows(&result(&text));
                (own[0].time_mean_ns, own[0].time_max_ns)
            };
            assert_eq!(row("\"5000 B\", \"64 B\""), row("\"5000 B\""), "{nic} {kind}");
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    // Would catch an operation of a benchmark that depends on partitions.
    let nic = r#"nic = { kind = "loggp", send_overhead = "1009 ns", receive_overhead = "503 ns", eager_limit = "1 KiB" }
                 placement = { strategy = "contiguous", processes_per_node = 2 }"#;
    let sizes = r#"sizes = ["0 B", "700 B", "3000 B"], repetitions = 2"#;
    let others = [
        "{ kind = \"comb-polling\", intervals = [\"3 us\"], work = \"100 us\", message_size = \"3000 B\", pair = [3, 20] }".to_owned(),
        "{ kind = \"connections\", peers = 9 }".to_owned(),
        "{ kind = \"barrier\" }".to_owned(),
    ];
    let of = |kind: &str| format!("{{ kind = \"{kind}\", {sizes} }}");
    let kinds = ["imb-exchange", "bcast", "alltoall", "osu-mbw-mr", "osu-bibw", "ping-ping"];
    for (index, benchmark) in kinds.map(of).into_iter().chain(others).enumerate() {
        let text = tree(&benchmark, "", nic);
        let (threads, grain) = [(1, Grain::Exactly(5)), (2, Grain::Fine), (3, Grain::Fine)][index % 3];
        assert_eq!(digest_of(&text, threads, grain), digest(&text, 1), "{threads} threads, {grain:?}: {text}");
    }
}

#[test]
fn a_run_that_is_cut_short_has_the_rows_that_ended() {
    // Would catch a time of a size that has not ended, and a division by nothing.
    let text = experiment(2, "{ kind = \"ping-pong\" }", &format!("{IDEAL}\nmeasure = {{ max_time = \"200 us\" }}"));
    let found = rows(&result(&text));
    assert!(found[0].time_max_ns.is_some() && found[23].time_max_ns.is_none(), "{found:?}");
    assert_eq!(found[23].bandwidth_bytes_per_s, None);
}

#[test]
fn what_cannot_be_is_refused_at_its_key() {
    // Would catch a panic, or a run of something else than what was asked for.
    for (nodes, benchmark, key) in [
        (1, "{ kind = \"ping-pong\" }", "kind"),
        (2, "{ kind = \"ping-pong\", pair = [0, 2] }", "pair"),
        (2, "{ kind = \"osu-bw\", pair = [1, 1] }", "pair"),
        (2, "{ kind = \"ping-pong\", sizes = [\"2 GiB\"] }", "sizes"),
        (2, "{ kind = \"ping-pong\", sizes = [] }", "sizes"),
        (2, "{ kind = \"allreduce\", sizes = [\"6 B\"] }", "sizes"),
        (2, "{ kind = \"allreduce\", algorithm = \"pairwise\" }", "algorithm"),
        (2, "{ kind = \"bcast\", root = 2 }", "root"),
        (2, "{ kind = \"collective\", operation = \"allreduce\", root = 1 }", "root"),
        (2, "{ kind = \"collective\", operation = \"reduce\", root = 2 }", "root"),
        (2, "{ kind = \"collective\", operation = \"gather\", sizes = [\"6 B\"] }", "sizes"),
        (2, "{ kind = \"collective\", operation = \"barrier\", sizes = [\"8 B\"] }", "sizes"),
        (2, "{ kind = \"collective\", algorithm = \"ring\", radix = 3 }", "radix"),
        (2, "{ kind = \"collective\", algorithm = \"rabenseifner\", segment = \"1 KiB\" }", "segment"),
        (2, "{ kind = \"collective\", reduction_time = \"2 us\" }", "reduction_time"),
        (3, "{ kind = \"osu-mbw-mr\", pairs = 2 }", "pairs"),
        (2, "{ kind = \"streaming\", answer_size = \"2 GiB\" }", "answer_size"),
        (2, "{ kind = \"comb-polling\", intervals = [\"0 s\"] }", "intervals"),
        (2, "{ kind = \"comb-polling\", intervals = [\"1 ps\"] }", "intervals"),
        (2, "{ kind = \"comb-polling\", work = \"2000 s\" }", "work"),
        (2, "{ kind = \"connections\", peers = 2 }", "peers"),
    ] {
        let error = build(&experiment(nodes, benchmark, "")).unwrap_err();
        assert_eq!(error.key, format!("workload.benchmark.{key}"), "{benchmark}: {error}");
        assert!(!error.message.is_empty());
    }
}
