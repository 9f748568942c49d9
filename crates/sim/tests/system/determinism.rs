//! Same seed, same bytes, whatever the threads; and golden results, so that a change of results is seen.

use fabric::Grain;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rayon::prelude::*;
use routing::RoutingSpec;
use sim::{PointResult, System};

use crate::common::{ROUTERS, as_text, build, digest, digest_of, idle_ns, mean_distance, run_divided};
use crate::processes::run_in_processes;

/// Topologies of 16 to 32 nodes: every kind.
const TOPOLOGIES: &[(&str, &str)] = &[
    ("single switch", r#"kind = "single-switch", ports = 16"#),
    ("4-ary 2-tree", r#"kind = "fat-tree", k = 4, n = 2"#),
    ("2-ary 4-tree", r#"kind = "fat-tree", k = 2, n = 4"#),
    ("dragonfly of 21 nodes", r#"kind = "dragonfly", p = 1, a = 3, h = 2"#),
    ("4x3x2 torus", r#"kind = "torus", dims = [4, 3, 2]"#),
    ("4x4 mesh of 2 nodes", r#"kind = "mesh", dims = [4, 4], nodes_per_router = 2"#),
    ("cluster from a file", r#"kind = "file", path = "data/cluster.edges""#),
];

/// What is varied of a router besides its kind.
const VARIED: &[(&str, &str)] = &[
    ("output-queued", r#", credits = "per-crosspoint", credit_return = "tail", arbitration = "random", vcs = 8"#),
    ("output-queued", r#", credits = "row-counter", arbitration = "oldest-first""#),
    ("input-queued", r#", vcs = 8, buffer = "700 B", arbitration = "oldest-first""#),
    ("virtual-output-queued", r#", vcs = 8, iterations = 2, credit_return = "tail""#),
    ("input-output-queued", r#", speedup = 2, arbitration = "random", output_buffer = "1 packets", vcs = 8"#),
    ("shared-buffer", r#", buffer = "1 packets", memory = "12 packets", alpha = 0.5, vcs = 8, arbitration = "random""#),
    ("input-queued", r#", multicast = { policy = "concentrating-residue" }"#),
    ("input-output-queued", r#", vcs = 8, arbitration = "random", multicast = { policy = "tatra" }"#),
    ("input-queued", r#", multicast = { fanout = "no-splitting", policy = "wba" }"#),
    ("virtual-output-queued", r#", multicast = "queue-per-set""#),
    ("input-crosspoint-queued", r#", vcs = 8, buffer = "700 B", queueing = "fifo", arbitration = "random""#),
    ("input-crosspoint-queued", r#", crosspoint_buffer = "1 packets", arbitration = "oldest-first""#),
];

/// Workloads, with the key that is theirs to test.
const WORKLOADS: &[(&str, &str)] = &[
    ("load 0.3", "load = 0.3"),
    ("load 1", "load = 1.0"),
    ("Poisson messages of 600 B", r#"load = 0.4, injection = "poisson", message_size = "600 B""#),
    ("periodic messages of 600 B", r#"load = 0.25, injection = "periodic", message_size = "600 B""#),
    ("backlogged", r#"load = 1.0, injection = "backlogged""#),
];

/// Channels of different speed: as cases have them, and so that a packet comes by a slower one than it leaves by.
const FAST_TO_SLOW: &str = r#"injection = { bandwidth = "20 Gb/s", delay = "90 ns" }"#;
const SLOW_TO_FAST: &str = r#"injection = { bandwidth = "5 Gb/s" }, ejection = { bandwidth = "20 Gb/s" }"#;

/// One case: its name and its text. Injection is faster than the network, with another delay; the delays are long, so
/// that windows are, and threads need not meet so often.
fn case(names: [&str; 4], topology: &str, rest: &str) -> (String, String) {
    let text = format!(
        r#"
        seed = 5
        topology = {{ {topology} }}
        link = {{ bandwidth = "10 Gb/s", delay = "130 ns", {FAST_TO_SLOW} }}
        measure = {{ warm_up = "5 us", max_time = "25 us" }}
        {rest}
        "#
    );
    (names.join(" | "), text)
}

/// Returns whether a topology has had a routing since the first cases: detours were made for groups only.
fn is_original(spec: &RoutingSpec, topology: &str) -> bool {
    !matches!(spec.kind(), "valiant-node" | "ugal-l" | "ugal-g" | "par") || topology.contains("dragonfly")
}

/// Routings with cases of their own, which came after the first cases.
const LATER: [&str; 8] =
    ["minimal-adaptive", "ecmp", "round-robin-up-down", "polarized", "slingshot", "aries", "dal", "dim-war"];

/// Every topology with every kind of router and every routing made for it, under workloads in turn; then every
/// variation of a router under every workload. Routings that came later follow, so that they change no other's
/// workload.
fn cases() -> Vec<(String, String)> {
    let mut cases = Vec::new();
    let mut workloads = WORKLOADS.iter().cycle();
    for &(name, topology) in TOPOLOGIES {
        for spec in RoutingSpec::all().into_iter().filter(|spec| !LATER.contains(&spec.kind())) {
            for router in &ROUTERS[..4] {
                let &(load, workload) = workloads.next().unwrap();
                let rest = format!(
                    "router = {{ kind = \"{router}\" }}\n routing = {{ kind = \"{}\" }}\n
                     workload = {{ kind = \"traffic\", {workload} }}",
                    spec.kind()
                );
                let case = case([name, spec.kind(), router, load], topology, &rest);
                if is_original(&spec, name) && build(&case.1).is_ok_and(|system| system.refuse_deadlock().is_ok()) {
                    cases.push(case);
                }
            }
            workloads.next();
        }
    }
    for (index, &(router, keys)) in VARIED.iter().enumerate() {
        for &(load, workload) in WORKLOADS {
            let (name, topology) = TOPOLOGIES[1 + index % (TOPOLOGIES.len() - 1)];
            let rest =
                format!("router = {{ kind = \"{router}\"{keys} }}\n workload = {{ kind = \"traffic\", {workload} }}");
            cases.push(case([name, "default routing", &format!("{router}{keys}"), load], topology, &rest));
        }
    }
    for router in ROUTERS {
        let rest = format!(
            "router = {{ kind = \"{router}\", credit_return = \"tail\" }}\n workload = {{ kind = \"traffic\", load = 0.4 }}"
        );
        let (name, topology) = TOPOLOGIES[1];
        let (name, text) = case([name, "default routing", router, "slow to fast"], topology, &rest);
        cases.push((name, text.replace(FAST_TO_SLOW, SLOW_TO_FAST)));
    }
    let (name, topology) = TOPOLOGIES[5];
    let rest = "workload = { kind = \"traffic\", load = 0.1 }";
    let (name, text) = case([name, "default routing", "default router", "automatic warm-up"], topology, rest);
    cases.push((name, text.replace("warm_up = \"5 us\"", "precision = 0.02").replace("25 us", "200 us")));
    cases.extend(adaptive_tori());
    cases.extend(paced());
    cases.extend(measured());
    cases.extend(tabled());
    cases.extend(viewless());
    cases.extend(detours());
    cases.extend(tapered_trees());
    cases.extend(flows_and_turns());
    cases.extend(weighed());
    cases.extend(engines());
    cases
}

/// Messages and time series are measured: of messages of several packets, in order and out of order, and of single
/// packets.
fn measured() -> Vec<(String, String)> {
    let keys = "measure = { messages = true, series = \"1500 ns\", ";
    let routers = ROUTERS.iter().zip(TOPOLOGIES.iter().skip(1)).zip(WORKLOADS.iter().cycle().skip(2));
    let measured = routers.map(|((router, &(name, topology)), &(load, workload))| {
        let rest = format!(
            "router = {{ kind = \"{router}\" }}\n workload = {{ kind = \"traffic\", {workload}, pattern = \"tornado\" }}"
        );
        let rest = if name.contains("torus") || name.contains("mesh") { rest } else { rest.replace("tornado", "uniform") };
        let (name, text) = case([name, "messages and series", router, load], topology, &rest);
        (name, text.replace("measure = { ", keys))
    });
    measured.collect()
}

/// A table with a choice of ports, a node that has a path of its own, and a layer that changes.
fn tabled() -> Vec<(String, String)> {
    let (name, topology) = TOPOLOGIES[6];
    let of = |(router, (load, workload)): (&str, &(&str, &str))| {
        let rest = format!(
            "router = {{ kind = \"{router}\" }}\n routing = {{ kind = \"table\", path = \"data/cluster.routes\" }}\n
             workload = {{ kind = \"traffic\", {workload} }}"
        );
        case([name, "table", router, load], topology, &rest)
    };
    ROUTERS.into_iter().zip(WORKLOADS.iter().cycle()).map(of).collect()
}

/// Windows that hold some of the packets back, with acknowledgements of both kinds, beside receive buffers.
fn paced() -> Vec<(String, String)> {
    let pacers = [
        ("window of 600 B", r#"window = "600 B""#),
        ("window of 300 B, acks of 20 B", r#"window = "300 B", ack_size = "20 B""#),
    ];
    let topologies = [TOPOLOGIES[4], TOPOLOGIES[3], TOPOLOGIES[1], TOPOLOGIES[5], TOPOLOGIES[6]];
    let mut cases = Vec::new();
    for (index, &(load, workload)) in WORKLOADS.iter().enumerate() {
        for (turn, (pacer, keys)) in pacers.into_iter().enumerate() {
            let ((name, topology), router) = (topologies[(index + turn) % 5], ROUTERS[(index + 2 * turn) % 5]);
            let rest = format!(
                "router = {{ kind = \"{router}\" }}\n node = {{ receive_buffer = \"3 packets\" }}\n
                 workload = {{ kind = \"traffic\", {workload}, pacer = {{ kind = \"window\", {keys} }} }}"
            );
            cases.push(case([name, &format!("{router}, {pacer}"), "receive buffer", load], topology, &rest));
        }
    }
    cases
}

/// Minimal adaptive routing, with room to spare and with buffers of one packet.
fn adaptive_tori() -> Vec<(String, String)> {
    let mut cases = Vec::new();
    for &(name, topology) in &TOPOLOGIES[4..=5] {
        let keys = ["", ", buffer = \"1 packets\"", ", vcs = 8"];
        for (router, (keys, (load, workload))) in ROUTERS.iter().zip(keys.iter().cycle().zip(WORKLOADS.iter().cycle()))
        {
            let rest = format!(
                "router = {{ kind = \"{router}\"{keys} }}\n routing = {{ kind = \"minimal-adaptive\" }}\n
                 workload = {{ kind = \"traffic\", {workload} }}"
            );
            cases.push(case([name, "minimal-adaptive", &format!("{router}{keys}"), load], topology, &rest));
        }
    }
    cases
}

/// Families without a view, and their keys.
const VIEWLESS: [(&str, &str); 5] = [
    ("4x3 hyperx", "kind = \"hyperx\", dims = [4, 3], wires = [1, 2], nodes_per_router = 2"),
    ("dragonfly-plus", "kind = \"dragonfly-plus\", leaves = 2, spines = 2, groups = 5"),
    ("slim-fly", "kind = \"slim-fly\", q = 3, nodes_per_router = 2"),
    ("polarfly", "kind = \"polarfly\", q = 3"),
    ("jellyfish", "kind = \"jellyfish\", routers = 12, degree = 4, seed = 1"),
];

/// Families without a view, by every router; the default routing, one fixed path and up*/down* in turn.
fn viewless() -> Vec<(String, String)> {
    let routings = [("default", ""), ("first", "kind = \"shortest-path\""), ("up-down", "kind = \"up-down\"")];
    let turns = ROUTERS.iter().zip(routings.into_iter().cycle()).zip(WORKLOADS.iter().cycle());
    let cases = turns.flat_map(|((router, (name, routing)), &(load, workload))| {
        let rest = format!(
            "router = {{ kind = \"{router}\" }}\n routing = {{ {routing} }}\n
             workload = {{ kind = \"traffic\", {workload} }}"
        );
        VIEWLESS.map(|(family, keys)| case([family, name, router, load], keys, &rest))
    });
    cases.collect()
}

/// Detours without groups, with separate golden files: on a torus and a mesh, on a network from a file, and by parallel
/// wires of a HyperX.
fn detours() -> Vec<(String, String)> {
    let topologies = [VIEWLESS[0], TOPOLOGIES[4], TOPOLOGIES[5], TOPOLOGIES[6]];
    let mut cases = Vec::new();
    let mut turns = ROUTERS.iter().cycle().zip(WORKLOADS.iter().cycle());
    for (name, topology) in topologies {
        for kind in ["valiant-node", "ugal-l", "ugal-g", "par"] {
            for (router, &(load, workload)) in turns.by_ref().take(2) {
                let rest = format!(
                    "router = {{ kind = \"{router}\" }}\n routing = {{ kind = \"{kind}\" }}\n
                     workload = {{ kind = \"traffic\", {workload} }}"
                );
                cases.push(case([&format!("{name} by detours"), kind, router, load], topology, &rest));
            }
        }
    }
    cases
}

/// Routings that weigh several candidates, with separate golden files: ports of a HyperX with parallel wires, ports of
/// any network, and paths.
fn weighed() -> Vec<(String, String)> {
    let mut turns = ROUTERS.iter().cycle().zip(WORKLOADS.iter().cycle());
    let cliques = ("hyperx by candidates", "kind = \"hyperx\", dims = [3, 4], wires = [2, 1], nodes_per_router = 2");
    let dragonfly = ("dragonfly by candidates", "kind = \"dragonfly\", p = 2, a = 4, h = 2, g = 5");
    let torus = ("torus by candidates", "kind = \"torus\", dims = [5, 4]");
    let mut cases = Vec::new();
    for (name, kind) in [
        (cliques, "dimension-order"),
        (cliques, "dal"),
        (cliques, "dim-war"),
        (cliques, "polarized"),
        (torus, "polarized"),
        (dragonfly, "slingshot"),
        (dragonfly, "aries"),
        (cliques, "slingshot"),
    ] {
        for (router, &(load, workload)) in turns.by_ref().take(3) {
            let rest = format!(
                "router = {{ kind = \"{router}\" }}\n routing = {{ kind = \"{kind}\" }}\n
                 workload = {{ kind = \"traffic\", {workload} }}"
            );
            cases.push(case([name.0, kind, router, load], name.1, &rest));
        }
    }
    cases
}

/// Engines of OpenSM, the increasing bias of `aries`, and detours past full spines, with separate golden files.
fn engines() -> Vec<(String, String)> {
    let mut turns = ROUTERS.iter().cycle().zip(WORKLOADS.iter().cycle());
    let tree = ("tree by engines", "kind = \"xgft\", m = [3, 4, 2], w = [1, 2, 2]");
    let torus = ("torus by engines", "kind = \"torus\", dims = [5, 4]");
    let dragonfly = ("dragonfly by engines", "kind = \"dragonfly\", p = 2, a = 4, h = 2, g = 5");
    let spines = ("dragonfly-plus by queues", "kind = \"dragonfly-plus\", leaves = 3, spines = 2, groups = 5");
    let mut cases = Vec::new();
    for (name, kind, keys) in [
        (tree, "minhop", ""),
        (tree, "updn", ""),
        (tree, "ftree", ""),
        (torus, "updn", ", roots = [0]"),
        (torus, "lash", ""),
        (torus, "dfsssp", ""),
        (torus, "nue", ""),
        (dragonfly, "nue", ", max_lanes = 3"),
        (dragonfly, "aries", ", mode = \"increasing\""),
        (spines, "ugal-l", ""),
        (spines, "ugal-l", ", detour = \"group\""),
        (spines, "par", ""),
        (spines, "ugal-g", ""),
        (dragonfly, "par", ", queues = \"ahead\""),
    ] {
        for (router, &(load, workload)) in turns.by_ref().take(2) {
            let rest = format!(
                "router = {{ kind = \"{router}\" }}\n routing = {{ kind = \"{kind}\"{keys} }}\n
                 workload = {{ kind = \"traffic\", {workload} }}"
            );
            cases.push(case([name.0, &format!("{kind}{keys}"), router, load], name.1, &rest));
        }
    }
    cases
}

/// Trees that are tapered, with parallel wires and with free places, by every router and each routing of trees in turn.
fn tapered_trees() -> Vec<(String, String)> {
    let topologies = [
        ("tapered tree", "kind = \"xgft\", m = [4, 3, 2], w = [1, 2, 3], p = [1, 1, 2], hosts = 22"),
        ("leaf-spine", "kind = \"leaf-spine\", leaves = 4, spines = 2, nodes_per_leaf = 6, wires = 2"),
    ];
    let routings = ["adaptive-up-down", "random-up-down", "d-mod-k", "shortest-path"];
    let mut workloads = WORKLOADS.iter().cycle();
    let mut cases = Vec::new();
    for (name, topology) in topologies {
        for (router, routing) in ROUTERS.iter().zip(routings.into_iter().cycle()) {
            let &(load, workload) = workloads.next().unwrap();
            let rest = format!(
                "router = {{ kind = \"{router}\" }}\n routing = {{ kind = \"{routing}\" }}\n
                 workload = {{ kind = \"traffic\", {workload} }}"
            );
            cases.push(case([name, routing, router, load], topology, &rest));
        }
    }
    cases
}

/// Hashed flows and ports in turn, by every router: on a tree, a HyperX, and a network from a file.
fn flows_and_turns() -> Vec<(String, String)> {
    let routings = [
        ("path", "kind = \"ecmp\""),
        ("salted", "kind = \"ecmp\", hash = \"salted\", flows = 4"),
        ("polarized", "kind = \"ecmp\", hash = \"polarized\", seed = 5"),
        ("turns", "kind = \"shortest-path\", ties = \"round-robin\""),
    ];
    let topologies = [
        (
            "3-level tree by flows and turns",
            "kind = \"xgft\", m = [3, 3, 2], w = [1, 2, 3]",
            "kind = \"round-robin-up-down\"",
        ),
        ("4x3 hyperx by flows and turns", VIEWLESS[0].1, routings[3].1),
        ("cluster by flows and turns", TOPOLOGIES[6].1, "kind = \"up-down\", ties = \"round-robin\""),
    ];
    let mut turns = ROUTERS.iter().cycle().zip(WORKLOADS.iter().cycle());
    let mut cases = Vec::new();
    for (name, topology, last) in topologies {
        for (kind, routing) in routings.into_iter().chain([("last", last)]) {
            for (router, &(load, workload)) in turns.by_ref().take(2) {
                let rest = format!(
                    "router = {{ kind = \"{router}\" }}\n routing = {{ {routing} }}\n
                     workload = {{ kind = \"traffic\", {workload} }}"
                );
                cases.push(case([name, kind, router, load], topology, &rest));
            }
        }
    }
    let ahead = "router = { kind = \"output-queued\", credits = \"per-crosspoint\" }";
    for (name, topology, last) in topologies {
        let rest = format!("{ahead}\n routing = {{ {last} }}\n workload = {{ kind = \"traffic\", load = 0.4 }}");
        cases.push(case([name, "turns of the sender", "output-queued", "load 0.4"], topology, &rest));
    }
    cases
}

/// A case, what it gave on one thread, and what it is expected to be near to.
pub struct Golden {
    pub name: String,
    pub system: System,
    pub found: PointResult,
    /// The mean number of routers of the pattern's pairs on shortest paths.
    hops: f64,
    /// The mean latency of the same paths without other packets.
    idle: f64,
}

/// Every case, run once on one thread for all tests.
pub static GOLDEN: LazyLock<Vec<Golden>> = LazyLock::new(|| cases().into_par_iter().map(Golden::of).collect());

impl Golden {
    fn of((name, text): (String, String)) -> Self {
        let system = build(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = run_divided(&system, 1, Grain::Fine);
        let idle = idle_ns(&system, found.hops_mean.unwrap_or(f64::NAN));
        Self { hops: mean_distance(&system), idle, name, system, found }
    }

    /// The golden file of the case's topology, without its folder.
    fn file(&self) -> String {
        let (topology, _) = self.name.split_once(" | ").expect("a case's name begins with its topology");
        topology.replace(' ', "-") + ".txt"
    }

    /// The line of the golden file: what was found and, in brackets, what is expected.
    ///
    /// Below saturation the accepted load is the offered one; the mean number of routers is that of the pattern's pairs
    /// on shortest paths (for up*/down* at least); the mean latency is above that of the same paths without other
    /// packets.
    fn line(&self) -> String {
        let Self { name, found, hops, idle, .. } = self;
        // As in the text of a result, to the last digit.
        let written: serde_json::Value = serde_json::from_str(&as_text(found)).unwrap();
        let number = |key: &str| written[key].as_f64().unwrap_or(f64::NAN);
        format!(
            "{name}: accepted {:.6} [offered {}], routers {:.4} [{hops:.4}], latency {:.3} ns [> {idle:.3}], packets {}, \
             packet-hops {}{}",
            number("accepted_load"),
            number("offered_load"),
            number("hops_mean"),
            number("latency_mean_ns"),
            found.packets,
            found.packet_hops,
            self.measured(),
        )
    }

    /// What messages and time series say, of cases that have them: the mean slowdown is that of the mean latency over
    /// the idle one, if all messages are alike; the series adds up to what all packets of the run are.
    fn measured(&self) -> String {
        let (Some(messages), Some(series)) = (&self.found.messages, &self.found.series) else { return String::new() };
        let own = &messages.figures;
        let number = |value: Option<f64>| value.map_or("none".into(), |value| format!("{value:.4}"));
        let waits: f64 = series.queues.iter().flat_map(|queue| &queue.mean_bytes).sum();
        format!(
            ", messages {}, latency {} ns [>= that of packets, if all arrive], slowdown {} [>= 1], 99 % {}, intervals {}, accepted in all {:.6}, \
             queued in all {waits:.3} B",
            own.count,
            number(own.latency_mean_ns),
            number(own.slowdown_mean),
            number(own.slowdown_p99),
            series.time_ns.len(),
            series.accepted_load.iter().sum::<f64>(),
        )
    }

    /// Panics unless another division over threads and partitions gives the same bytes.
    fn check_division(&self, (threads, grain): (usize, Grain)) {
        let other = as_text(&run_divided(&self.system, threads, grain));
        assert_eq!(other, as_text(&self.found), "{}: {threads} threads, {grain:?} differ from one", self.name);
    }
}

/// Threads and partitions that have to give the bytes of one thread.
const DIVISIONS: [(usize, Grain); 5] =
    [(2, Grain::Fine), (3, Grain::Fine), (7, Grain::Fine), (1, Grain::Exactly(5)), (2, Grain::Exactly(3))];

const HEAD: &str = "\
# Small cases of one topology: every router x routing, and what is varied of routers and workloads.
# Beside each number, in brackets, what it should be near: the offered load, unless the network saturates; the routers
# that the pattern's messages traverse on shortest paths (up-down: or more); the latency of the same paths when no other
# packet is there. `CUTTHROUGH_BLESS=1 cargo test -p cutthrough-sim` writes the files that have changed.
";

/// The folder of the golden files: one file a topology.
fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system/golden")
}

/// The text of every golden file, by its name: the cases of a topology in the order of `cases`.
fn golden_texts() -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for golden in &*GOLDEN {
        *texts.entry(golden.file()).or_insert_with(|| HEAD.to_owned()) += &(golden.line() + "\n");
    }
    texts
}

/// The names of the files in a folder; none if there is no such folder.
fn names_in(folder: &Path) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

/// Makes a folder hold these texts: writes the files that differ, and removes those of topologies that have no case.
fn bless(folder: &Path, texts: &BTreeMap<String, String>) {
    std::fs::create_dir_all(folder).unwrap();
    for (name, text) in texts {
        let path = folder.join(name);
        if std::fs::read_to_string(&path).ok().as_ref() != Some(text) {
            std::fs::write(&path, text).unwrap();
        }
    }
    for name in names_in(folder).iter().filter(|&name| !texts.contains_key(name)) {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    // Would catch an order that depends on memory or on threads, a window longer than a channel's delay, a stream that
    // is shared. The divisions take turns, so that each has every topology, router and workload; all of them: the test
    // below.
    let turn = |index: usize| (index + index / DIVISIONS.len()) % DIVISIONS.len();
    GOLDEN.par_iter().enumerate().for_each(|(index, golden)| golden.check_division(DIVISIONS[turn(index)]));
}

#[test]
#[ignore = "long: make test-long"]
fn every_division_of_every_case_gives_the_same_bytes() {
    // Would catch what is above, where it takes a division of one case that it has not there.
    GOLDEN.par_iter().for_each(|golden| DIVISIONS.into_iter().for_each(|division| golden.check_division(division)));
}

#[test]
#[ignore = "long: make test-long"]
fn every_case_gives_the_same_bytes_in_several_processes() {
    // Would catch what `processes` has no case for: a router, a routing or a topology whose state crosses processes.
    GOLDEN.par_iter().enumerate().for_each(|(index, golden)| {
        let (processes, threads) = [(2, 1), (3, 2), (4, 1)][index % 3];
        let found = run_in_processes(&golden.system, processes, (threads, Grain::Fine));
        assert_eq!(as_text(&found), as_text(&golden.found), "{} in {processes} processes", golden.name);
    });
}

#[test]
fn results_are_those_of_the_golden_files() {
    // Would catch any unintended change of results, a case that is added or removed, and a file that no case writes.
    let (folder, texts) = (golden_folder(), golden_texts());
    if std::env::var_os("CUTTHROUGH_BLESS").is_some() {
        bless(&folder, &texts);
    }
    let hint = "if that is meant, run with CUTTHROUGH_BLESS=1 and say why";
    assert_eq!(texts.keys().cloned().collect::<BTreeSet<_>>(), names_in(&folder), "golden files; {hint}");
    for (name, golden) in &texts {
        let want = std::fs::read_to_string(folder.join(name)).unwrap();
        let changed: Vec<(&str, &str)> = golden.lines().zip(want.lines()).filter(|(got, want)| got != want).collect();
        assert!(changed.is_empty(), "{name}: {} results differ; {hint}. The first: {:#?}", changed.len(), changed[0]);
        assert_eq!(golden.lines().count(), want.lines().count(), "{name}: cases were added or removed; {hint}");
    }
}

#[test]
fn blessing_writes_only_the_golden_files_that_differ() {
    // Would catch a blessing that touches files without changes, and one that leaves the file of a topology that is
    // gone.
    let folder = std::env::temp_dir().join(format!("cutthrough-bless-{}", std::process::id()));
    let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    bless(&folder, &BTreeMap::from([text("mesh.txt", "1"), text("torus.txt", "2"), text("tree.txt", "3")]));
    let written = |name: &str| std::fs::metadata(folder.join(name)).unwrap().modified().unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    for name in names_in(&folder) {
        std::fs::File::options().write(true).open(folder.join(name)).unwrap().set_modified(long_ago).unwrap();
    }
    bless(&folder, &BTreeMap::from([text("mesh.txt", "1"), text("torus.txt", "4")]));
    let (mesh, torus, names) = (written("mesh.txt"), written("torus.txt"), names_in(&folder));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((mesh, torus > long_ago), (long_ago, true));
    assert_eq!(names, BTreeSet::from(["mesh.txt".to_owned(), "torus.txt".to_owned()]));
}

#[test]
fn a_large_network_in_partitions_for_the_cache_gives_the_same_bytes() {
    // Would catch a division of its own accord that is not the one tested above: 7000 ports make seven partitions.
    let (_, text) = case(
        ["", "", "", ""],
        "kind = \"torus\", dims = [10, 10, 10]",
        "workload = { kind = \"traffic\", load = 0.3 }",
    );
    let text = text.replace("130 ns", "500 ns").replace("25 us", "12 us");
    let one = digest_of(&text, 1, Grain::Coarse);
    assert_eq!(digest(&text, 1), one);
    assert_eq!(digest(&text, 2), one);
}

#[test]
fn the_golden_numbers_are_what_they_should_be_near() {
    // Would catch a golden file that was blessed with wrong numbers: each is held to its expectation.
    for Golden { name, system, found, hops: expected, idle } in &*GOLDEN {
        let (expected, hops) = (*expected, found.hops_mean.unwrap());
        assert!(found.latency_mean_ns.unwrap() > *idle, "{name}: faster than light: {found:?}");
        // Past saturation packets with short paths are delivered more often, so that the mean falls.
        let carried = !found.open().unwrap().saturated && found.open().unwrap().offered_load < 0.5;
        let longest = match system.network.routing.kind() {
            "up-down" => 1.6,
            // By way of a third group of a dragonfly where that is shorter, minimal routing does not go.
            "minimal" => 1.15,
            _ if !system.network.routing.minimal() => 2.1,
            _ => 1.07,
        };
        assert!(!carried || (0.93 * expected..longest * expected).contains(&hops), "{name}: {hops}, not {expected}");
        let ratio = found.open().unwrap().accepted_load / found.open().unwrap().offered_load;
        assert!(ratio < 1.15 && (!carried || ratio > 0.85), "{name}: {ratio} of what is offered");
    }
}
