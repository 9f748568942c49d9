//! Upgrades and worst permutations of whole systems: against systems that are built so.

use std::fmt::Write;

use sim::{Analysis, Progress, System, WorstCase, analyze, effective_bisection, forwarding_files, worst_case};
use units::NodeId;

use crate::common::build;

fn text(topology: &str, routing: &str, pattern: &str, link: &str) -> String {
    format!(
        r#"
        topology = {topology}
        routing = {{ kind = "{routing}" }}
        link = {{ bandwidth = "400 Gb/s", delay = "20 ns"{link} }}
        workload = {{ kind = "traffic", load = 0.1, pattern = {pattern} }}
        "#
    )
}

fn analysis(text: &str) -> Analysis {
    let system = build(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    analyze(&system).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

#[test]
fn a_doubled_class_has_the_bound_of_a_network_with_double_bandwidth() {
    // Would catch a class whose second direction is left out, loads of another class that bind then, and a bound above 1.
    let cases = [
        (r#"{ kind = "dragonfly", p = 2, a = 4, h = 2 }"#, "minimal", r#""adversarial""#),
        (r#"{ kind = "dragonfly", p = 2, a = 4, h = 2, g = 4 }"#, "minimal", r#""uniform""#),
        (r#"{ kind = "dragonfly", p = 2, a = 4, h = 2 }"#, "valiant-group", r#""adversarial""#),
        (r#"{ kind = "leaf-spine", leaves = 8, spines = 2, nodes_per_leaf = 8 }"#, "random-up-down", r#""uniform""#),
        (r#"{ kind = "torus", dims = [5, 4] }"#, "dimension-order", r#""tornado""#),
    ];
    for (topology, routing, pattern) in cases {
        let before = analysis(&text(topology, routing, pattern, ""));
        let most = before.upgrades.classes.first().map_or(0.0, |upgrade| upgrade.gain);
        for upgrade in before.upgrades.classes.iter().filter(|upgrade| upgrade.class != "injection/ejection") {
            let mut link = String::new();
            for class in upgrade.class.split('/') {
                write!(link, r#", {class} = {{ bandwidth = "800 Gb/s" }}"#).unwrap();
            }
            let after = analysis(&text(topology, routing, pattern, &link)).bandwidth_bound;
            assert!((after - upgrade.bandwidth_bound).abs() < 1e-9, "{topology}: {upgrade:?} instead of {after}");
            assert!((upgrade.bandwidth_bound - before.bandwidth_bound - upgrade.gain).abs() < 1e-9, "{upgrade:?}");
            assert!(upgrade.gain <= most, "{upgrade:?} is not first");
        }
        let cables: u64 = before.upgrades.classes.iter().map(|upgrade| upgrade.cables).sum();
        assert_eq!(cables, before.design.cables, "{topology}");
    }
}

#[test]
fn a_doubled_cable_raises_the_bound_to_that_of_the_next() {
    // Four routers in a row, with a node each: uniform traffic loads the wire in the middle by 4/3, the others by 1. Would
    // catch a cable of which one direction is doubled, and a channel that binds next.
    let row = analysis(&text(r#"{ kind = "mesh", dims = [4] }"#, "dimension-order", r#""uniform""#, ""));
    assert_eq!(row.upgrades.full_cables, 1);
    let cable = row.upgrades.cable.unwrap();
    assert!((row.bandwidth_bound - 0.75).abs() < 1e-9 && (cable.bandwidth_bound - 1.0).abs() < 1e-9, "{cable:?}");
    assert!((cable.gain - 0.25).abs() < 1e-9, "{cable:?}");
    // In six routers the wire in the middle carries 9/5, its neighbours 8/5.
    let row = analysis(&text(r#"{ kind = "mesh", dims = [6] }"#, "dimension-order", r#""uniform""#, ""));
    assert!((row.upgrades.cable.unwrap().bandwidth_bound - 5.0 / 8.0).abs() < 1e-9);
    // A ring of nine carries 5/4 on every wire. A ring of seven carries as much as nodes send, a dragonfly of wide cables
    // more.
    let ring = |size: u32| {
        let ring = format!(r#"{{ kind = "torus", dims = [{size}] }}"#);
        let upgrades = analysis(&text(&ring, "dimension-order", r#""uniform""#, "")).upgrades;
        (upgrades.cable, upgrades.full_cables)
    };
    assert_eq!((ring(9), ring(7)), ((None, 9), (None, 0)));
    let wide = r#", local = { bandwidth = "4 Tb/s" }, global = { bandwidth = "4 Tb/s" }"#;
    let wide = text(r#"{ kind = "dragonfly", p = 2, a = 4, h = 2 }"#, "minimal", r#""uniform""#, wide);
    let wide = analysis(&wide).upgrades;
    assert_eq!((wide.cable, wide.full_cables), (None, 0));
}

#[test]
fn the_worst_case_counts_bandwidths_and_follows_minimal_paths() {
    // 8 nodes of a group share one wire to another. Would catch a class whose bandwidth is left out, an adaptive routing
    // whose detours are followed, and a bound above 1.
    let dragonfly = r#"{ kind = "dragonfly", p = 2, a = 4, h = 2 }"#;
    let of = |routing: &str, link: &str| {
        let system = build(&text(dragonfly, routing, r#""uniform""#, link)).unwrap();
        worst_case(&system, None, &Progress::new()).unwrap()
    };
    let minimal = of("minimal", "");
    assert_eq!((&*minimal.routing, minimal.exact, minimal.senders), ("minimal", true, 72));
    assert_eq!((minimal.class.as_deref(), minimal.throughput_bound), (Some("global"), 1.0 / 8.0));
    let adaptive = of("ugal-l", "");
    assert_eq!((&*adaptive.routing, adaptive.exact, adaptive.to), ("minimal", false, minimal.to));
    let wide = of("minimal", r#", global = { bandwidth = "4 Tb/s" }"#);
    assert_eq!(wide.class.as_deref(), Some("local"));
    let wider = of("minimal", r#", local = { bandwidth = "8 Tb/s" }, global = { bandwidth = "8 Tb/s" }"#);
    assert_eq!(wider.throughput_bound, 1.0);
    let stopped = Progress::new();
    stopped.cancel();
    let system = build(&text(dragonfly, "minimal", r#""uniform""#, "")).unwrap();
    assert_eq!(worst_case(&system, None, &stopped).unwrap_err().key, "routing");
}

#[test]
fn the_effective_bisection_is_the_mean_over_all_pairings() {
    // Two routers of two nodes, one wire: of the three pairings, one crosses nowhere, and two cross twice. So the mean is
    // (1 + 1/2 + 1/2) / 3, and twice the bandwidth of the wire makes it 1. Would catch pairings that are not equally
    // likely, a direction that is left out, and a bandwidth that is not counted.
    let of = |topology: &str, link: &str, pairings: u32| {
        let system = build(&text(topology, "shortest-path", r#""uniform""#, link)).unwrap();
        effective_bisection(&system, (None, pairings), &Progress::new())
    };
    let pair = r#"{ kind = "mesh", dims = [2], nodes_per_router = 2 }"#;
    let found = of(pair, "", 2000).unwrap();
    let width = found.half_width.unwrap();
    assert!(found.exact && width < 0.02 && (found.mean - 2.0 / 3.0).abs() < 1.5 * width, "{found:?}");
    assert_eq!((found.least, found.least_flow), (0.5, 0.5));
    let wide = of(pair, r#", dim0 = { bandwidth = "800 Gb/s" }"#, 50).unwrap();
    assert_eq!((wide.mean, wide.least, wide.half_width), (1.0, 1.0, Some(0.0)));
    // A tree of full bisection spreads each pairing evenly: no channel is above its bandwidth.
    let tree = build(&text(r#"{ kind = "fat-tree", k = 4, n = 3 }"#, "random-up-down", r#""uniform""#, "")).unwrap();
    let spread = effective_bisection(&tree, (None, 20), &Progress::new()).unwrap();
    assert!((spread.least_flow - 1.0).abs() < 1e-9, "{spread:?}");
    assert_eq!(of(pair, "", 0).unwrap_err().key, "topology");
}

/// Nodes of some endpoints with a switch inside each node, and another network, with links of 400 Gb/s.
fn with_islands((endpoints, count): (u32, u32), topology: &str, routing: &str, rest: &str) -> String {
    format!(
        r#"
        node = {{ endpoints = {endpoints}, count = {count} }}
        workload = {{ kind = "program", packet_size = "256 B", program = {{ kind = "collective", operation = "barrier" }} }}
        relay = {{ network = "inside" }}
        [[network]]
        name = "between"
        topology = {topology}
        routing = {{ kind = "{routing}" }}
        link = {{ bandwidth = "400 Gb/s", delay = "20 ns"{rest} }}
        [[network]]
        name = "inside"
        topology = "single-switch:{endpoints}"
        link = {{ bandwidth = "100 Gb/s", delay = "20 ns" }}
        "#
    )
}

#[test]
fn one_of_several_networks_has_the_numbers_that_it_has_alone() {
    // Would catch bandwidths in links of another network, channels of another network that are loaded, the routing of
    // another network, other random pairings, and tables of routers that are counted over all networks.
    let dragonfly = r#"{ kind = "dragonfly", p = 2, a = 4, h = 2 }"#;
    for (routing, link) in [("minimal", ""), ("minimal", r#", global = { bandwidth = "4 Tb/s" }"#), ("ugal-l", "")] {
        let alone = build(&text(dragonfly, routing, r#""uniform""#, link)).unwrap();
        let both = build(&with_islands((8, 9), dragonfly, routing, link)).unwrap();
        let (progress, name) = (Progress::new(), Some("between"));
        let expected = worst_case(&alone, None, &progress).unwrap();
        let found = worst_case(&both, name, &progress).unwrap();
        assert_eq!(found.class, expected.class.as_ref().map(|class| format!("between.{class}")));
        assert!(found.channel.as_ref().unwrap().contains(found.class.as_ref().unwrap()));
        let (class, channel) = (expected.class.clone(), expected.channel.clone());
        assert_eq!(WorstCase { class, channel, ..found }, expected);
        let bisection = |system, name| effective_bisection(system, (name, 50), &progress).unwrap();
        assert_eq!(bisection(&both, name), bisection(&alone, None));
        assert_eq!(bisection(&both, Some("inside")).mean, 1.0);
        assert_eq!(worst_case(&both, Some("inside"), &progress).unwrap().throughput_bound, 1.0);
        let tables = |system, name| forwarding_files(system, name).map_err(|error| (error.key, error.message));
        match (tables(&both, name), tables(&alone, None)) {
            (Err((key, message)), Err((expected, why))) => {
                assert_eq!((key, message), (format!("network.between.{expected}"), why));
            }
            (found, expected) => assert_eq!(found, expected),
        }
        assert!(tables(&both, Some("inside")).is_ok());
    }
}

#[test]
fn islands_are_analysed_by_their_nodes() {
    // Two rails, each with two routers of two nodes and one wire, which both nodes of a router cross. Would catch pairs on
    // different rails, an island without its permutation, nodes of the topology that are numbers of endpoints, and planes
    // that count.
    let pair = r#"{ kind = "mesh", dims = [2], nodes_per_router = 2, planes = 2 }"#;
    let rails = with_islands((2, 4), pair, "shortest-path", "").replace("routing", "order = \"by-rail\"\nrouting");
    let (system, name, progress) = (build(&rails).unwrap(), Some("between"), Progress::new());
    let worst = worst_case(&system, name, &progress).unwrap();
    assert_eq!((worst.throughput_bound, worst.senders, worst.to.len()), (0.5, 8, 8));
    // Endpoint e of node n has the number 2 n + e, and nodes 0 and 1 are on one router.
    let crosses = |(from, to): (u32, &NodeId)| from % 2 == to.0 % 2 && (from < 4) != (to.0 < 4);
    assert!((0..).zip(&worst.to).all(crosses), "{:?}", worst.to);
    let found = effective_bisection(&system, (name, 2000), &progress).unwrap();
    assert!((found.mean - 2.0 / 3.0).abs() < 1.5 * found.half_width.unwrap(), "{found:?}");
    // A node that no endpoint has taken neither sends nor receives: one of three crosses the wire each way.
    let free = build(&with_islands((1, 3), pair, "shortest-path", "").replace(", planes = 2", "")).unwrap();
    let worst = worst_case(&free, name, &progress).unwrap();
    assert_eq!((worst.throughput_bound, worst.to.len()), (1.0, 3));
    assert_eq!(effective_bisection(&free, (name, 20), &progress).unwrap().least, 1.0);
    // A network of one endpoint has no pairs.
    let refused = |system: &System, name| effective_bisection(system, (name, 1), &Progress::new()).unwrap_err();
    assert_eq!(refused(&free, Some("inside")).key, "network.inside.topology");
    assert!(refused(&free, Some("outside")).message.contains("between, inside"));
    assert!(refused(&free, None).message.contains("between, inside"));
    let alone = build(&text(pair, "shortest-path", r#""uniform""#, "")).unwrap();
    assert!(refused(&alone, name).message.contains("one network"));
}
