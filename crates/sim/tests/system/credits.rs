//! Buffers that do not cover the credit round trip: the bound of the analysis, against runs.

use rayon::prelude::*;
use sim::{Analysis, PointResult, RunOptions, analyze, run};

use crate::common::{Matrix, build_by_default};

/// A chain of four routers at 400 Gb/s: packets of 1 KiB take 20.48 ns, cables 37 ns, routers 50 ns.
fn chain(router: &str, rest: &str, pattern: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "mesh", dims = [4] }}
        link = {{ bandwidth = "400 Gb/s", delay = "37 ns" {rest} }}
        router = {{ delay = "50 ns", {router} }}
        workload = {{ kind = "traffic", load = 1.0, packet_size = "1 KiB", pattern = {pattern} }}
        measure = {{ warm_up = "20 us", max_time = "420 us" }}
        "#
    )
}

fn analysis_and_run(text: &str) -> (Analysis, PointResult) {
    let system = build_by_default(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let analysis = analyze(&system).unwrap_or_else(|error| panic!("{text}\n{error}"));
    (analysis, run(&system, &RunOptions::default()).unwrap_or_else(|error| panic!("{text}\n{error}")))
}

/// Routers with shallow buffers, and their credit rules.
fn routers() -> Vec<String> {
    let credits = ["row-counter", "row-minimum", "per-crosspoint"];
    let crosspoints = credits.map(|rule| format!(r#"kind = "output-queued", credits = "{rule}""#));
    let others = [
        r#"kind = "input-queued""#,
        r#"kind = "virtual-output-queued""#,
        r#"kind = "input-output-queued""#,
        r#"kind = "input-output-queued", speedup = 3"#,
        r#"kind = "shared-buffer""#,
        r#"kind = "input-crosspoint-queued", crosspoint_buffer = "1 packets""#,
        r#"kind = "input-crosspoint-queued", queueing = "fifo""#,
    ];
    let all: Vec<String> = crosspoints.into_iter().chain(others.map(str::to_owned)).collect();
    let depths = ["1 packets", "2 packets", "3500 B", "5 packets"];
    let backs = all.iter().flat_map(|keys| ["head", "tail"].map(|back| format!(r#"{keys}, credit_return = "{back}""#)));
    backs.flat_map(|keys| depths.map(|depth| format!(r#"{keys}, buffer = "{depth}""#))).collect()
}

#[test]
fn one_path_carries_what_the_bound_says_under_every_credit_rule() {
    // Packets hold a credit for 2 * 37 + 50 ns with credits that return at the head, so that k packets carry k * 20.48
    // / 124. Would catch a time that is left out of the round trip, or one that a rule does not have.
    let pair = Matrix::pair("credits", 0, 3);
    let least = analysis_and_run(&chain(r#"kind = "input-queued", buffer = "2 packets""#, "", &pair.pattern())).0;
    assert!((least.throughput_bound - 2.0 * 20.48 / 124.0).abs() < 1e-9 && least.credit_limited, "{least:?}");
    routers().par_iter().for_each(|router| {
        let (analysis, found) = analysis_and_run(&chain(router, "", &pair.pattern()));
        let (bound, accepted) = (analysis.throughput_bound, found.open().unwrap().accepted_load);
        assert!((accepted / bound - 1.0).abs() < 1e-3, "{router}: {accepted} of {bound}");
    });
}

#[test]
fn operations_of_routers_are_bounded_by_credits_too() {
    // A packet that is copied or combined holds its credit at least as long as one that passes, and a multicast in a FIFO
    // no longer. Would catch credits that bound packets with a single destination only.
    let persistent = [r#""multicast", groups = "persistent""#, r#""reduce", groups = "persistent", size = "1 KiB""#];
    let allreduce = r#""allreduce", groups = "persistent", size = "1 KiB""#;
    let operations = persistent.into_iter().chain([allreduce, r#""multicast""#]);
    let routers: Vec<String> = routers().into_iter().filter(|router| !router.contains("per-crosspoint")).collect();
    let cases: Vec<(&str, &String)> = operations.flat_map(|own| routers.iter().map(move |to| (own, to))).collect();
    cases.par_iter().for_each(|(operation, router)| {
        let workload = format!(
            r#"workload = {{ kind = "collective", operation = {operation}, collectives = "hardware", senders = 1,
            fanout = {{ mean = 3, law = "fixed" }}, packet_size = "1 KiB", load = 1.0 }}"#
        );
        let text = chain(router, "", "\"uniform\"");
        let lines = text.lines().map(|line| if line.contains("workload =") { &workload[..] } else { line });
        let text = lines.collect::<Vec<_>>().join("\n") + "\nin_switch = { combine = { window = 32 } }";
        let (analysis, found) = analysis_and_run(&text);
        let (bound, accepted) = (analysis.throughput_bound, found.open().unwrap().accepted_load);
        assert!(analysis.credit_limited && accepted <= bound * 1.001, "{text}: {accepted} of {bound}");
        let is_exact = operation.contains("multicast") && router.contains("\"input-queued\"");
        assert!(!is_exact || accepted >= bound * 0.999, "{text}: {accepted} of {bound}");
    });
}

#[test]
fn channels_of_different_speed_and_several_virtual_channels_are_as_exact() {
    // Would catch a round trip of the wrong class, and virtual channels that are not counted. The way in at another
    // speed than the way on.
    let pair = Matrix::pair("credits-mixed", 0, 3);
    for links in [
        r#", dim0 = { bandwidth = "800 Gb/s" }"#,
        r#", injection = { bandwidth = "800 Gb/s", delay = "11 ns" }"#,
        r#", ejection = { bandwidth = "200 Gb/s" }"#,
    ] {
        // Every third: each rule with some depths.
        routers().par_iter().step_by(3).for_each(|router| {
            let (analysis, found) = analysis_and_run(&chain(router, links, &pair.pattern()));
            let (bound, accepted) = (analysis.throughput_bound, found.open().unwrap().accepted_load);
            assert!((accepted / bound - 1.0).abs() < 1e-3, "{router} {links}: {accepted} of {bound}");
        });
    }
    for kind in ["output-queued", "input-queued", "virtual-output-queued", "shared-buffer"] {
        let router = format!(r#"kind = "{kind}", vcs = 2, buffer = "1 packets""#);
        let (analysis, found) = analysis_and_run(&chain(&router, "", &pair.pattern()));
        assert!((analysis.throughput_bound - 2.0 * 20.48 / 124.0).abs() < 1e-9, "{router}: {analysis:?}");
        assert!(
            (found.open().unwrap().accepted_load / analysis.throughput_bound - 1.0).abs() < 1e-3,
            "{router}: {found:?}"
        );
    }
}

#[test]
fn each_class_of_channels_has_a_depth_of_its_own() {
    // Packets hold a credit for 2 * 37 + 50 ns, as above. Would catch a depth that goes to another class, in the run or
    // in the bound: of 2 and 9 packets the shallow class alone binds, whichever it is.
    let pair = Matrix::pair("credits-classes", 0, 3);
    let kinds = routers().into_iter().filter(|keys| keys.contains("head") && keys.contains("3500 B"));
    let cases =
        kinds.flat_map(|keys| [("injection", "dim0"), ("dim0", "injection")].map(|order| (keys.clone(), order)));
    cases.collect::<Vec<_>>().into_par_iter().for_each(|(keys, (shallow, deep))| {
        let table = format!(r#"buffer = {{ {shallow} = "2 packets", {deep} = "9 packets" }}"#);
        let keys = keys.replace(r#"buffer = "3500 B""#, &table);
        let (analysis, found) = analysis_and_run(&chain(&keys, "", &pair.pattern()));
        assert!((analysis.throughput_bound - 2.0 * 20.48 / 124.0).abs() < 1e-9, "{keys}: {analysis:?}");
        assert!(analysis.binding_channels.iter().all(|channel| channel.class == shallow), "{keys}: {analysis:?}");
        let accepted = found.open().unwrap().accepted_load;
        assert!((accepted / analysis.throughput_bound - 1.0).abs() < 1e-3, "{keys}: {accepted} of {analysis:?}");
    });
}

#[test]
fn a_receive_buffer_bounds_by_its_credits_and_by_its_drain() {
    // Would catch a drain that is forgotten, and credits that return before a packet is drained.
    let pair = Matrix::pair("credits-drain", 0, 3);
    for (depth, drain) in [(1, 400), (2, 400), (3, 200), (16, 200), (16, 400)] {
        let node = format!("node = {{ receive_buffer = \"{depth} packets\", drain = \"{drain} Gb/s\" }}\n");
        let text = node + &chain(r#"kind = "shared-buffer""#, "", &pair.pattern());
        let (analysis, found) = analysis_and_run(&text);
        let (bound, accepted) = (analysis.throughput_bound, found.open().unwrap().accepted_load);
        assert!((accepted / bound - 1.0).abs() < 1e-3, "{depth} {drain}: {accepted} of {bound}");
    }
}

/// Several paths through each buffer, on every routing of one path or of many.
const NETWORKS: [(&str, &str); 4] = [
    (r#"kind = "torus", dims = [4, 4]"#, "dimension-order"),
    (r#"kind = "fat-tree", k = 4, n = 2"#, "d-mod-k"),
    (r#"kind = "fat-tree", k = 4, n = 2"#, "random-up-down"),
    (r#"kind = "dragonfly", p = 1, a = 3, h = 2"#, "valiant-group"),
];

/// A network with its routing, a router, and the length of messages: of one packet, and of packets of two lengths.
type Uniform = ((&'static str, &'static str), String, &'static str);

/// Every network with every router and every length of messages.
fn uniform_cases() -> Vec<Uniform> {
    let routers = routers();
    let with = |network: (&'static str, &'static str)| {
        routers.iter().flat_map(move |router| ["1 KiB", "2500 B"].map(|message| (network, router.clone(), message)))
    };
    NETWORKS.into_iter().flat_map(with).collect()
}

fn stays_below_the_bound(((topology, routing), router, message): &Uniform) {
    let text = chain(router, "", "\"uniform\"").replace(r#"kind = "mesh", dims = [4]"#, topology);
    let text = text
        .replace("\"420 us\"", "\"60 us\"")
        .replace("load = 1.0", &format!("load = 1.0, message_size = \"{message}\""));
    let (analysis, found) = analysis_and_run(&format!("routing = {{ kind = \"{routing}\" }}\n{text}"));
    let (bound, accepted) = (analysis.throughput_bound, found.open().unwrap().accepted_load_min.unwrap());
    assert!(accepted < bound * 1.005, "{topology} {routing} {router} {message}: {accepted} above {bound}");
}

#[test]
fn no_traffic_exceeds_the_bound() {
    // Would catch a bound that counts too few virtual channels or crosspoints: a true bound is never exceeded. A third
    // of the cases: no number of networks, routers, depths or lengths has that factor, so that each meets all others.
    uniform_cases().par_iter().step_by(3).for_each(stays_below_the_bound);
}

#[test]
#[ignore = "long: make test-long"]
fn no_traffic_exceeds_the_bound_whatever_the_router_and_the_network() {
    // The same of all cases.
    uniform_cases().par_iter().for_each(stays_below_the_bound);
}

#[test]
fn buffers_that_cover_the_round_trip_leave_the_bound_to_the_bandwidth() {
    // Would catch a credit bound that binds where channels do.
    let text = chain(r#"kind = "output-queued", buffer = "7 packets""#, "", "\"bit-complement\"");
    let analysis = analyze(&build_by_default(&text).unwrap()).unwrap();
    assert!(!analysis.credit_limited && analysis.throughput_bound == analysis.bandwidth_bound, "{analysis:?}");
    let text = text.replace("7 packets", "1 packets");
    let analysis = analyze(&build_by_default(&text).unwrap()).unwrap();
    assert!(analysis.credit_limited && (analysis.bandwidth_bound - 0.5).abs() < 1e-9, "{analysis:?}");
    assert!(analysis.binding_channels.iter().all(|channel| channel.class == "dim0"), "{analysis:?}");
}
