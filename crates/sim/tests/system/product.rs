//! Every cell of router x topology x routing x pattern x injection, with pacers and receive buffers in turn: it
//! delivers what is offered, or is refused with a reason. Generated from the catalogues and the reference of keys, so
//! that a new variant is covered by being there. Closed workloads and jobs take planes and networks in turn too.

use std::collections::BTreeSet;
use std::sync::Arc;

use mpi::program::Programs;
use rayon::prelude::*;
use sim::{PointResult, RunError, RunOptions, SectionDoc, System, reference, run};

use crate::common::{build, idle_ns, mean_distance};

/// Topologies of 16 nodes: two of each family where there are two sorts. A new family has to come with an example here.
const TOPOLOGIES: &[(&str, &str)] = &[
    ("single-switch", "ports = 16"),
    ("fat-tree", "k = 4, n = 2"),
    ("fat-tree", "k = 2, n = 4"),
    // Tapered, with parallel wires, and with two free places.
    ("xgft", "m = [3, 3, 2], w = [1, 2, 2], p = [1, 1, 2], hosts = 16"),
    ("leaf-spine", "leaves = 4, spines = 2, nodes_per_leaf = 4"),
    // Four groups of two routers: full mesh and a global port left over.
    ("dragonfly", "p = 2, a = 2, h = 2, g = 4"),
    ("torus", "dims = [4, 4]"),
    ("torus", "dims = [4, 2, 2]"),
    ("mesh", "dims = [4, 4]"),
    ("mesh", "dims = [2, 4], nodes_per_router = 2"),
    ("file", r#"path = "data/cluster.edges""#),
    ("hyperx", "dims = [2, 4], wires = [2, 1], nodes_per_router = 2"),
    ("dragonfly-plus", "leaves = 2, spines = 2, groups = 4, wires = 2"),
    ("jellyfish", "routers = 8, degree = 3"),
];

/// Families that have no machine of 16 nodes. The golden cases have them.
const OTHER_SIZES: [&str; 2] = ["slim-fly", "polarfly"];

/// Low enough for half of the nodes to share a channel (all of a permutation may take the first of several paths) whose
/// buffer of one packet halves its rate.
const LOAD: f64 = 0.05;

/// The pacers that the cells take in turn: none, windows of a packet and of some, acknowledged by notices and by
/// packets.
const PACERS: &[&str] = &[
    r#"{ kind = "none" }"#,
    r#"{ kind = "window", window = "256 B" }"#,
    r#"{ kind = "window", window = "300 B", ack_size = "16 B" }"#,
    r#"{ kind = "window", window = "1 KiB" }"#,
    r#"{ kind = "window", window = "700 B", ack_size = "256 B" }"#,
];

/// What nodes do with packets that arrive, in turn as well.
const NODES: &[&str] =
    &["", r#"node = { receive_buffer = "2 packets" }"#, r#"node = { receive_buffer = "700 B", drain = "7 Gb/s" }"#];

/// A cell on one network, on two planes of it, or on it beside another network, in turn. A step that shares no factor
/// with the numbers of pacers and nodes: each meets all.
fn on_machine(cell: String, number: usize) -> String {
    let (before, line) = cell.split_once("topology = {").unwrap();
    let (topology, rest) = line.split_once("}\n").unwrap();
    match number / 7 % 4 {
        1 => {
            // A flow sends twice the packets by two links: a window of one packet would hold them back.
            let rest = rest.replace("window = \"256 B\"", "window = \"512 B\"");
            let rest = rest.replace("window = \"300 B\"", "window = \"600 B\"");
            format!("{before}topology = {{{topology}, planes = 2 }}\n{rest}")
        }
        3 => {
            let nodes = if rest.contains("node = {") { "" } else { "node = { endpoints = 1 }" };
            let rest = rest.replace("node = {", "node = { endpoints = 1,");
            // Jobs are tables: keys precede them.
            format!(
                "{nodes}\n{before}{rest}\n[[network]]\nname = \"main\"\ntopology = {{{topology} }}\n\
                 [[network]]\nname = \"aside\"\ntopology = {{ kind = \"single-switch\", ports = 16 }}\n\
                 routing = {{ kind = \"shortest-path\" }}\n"
            )
        }
        _ => cell,
    }
}

/// The pacer and the nodes of a cell, by a number.
fn in_turn(number: usize) -> (&'static str, &'static str) {
    (PACERS[number % PACERS.len()], NODES[number / 2 % NODES.len()])
}

/// The keys that a pattern or a routing requires.
fn required(kind: &str) -> &'static str {
    match kind {
        "shift" => ", offset = 3",
        "adversarial" => ", offset = 1",
        "hotspot" => ", nodes = [5], fraction = 0.1",
        "matrix" => r#", path = "data/matrix.csv""#,
        "table" => r#", path = "data/cluster.routes""#,
        _ => "",
    }
}

/// The kinds of a section. Forwarding tables go with the fabric that they are of.
fn kinds(section: &str) -> Vec<SectionDoc> {
    let is_own =
        |doc: &SectionDoc| doc.section == section && doc.kind.as_ref().is_some_and(|own| own.1 != "forwarding-tables");
    let kinds: Vec<_> = reference().into_iter().filter(is_own).collect();
    assert!(!kinds.is_empty(), "no kinds of {section}");
    kinds
}

fn kind(doc: &SectionDoc) -> &str {
    &doc.kind.as_ref().unwrap().1
}

/// A kind with its defaults, with each combination of the words that its keys take, with 8 virtual channels for some of
/// these, and with the smallest buffers for others.
fn variants(doc: &SectionDoc) -> Vec<String> {
    let mut tables = vec![format!("kind = \"{}\"{}", kind(doc), required(kind(doc)))];
    for key in doc.keys.iter().filter(|key| !key.values.is_empty()) {
        let with = |table: &String| -> Vec<String> {
            key.values.iter().map(|value| format!("{table}, {} = \"{}\"", key.key, value.name)).collect()
        };
        tables = tables.iter().flat_map(with).collect();
    }
    for (index, table) in tables.iter_mut().enumerate() {
        for key in &doc.keys {
            match (&*key.value, index % 4) {
                ("depth", 1) => *table += &format!(", {} = \"1 packets\"", key.key),
                ("depth", 3) => *table += &format!(", {} = \"700 B\"", key.key),
                ("whole number", 2 | 3) if key.key == "vcs" => *table += ", vcs = 8",
                ("whole number", 1 | 3) if key.range.as_deref() == Some("1 to 64") && key.key != "vcs" => {
                    *table += &format!(", {} = 3", key.key);
                }
                _ => {}
            }
        }
    }
    tables.into_iter().map(|table| format!("{{ {table} }}")).collect()
}

/// Which cells of the product are tested.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Every topology, routing, router and pattern together; the injections take turns.
    InTurn,
    /// Every injection with all of these.
    Whole,
}

