//! The exact analysis, and that no simulation exceeds it.

use rayon::prelude::*;
use sim::{Analysis, PointResult, RunOptions, analyze, saturation};

use crate::common::{Matrix, build, result};

/// A network of equal channels.
fn network(topology: &str, routing: &str, pattern: &str) -> String {
    format!(
        r#"
        topology = {topology}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        {routing}
        workload = {{ kind = "traffic", load = 1.0, pattern = {pattern} }}
        "#
    )
}

fn analysis(text: &str) -> Analysis {
    let system = build(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    analyze(&system).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// The bound of a grid of equal dimensions.
fn grid_bound(kind: &str, dims: &[u32], routing: &str, pattern: &str) -> f64 {
    analysis(&network(&format!(r#"{{ kind = "{kind}", dims = {dims:?} }}"#), routing, pattern)).throughput_bound
}

const TORUS: &str = r#"{ kind = "torus", dims = [8, 8] }"#;
const MESH: &str = r#"{ kind = "mesh", dims = [8, 8] }"#;
const TREE: &str = r#"{ kind = "fat-tree", k = 4, n = 3 }"#;
const WIDE_TREE: &str = r#"{ kind = "fat-tree", k = 16, n = 2 }"#;
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
        (MESH, "", r#""bit-complement""#, 0.25),
        (TREE, "", r#""uniform""#, 1.0),
        (TREE, "", r#""bit-complement""#, 1.0),
        (TREE, "", r#""bit-reversal""#, 1.0),
        (WIDE_TREE, "", r#""transpose""#, 1.0),
        (WIDE_TREE, r#"routing = { kind = "random-up-down" }"#, ALL, 1.0),
        (TREE, r#"routing = { kind = "d-mod-k" }"#, r#"{ kind = "shift", offset = 5 }"#, 1.0),
        // All 16 nodes of a leaf send to nodes whose lowest digit is the leaf's number: one up port for them all.
        (WIDE_TREE, r#"routing = { kind = "d-mod-k" }"#, r#""transpose""#, 1.0 / 15.0),
    ];
    for (topology, routing, pattern, bound) in exact {
        let found = analysis(&network(topology, routing, pattern)).throughput_bound;
        assert!((found - bound).abs() < 1e-9, "{topology} {routing} {pattern}: {found} instead of {bound}");
    }
}

#[test]
fn bounds_of_uniform_traffic_on_grids_follow_the_textbooks_formulas_for_any_size() {
    // Channel loads of the longest dimension, of k routers: on a torus k/8 for even k and (k - 1/k)/8 for odd k, on a
    // mesh twice as much (Dally and Towles, section 5.2). Would catch an analysis that is right for a size only.
    for k in [3_u32, 4, 5, 6, 9, 12, 15] {
        let side = f64::from(k);
        let load = if k.is_multiple_of(2) { side / 4.0 } else { (side - 1.0 / side) / 4.0 };
        for (kind, load) in [("torus", load / 2.0), ("mesh", load)] {
            let (found, bound) = (grid_bound(kind, &[k, 3], "", ALL), (1.0 / load).min(1.0));
            assert!((found - bound).abs() < 1e-9, "{kind} of {k}: {found} instead of {bound}");
        }
        // A tornado goes ceil(k/2) - 1 places one way round.
        let found = grid_bound("torus", &[k], "", r#""tornado""#);
        assert!((found - 1.0 / f64::from(k.div_ceil(2) - 1)).abs() < 1e-9, "tornado on a ring of {k}: {found}");
    }
}

#[test]
fn a_hot_node_and_a_matrix_bind_at_the_channel_to_the_node() {
    // Would catch shares or weights of sources that are lost, and bandwidths of classes that are.
    let switch = r#"{ kind = "single-switch", ports = 16 }"#;
    let hot = analysis(&network(switch, "", r#"{ kind = "hotspot", nodes = [5], fraction = 0.2 }"#));
    // 15 others send a fifth and what the uniform rest gives; the hot one itself sends uniformly.
    let load = 15.0 * (0.2 + 0.8 / 15.0);
    assert!((hot.throughput_bound - 1.0 / load).abs() < 1e-9, "{hot:?}");
    assert_eq!((hot.binding_channels_total, &*hot.binding_channels[0].class), (1, "ejection"));

    let matrix = Matrix::new("incast", &[(0, 3, 1.0), (1, 3, 0.5), (2, 3, 0.5)]);
    let found = analysis(&network(switch, "", &matrix.pattern())).throughput_bound;
    assert!((found - 0.5).abs() < 1e-9, "{found}");

    let slow = network(switch, "", ALL).replace("delay =", "ejection = { bandwidth = \"4 Gb/s\" }, delay =");
    assert!((analysis(&slow).throughput_bound - 0.4).abs() < 1e-9);
}

#[test]
fn loads_by_class_are_those_of_the_textbook() {
    // On the 8x8 torus every channel carries the same; on the mesh the middle ones carry 2 and the mean is that of the
    // mean distance: (k - 1/k)/3 hops over 2 (k-1)/k channels a node in each dimension. Would catch a mean over ports
    // that lead nowhere.
    let torus = analysis(&network(TORUS, SPLIT, ALL));
    for class in torus.class_loads.iter().filter(|class| class.class.starts_with("dim")) {
        assert!((class.max - 1.0).abs() < 1e-9 && (class.mean - 1.0).abs() < 1e-9, "{class:?}");
        assert_eq!(class.channels, 128);
    }
    let mesh = analysis(&network(MESH, "", ALL));
    for class in mesh.class_loads.iter().filter(|class| class.class.starts_with("dim")) {
        let mean = (8.0 - 1.0 / 8.0) / 3.0 / (2.0 * 7.0 / 8.0);
        assert!((class.max - 2.0).abs() < 1e-9 && (class.mean - mean).abs() < 1e-9, "{class:?}");
        assert_eq!(class.channels, 112);
    }
}

/// A search: topology, routing, pattern, router, and the least share of the bound that theory or experience gives it.
type Search = (&'static str, &'static str, &'static str, &'static str, f64);

const OUTPUT: &str = r#"kind = "output-queued", buffer = "16 packets""#;
const SWITCH: &str = r#"{ kind = "single-switch", ports = 8 }"#;

/// The least accepted load of these short runs is low by the noise of the source served worst, some 10 to 15 %.
const SEARCHES: &[Search] = &[
    (TORUS, SPLIT, "\"tornado\"", OUTPUT, 0.7),
    (TORUS, SPLIT, ALL, OUTPUT, 0.6),
    (TORUS, POSITIVE, ALL, OUTPUT, 0.6),
    (TORUS, SPLIT, ALL, r#"kind = "input-queued", vcs = 8"#, 0.4),
    (MESH, "", "\"transpose\"", OUTPUT, 0.6),
    (MESH, "", ALL, OUTPUT, 0.6),
    (MESH, "", ALL, r#"kind = "virtual-output-queued""#, 0.6),
    // A permutation that an adaptive fat-tree carries whole.
    (TREE, "", "\"bit-complement\"", OUTPUT, 0.999),
    (TREE, r#"routing = { kind = "d-mod-k" }"#, "\"bit-reversal\"", OUTPUT, 0.6),
    (TREE, r#"routing = { kind = "d-mod-k" }"#, r#"{ kind = "shift", offset = 7 }"#, OUTPUT, 0.999),
    (TREE, r#"routing = { kind = "random-up-down" }"#, "\"uniform\"", OUTPUT, 0.6),
    (TREE, "", "\"uniform\"", r#"kind = "input-output-queued", speedup = 2"#, 0.5),
    (SWITCH, "", "\"random-permutation\"", r#"kind = "input-queued""#, 0.999),
    (SWITCH, "", r#"{ kind = "hotspot", nodes = [3], fraction = 0.3 }"#, OUTPUT, 0.8),
    (SWITCH, "", ALL, r#"kind = "virtual-output-queued", buffer = "1024 packets""#, 0.85),
];

#[test]
fn adaptive_routing_carries_transpose_beyond_the_bound_of_dimension_order() {
    // Dimension order turns all packets at the diagonal: 1/7 on a mesh and 2/7 on a torus of 8 x 8, whatever the
    // router. Would catch adaptive channels that are never taken, or an escape that everyone waits for.
    for (topology, bound, load) in [(MESH, 1.0 / 7.0, 0.19), (TORUS, 2.0 / 7.0, 0.36)] {
        for router in [OUTPUT, r#"kind = "input-output-queued", buffer = "16 packets", speedup = 2"#] {
            let accepted = |routing: &str| {
                let text = network(topology, &format!("routing = {{ kind = \"{routing}\" }}"), "\"transpose\"");
                let text = text.replace("load = 1.0", &format!("load = {load}"));
                result(&format!(
                    "{text}\nrouter = {{ {router} }}\nmeasure = {{ warm_up = \"100 us\", max_time = \"400 us\" }}"
                ))
            };
            let (in_order, adaptive) = (accepted("dimension-order"), accepted("minimal-adaptive"));
            let least = |found: &PointResult| found.open().unwrap().accepted_load_min.unwrap();
            assert!(least(&in_order) < bound * 1.02, "{topology} {router}: {in_order:?}");
            assert!(
                least(&adaptive) > bound * 1.1 && !adaptive.open().unwrap().saturated,
                "{topology} {router}: {adaptive:?}"
            );
        }
    }
}

fn search(&(topology, routing, pattern, router, least): &Search) {
    let text = format!(
        r#"{}
        router = {{ {router} }}
        measure = {{ search = "saturation", resolution = 0.02, precision = 0.05, warm_up = "150 us", max_time = "700 us" }}
        "#,
        network(topology, routing, pattern)
    );
    let system = build(&text).unwrap();
    let bound = analyze(&system).unwrap().throughput_bound;
    let found = saturation(&system, &RunOptions::default()).unwrap();
    let load = found.open().unwrap().saturation_load.unwrap();
    // Where what binds is drawn at random, a short run may have drawn a little less of it than its share.
    assert!(load <= bound * 1.02, "{text}: {load} above the bound {bound}");
    assert!(
        load <= found.open().unwrap().offered_load,
        "{text}: {load} is more than the {} that was offered",
        found.open().unwrap().offered_load
    );
    assert!(load >= least * bound, "{text}: {load} far below the bound {bound}");
    let (low, high) = found.open().unwrap().saturation_bracket.unwrap();
    assert!(low <= high && high - low <= 0.02, "{text}: {low} to {high}");
}

#[test]
fn bounds_of_adaptive_routings_are_marked_as_estimates() {
    // Would catch a bound that is taken for proven although routers can do better than an even spread.
    for (topology, routing, exact) in [
        (r#"{ kind = "torus", dims = [4, 4] }"#, "dimension-order", true),
        (r#"{ kind = "torus", dims = [4, 4] }"#, "minimal-adaptive", false),
        (r#"{ kind = "mesh", dims = [4, 4] }"#, "minimal-adaptive", false),
        (r#"{ kind = "fat-tree", k = 4, n = 2 }"#, "adaptive-up-down", false),
        (r#"{ kind = "dragonfly", h = 2 }"#, "ugal-l", false),
        (r#"{ kind = "dragonfly", h = 2 }"#, "valiant-node", true),
    ] {
        let text = network(topology, &format!("routing = {{ kind = \"{routing}\" }}"), "\"uniform\"");
        let found = serde_json::to_value(analysis(&text)).unwrap();
        assert_eq!(found["exact"], exact, "{routing}");
    }
}

#[test]
fn no_search_finds_more_than_the_bound_nor_far_less() {
    // Would catch a link that carries more than its bandwidth, an accepted load that counts packets twice, a search
    // that takes a saturated load for a carried one, routing that concentrates what it should spread.
    SEARCHES.par_iter().for_each(search);
}

#[test]
fn the_search_finds_where_head_of_line_blocking_saturates() {
    // 0.618390 for N = 8, for every source. Would catch a criterion of saturation that is too strict or too lax.
    let text = format!(
        r#"{}
        router = {{ kind = "input-queued", buffer = "64 packets", arbitration = "random" }}
        measure = {{ search = "saturation", resolution = 0.01, precision = 0.01, warm_up = "1 ms", max_time = "9 ms" }}
        "#,
        network(SWITCH, "", ALL)
    );
    let found = saturation(&build(&text).unwrap(), &RunOptions::default()).unwrap();
    let load = found.open().unwrap().saturation_load.unwrap();
    assert!(
        (0.95 * 0.618390..1.005 * 0.618390).contains(&load),
        "{load}, {:?}",
        found.open().unwrap().saturation_bracket
    );
}

#[test]
fn the_cost_of_a_run_is_that_of_its_mean_path() {
    // Would catch the longest path in the place of the mean one, weights of nodes that are left out, and messages of
    // several packets counted as one. The slot of a message of one packet is 204.8 ns.
    let matrix = Matrix::new("cost", &[(0, 1, 1.0), (9, 12, 0.25)]);
    let cases = [
        (TORUS, "", r#""uniform""#.to_owned(), 64.0),
        (TORUS, "", r#""transpose""#.to_owned(), 56.0),
        (TORUS, "", matrix.pattern(), 1.25),
        (TREE, "", r#""uniform""#.to_owned(), 64.0),
        (r#"{ kind = "dragonfly", h = 2 }"#, r#"routing = { kind = "valiant-node" }"#, r#""uniform""#.to_owned(), 72.0),
        (r#"{ kind = "dragonfly", h = 2 }"#, r#"routing = { kind = "ugal-l" }"#, r#""uniform""#.to_owned(), 72.0),
    ];
    cases.par_iter().for_each(|(topology, routing, pattern, senders)| {
        for message in ["256 B", "1 KiB"] {
            let text = network(topology, routing, pattern)
                .replace("load = 1.0", &format!("load = 0.05, message_size = \"{message}\""));
            let text = format!("{text}\nmeasure = {{ min_time = \"2 ms\", max_time = \"2 ms\" }}");
            let estimate = sim::check(&build(&text).unwrap()).unwrap().packet_hops_per_us;
            let found = crate::common::result(&text).hops_mean.unwrap() * senders * 0.05 / 0.2048;
            assert!((estimate / found - 1.0).abs() < 0.03, "{text}: {estimate}, and {found} measured");
        }
    });
}

#[test]
fn the_work_of_open_traffic_is_known_below_and_past_saturation() {
    // Within 3 % below saturation; past it within 30 %, since routers carry less than their channels could. Would catch
    // a warm-up past saturation that is taken for one below it, traffic that is refused and counted as if it were
    // carried, copies that are counted once for each destination on the trunk that they share, and FIFOs that are taken
    // for queues without blocking.
    let minimal = r#"routing = { kind = "minimal" }"#;
    let dragonfly = r#"{ kind = "dragonfly", h = 2 }"#;
    let multicasts = r#"kind = "collective", operation = "multicast", fanout = { mean = 8, law = "fixed" }, collectives = "hardware", load = 0.02"#;
    let slow = r#"link = { bandwidth = "10 Gb/s", delay = "20 ns", injection = { bandwidth = "40 Gb/s" } }"#;
    let cases = [
        (TORUS, SPLIT, r#"kind = "traffic", load = 0.3, pattern = "uniform""#, "", 1.03),
        (TREE, "", r#"kind = "traffic", load = 0.4, pattern = "uniform", injection = "poisson""#, "", 1.03),
        (TREE, "", multicasts, "", 1.03),
        (SWITCH, "", r#"kind = "traffic", load = 1.0, injection = "backlogged", pattern = "uniform""#, "", 1.1),
        (MESH, "", r#"kind = "traffic", load = 0.9, pattern = "uniform""#, "", 1.3),
        (dragonfly, minimal, r#"kind = "traffic", load = 0.4, pattern = "adversarial""#, "", 1.3),
        (
            SWITCH,
            "",
            r#"kind = "traffic", load = 0.9, pattern = "uniform""#,
            r#"router = { kind = "input-queued" }"#,
            1.3,
        ),
        (TREE, "", r#"kind = "traffic", load = 0.5, pattern = { kind = "shift", offset = 8 }"#, slow, 1.3),
    ];
    cases.par_iter().for_each(|(topology, routing, workload, rest, factor)| {
        let link = r#"link = { bandwidth = "10 Gb/s", delay = "20 ns" }"#;
        let link = if rest.starts_with("link") { "" } else { link };
        let text = format!("topology = {topology}\n{link}\n{routing}\nworkload = {{ {workload} }}\n{rest}");
        let estimate = sim::check(&build(&text).unwrap()).unwrap().packet_hops;
        let found = crate::common::result(&text).packet_hops as f64;
        assert!((1.0 / factor..*factor).contains(&(estimate / found)), "{text}: {estimate}, and {found} sent");
    });
}

#[test]
fn the_work_of_what_is_cut_off_is_an_upper_bound() {
    // Would catch an estimate that is said to be near although `measure.max_time` ends an exchange before it is complete,
    // and one that is exceeded.
    for (limit, is_cut) in [("10 us", true), ("10 ms", false)] {
        let text = format!(
            "topology = {TORUS}\nlink = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\nmeasure = {{ max_time = \"{limit}\" }}\n\
             workload = {{ kind = \"exchange\", volume = \"64 KiB\" }}"
        );
        let checked = sim::check(&build(&text).unwrap()).unwrap();
        assert_eq!((checked.is_upper_bound, checked.is_lower_bound), (is_cut, false), "{limit}");
        let found = crate::common::result(&text).packet_hops as f64;
        assert!(checked.packet_hops >= 0.99 * found, "{limit}: {} and {found}", checked.packet_hops);
    }
}

#[test]
fn the_number_of_runs_of_a_search_is_within_its_range() {
    // Would catch a search that is counted as one run, and one run at load 1 that is said to be a bisection. Transpose
    // saturates a mesh at 1/7; an adaptive fat-tree carries bit-complement whole.
    for (topology, pattern, least, most) in
        [(MESH, "\"transpose\"", 5, 5), (TREE, "\"bit-complement\"", 1, 5), (MESH, "\"transpose\"", 1, 1)]
    {
        let search = if most > 1 { "measure = { search = \"saturation\", resolution = 0.07 }" } else { "" };
        let checked = sim::check(&build(&format!("{}\n{search}", network(topology, "", pattern))).unwrap()).unwrap();
        assert_eq!((checked.runs, checked.runs_most), (least, most), "{topology} {pattern}");
    }
}

#[test]
fn the_seconds_of_a_run_are_those_of_its_packet_hops() {
    // Would catch a speed that differs from the one that is shown, and one that does not fall with the network's size.
    let of = |dims: &str| {
        let text = network(&format!("{{ kind = \"torus\", dims = {dims} }}"), "", "\"uniform\"");
        sim::check(&build(&text.replace("load = 1.0", "load = 0.1")).unwrap()).unwrap()
    };
    let [small, large] = [of("[4, 4]"), of("[32, 32]")];
    for own in [&small, &large] {
        // The number that is shown is rounded up to a whole one.
        let hops = own.seconds * own.packet_hops_per_s;
        assert!((-1e-6..1.0).contains(&(own.packet_hops - hops)), "{own:?}");
    }
    assert!(large.memory_bytes > 8 * small.memory_bytes && large.packet_hops_per_s < 0.8 * small.packet_hops_per_s);
}

#[test]
fn the_work_of_closed_workloads_with_detours_is_known() {
    // Would catch packets that are assumed to take shortest paths (0.7 of what a run takes), or detours always (1.6), and
    // detours of single small packets, which meet no queues (1.5). Constants were fitted to a threshold of 4: since costs
    // estimate delays, exchanges of large messages take up to 1.35 times fewer hops than estimated.
    let workloads = [
        r#"kind = "exchange", volume = "64 KiB""#,
        r#"kind = "exchange", volume = "256 KiB", phases = [2]"#,
        r#"kind = "program", program = { kind = "collective", operation = "alltoall", size = "4 KiB" }"#,
        r#"kind = "program", program = { kind = "collective", operation = "allreduce", size = "64 KiB" }"#,
        r#"kind = "program", program = { kind = "collective", operation = "alltoall", algorithm = "pairwise", size = "256 B" }"#,
        r#"kind = "program", program = { kind = "collective", operation = "allreduce", size = "1 KiB" }"#,
    ];
    let larger = [
        r#"kind = "program", program = { kind = "collective", operation = "allreduce", size = "4 KiB" }"#,
        r#"kind = "program", program = { kind = "sweep" }"#,
        r#"kind = "program", program = { kind = "halo-3d", iterations = 1 }"#,
    ];
    let sized = workloads.map(|own| (2, own)).into_iter().chain(larger.map(|own| (3, own)));
    let cases: Vec<(&str, (u32, &str))> =
        sized.flat_map(|own| ["ugal-l", "ugal-g", "par"].map(|kind| (kind, own))).collect();
    cases.par_iter().for_each(|(routing, (h, workload))| {
        let text = format!(
            "topology = {{ kind = \"dragonfly\", h = {h} }}\nlink = {{ bandwidth = \"100 Gb/s\", delay = \"20 ns\" }}\n\
             routing = {{ kind = \"{routing}\" }}\nworkload = {{ {workload} }}"
        );
        let estimate = sim::check(&build(&text).unwrap()).unwrap().packet_hops;
        let ratio = estimate / crate::common::result(&text).packet_hops as f64;
        assert!((1.0 / 1.2..1.36).contains(&ratio), "{text}: {ratio}");
    });
}

#[test]
fn the_work_of_programs_whose_messages_have_a_period_is_known() {
    // Would catch a sample of packets that takes the same one of a rank's two neighbours each time.
    let text = "topology = { kind = \"fat-tree\", k = 32, n = 2 }\nlink = { bandwidth = \"100 Gb/s\", delay = \"20 ns\" }\n\
                workload = { kind = \"program\", program = { kind = \"sweep\", sweeps = 2 } }";
    let ratio = sim::check(&build(text).unwrap()).unwrap().packet_hops / result(text).packet_hops as f64;
    assert!((1.0 / 1.05..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn the_work_of_runs_alone_is_counted_apart() {
    // Would catch packet-hops that contain the runs of jobs alone, which those of the results do not, and seconds
    // without them.
    let job = |name: &str, nodes: &str| {
        format!(
            "[[job]]\nname = \"{name}\"\nnodes = \"{nodes}\"\nworkload = {{ kind = \"exchange\", volume = \"64 KiB\" }}\n"
        )
    };
    let of = |alone: bool| {
        let text = format!(
            "topology = {TORUS}\nlink = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\n\
             measure = {{ compare_alone = {alone} }}\n{}{}",
            job("a", "0-31"),
            job("b", "32-63")
        );
        (sim::check(&build(&text).unwrap()).unwrap(), result(&text).packet_hops as f64)
    };
    let ((once, _), (twice, found)) = (of(false), of(true));
    assert!((twice.packet_hops / found - 1.0).abs() < 0.03, "{} and {found}", twice.packet_hops);
    assert_eq!((once.packet_hops_alone, once.messages_alone), (0.0, 0.0));
    assert!((twice.packet_hops_alone / found - 1.0).abs() < 0.03, "{} and {found}", twice.packet_hops_alone);
    assert!((twice.seconds / once.seconds - 2.0).abs() < 0.05, "{} and {}", twice.seconds, once.seconds);
}
