//! What a check warns of: that it is true, and that it is said only where it is.

use sim::{System, Warning, check, run, warnings};
use units::NodeId;

use crate::common::{Matrix, build_by_default};

fn system(text: &str) -> System {
    build_by_default(text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn of_kind(text: &str, kind: &str) -> Option<Warning> {
    warnings(&system(text)).unwrap().into_iter().find(|warning| warning.kind == kind)
}

fn experiment(topology: &str, router: &str, workload: &str) -> String {
    format!(
        r#"
        topology = {{ {topology} }}
        link = {{ bandwidth = "400 Gb/s", delay = "20 ns" }}
        {router}
        workload = {{ kind = "traffic", {workload} }}
        "#
    )
}

const SWITCH: &str = r#"kind = "single-switch", ports = 8"#;
const TREE: &str = r#"kind = "fat-tree", k = 4, n = 2"#;

#[test]
fn defaults_give_no_warning() {
    // Would catch a warning that everybody sees, and so nobody reads.
    for topology in [SWITCH, TREE, r#"kind = "dragonfly", h = 2"#, r#"kind = "torus", dims = [4, 4]"#] {
        let text = experiment(topology, "", "load = 0.3");
        assert_eq!(warnings(&system(&text)).unwrap(), [], "{topology}");
    }
}

#[test]
fn shortest_paths_alone_are_named_under_adversarial_traffic() {
    // Would catch a warning on a tree, which has no detours, and one of a routing that takes them.
    let hyperx = r#"kind = "hyperx", dims = [4, 4], nodes_per_router = 4"#;
    let dragonfly = r#"kind = "dragonfly", h = 2"#;
    for (topology, routing, pattern, warns) in [
        (hyperx, "", "adversarial", true),
        (hyperx, r#"kind = "ugal-l""#, "adversarial", false),
        (hyperx, "", "uniform", false),
        (dragonfly, r#"kind = "minimal""#, "adversarial", true),
        (dragonfly, r#"kind = "valiant-node""#, "adversarial", false),
        (TREE, "", "adversarial", false),
        (r#"kind = "mesh", dims = [8, 8]"#, "", "adversarial", false),
    ] {
        let router = format!("routing = {{ {routing} }}\nrouter = {{ vcs = 8 }}");
        let text = experiment(topology, &router, &format!("load = 0.1, pattern = \"{pattern}\""));
        let found = of_kind(&text, "shortest-only");
        assert_eq!(found.as_ref().map(|warning| warning.key), warns.then_some("routing.kind"), "{text}");
        assert!(found.is_none_or(|warning| warning.message.contains("`ugal-l`")));
    }
}

#[test]
fn another_default_routing_is_named() {
    // Would catch a tree whose routing changes in silence, and a warning of networks that keep their default or name a
    // routing.
    let halved = r#"kind = "leaf-spine", leaves = 4, spines = 3, nodes_per_leaf = 2, wires = { up = 0.5 }"#;
    let whole = r#"kind = "leaf-spine", leaves = 4, spines = 3, nodes_per_leaf = 2, wires = { up = 2 }"#;
    let unequal = r#"kind = "dragonfly", p = 1, h = 2, group_sizes = [1, 2, 3], global_wires = 1"#;
    let up_down = r#"routing = { kind = "up-down" }"#;
    let torus = r#"kind = "torus", dims = [4, 4], wires = { dim0 = 2 }"#;
    let mesh = r#"kind = "mesh", dims = [4, 4], planes = 2, wires = { dim1 = 2 }"#;
    for (topology, routing, expected) in [
        (torus, "", Some("`dimension-order`, the default routing of a torus")),
        (mesh, "", Some("`dimension-order`, the default routing of a mesh")),
        (r#"kind = "torus", dims = [4, 4]"#, "", None),
        (r#"kind = "hyperx", dims = [4, 4], wires = [2, 1]"#, "", None),
        (halved, "", Some("`up-down`")),
        (halved, up_down, None),
        (whole, "", None),
        (unequal, "", Some("`detour` = \"group\"")),
        (unequal, up_down, None),
    ] {
        let found = of_kind(&experiment(topology, routing, "load = 0.1"), "default-routing");
        let key = if topology.contains("group_sizes") { "topology.group_sizes" } else { "topology.wires" };
        assert_eq!(found.as_ref().map(|warning| warning.key), expected.map(|_| key), "{topology}");
        let message = found.map(|warning| warning.message).unwrap_or_default();
        assert!(message.contains(expected.unwrap_or("")), "{topology}: {message}");
    }
}

#[test]
fn a_shallow_buffer_is_named_with_the_share_of_the_round_trip() {
    // By hand: 4 packets of 5.12 ns in 2 * 20 + 90 ns are 15.8 %, which 26 packets cover; of the far class
    // 4 * 5.12 / 1090 = 1.9 %, which 213 cover. Would catch a class that is left out, and a delay that is counted once.
    let router = r#"router = { kind = "output-queued", buffer = "4 packets", delay = "90 ns" }"#;
    let text = experiment(TREE, router, r#"load = 0.3, packet_size = "256 B""#);
    let text = text.replace(r#"delay = "20 ns""#, r#"delay = "20 ns", up = { delay = "500 ns" }"#);
    let found: Vec<Warning> = warnings(&system(&text)).unwrap().into_iter().filter(|w| w.kind == "credits").collect();
    let said = |class: &str, share: &str| {
        let says = |w: &&Warning| w.message.contains(&format!("of {class} channels")) && w.message.contains(share);
        found.iter().find(says).unwrap_or_else(|| panic!("{class} {share}: {found:#?}")).key
    };
    assert_eq!(said("injection", " 15.8 %"), "router.buffer");
    assert_eq!((said("up", " 1.9 %"), said("down", " 15.8 %")), ("router.buffer", "router.buffer"));
    assert!(found.iter().all(|warning| !warning.message.contains("ejection")), "{found:#?}");
    assert_eq!(said("down", &format!("{} cover", units::Bytes(26 * 256))), "router.buffer");
    let enough = text.replace("4 packets", "213 packets");
    assert_eq!(of_kind(&enough, "credits"), None);
    assert!(of_kind(&text.replace("4 packets", "212 packets"), "credits").is_some());
}

#[test]
fn depths_are_those_of_their_classes_in_warnings_and_in_the_memory() {
    // A packet of 4 KiB takes 81.92 ns, and a round trip 2 * 20 + 200 ns. Would catch one depth that stands for all.
    let router =
        r#"router = { kind = "input-queued", buffer = { injection = "32 KiB", up = "4 KiB", down = "64 KiB" } }"#;
    let system = system(&experiment(TREE, router, "load = 0.3"));
    let credits: Vec<Warning> = warnings(&system).unwrap().into_iter().filter(|w| w.kind == "credits").collect();
    assert!(matches!(&credits[..], [one] if one.message.contains("of up channels")), "{credits:#?}");
    let found = check(&system).unwrap();
    let by_class = [("down", 64 << 10), ("injection", 32 << 10), ("up", 4 << 10)];
    assert_eq!(found.buffer_bytes_by_class, by_class.map(|(name, bytes)| (name.to_owned(), bytes)).into());
    assert_eq!(found.buffer_bytes, 64 << 10);
    // Leaves have four inputs from nodes and four from above, roots four from below.
    let memory: Vec<(u16, u32, u64)> =
        found.router_memory.iter().map(|alike| (alike.ports, alike.routers, alike.bytes >> 10)).collect();
    assert_eq!(memory, [(4, 4, 4 * 4), (8, 4, 4 * 32 + 4 * 64)]);
}

#[test]
fn large_crosspoints_are_named_with_their_memory() {
    // By hand: 64 * 64 crosspoints of 32 packets of 4 KiB are 537 MB. Would catch a square that is missing.
    let text = |kind: &str| {
        let topology = r#"kind = "single-switch", ports = 64"#;
        let text = experiment(topology, &format!("router = {{ kind = \"{kind}\" }}"), "load = 0.3");
        text.replace("400 Gb/s", "800 Gb/s").replace("20 ns", "500 ns")
    };
    assert!(of_kind(&text("output-queued"), "memory").unwrap().message.contains("64 ports has 537 MB"));
    for kind in ["shared-buffer", "input-output-queued", "virtual-output-queued"] {
        assert_eq!(of_kind(&text(kind), "memory"), None, "{kind}");
    }
    let memory = check(&system(&text("shared-buffer"))).unwrap().router_memory;
    assert_eq!(memory.len(), 1);
    assert_eq!((memory[0].ports, memory[0].routers, memory[0].bytes), (64, 1, (64 * 32 + 64 * 48) * 4096));
    // An 8-port tree: leaves and roots have 8 and 4 ports.
    let tree =
        check(&system(&experiment(TREE, r#"router = { kind = "input-queued", buffer = "8 KiB" }"#, "load = 0.3")));
    let memory: Vec<(u16, u32, u64)> =
        tree.unwrap().router_memory.iter().map(|r| (r.ports, r.routers, r.bytes)).collect();
    assert_eq!(memory, [(4, 4, 4 * 8192), (8, 4, 8 * 8192)]);
}

#[test]
fn fifos_that_block_are_named_and_others_are_not() {
    // Would catch a warning of routers that have no FIFO, or more virtual channels than blocking needs.
    let warns = |topology: &str, keys: &str| {
        of_kind(&experiment(topology, &format!("router = {{ {keys} }}"), "load = 0.3"), "head-of-line").is_some()
    };
    for topology in [SWITCH, TREE, r#"kind = "torus", dims = [4, 4]"#] {
        assert!(warns(topology, r#"kind = "input-queued""#), "{topology}");
        assert!(warns(topology, r#"kind = "input-output-queued""#), "{topology}");
        assert!(!warns(topology, r#"kind = "input-output-queued", speedup = 2"#), "{topology}");
        assert!(!warns(topology, r#"kind = "input-queued", vcs = 4"#), "{topology}");
        assert!(warns(topology, r#"kind = "input-crosspoint-queued", queueing = "fifo""#), "{topology}");
        assert!(!warns(topology, r#"kind = "input-crosspoint-queued", queueing = "fifo", vcs = 4"#), "{topology}");
        for kind in ["output-queued", "virtual-output-queued", "input-crosspoint-queued", "shared-buffer"] {
            assert!(!warns(topology, &format!("kind = \"{kind}\"")), "{topology} {kind}");
        }
    }
}

#[test]
fn idle_parallel_wires_and_equal_paths_are_named_with_the_key_that_uses_them() {
    // By hand: the four leaves of the tree send all up by the first of four wires, which leaves three roots of four,
    // 12 channels up and 12 down, of 32, idle. 12/15 of the traffic of a leaf's 4 nodes goes up: 1/3.2 and 1 (at most).
    // Would catch a warning where no other path is as short (mesh, or a routing without the key), or a bound of the
    // wrong routing.
    let warned = |topology: &str, routing: &str| {
        let found = of_kind(&experiment(topology, routing, "load = 0.3"), "idle-paths");
        found.map(|warning| (warning.key, warning.message))
    };
    let with = |topology: &str, routing: &str| warned(topology, &format!("routing = {{ {routing} }}"));
    for kind in ["shortest-path", "up-down"] {
        let (key, message) = with(TREE, &format!("kind = \"{kind}\"")).unwrap();
        assert_eq!(key, "routing.ties");
        assert!(message.contains("24 of 32 channels") && message.contains("from 0.3333 to 1.0000"), "{message}");
        for ties in ["random", "least-loaded"] {
            assert_eq!(with(TREE, &format!("kind = \"{kind}\", ties = \"{ties}\"")), None);
        }
        assert_eq!(with(r#"kind = "mesh", dims = [3, 3]"#, &format!("kind = \"{kind}\"")), None);
    }
    assert_eq!(with(TREE, r#"kind = "d-mod-k""#), None);
    // A double wire in a file, one of each direction idle. Nothing is gained: four nodes send the router at the other
    // end a quarter of their packets, which fill one wire.
    let file = r#"kind = "file", path = "data/cluster.edges""#;
    let (_, message) = with(file, r#"kind = "shortest-path""#).unwrap();
    assert!(message.contains("2 of 14 channels") && message.ends_with("use them"), "{message}");
    assert_eq!(warned(file, ""), None, "the default routing of a file uses all wires");
}

#[test]
fn a_run_that_ends_too_early_is_named_with_a_time_that_is_enough() {
    // Would catch a unit that is wrong: at load 0.3 sixteen nodes generate 200 messages of 82 ns in 3.4 us.
    let text = |measure: &str| experiment(TREE, "", "load = 0.3") + &format!("measure = {{ {measure} }}\n");
    assert!(of_kind(&text(r#"max_time = "1 ns""#), "short-run").is_some());
    assert!(of_kind(&text(r#"max_time = "3 us", warm_up = "1 us""#), "short-run").is_some());
    assert_eq!(of_kind(&text(r#"max_time = "5 us", warm_up = "1 us""#), "short-run"), None);
    assert_eq!(of_kind(&text(r#"max_time = "100 us""#), "short-run"), None);
    assert_eq!(of_kind(&text(r#"warm_up = "1 us""#), "short-run"), None);
}

/// What each source of a parking lot of five gets of what it offers.
fn parking_lot(router: &str) -> (String, Vec<f64>) {
    let matrix = Matrix::new("starving", &[0, 1, 2, 3].map(|src| (src, 4, 1.0)));
    let text =
        experiment(r#"kind = "mesh", dims = [5]"#, &format!("router = {{ {router} }}"), "load = 0.8, pattern = LOT");
    let text = text.replace("LOT", &matrix.pattern()) + "measure = { warm_up = \"200 us\", max_time = \"1200 us\" }\n";
    let found = run(&system(&text), &sim::RunOptions::default()).unwrap();
    let channels = topology::Channels::new(&*system(&text).network.topology);
    let used = |node: u32| found.channel_utilization[channels.injection(NodeId(node)).index()] / 0.8;
    let message = of_kind(&text, "starvation").map_or_else(String::new, |warning| warning.message);
    (message, (0..4).map(used).collect())
}

#[test]
fn a_parking_lot_starves_those_who_come_from_far() {
    // Expected: at load 0.8 node 3 gets 1/2, node 2 1/4, nodes 0 and 1 1/8 of the last channel, of 0.8 each; equal were
    // 0.3125. Would catch a division that stops at the first router, and one that a run does not have.
    for kind in ["output-queued", "input-queued", "virtual-output-queued", "shared-buffer"] {
        let (message, found) = parking_lot(&format!("kind = \"{kind}\""));
        assert!(message.contains("at most 0.1562") && message.contains("all 0.3125"), "{kind}: {message}");
        assert!((found[0] - 0.15625).abs() < 0.005, "{kind}: {found:?}");
    }
    let (message, found) = parking_lot(r#"kind = "output-queued", arbitration = "oldest-first""#);
    assert_eq!(message, "");
    assert!(found.iter().all(|share| (share - 0.3125).abs() < 0.01), "{found:?}");
}

#[test]
fn an_incast_that_is_divided_equally_starves_nobody() {
    // Would catch a warning of every full channel.
    let matrix = Matrix::new("equal", &[0, 1, 2, 3].map(|src| (src, 7, 1.0)));
    let text = experiment(SWITCH, "", &format!("load = 0.8, pattern = {}", matrix.pattern()));
    assert_eq!(of_kind(&text, "starvation"), None);
}

#[test]
fn time_series_of_one_interval_and_of_intervals_of_no_packet_are_named() {
    // By hand: a packet of 4 KiB takes 81.92 ns at 400 Gb/s. Would catch a series of one interval, or one that shows
    // single packets, in silence; and the first warning of a run that has a series.
    let text = |series: &str, end: &str| {
        let text = experiment(SWITCH, "", "load = 0.3");
        format!("{text}\nmeasure = {{ series = \"{series}\", warm_up = \"1 us\"{end} }}")
    };
    let end = ", max_time = \"20 us\"";
    assert_eq!(warnings(&system(&text("200 ns", end))).unwrap(), []);
    assert_eq!(warnings(&system(&text("82 ns", end))).unwrap(), []);
    let fine = of_kind(&text("81 ns", end), "fine-series").unwrap();
    assert!(fine.message.contains("a packet of 4 KiB") && fine.message.contains("81.92 ns"), "{fine:?}");
    assert_eq!(of_kind(&text("19 us", end), "coarse-series"), None);
    let coarse = of_kind(&text("21 us", end), "coarse-series").unwrap();
    assert!(coarse.message.contains("may end after 20 us"), "{coarse:?}");
    assert!(of_kind(&text("1 s", ""), "coarse-series").is_some());
    let ran = |text: &str| {
        let experiment = sim::Experiment::load(text, "test.toml", std::path::Path::new("."), &[]).unwrap();
        let point = sim::run_point(&experiment, &experiment.points()[0], &sim::RunOptions::default()).unwrap();
        let intervals = point.series.as_ref().map_or(0, |series| series.time_ns.len());
        (intervals, point.warnings.iter().any(|warning| warning.kind == "coarse-series"))
    };
    assert_eq!(ran(&text("1 s", "")), (1, true));
    // A closed workload is known to take at least the time of its packets, here 4 of 4 KiB, and takes longer.
    let closed = experiment(SWITCH, "", "load = 0.3")
        .replace("kind = \"traffic\", load = 0.3", "kind = \"exchange\", dims = [8], volume = \"8 KiB\"");
    let closed = format!("{closed}\nmeasure = {{ series = \"350 ns\" }}");
    assert!(of_kind(&closed, "coarse-series").is_some());
    let (intervals, warned) = ran(&closed);
    assert!(intervals > 1 && !warned, "{intervals} {warned}");
    // How long operations in switches take is not known, which is no run of 0 ns.
    let operation = r#"kind = "program", program = { kind = "collective", operation = "allreduce", algorithm = "in-switch", size = "1 MiB" }"#;
    let unknown = experiment(SWITCH, "", "load = 0.3").replace("kind = \"traffic\", load = 0.3", operation);
    let unknown = format!("{unknown}\nmeasure = {{ series = \"1 us\" }}");
    assert_eq!(of_kind(&unknown, "coarse-series"), None);
    assert!(ran(&unknown).0 > 1);
}

#[test]
fn islands_and_switches_that_nodes_do_not_fill_evenly_are_noted() {
    // Would catch a note of machines that are whole, a wrong count, and a note on one network that another one causes.
    let notes = |node: &str, first: u32, second: &str| {
        let text = format!(
            r#"
            node = {{ {node} }}
            link = {{ bandwidth = "400 Gb/s", delay = "20 ns" }}
            workload = {{ kind = "program", program = {{ kind = "collective", operation = "barrier" }} }}
            relay = {{ network = "inside" }}
            [[network]]
            name = "inside"
            topology = "single-switch:{first}"
            [[network]]
            name = "rail"
            {second}
            "#
        );
        check(&system(&text)).unwrap().notes
    };
    let leaves = |count: u32| {
        let rail = "topology = \"leaf-spine:leaves=8,spines=2,nodes_per_leaf=32\"\norder = \"by-rail\"";
        notes(&format!("endpoints = 8, count = {count}"), 8, rail)
    };
    assert_eq!(leaves(32), [""; 0]);
    // Leaf i has 31 - i endpoints of rail i, and i + 1 of the next one; the last leaf has those of one rail that are left.
    assert_eq!(
        leaves(31),
        [
            "network `rail` has room for 256 endpoints and gets 248 (8 switches with nodes: 1 partly filled, 0 empty)",
            "network `rail`: 7 of 8 switches of 32 have endpoints of several rails, not all of each: a rail has 31 endpoints",
        ]
    );
    // Two whole rails are on each leaf.
    assert_eq!(
        leaves(16),
        ["network `rail` has room for 256 endpoints and gets 128 (8 switches with nodes: 0 partly filled, 4 empty)"]
    );
    let large = "topology = \"single-switch:56\"";
    assert_eq!(
        notes("endpoints = 7, count = 8", 8, large),
        [
            "network `inside`: 7 of 7 islands of 8 have endpoints of several nodes, not all of each: a node has 7 of its 7 endpoints there"
        ]
    );
    assert_eq!(notes("endpoints = 7, count = 8", 7, large), [""; 0]);
    // Four nodes of an island, and two islands of a node, are whole.
    assert_eq!(notes("endpoints = 2, count = 28", 8, large), [""; 0]);
    assert_eq!(notes("endpoints = 16, count = 3", 8, "topology = \"single-switch:48\""), [""; 0]);
}

#[test]
fn a_machine_of_the_catalogue_has_no_note_on_its_filling() {
    // Would catch a note that every user of a machine sees.
    let workload = r#"workload = { kind = "program", program = { kind = "collective", operation = "barrier" } }"#;
    for name in ["dgx-superpod-h100-gpus:su=1", "gb200-nvl72"] {
        let notes = check(&system(&format!("machine = {{ name = \"{name}\" }}\n{workload}"))).unwrap().notes;
        assert!(!notes.iter().any(|note| note.starts_with("network `")), "{notes:?}");
    }
}