/// The injections that cell `number` of topology, routing, router and pattern is tested with. Those that need a load of
/// 1, which no cell has, are refused: one cell in eight has to find that out too.
fn injections_of(number: usize, all: &[String], extent: Extent) -> Vec<&String> {
    let (refused, accepted): (Vec<&String>, Vec<&String>) = all.iter().partition(|name| *name == "backlogged");
    match extent {
        Extent::Whole => all.iter().collect(),
        Extent::InTurn => {
            let turn = accepted[(number + number / accepted.len()) % accepted.len()];
            std::iter::once(turn).chain(refused.into_iter().filter(|_| number.is_multiple_of(8))).collect()
        }
    }
}

/// The product of kinds; the variants of routers and of routings take turns in it.
fn cells(extent: Extent) -> Vec<String> {
    let routers: Vec<Vec<String>> = kinds("router").iter().map(variants).collect();
    let routings: Vec<Vec<String>> = kinds("routing").iter().map(variants).collect();
    let patterns = kinds("workload.pattern");
    let traffic = kinds("workload").into_iter().find(|doc| kind(doc) == "traffic").unwrap();
    let injections = &traffic.keys.iter().find(|key| key.key == "injection").unwrap().values;
    let injections: Vec<String> = injections.iter().map(|value| value.name.to_string()).collect();
    let (mut cells, mut number) = (Vec::new(), 0);
    for (topology, keys) in TOPOLOGIES {
        // The table in `data` is of the network in the file there.
        for routing in routings.iter().filter(|of| *topology == "file" || !of[0].contains("data/cluster.routes")) {
            for router in &routers {
                for pattern in patterns.iter().map(kind) {
                    number += 1;
                    for injection in injections_of(number, &injections, extent) {
                        // Steps that share no factor with the numbers of variants, so that each meets all.
                        let (turn, other) = (cells.len() * 7, cells.len() * 11);
                        let (routing, router) = (&routing[turn % routing.len()], &router[other % router.len()]);
                        let (pacer, nodes) = in_turn(cells.len());
                        cells.push(format!(
                            r#"
                            topology = {{ kind = "{topology}", {keys} }}
                            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
                            router = {router}
                            routing = {routing}
                            workload = {{ kind = "traffic", load = {LOAD}, injection = "{injection}",
                                         pacer = {pacer}, pattern = {{ kind = "{pattern}"{} }} }}
                            measure = {{ warm_up = "20 us", min_time = "300 us", max_time = "320 us", precision = 0.5,
                                        messages = true, series = "10 us" }}
                            {nodes}
                            "#,
                            required(pattern)
                        ));
                    }
                }
            }
        }
    }
    cells
}

