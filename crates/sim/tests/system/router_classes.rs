//! Keys that differ by class of routers: closed forms on trees, keys that change results, and refusals.

use fabric::Grain;
use rayon::prelude::*;
use sim::{Experiment, PointResult, RunOptions, System, analyze, check, completed, run};
use topology::ChannelClass;
use units::{KeyError, RouterId};

use crate::common::{Matrix, ROUTERS, build, build_by_default};

/// Two leaves below two spines, with two nodes on each leaf.
const TWO_LEVELS: &str = r#"{ kind = "leaf-spine", leaves = 2, spines = 2, nodes_per_leaf = 2 }"#;
/// Three levels of switches, 8 nodes.
const THREE_LEVELS: &str = r#"{ kind = "fat-tree", k = 2, n = 3 }"#;

/// The keys of each architecture with room for all, the keys that a class of routers may have, and another value.
const KEYS: [(&str, &str, &str, &str); 14] = [
    ("output-queued", "", "delay", r#""300 ns""#),
    ("output-queued", "", "buffer", r#""1 packets""#),
    ("input-queued", "", "delay", r#""300 ns""#),
    ("input-queued", "", "buffer", r#"{ up = "1 packets", down = "1 packets", injection = "1 packets" }"#),
    ("virtual-output-queued", "", "delay", r#""300 ns""#),
    ("virtual-output-queued", "", "buffer", r#""1 packets""#),
    ("input-output-queued", "", "buffer", r#""1 packets""#),
    ("input-output-queued", r#", output_buffer = "1 packets", speedup = 2"#, "output_buffer", r#""6 packets""#),
    ("input-output-queued", "", "speedup", "3"),
    ("input-crosspoint-queued", "", "buffer", r#""1 packets""#),
    ("input-crosspoint-queued", r#", queueing = "fifo""#, "crosspoint_buffer", r#""1 packets""#),
    ("shared-buffer", "", "delay", r#""300 ns""#),
    ("shared-buffer", r#", memory = "12 packets""#, "memory", r#""2 packets""#),
    ("shared-buffer", r#", memory = "12 packets""#, "alpha", "0.2"),
];

/// Uniform traffic at a load that fills buffers.
fn busy(router: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "leaf-spine", leaves = 4, spines = 2, nodes_per_leaf = 3 }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ {router} }}
        workload = {{ kind = "traffic", load = 0.9, packet_size = "256 B" }}
        measure = {{ warm_up = "5 us", max_time = "60 us" }}
        "#
    )
}

fn ran(text: &str, threads: usize) -> PointResult {
    let system = build_by_default(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let options = RunOptions { threads, grain: Grain::Exactly(3), ..RunOptions::default() };
    run(&system, &options).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Returns what a run measured.
fn measured(point: &PointResult) -> (u64, u64, Option<f64>, Option<f64>, Vec<f64>) {
    let figures = (point.latency_mean_ns, point.latency_max_ns);
    (point.packets, point.packet_hops, figures.0, figures.1, point.channel_utilization.clone())
}

#[test]
fn a_lone_packet_takes_the_delay_of_each_router_on_its_way() {
    // Prime delays. Closed form: the channels, the routers of the path, one serialization (100 B at 3 Gb/s). Would catch
    // a router with the delay of the one before or after it, and an idle time that is not the latency.
    let leaf_spine = "leaf = { delay = \"13 ns\" }, spine = { delay = \"29 ns\" }";
    let with_core = format!("{leaf_spine}, core = {{ delay = \"61 ns\" }}");
    let cases: [(&str, &str, u32, u64, &[u64]); 5] = [
        (TWO_LEVELS, leaf_spine, 1, 1, &[13]),
        (TWO_LEVELS, leaf_spine, 3, 3, &[13, 29, 13]),
        // The default of the other class.
        (TWO_LEVELS, "delay = \"13 ns\", spine = { delay = \"29 ns\" }", 3, 3, &[13, 29, 13]),
        (THREE_LEVELS, &with_core, 2, 3, &[13, 29, 13]),
        (THREE_LEVELS, &with_core, 7, 5, &[13, 29, 61, 29, 13]),
    ];
    for (router, (topology, delays, dst, routers, path)) in
        ROUTERS.iter().flat_map(|router| cases.iter().map(move |case| (router, case)))
    {
        let matrix = Matrix::pair("classes", 0, *dst);
        let text = format!(
            r#"
            topology = {topology}
            link = {{ bandwidth = "3 Gb/s", delay = "7 ns", injection = {{ delay = "5 ns" }}, ejection = {{ delay = "11 ns" }} }}
            router = {{ kind = "{router}", buffer = "4 packets", {delays} }}
            workload = {{ kind = "traffic", load = 0.05, packet_size = "100 B", pattern = {} }}
            measure = {{ messages = true, warm_up = "10 us", max_time = "400 us" }}
            "#,
            matrix.pattern()
        );
        let found = crate::common::result(&text);
        let exact = (5_000 + 11_000 + 7_000 * (routers - 1) + 266_667) as f64 / 1e3 + path.iter().sum::<u64>() as f64;
        let [mean, max] = [found.latency_mean_ns, found.latency_max_ns].map(Option::unwrap);
        assert!((max - exact).abs() < 1e-6 && (mean - exact).abs() < 1e-3, "{text}: {exact}, but {mean} to {max}");
        let figures = &found.messages.as_ref().unwrap().figures;
        assert_eq!((figures.slowdown_mean, figures.slowdown_max), (Some(1.0), Some(1.0)), "{text}");
    }
}

#[test]
fn the_delay_model_adds_the_same_delays() {
    // Would catch an idle path of equal hops where routers differ, and a window that is longer than the shortest path.
    let ping = |model: &str, threads| {
        let text = format!(
            r#"
            topology = {THREE_LEVELS}
            link = {{ bandwidth = "8 Gb/s", delay = "7 ns" }}
            router = {{ spine = {{ delay = "29 ns" }}, core = {{ delay = "61 ns" }}, delay = "13 ns" }}
            simulation = {{ model = "{model}" }}
            measure = {{ messages = true }}
            job = [{{ name = "one", nodes = "7,0", workload = {{ kind = "program", program = {{ kind = "incast", message_size = "100 B" }} }} }}]
            "#
        );
        let system = build_by_default(&text).unwrap();
        let point = run(&system, &RunOptions { threads, ..RunOptions::default() }).unwrap();
        let job = point.jobs.first().map_or(&point, |job| &job.point);
        assert_eq!(job.messages.as_ref().unwrap().figures.slowdown_mean, Some(1.0));
        job.closed().unwrap().time_ns
    };
    let exact = Some(100.0 + 6.0 * 7.0 + 2.0 * (13.0 + 29.0) + 61.0);
    assert_eq!((ping("delay", 1), ping("delay", 2), ping("packet", 1)), (exact, exact, exact));
}

#[test]
fn each_key_of_a_class_changes_the_result_as_its_default_would() {
    // Would catch a key that nothing reads, one that reaches routers of the other class, and a result that depends on
    // threads. Exceptions of all classes are the key of all routers; the roles of default and exception may be exchanged.
    KEYS.par_iter().for_each(|&(kind, keys, key, other)| {
        let has_key = keys.contains(&format!("{key} ="));
        let written = match key {
            _ if has_key => keys.split(", ").find_map(|own| own.strip_prefix(&format!("{key} = "))).unwrap(),
            "delay" => r#""90 ns""#,
            "buffer" => r#""5 packets""#,
            "crosspoint_buffer" => r#""2 packets""#,
            _ => "1",
        };
        let [delay, buffer] = [("delay", r#""90 ns""#), ("buffer", r#""5 packets""#)]
            .map(|(own, value)| if own == key { String::new() } else { format!(", {own} = {value}") });
        let rest: Vec<&str> = keys.split(", ").filter(|own| !own.starts_with(&format!("{key} ="))).collect();
        let router = |value: &str, classes: &str| {
            ran(&busy(&format!("kind = \"{kind}\"{delay}{buffer}{}, {key} = {value}{classes}", rest.join(", "))), 1)
        };
        let exception = |class: &str, value: &str| format!(", {class} = {{ {key} = {value} }}");
        let plain = measured(&router(written, ""));
        let spine = measured(&router(written, &exception("spine", other)));
        let leaf = measured(&router(written, &exception("leaf", other)));
        let all = measured(&router(other, ""));
        assert!(plain != spine && plain != leaf && spine != leaf, "{kind} {key}: {plain:?} {spine:?} {leaf:?}");
        let both = exception("leaf", other) + &exception("spine", other);
        assert_eq!(measured(&router(written, &both)), all, "{kind} {key}");
        assert_eq!(measured(&router(other, &exception("leaf", written))), spine, "{kind} {key}");
        assert_eq!(measured(&router(other, &exception("spine", written))), leaf, "{kind} {key}");
    });
}

#[test]
fn results_do_not_depend_on_threads() {
    // Would catch mail whose packets wait for the delay of another class of routers.
    let text = busy(
        r#"kind = "shared-buffer", leaf = { delay = "11 ns" }, spine = { delay = "250 ns", memory = "9 packets" }"#,
    );
    assert_eq!(measured(&ran(&text, 1)), measured(&ran(&text, 2)));
}

#[test]
fn credits_of_a_class_bound_what_its_channels_carry() {
    // One path up and one down; a packet takes 204.8 ns. Its credit for the spine is held for 2 * 100 + 600 ns. Would
    // catch a bound from the buffer or the delay of the other class, and a warning about it.
    let text = |classes: &str| {
        format!(
            r#"
            topology = {{ kind = "leaf-spine", leaves = 2, spines = 1, nodes_per_leaf = 1 }}
            link = {{ bandwidth = "10 Gb/s", delay = "100 ns" }}
            router = {{ kind = "input-queued", delay = "50 ns", buffer = "8 packets", {classes} }}
            workload = {{ kind = "traffic", load = 1.0, packet_size = "256 B", pattern = {{ kind = "shift", offset = 1 }} }}
            measure = {{ warm_up = "20 us", max_time = "420 us" }}
            "#
        )
    };
    for (classes, bound) in [
        (r#"spine = { delay = "600 ns", buffer = "2 packets" }"#, 2.0 * 204.8 / 800.0),
        (r#"spine = { buffer = "1 packets" }"#, 204.8 / 250.0),
        (r#"leaf = { delay = "600 ns", buffer = "2 packets" }"#, 2.0 * 204.8 / 800.0),
        (r#"leaf = { delay = "600 ns" }, spine = { delay = "600 ns" }"#, 1.0),
        (r#"spine = { delay = "600 ns" }"#, 1.0),
    ] {
        let system = build_by_default(&text(classes)).unwrap();
        let found = analyze(&system).unwrap();
        assert!((found.throughput_bound - bound).abs() < 1e-9, "{classes}: {}", found.throughput_bound);
        let accepted = run(&system, &RunOptions::default()).unwrap().open().unwrap().accepted_load;
        assert!((accepted / bound - 1.0).abs() < 1e-3, "{classes}: {accepted} of {bound}");
        let warnings = check(&system).unwrap().warnings;
        let of_credits: Vec<&str> =
            warnings.iter().filter(|own| own.kind == "credits").map(|own| own.message.as_str()).collect();
        let (class, other) = if classes.starts_with("spine") { ("spine", "leaf") } else { ("leaf", "spine") };
        assert_eq!(of_credits.is_empty(), bound == 1.0, "{of_credits:?}");
        assert!(of_credits.iter().all(|text| text.contains(&format!("of {class} routers"))), "{of_credits:?}");
        assert!(!of_credits.iter().any(|text| text.contains(other)), "{of_credits:?}");
        // The key that gives the depth.
        let key = if classes.contains("buffer") { format!("(`router.{class}.buffer`)") } else { String::new() };
        assert!(of_credits.iter().all(|text| text.contains(&key)), "{of_credits:?}");
    }
}

#[test]
fn head_of_line_blocking_is_that_of_each_class() {
    // Would catch a warning although the crossbars of both classes are fast enough, and silence where those of one are not.
    let warns = |router: &str| {
        let text = busy(&format!("kind = \"input-output-queued\", vcs = 1{router}"));
        let found = check(&build_by_default(&text).unwrap()).unwrap().warnings;
        found.iter().any(|warning| warning.kind == "head-of-line")
    };
    let class = |name: &str, speedup: u8| format!(", {name} = {{ speedup = {speedup} }}");
    for (router, expected) in [
        (", speedup = 1".to_owned(), true),
        (format!(", speedup = 1{}{}", class("leaf", 2), class("spine", 2)), false),
        (format!(", speedup = 1{}", class("leaf", 2)), true),
        (format!(", speedup = 2{}", class("spine", 1)), true),
        (", speedup = 2".to_owned(), false),
    ] {
        assert_eq!(warns(&router), expected, "{router}");
    }
}

#[test]
fn default_depths_follow_from_the_delay_of_a_class() {
    // By hand, 800 Gb/s, 4 KiB in 40.96 ns, 5 ns: (10 + 200 + 40.96) / 40.96 = 6.1, so 7 + 1; with 1 us 25.7, so 26 + 1.
    // Memories are of 32 ports, with 16 packets and the longest round trip for each, but at least 1024 packets. Would catch
    // depths of another class, and a resolved file that gives a class the depths of the others.
    let text = r#"
        topology = { kind = "leaf-spine", leaves = 4, spines = 2, nodes_per_leaf = 30 }
        link = { bandwidth = "800 Gb/s", delay = "5 ns" }
        router = { kind = "shared-buffer", spine = { delay = "1 us" } }
        workload = { kind = "traffic", load = 0.1 }
        "#;
    let experiment = Experiment::load(text, "test.toml", std::path::Path::new("."), &[]).unwrap();
    let full = completed(&experiment, &experiment.points()[0]);
    let own: Vec<&str> = full.keys.iter().filter_map(|key| key.strip_prefix("router.spine.")).collect();
    assert_eq!(own, ["buffer", "memory"], "{:?}", full.keys);
    let again = System::build(&full.spec, std::path::Path::new(".")).unwrap();
    for system in [build_by_default(text).unwrap(), again] {
        let plan = &system.network.plan;
        let depth = |router| plan.buffer_bytes(ChannelClass(2), plan.router_sets().number(RouterId(router))) / 4096;
        assert_eq!((depth(0), depth(5)), (8, 27));
        assert_eq!((plan.inner_buffer_bytes(0) / 4096, plan.inner_buffer_bytes(1) / 4096), (1024, 32 * (16 + 27)));
        assert_eq!(
            (plan.router_delay(RouterId(0)), plan.router_delay(RouterId(5))),
            (200_000 / plan.tick().0, 1_000_000 / plan.tick().0)
        );
    }
    let resolved = toml::to_string(&full.spec).unwrap();
    let loaded = Experiment::load(&resolved, "again.toml", std::path::Path::new("."), &[]).unwrap();
    assert_eq!(loaded.points()[0].spec, full.spec, "{resolved}");
}

/// A tree whose leaves have 5 wires and whose spines have 4.
fn tree(router: &str) -> Result<System, KeyError> {
    let shape = r#"topology = { kind = "leaf-spine", leaves = 4, spines = 2, nodes_per_leaf = 3 }"#;
    let link = r#"link = { bandwidth = "10 Gb/s", delay = "20 ns" }"#;
    build(&format!("{shape}\n{link}\nrouter = {{ {router} }}\nworkload = {{ kind = \"traffic\", load = 0.1 }}"))
}

#[test]
fn ports_of_a_class_are_checked_and_counted() {
    // Would catch ports of all routers in place of a class's, and free ports of a class that are not counted.
    let counted = tree(r#"kind = "input-queued", leaf = { ports = 8 }, spine = { ports = 4 }"#).unwrap();
    let design = analyze(&counted).unwrap().design;
    let switches: Vec<(u16, u16, u32)> =
        design.switches_by_ports.iter().map(|own| (own.ports, own.connected, own.switches)).collect();
    assert_eq!((switches, design.free_ports), (vec![(4, 4, 2), (8, 5, 4)], 12));
    assert_eq!(check(&counted).unwrap().free_ports, Some(12));
    let refused = |router: &str| tree(&format!("kind = \"input-queued\", {router}")).err().unwrap();
    let few = refused("ports = 5, spine = { ports = 3 }");
    assert!(
        few.key == "router.spine.ports" && few.message.contains("router 4 of this leaf-spine has 4 wires"),
        "{few}"
    );
    assert_eq!(refused("ports = 4, spine = { ports = 5 }").key, "router.ports");
}

#[test]
fn keys_that_an_architecture_lacks_are_refused() {
    // Would catch a key that is read by nobody, and a depth whose error names another key.
    let refused = |router: &str| tree(router).err().unwrap();
    for (router, key, allowed) in [
        (
            r#"kind = "input-queued", spine = { memory = "9 packets" }"#,
            "router.spine.memory",
            "`buffer`, `delay`, `ports`",
        ),
        (r#"kind = "input-queued", spine = { speedup = 2 }"#, "router.spine.speedup", "`buffer`, `delay`, `ports`"),
        (
            r#"kind = "shared-buffer", leaf = { output_buffer = "9 packets" }"#,
            "router.leaf.output_buffer",
            "`memory`, `alpha`",
        ),
    ] {
        let error = refused(router);
        assert!(error.key == key && error.message.contains(allowed), "{error}");
    }
    for (router, key) in [
        (r#"kind = "input-queued", spine = { buffer = "9 B" }"#, "router.spine.buffer"),
        (r#"kind = "input-queued", buffer = "9 B", spine = { delay = "1 ns" }"#, "router.buffer"),
        (r#"kind = "input-queued", spine = { buffer = { up = "9 B" } }"#, "router.spine.buffer.up"),
        (r#"kind = "shared-buffer", spine = { memory = "9 B" }"#, "router.spine.memory"),
        (r#"kind = "input-crosspoint-queued", leaf = { crosspoint_buffer = "9 B" }"#, "router.leaf.crosspoint_buffer"),
    ] {
        assert_eq!(refused(router).key, key, "{router}");
    }
}
