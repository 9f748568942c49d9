//! Detours on topologies without groups: the load that they carry, against the direct paths and Valiant routing.

use rayon::prelude::*;
use sim::{RunOptions, run};

use crate::common::{build_by_default, result};

/// Networks with the direct routing, and traffic that is adversarial to it.
const NETWORKS: [(&str, &str, &str); 3] = [
    // All four nodes of a router send to the next router of the line: over one wire directly.
    (
        r#"kind = "hyperx", dims = [6], nodes_per_router = 4"#,
        r#"kind = "shortest-path", ties = "random""#,
        r#"{ kind = "shift", offset = 4 }"#,
    ),
    (
        r#"kind = "hyperx", dims = [4, 4], nodes_per_router = 4"#,
        r#"kind = "shortest-path", ties = "random""#,
        r#"{ kind = "shift", offset = 4 }"#,
    ),
    // Nearly half way round, all in one direction.
    (r#"kind = "torus", dims = [16]"#, r#"kind = "dimension-order""#, r#""tornado""#),
];

/// The load accepted when every node offers all that its link takes.
fn accepted(topology: &str, routing: &str, pattern: &str) -> f64 {
    let text = format!(
        r#"
        topology = {{ {topology} }}
        link = {{ bandwidth = "40 Gb/s", delay = "20 ns" }}
        router = {{ kind = "input-output-queued", buffer = "4 KiB", output_buffer = "4 KiB", delay = "0 ns",
                   arbitration = "oldest-first" }}
        routing = {{ {routing} }}
        workload = {{ kind = "traffic", packet_size = "64 B", load = 1.0, pattern = {pattern} }}
        measure = {{ warm_up = "40 us", min_time = "40 us", max_time = "100 us", precision = 0.01 }}
        "#
    );
    result(&text).open().unwrap().accepted_load
}

#[test]
fn choosing_routings_carry_as_much_as_the_better_of_both_paths() {
    // Within 10 % on uniform and on adversarial traffic. Would catch a queue that is read from the wrong port, a cost
    // without the length, a snapshot that is never taken, and a waypoint that is no detour.
    let patterns = NETWORKS.iter().flat_map(|network| [network.2, r#""uniform""#].map(|pattern| (network, pattern)));
    let cases: Vec<(&(&str, &str, &str), &str)> = patterns.collect();
    cases.par_iter().for_each(|&(&(topology, minimal, adverse), pattern)| {
        let direct = accepted(topology, minimal, pattern);
        let valiant = accepted(topology, r#"kind = "valiant-node""#, pattern);
        let is_adverse = pattern == adverse;
        assert!(
            !is_adverse || direct < 0.85 * valiant,
            "{topology}: {direct} {valiant}: the traffic is not adversarial"
        );
        // Polarized routing is for networks of small diameter.
        let on_cliques: &[&str] = if topology.contains("hyperx") { &["dal", "dim-war", "polarized"] } else { &[] };
        for kind in ["ugal-l", "ugal-g", "par", "slingshot", "aries"].iter().chain(on_cliques) {
            let found = accepted(topology, &format!("kind = \"{kind}\""), pattern);
            assert!(
                found > 0.9 * direct.max(valiant),
                "{kind} on {topology}, {pattern}: {found}, not {direct} or {valiant}"
            );
        }
    });
}

#[test]
fn ugal_l_leaves_full_spines_for_detours() {
    // On a dragonfly+ direct paths and detours leave a leaf by the same ports. Would catch packets of blocked classes that
    // count against a detour, packets behind their waypoint that wait behind those on direct paths, and detours that
    // uniform traffic does not need.
    let topology = r#"kind = "dragonfly-plus", leaves = 4, spines = 4, groups = 9, wires = 2, nodes_per_router = 4"#;
    let accepted = |routing: &str, pattern: &str| {
        let text = format!(
            r#"
            topology = {{ {topology} }}
            link = {{ bandwidth = "400 Gb/s", delay = "25 ns" }}
            routing = {{ {routing} }}
            workload = {{ kind = "traffic", packet_size = "512 B", load = 0.9, pattern = "{pattern}" }}
            measure = {{ warm_up = "20 us", min_time = "5 us", max_time = "30 us" }}
            "#
        );
        let system = build_by_default(&text).unwrap();
        run(&system, &RunOptions::default()).unwrap().open().unwrap().accepted_load
    };
    let [valiant, port, ahead] =
        [r#"kind = "valiant-node""#, r#"kind = "ugal-l", queues = "port""#, r#"kind = "ugal-l""#]
            .map(|routing| accepted(routing, "adversarial"));
    assert!(
        ahead > 0.9 * valiant && port < 0.6 * valiant,
        "adversarial: {ahead}, {port} by port, {valiant} by Valiant"
    );
    let ahead = accepted(r#"kind = "ugal-l""#, "uniform");
    assert!(ahead > 0.98 * 0.9, "uniform: {ahead}");
}

/// Keys of routers in which the traffic below meets no queue.
const ROUTERS: [&str; 6] = [
    r#"kind = "input-output-queued""#,
    r#"kind = "input-output-queued", speedup = 2, credit_return = "tail""#,
    r#"kind = "output-queued", credits = "row-minimum""#,
    r#"kind = "virtual-output-queued""#,
    r#"kind = "input-queued""#,
    r#"kind = "shared-buffer""#,
];

#[test]
fn busy_channels_are_no_queues() {
    // Every node sends to the router one further in each dimension. No two flows share a channel, so that direct paths
    // carry all traffic without a queue: five channels and one packet's time. Would catch bytes on the wire, or credits
    // on their way back, that count as congestion: with long cables these are more than any threshold.
    let routings = ["ugal-l", "ugal-g", "par"].map(|kind| (ROUTERS[0], kind));
    let cases: Vec<_> = ROUTERS.map(|router| (router, "ugal-g")).into_iter().chain(routings).collect();
    cases.par_iter().for_each(|(router, kind)| {
        for (delay, buffer) in [(20, "4 KiB"), (1000, "32 KiB")] {
            let text = format!(
                r#"
                topology = {{ kind = "torus", dims = [4, 4, 4] }}
                link = {{ bandwidth = "40 Gb/s", delay = "{delay} ns" }}
                router = {{ {router}, buffer = "{buffer}", delay = "0 ns" }}
                routing = {{ kind = "{kind}" }}
                workload = {{ kind = "traffic", packet_size = "64 B", load = 1.0, pattern = "adversarial" }}
                measure = {{ warm_up = "20 us", min_time = "5 us", max_time = "30 us" }}
                "#
            );
            let found = result(&text);
            let idle = f64::from(5 * delay) + 12.8;
            let (accepted, latency) = (found.open().unwrap().accepted_load, found.latency_mean_ns.unwrap());
            assert!((accepted - 1.0).abs() < 0.01, "{router}, {kind}, {delay} ns: {accepted}");
            assert!((latency - idle).abs() < 1e-6, "{router}, {kind}, {delay} ns: {latency}, not {idle}");
        }
    });
}

#[test]
fn several_detours_keep_packets_off_full_paths() {
    // On a Jellyfish the worst permutation leaves direct paths less than half of what Valiant routing carries. A packet
    // whose only detour is as full as its direct path goes directly, and delays the packets behind it. Would catch
    // detours that are never weighed, or equal the first, and another default than several on networks without views.
    let topology = r#"kind = "jellyfish", routers = 60, degree = 6, nodes_per_router = 3"#;
    let load = |routing: &str| accepted(topology, routing, r#""adversarial""#);
    let valiant = load(r#"kind = "valiant-node""#);
    let one = load(r#"kind = "ugal-l", nonminimal = 1"#);
    assert!(one < 0.9 * valiant, "{one}, and {valiant} by Valiant");
    for kind in ["ugal-l", "ugal-g", "par"] {
        let several = load(&format!("kind = \"{kind}\""));
        assert!(several > valiant, "{kind}: {several}, and {valiant} by Valiant");
    }
}