/// The keys of every closed workload that the product has.
const CLOSED: &[(&str, &str)] = &[
    ("exchange", "dims = [4, 4], volume = \"2 KiB\""),
    ("application", "graph = \"random:16,bytes=3000\", execution = \"bulk-synchronous\""),
    (
        "application",
        "graph = \"random:16,bytes=600\", execution = \"message-driven\", iterations = 2, time_per_load = \"1 us\"",
    ),
    ("benchmark", "benchmark = { kind = \"wocon\", master = 3, message_size = \"600 B\" }"),
    ("benchmark", "benchmark = { kind = \"wicon\", pairs = \"random\", messages = 3, message_size = \"600 B\" }"),
    ("benchmark", "benchmark = { kind = \"wicon\", pairs = \"near-neighbour\", message_size = \"600 B\" }"),
    ("benchmark", "benchmark = { kind = \"imb-exchange\", sizes = [\"1 B\", \"600 B\"], repetitions = 1 }"),
    ("benchmark", "benchmark = { kind = \"osu-mbw-mr\", sizes = [\"600 B\"], window = 4, repetitions = 1 }"),
];

/// Benchmarks that `benchmark_tables` has on one machine each.
const TABULATED: [&str; 15] = [
    "ping-pong",
    "ping-ping",
    "sendrecv",
    "bcast",
    "allreduce",
    "alltoall",
    "allgather",
    "barrier",
    "collective",
    "osu-latency",
    "osu-bw",
    "osu-bibw",
    "streaming",
    "comb-polling",
    "connection-memory",
];

/// Programs of ranks: one whose messages all meet receives of their own, and one with wildcards.
const PROGRAMS: &[(&str, &str)] = &[
    ("program", "program = { kind = \"fft\", message_size = \"600 B\" }"),
    ("program", "program = { kind = \"incast\", message_size = \"600 B\", messages = 2 }"),
    (
        "program",
        "collectives = \"nic\", program = { kind = \"collective\", operation = \"allreduce\", size = \"600 B\" }",
    ),
];

/// Closed workloads on every topology and router, tasks in order and mapped, with pacers, receive buffers, planes and
/// networks in turn.
fn closed_cells() -> Vec<String> {
    let mut cells = Vec::new();
    for (topology, keys) in TOPOLOGIES {
        for router in kinds("router").iter().map(kind) {
            for (workload, settings) in CLOSED.iter().chain(PROGRAMS) {
                for strategy in ["contiguous", "random", "greedy"] {
                    if *workload != "application" && strategy == "greedy" {
                        continue;
                    }
                    let (pacer, nodes) = in_turn(cells.len());
                    let cell = format!(
                        r#"
                        topology = {{ kind = "{topology}", {keys} }}
                        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
                        router = {{ kind = "{router}" }}
                        workload = {{ kind = "{workload}", {settings}, pacer = {pacer} }}
                        placement = {{ strategy = "{strategy}" }}
                        measure = {{ messages = true }}
                        {nodes}
                        "#
                    );
                    cells.push(on_machine(cell, cells.len()));
                }
            }
        }
    }
    cells
}

