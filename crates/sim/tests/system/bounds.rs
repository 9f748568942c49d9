//! The exact analysis, and that no simulation exceeds it.

use sim::{RunOptions, analyze, saturation};

use crate::common::build;

fn network(topology: &str, routing: &str, pattern: &str) -> String {
    format!(
        r#"
        topology = {topology}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ kind = "output-queued", buffer = "16 packets" }}
        {routing}
        workload = {{ kind = "traffic", load = 1.0, pattern = {pattern} }}
        measure = {{ search = "saturation", resolution = 0.02, precision = 0.05, warm_up = "150 us", max_time = "600 us" }}
        "#
    )
}

const TORUS: &str = r#"{ kind = "torus", dims = [8, 8] }"#;
const MESH: &str = r#"{ kind = "mesh", dims = [8, 8] }"#;
const TREE: &str = r#"{ kind = "fat-tree", k = 4, n = 3 }"#;
const ALL: &str = r#"{ kind = "uniform", include_self = true }"#;
const SPLIT: &str = r#"routing = { kind = "dimension-order", ties = "split" }"#;
const POSITIVE: &str = r#"routing = { kind = "dimension-order", ties = "positive" }"#;

#[test]
fn bounds_of_the_textbook_come_out_exactly() {
    // Dally and Towles, chapters 3 and 5. Would catch a wrong share at ties, a link counted in one direction only.
    let exact = [
        (TORUS, SPLIT, ALL, 1.0),
        (TORUS, POSITIVE, ALL, 0.8),
        (MESH, "", ALL, 0.5),
        (MESH, "", r#""transpose""#, 1.0 / 7.0),
        (TORUS, SPLIT, r#""transpose""#, 2.0 / 7.0),
        (TORUS, SPLIT, r#""tornado""#, 1.0 / 3.0),
        (TREE, "", r#""uniform""#, 1.0),
        (TREE, "", r#""bit-complement""#, 1.0),
    ];
    for (topology, routing, pattern, bound) in exact {
        let analysis = analyze(&build(&network(topology, routing, pattern)).unwrap()).unwrap();
        let found = analysis.throughput_bound;
        assert!((found - bound).abs() < 1e-9, "{topology} {routing} {pattern}: {found} instead of {bound}");
    }
}

#[test]
fn no_search_finds_more_than_the_bound() {
    // Would catch a link that carries more than its bandwidth, an accepted load that counts packets twice, a search
    // that takes a saturated load for a carried one. Nor is it far below: the least accepted load of these short runs
    // is low by the noise of the source served worst, some 15 %.
    let cases = [
        (TORUS, SPLIT, r#""tornado""#, 0.6),
        (TORUS, SPLIT, ALL, 0.6),
        (MESH, "", r#""transpose""#, 0.6),
        (MESH, "", ALL, 0.6),
        (TREE, "", r#""bit-complement""#, 0.999),
        (TREE, r#"routing = { kind = "d-mod-k" }"#, r#""transpose""#, 0.6),
        (TREE, r#"routing = { kind = "random-up-down" }"#, r#""uniform""#, 0.6),
    ];
    for (topology, routing, pattern, least) in cases {
        let text = network(
            topology,
            routing,
            &pattern.replace("transpose", if topology == TREE { "bit-reversal" } else { "transpose" }),
        );
        let system = build(&text).unwrap();
        let bound = analyze(&system).unwrap().throughput_bound;
        let found = saturation(&system, &RunOptions::default()).unwrap().saturation_load.unwrap();
        assert!(found <= bound + 1e-9, "{text}: {found} above the bound {bound}");
        assert!(found >= least * bound, "{text}: {found} far below the bound {bound}");
    }
}
