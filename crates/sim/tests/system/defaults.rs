//! What an experiment that leaves out router and packet gets: links that carry what they can, at any bandwidth and
//! length.

use rayon::prelude::*;
use sim::{RunOptions, analyze, run};

use crate::common::{Matrix, ROUTERS, build_by_default};

/// Gigabits a second, and metres of cable at 5 ns/m.
const BANDWIDTHS: [u32; 4] = [10, 100, 400, 800];
const METRES: [u32; 3] = [1, 10, 100];

/// Topologies of every kind, with a routing of one path and a pattern in which no two flows share a channel.
const CONTENTION_FREE: &[(&str, &str, &str)] = &[
    (r#"kind = "single-switch", ports = 8"#, "shortest-path", r#"{ kind = "shift", offset = 3 }"#),
    (r#"kind = "fat-tree", k = 4, n = 2"#, "d-mod-k", r#"{ kind = "shift", offset = 4 }"#),
    (r#"kind = "fat-tree", k = 2, n = 4"#, "d-mod-k", r#"{ kind = "shift", offset = 8 }"#),
    (r#"kind = "dragonfly", p = 1, a = 3, h = 2"#, "minimal", "PAIR"),
    (r#"kind = "torus", dims = [4, 3, 2]"#, "dimension-order", r#"{ kind = "shift", offset = 1 }"#),
    (r#"kind = "mesh", dims = [4, 4]"#, "dimension-order", r#"{ kind = "shift", offset = 1 }"#),
    (r#"kind = "file", path = "data/cluster.edges""#, "shortest-path", "PAIR"),
];

/// Larger ones, for the long test.
const LARGER: &[(&str, &str, &str)] = &[
    (r#"kind = "single-switch", ports = 64"#, "shortest-path", r#"{ kind = "shift", offset = 21 }"#),
    (r#"kind = "fat-tree", k = 16, n = 2"#, "d-mod-k", r#"{ kind = "shift", offset = 16 }"#),
    (r#"kind = "dragonfly", h = 3"#, "minimal", "PAIR"),
    (r#"kind = "dragonfly", h = 2"#, "valiant-group", "PAIR"),
    (r#"kind = "torus", dims = [8, 8]"#, "dimension-order", r#"{ kind = "shift", offset = 1 }"#),
];

/// An experiment that leaves out all that has a default.
fn experiment(
    (topology, routing, pattern): (&str, &str, &str),
    (gigabits, metres): (u32, u32),
    router: &str,
) -> String {
    let time = if gigabits < 100 { 200 } else { 60 };
    format!(
        r#"
        topology = {{ {topology} }}
        link = {{ bandwidth = "{gigabits} Gb/s", delay = "{} ns" }}
        routing = {{ kind = "{routing}" }}
        {router}
        workload = {{ kind = "traffic", load = 1.0, pattern = {pattern} }}
        measure = {{ warm_up = "20 us", max_time = "{time} us" }}
        "#,
        5 * metres
    )
}

/// What the worst-served source of an experiment gets, where no channel is asked for more than it has.
fn least_accepted(network: (&str, &str, &str), link: (u32, u32), router: &str) -> f64 {
    let nodes = build_by_default(&experiment((network.0, network.1, "\"uniform\""), link, router)).unwrap();
    let pair = Matrix::pair("defaults", 0, nodes.network.topology.nodes() - 1);
    let pattern = if network.2 == "PAIR" { pair.pattern() } else { network.2.to_owned() };
    let text = experiment((network.0, network.1, &pattern), link, router);
    let system = build_by_default(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let loads = analyze(&system).unwrap();
    assert!((loads.throughput_bound - 1.0).abs() < 1e-9, "{text}\nis not free of contention: {loads:?}");
    run(&system, &RunOptions::default())
        .unwrap_or_else(|error| panic!("{text}\n{error}"))
        .open()
        .unwrap()
        .accepted_load_min
        .unwrap()
}

fn check(networks: &[(&str, &str, &str)], metres: &[u32], routers: &[String]) {
    let links = BANDWIDTHS.iter().flat_map(|&gigabits| metres.iter().map(move |&metres| (gigabits, metres)));
    let cases = networks.iter().flat_map(|&network| links.clone().map(move |link| (network, link)));
    let cases: Vec<_> = cases.flat_map(|case| routers.iter().map(move |router| (case, router))).collect();
    cases.into_par_iter().for_each(|((network, link), router)| {
        let accepted = least_accepted(network, link, router);
        assert!(accepted > 0.99, "{network:?} {link:?} {router}: {accepted}");
    });
}

/// Routers of which only the kind is given, and when buffers fall free.
fn kinds() -> Vec<String> {
    let one = |(kind, back)| format!("router = {{ kind = \"{kind}\", credit_return = \"{back}\" }}");
    ROUTERS.into_iter().flat_map(|kind| [(kind, "head"), (kind, "tail")]).map(one).collect()
}

#[test]
fn traffic_without_contention_is_accepted_at_any_bandwidth_and_length() {
    // Would catch a default that does not follow the links: 4 packets of 256 B carry 0.158 at 400 Gb/s.
    check(CONTENTION_FREE, &[1, 100], &[String::new()]);
}

#[test]
fn so_it_is_where_only_the_kind_of_router_is_given() {
    // Would catch an architecture whose buffers do not cover the round trip: the crossbar, the tail.
    check(&CONTENTION_FREE[1..2], &[1, 100], &kinds());
}

#[test]
#[ignore = "long: make test-long"]
fn so_it_is_in_larger_networks_of_every_router() {
    // Would catch what is above, where it takes more ports, longer paths or another router on a topology.
    check(LARGER, &METRES, &[String::new()]);
    check(CONTENTION_FREE, &METRES, &kinds());
}

#[test]
fn channels_of_different_length_and_speed_are_all_covered() {
    // Would catch depths of one class of channels only: here the far ones, there the fast ones.
    for classes in [
        r#"global = { delay = "500 ns" }"#,
        r#"local = { delay = "500 ns" }, injection = { delay = "250 ns" }"#,
        r#"local = { bandwidth = "800 Gb/s" }, global = { bandwidth = "1600 Gb/s", delay = "500 ns" }"#,
    ] {
        let pair = Matrix::pair("classes", 0, 20);
        let text = experiment((CONTENTION_FREE[3].0, "minimal", &pair.pattern()), (400, 1), "");
        let text = text.replace("delay = \"5 ns\"", &format!("delay = \"5 ns\", {classes}"));
        let system = build_by_default(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let accepted = run(&system, &RunOptions::default()).unwrap().open().unwrap().accepted_load;
        assert!(accepted > 0.99, "{classes}: {accepted}");
    }
}