#[test]
fn closed_workloads_end_on_every_topology_and_router() {
    // Would catch bytes that are lost, a phase that never ends, and one that is faster than its fullest injection link;
    // a message that is not measured, measured twice, or faster than alone.
    let check = |text: &String| {
        let system = build(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let point = run(&system, &RunOptions { threads: 1, ..RunOptions::default() });
        let point = point.unwrap_or_else(|error| panic!("{text}\n{error}"));
        let found = point.closed().unwrap().clone();
        let workload = &system.jobs[0].workload;
        if let Some(programs) = workload.programs() {
            return check_ranks(text, &**programs, &point);
        }
        let flows: Vec<_> = (0..found.phases.len()).map(|phase| workload.flows(phase)).collect();
        assert_eq!(point.packets, found.phases.iter().zip(&flows).map(|(_, flows)| packets(flows)).sum::<u64>());
        check_latencies(text, &point);
        check_messages(text, &point, flows.iter().map(|flows| pairs(flows)).sum());
        for (phase, flows) in found.phases.iter().zip(&flows) {
            let sent = |flows: &Vec<sim::traffic::Flow>| flows.iter().map(|flow| flow.left).sum::<u64>();
            assert_eq!(phase.bytes, flows.iter().map(sent).sum::<u64>(), "{text}");
            let least = flows.iter().map(sent).max().unwrap_or(0) as f64 * 0.8 / f64::from(system.network.planes());
            assert!(phase.time_ns.unwrap() >= least, "{text}");
        }
    };
    closed_cells().par_iter().for_each(check);
}

/// What a kind of router can do with packets for several outputs, as keys.
fn multicast_keys(router: &str) -> &'static [&'static str] {
    match router {
        "input-queued" | "input-output-queued" => &[
            r#", multicast = { policy = "arbitration" }"#,
            r#", multicast = { fanout = "splitting", policy = "concentrating-residue" }"#,
            r#", multicast = { policy = "tatra" }"#,
            r#", multicast = { policy = "wba" }"#,
            r#", multicast = { fanout = "no-splitting" }"#,
            r#", multicast = { fanout = "no-splitting", policy = "wba" }"#,
        ],
        "virtual-output-queued" => {
            &[r#", multicast = "copies""#, r#", multicast = "queue""#, r#", multicast = "queue-per-set""#]
        }
        "input-crosspoint-queued" => &["", r#", queueing = "fifo""#],
        _ => &[""],
    }
}

/// Collective traffic on every topology and router, by routers and by senders; laws, injections and receive buffers in
/// turn.
fn collective_cells() -> Vec<String> {
    let doc = kinds("workload").into_iter().find(|doc| kind(doc) == "collective").unwrap();
    let words = |name: &str| -> Vec<String> {
        let key = doc.keys.iter().find(|key| key.key == name).unwrap();
        let words = key.values.iter().map(|value| value.name.to_string());
        words.filter(|word| word != "backlogged").collect()
    };
    let (operations, means, injections) = (words("operation"), words("collectives"), words("injection"));
    let (groups, packets) = (words("groups"), words("packet_for"));
    let (mut cells, mut multicasts) = (Vec::new(), 0);
    for (at, (topology, shape)) in TOPOLOGIES.iter().enumerate() {
        for router in kinds("router").iter().map(kind) {
            let keys = multicast_keys(router);
            for (operation, by) in operations.iter().flat_map(|operation| means.iter().map(move |by| (operation, by))) {
                // Turns of multicasts are counted by themselves: other operations change none of them.
                let is_multicast = operation == "multicast";
                let number = if is_multicast { multicasts } else { cells.len() - multicasts };
                multicasts += usize::from(is_multicast);
                let law = ["fixed", "uniform", "binomial", "geometric"][number % 4];
                let injection = &injections[number / 4 % injections.len()];
                let group = &groups[number / 3 % groups.len()];
                let (_, nodes) = in_turn(number);
                // Of what the router can do with packets for several outputs, one after the other; a queue for each set
                // of outputs with up to 8 ports, of which units are some.
                let may_be_of_sets = *topology != "single-switch" && is_multicast;
                let allowed: Vec<_> = keys.iter().filter(|keys| may_be_of_sets || !keys.contains("set")).collect();
                let own = allowed[at % allowed.len()];
                // All nodes of a group take part in the others, of which a node is in several.
                let (group, load, messages) =
                    if is_multicast { (group.as_str(), 0.04, true) } else { ("persistent", 0.01, false) };
                // Of packets that name their nodes, where consecutive ones lie behind consecutive ports.
                let has_runs =
                    by == "hardware" && group == "one-shot" && ["single-switch", "fat-tree"].contains(topology);
                let packet_for = &packets[if has_runs { number / 2 % packets.len() } else { 0 }];
                let size = if operation == "barrier" { "" } else { r#", size = "600 B""# };
                cells.push(format!(
                    r#"
                    topology = {{ kind = "{topology}", {shape} }}
                    link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
                    router = {{ kind = "{router}"{own} }}
                    workload = {{ kind = "collective", operation = "{operation}", collectives = "{by}", load = {load},
                                 fanout = {{ mean = 3, law = "{law}" }}, injection = "{injection}", groups = "{group}", packet_for = "{packet_for}"{size} }}
                    measure = {{ warm_up = "20 us", min_time = "200 us", max_time = "220 us", precision = 0.5, messages = {messages} }}
                    {nodes}
                    "#
                ));
            }
        }
    }
    cells
}

#[test]
fn multicasts_arrive_at_all_their_members_on_every_topology_and_router() {
    // Would catch a copy that is lost or counted twice, a message that is faster than alone, an operation that ends
    // before its last copy has come, and a load that copies add to.
    let check = |text: &String| {
        let system = build(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let point = run(&system, &RunOptions { threads: 1, ..RunOptions::default() });
        let point = point.unwrap_or_else(|error| panic!("{text}\n{error}"));
        let found = point.open().unwrap().collective.clone().unwrap();
        assert!(point.open().unwrap().drained && !point.open().unwrap().saturated, "{text}\n{point:?}");
        assert!(found.operation_time_p99_ns >= found.operation_time_mean_ns, "{text}\n{found:?}");
        assert!(found.groups.as_ref().is_none_or(|groups| groups.groups_verified && groups.groups == 16), "{text}");
        if !text.contains("\"multicast\"") {
            let results = if text.contains("\"reduce\"") { 1.0 } else { 4.0 };
            assert!((found.fanout_mean - results).abs() < 1.0 && found.operations > 20, "{text}\n{found:?}");
            return;
        }
        check_latencies(text, &point);
        // Messages of 600 B are three packets.
        assert_eq!(point.packets, 3 * found.copies, "{text}");
        check_messages(text, &point, found.copies as usize);
        assert!((found.fanout_mean - found.copies as f64 / found.operations as f64).abs() < 1e-12, "{text}");
        assert!((found.fanout_mean - 3.0).abs() < 1.0, "{text}\n{found:?}");
        // Of operations of several sizes the larger ones have more copies, and each takes longer.
        let is_longer = found.operation_time_mean_ns > found.completion_mean_ns;
        assert!(is_longer || !text.contains("fixed"), "{text}\n{found:?}");
        assert!((point.open().unwrap().accepted_load - 0.04).abs() < 0.02, "{text}\n{point:?}");
    };
    collective_cells().par_iter().for_each(check);
}

/// Every closed workload beside traffic on the same nodes and a job on nodes of its own, on every topology and router.
fn job_cells() -> Vec<String> {
    let mut cells = Vec::new();
    for (topology, keys) in TOPOLOGIES {
        for router in kinds("router").iter().map(kind) {
            for (workload, settings) in CLOSED {
                let start = ["0 ns", "1 us"][cells.len() % 2];
                let strategy = ["contiguous", "random"][cells.len() / 2 % 2];
                // Each job has a pacer of its own; the last one's changes slowest.
                let (pacer, nodes) = in_turn(cells.len());
                let (other, last) =
                    (PACERS[(cells.len() / 3 + 2) % PACERS.len()], PACERS[cells.len() / 5 % PACERS.len()]);
                let cell = format!(
                    r#"
                    topology = {{ kind = "{topology}", {keys} }}
                    link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
                    router = {{ kind = "{router}" }}
                    measure = {{ compare_alone = true }}
                    {nodes}
                    [[job]]
                    name = "closed"
                    start = "{start}"
                    workload = {{ kind = "{workload}", {settings}, pacer = {pacer} }}
                    placement = {{ strategy = "{strategy}" }}
                    [[job]]
                    name = "own"
                    node_count = 4
                    workload = {{ kind = "exchange", volume = "1 KiB", pacer = {other} }}
                    placement = {{ strategy = "{strategy}" }}
                    [[job]]
                    name = "background"
                    background = true
                    workload = {{ kind = "traffic", load = {LOAD}, pacer = {last} }}
                    "#
                );
                cells.push(on_machine(cell, cells.len()));
            }
        }
    }
    cells
}

#[test]
fn jobs_end_beside_others_on_every_topology_and_router() {
    // Would catch a job that waits for ever for another one, loses packets to it, or is faster than alone.
    let check = |text: &String| {
        let system = build(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let point = run(&system, &RunOptions { threads: 1, ..RunOptions::default() });
        let point = point.unwrap_or_else(|error| panic!("{text}\n{error}"));
        let [closed, own, background] = &point.jobs[..] else { panic!("{text}\n{point:?}") };
        for (job, found) in system.jobs.iter().zip([closed, own]) {
            // Not far below 1: who meets whom among its own messages changes too.
            let has_ended = found.point.closed().unwrap().time_ns.is_some();
            assert!(has_ended && found.slowdown > Some(0.75), "{text}\n{found:?}");
            let packets = |programs: &Arc<dyn Programs>| packets_of(&**programs);
            let phases = found.point.closed().unwrap().phases.len();
            let flows = || (0..phases).map(|phase| self::packets(&job.workload.flows(phase))).sum::<u64>();
            assert_eq!(found.point.packets, job.workload.programs().map_or_else(flows, packets), "{text}\n{found:?}");
        }
        assert!(background.background && background.slowdown.is_none(), "{text}");
    };
    job_cells().par_iter().for_each(check);
}

/// Messages of all ranks.
fn messages(programs: &dyn Programs) -> u64 {
    let mut count = 0;
    programs.each_message(&mut |messages| count += messages.count);
    count
}

/// Packets of 256 bytes that the messages of all ranks are cut into.
fn packets_of(programs: &dyn Programs) -> u64 {
    let mut count = 0;
    programs.each_message(&mut |messages| count += messages.count * messages.bytes.max(1).div_ceil(256));
    count
}

/// Packets of 256 bytes that flows are cut into.
fn packets(flows: &[Vec<sim::traffic::Flow>]) -> u64 {
    flows.iter().flatten().map(|flow| flow.left.div_ceil(256)).sum()
}

/// Pairs of nodes of which one sends to the other.
fn pairs(flows: &[Vec<sim::traffic::Flow>]) -> usize {
    flows.iter().map(|own| own.iter().map(|flow| flow.dst).collect::<BTreeSet<_>>().len()).sum()
}

/// So many messages are measured, and none is faster than alone: all channels are alike. By a tree a message may take
/// two global channels of a dragonfly, one after the other, and be faster than on the direct path.
fn check_messages(text: &str, point: &PointResult, count: usize) {
    let found = point.messages.as_ref().unwrap();
    assert_eq!(found.figures.count, count as u64, "{text}");
    let least = found.distribution.as_ref().map(|spread| spread.slowdown[0]);
    let is_direct =
        !(text.contains("\"dragonfly\"") && text.contains("\"persistent\"") && text.contains("\"hardware\""));
    assert!(
        (least >= Some(1.0) || !is_direct) && found.figures.latency_max_ns >= point.latency_max_ns,
        "{text}\n{found:?}"
    );
}

/// Every packet has a latency: none below that of two channels and its length at 10 Gb/s, and in order.
fn check_latencies(text: &str, point: &PointResult) {
    let all = [point.latency_p50_ns, point.latency_p99_ns, point.latency_max_ns];
    let [p50, p99, max] = all.map(|value| value.unwrap_or_else(|| panic!("{text}\n{point:?}")));
    let mean = point.latency_mean_ns.unwrap();
    assert!(40.0 < p50 && p50 <= p99 && p99 <= max * 1.02 && 40.0 < mean && mean <= max, "{text}\n{point:?}");
}

/// Every message arrives whole, and no sooner than its bytes take on the injection channel.
fn check_ranks(text: &str, programs: &dyn Programs, point: &PointResult) {
    assert_eq!(point.packets, packets_of(programs), "{text}");
    check_latencies(text, point);
    check_messages(text, point, messages(programs) as usize);
    let closed = point.closed().unwrap();
    if let Some(program) = &closed.program {
        assert_eq!(program.program_messages, messages(programs), "{text}");
    }
    let Some(found) = &closed.benchmark else { return };
    assert!(!found.pairs.is_empty(), "{text}");
    let least = 600.0 * 0.8 + 2.0 * 20.0;
    assert!(
        found.pairs.iter().all(|pair| pair.channels > 0 && pair.time_min_ns.unwrap() >= least),
        "{text}\n{found:?}"
    );
}

/// What became of a cell: it ran, or the key because of which it is refused; or what is wrong.
fn check(text: &str) -> Result<Option<String>, String> {
    let refused = |key: &str, message: &str| match key.is_empty() || message.is_empty() {
        true => Err(format!("{text}\nrefused without a reason: `{key}` {message}")),
        false => Ok(Some(key.to_owned())),
    };
    let system = match build(text) {
        Ok(system) => system,
        Err(error) => return refused(error.key.trim_start_matches("network.main."), &error.message),
    };
    match run(&system, &RunOptions { threads: 1, ..RunOptions::default() }) {
        Ok(found) => faults(&system, &found).map_or(Ok(None), |fault| Err(format!("{text}\n{fault}: {found:?}"))),
        Err(RunError::System(error)) => refused(&error.key, &error.message),
        Err(error) => Err(format!("{text}\n{error}")),
    }
}

/// What is wrong with a result.
fn faults(system: &System, found: &PointResult) -> Option<&'static str> {
    let hops = found.hops_mean.unwrap_or(0.0);
    let (distance, idle) = (mean_distance(system), idle_ns(system, hops));
    let detour = match system.network.routing.kind() {
        // Neither promises shortest paths, and a permutation may have the longest.
        "up-down" | "nue" => 1.0,
        // The path over one global channel is the rule, and one router longer than by a third group at times.
        "minimal" => 0.5,
        _ if system.network.routing.waypoints() > 0 => 4.0,
        _ => 0.0,
    };
    let faults = [
        ((found.open().unwrap().accepted_load / LOAD - 1.0).abs() > 0.15, "not what is offered"),
        (found.open().unwrap().saturated || !found.open().unwrap().drained, "saturated"),
        // Some 1300 packets, of which each source's may all take the same path: a standard error of 0.06 routers at
        // most.
        (hops < distance - 0.3, "fewer routers than the shortest path has"),
        (hops > distance + 0.3 + detour, "more routers than the shortest path has"),
        (found.latency_mean_ns < Some(idle - 1e-6), "less than the path has"),
        // By more than chance explains: few packets in bursts that wait for a window differ much from run to run.
        (
            found.latency_mean_ns > Some(3.0 * idle + found.open().unwrap().latency_ci_ns.unwrap_or(0.0)),
            "far more than the path has",
        ),
        (messages_differ(found), "messages of one packet that differ from their packets"),
        (least_slowdown(found) < least_allowed(system), "a message that is faster than alone"),
        (series_differs(found), "a series that does not add up to the accepted load"),
    ];
    faults.into_iter().find(|&(wrong, _)| wrong).map(|(_, fault)| fault)
}

/// Messages of one packet are their packets.
fn messages_differ(found: &PointResult) -> bool {
    let own = &found.messages.as_ref().unwrap().figures;
    (own.count, own.latency_mean_ns, own.latency_max_ns) != (found.packets, found.latency_mean_ns, found.latency_max_ns)
}

fn least_slowdown(found: &PointResult) -> f64 {
    found.messages.as_ref().and_then(|own| own.distribution.as_ref()).map_or(f64::NAN, |spread| spread.slowdown[0])
}

/// All channels are alike: no path is faster than the shortest. The direct one of a dragonfly may be a router longer
/// than one through a third group, of the least latency of three.
fn least_allowed(system: &System) -> f64 {
    if system.network.topology.kind() == "dragonfly" { 0.6 } else { 1.0 }
}

/// Of the measured interval, which begins at 20 us and may end within an interval of the series.
fn series_differs(found: &PointResult) -> bool {
    let series = found.series.as_ref().unwrap();
    let whole = (found.measured_ns / 10_000.0).floor();
    let measured: f64 = series.accepted_load[2..2 + whole as usize].iter().sum::<f64>() / whole;
    // A packet that an end of the interval cuts is in the series by its part, and as a whole in the accepted load: at
    // most one a node.
    let cut = 2.0 * 256.0 / (1.25 * found.measured_ns);
    let tolerance = if whole * 10_000.0 == found.measured_ns { cut } else { 0.1 * LOAD };
    found.open().unwrap().warm_up_ns != 20_000.0
        || whole < 30.0
        || (measured - found.open().unwrap().accepted_load).abs() > tolerance
}

#[test]
fn every_cell_delivers_what_is_offered_or_is_refused_with_a_reason() {
    // Would catch a combination that panics, deadlocks, loses packets, goes astray, or is refused without saying why.
    // An injection is a process of one source, which knows nothing of routings and routers: it meets each in turn.
    check_cells(Extent::InTurn);
}

#[test]
#[ignore = "long: make test-long"]
fn every_cell_delivers_what_is_offered_whatever_the_injection() {
    check_cells(Extent::Whole);
}

fn check_cells(extent: Extent) {
    let cells = cells(extent);
    let outcomes: Vec<Result<Option<String>, String>> = cells.par_iter().map(|text| check(text)).collect();
    let wrong: Vec<&String> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{} of {} cells are wrong, the first:\n{}", wrong.len(), cells.len(), wrong[0]);
    // Reasons that are there: routings of another family, backlogged sources with a load, a cycle of channels, too few
    // virtual channels, a queue for each set of too many outputs or beside iterations of iSLIP, ties of rings that a
    // HyperX does not have, roots of `updn` where none is found, and a pattern that does not fit or needs groups, as keys
    // of detours do. Another reason would be one that hides something.
    let reasons: BTreeSet<&str> = outcomes.iter().flatten().flatten().map(String::as_str).collect();
    let known = [
        "router.credits",
        "router.iterations",
        "router.multicast",
        "router.vcs",
        "routing",
        "routing.detour",
        "routing.intra_group",
        "routing.kind",
        "routing.roots",
        "routing.ties",
        "routing.vc_rule",
        "workload.load",
        "workload.pattern.kind",
        "workload.pattern.offset",
    ];
    assert!(reasons.iter().all(|reason| known.contains(reason)), "{reasons:?}");
    // Of a topology's routings at least two are made for it or for all; three injections go with any load, of which a
    // cell has one or all; and three of four cells of those run.
    let each = if extent == Extent::Whole { 3 } else { 1 };
    let ran = outcomes.iter().filter(|outcome| matches!(outcome, Ok(None))).count();
    let fitting: usize = TOPOLOGIES.len() * 2 * kinds("router").len() * kinds("workload.pattern").len() * each;
    assert!(4 * ran > 3 * fitting, "only {ran} cells ran of {} and of {fitting} that should", cells.len());
}

#[test]
fn the_product_has_every_variant_of_every_catalogue() {
    // Would catch a kind or a word that is in no cell that runs, so that nothing above has tested it.
    // Without routers a topology goes with none of them: `flat` has tests of its own.
    let families = topology::TopologySpec::FAMILIES.iter().map(|family| family.kind);
    for kind in families.filter(|kind| *kind != "flat" && !OTHER_SIZES.contains(kind)) {
        assert!(TOPOLOGIES.iter().any(|(known, _)| *known == kind), "add an example of 16 nodes of {kind}");
    }
    let mut cells: Vec<String> = cells(Extent::InTurn).into_iter().filter(|text| build(text).is_ok()).collect();
    cells.extend(closed_cells());
    cells.extend(collective_cells());
    let words = |doc: &SectionDoc| -> Vec<String> {
        let all = doc.keys.iter().flat_map(|key| key.values.iter().map(move |value| (&key.key, &value.name)));
        all.filter(|(_, word)| *word != "backlogged").map(|(key, word)| format!("{key} = \"{word}\"")).collect()
    };
    for doc in reference().iter().filter(|doc| doc.section == "router.multicast") {
        assert!(!words(doc).is_empty());
        words(doc).iter().for_each(|word| assert!(cells.iter().any(|cell| cell.contains(word)), "{word}"));
    }
    for section in ["router", "routing", "workload.pattern", "workload.benchmark", "workload.pacer", "workload"] {
        // Benchmarks that give a table differ in what ranks call: `benchmark_tables` has each, and here are two.
        let is_here =
            |doc: &SectionDoc| section != "workload.benchmark" || TABULATED.iter().all(|own| *own != kind(doc));
        for doc in kinds(section).into_iter().filter(is_here) {
            assert!(cells.iter().any(|cell| cell.contains(&format!("kind = \"{}\"", kind(&doc)))), "{doc:?}");
            words(&doc).iter().for_each(|word| assert!(cells.iter().any(|cell| cell.contains(word)), "{word}"));
        }
    }
}
