//! Routings as tables: they give the results of the routings that they are written from, and are refused as these would
//! be.

use std::fmt::Write as _;
use std::path::PathBuf;

use rayon::prelude::*;
use routing::RoutingTable;
use routing::algorithms::table::DestinationKind;

use crate::common::{ROUTERS, build, digest};

/// A table in a file, which goes when this does.
struct Written(PathBuf, &'static str);

impl Written {
    /// The routing of a system, as text.
    fn of(text: &str, name: &str) -> Self {
        let system = build(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let (topology, routing) = (&*system.network.topology, &*system.network.routing);
        let table = RoutingTable::of(topology, routing).unwrap();
        Self::new(
            name,
            &lines(&table, topology.routers() as usize),
            if routing.adaptive() { "least-loaded" } else { "random" },
        )
    }

    fn new(name: &str, text: &str, ties: &'static str) -> Self {
        let path = std::env::temp_dir().join(format!("cutthrough-{}-{name}.routes", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path, ties)
    }

    fn routing(&self) -> String {
        format!("{{ kind = \"table\", path = \"{}\", ties = \"{}\" }}", self.0.display(), self.1)
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A table as text.
fn lines(table: &RoutingTable, routers: usize) -> String {
    let word = if table.destinations == DestinationKind::Nodes { "node" } else { "router" };
    let mut text = String::new();
    for (place, ports) in table.ports.chunks(table.candidates).enumerate() {
        let (row, column) = (place / table.columns, place % table.columns);
        if place % (routers * table.columns) == 0 {
            writeln!(text, "layer {}", row / routers).unwrap();
        }
        let ports: Vec<String> = ports.iter().filter(|&&port| port >= 0).map(i32::to_string).collect();
        if !ports.is_empty() {
            let (router, class, next) = (row % routers, table.classes[place], table.next_layers[place]);
            writeln!(text, "{router} {word} {column} {} /{class} >{next}", ports.join(" ")).unwrap();
        }
    }
    text
}

fn experiment(topology: &str, routing: &str, router: &str, workload: &str) -> String {
    format!(
        r#"
        seed = 3
        topology = {{ {topology} }}
        link = {{ bandwidth = "10 Gb/s", delay = "50 ns" }}
        router = {{ kind = "{router}" }}
        routing = {routing}
        workload = {{ {workload} }}
        measure = {{ warm_up = "5 us", max_time = "25 us" }}
        "#
    )
}

#[test]
fn a_routing_and_its_table_give_the_same_bytes() {
    // Would catch a draw more or less, a class or a choice that differs, and an order of ports that does.
    let cases = [
        (r#"kind = "fat-tree", k = 3, n = 3"#, r#"{ kind = "d-mod-k" }"#),
        (r#"kind = "fat-tree", k = 4, n = 2"#, r#"{ kind = "adaptive-up-down" }"#),
        (r#"kind = "fat-tree", k = 4, n = 2"#, r#"{ kind = "random-up-down" }"#),
        (r#"kind = "torus", dims = [4, 4]"#, r#"{ kind = "dimension-order", ties = "positive" }"#),
        (r#"kind = "mesh", dims = [3, 4], nodes_per_router = 2"#, r#"{ kind = "dimension-order" }"#),
        (r#"kind = "dragonfly", h = 2"#, r#"{ kind = "minimal" }"#),
        (r#"kind = "dragonfly", p = 2, a = 4, h = 2, g = 3"#, r#"{ kind = "minimal" }"#),
        (r#"kind = "file", path = "data/cluster.edges""#, r#"{ kind = "shortest-path", ties = "least-loaded" }"#),
        (r#"kind = "file", path = "data/cluster.edges""#, r#"{ kind = "up-down", ties = "random" }"#),
    ];
    let workloads = [
        r#"kind = "traffic", load = 0.6"#,
        r#"kind = "traffic", load = 0.2, injection = "poisson", message_size = "600 B""#,
        r#"kind = "exchange", volume = "2 KiB""#,
    ];
    let pairs = cases.into_iter().enumerate().zip(ROUTERS.iter().cycle()).zip(workloads.iter().cycle());
    let pairs: Vec<_> = pairs.collect();
    pairs.par_iter().for_each(|&(((number, (topology, routing)), router), workload)| {
        let original = experiment(topology, routing, router, workload);
        let table = Written::of(&original, &format!("same-{number}"));
        let tabled = experiment(topology, &table.routing(), router, workload);
        assert_eq!(digest(&tabled, 1), digest(&original, 1), "{original}");
        assert_eq!(digest(&tabled, 2), digest(&original, 1), "{original}");
    });
}

#[test]
fn a_table_that_may_deadlock_is_refused_with_its_cycle() {
    // Clockwise around a ring. Would catch a table that is run unproven.
    let pairs = (0..5).flat_map(|from| (0..5).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let text: String = pairs.map(|(from, to)| format!("{from} {to} 0\n")).collect();
    let table = Written::new("ring", &text, "first");
    let text = experiment(
        r#"kind = "torus", dims = [5]"#,
        &table.routing(),
        "input-queued",
        r#"kind = "traffic", load = 0.1"#,
    );
    let error = build(&text).unwrap().refuse_deadlock().unwrap_err();
    assert_eq!(error.key, "routing");
    assert!(error.message.contains("waits for") && error.message.contains("router 4 port 0"), "{error}");
}

#[test]
fn a_table_needs_virtual_channels_for_its_classes() {
    let table = Written::new("classes", "0 1 0 /3\n1 0 1\n", "first");
    let with = |vcs: u8| {
        let text = experiment(
            r#"kind = "mesh", dims = [2]"#,
            &table.routing(),
            &format!("input-queued\", vcs = {vcs}, arbitration = \"round-robin"),
            r#"kind = "traffic", load = 0.1"#,
        );
        build(&text)
    };
    assert_eq!(with(3).unwrap_err().key, "router.vcs");
    assert!(with(4).is_ok());
}
