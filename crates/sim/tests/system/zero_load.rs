//! Latencies of packets that meet no other are the sum of the stages, to the picosecond.

use std::collections::BTreeMap;

use routing::RoutingSpec;
use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

use crate::common::{Matrix, ROUTERS, build, result};

/// 100 bytes at 3 Gb/s are 266,666 2/3 ps, rounded up.
const SERIALIZATION_PS: u64 = 266_667;

/// One pair of nodes on a network whose delays are all different primes.
fn experiment(topology: &str, routing: &str, router: &str, pattern: &str) -> String {
    format!(
        r#"
        topology = {topology}
        link = {{ bandwidth = "3 Gb/s", delay = "7 ns", injection = {{ delay = "5 ns" }}, ejection = {{ delay = "11 ns" }} }}
        router = {{ kind = "{router}", delay = "13 ns", buffer = "4 packets" }}
        {routing}
        workload = {{ kind = "traffic", load = 0.05, packet_size = "100 B", pattern = {pattern} }}
        measure = {{ warm_up = "10 us", max_time = "400 us" }}
        "#
    )
}

#[test]
fn two_slow_channels_share_a_fast_one_packet_by_packet() {
    // Both send all the time. One packet goes as its bits come, the other waits, is there by then, and goes at the fast
    // channel's rate. Would catch two packets on a link at once, one that leaves before it has come, and space that is
    // given back too soon to hold the next.
    let matrix = Matrix::new("two-slow", &[(0, 2, 1.0), (1, 2, 1.0)]);
    for (router, back) in ROUTERS.into_iter().flat_map(|router| [(router, "head"), (router, "tail")]) {
        let text = experiment(SWITCH, "", router, &matrix.pattern())
            .replace("injection = { delay", "injection = { bandwidth = \"1 Gb/s\", delay")
            .replace("load = 0.05", "load = 1.0")
            .replace("buffer =", &format!("credit_return = \"{back}\", buffer ="));
        let found = result(&text);
        let (one, other) = (29_000 + 800_000, 29_000 + 800_000 + SERIALIZATION_PS);
        let (max, mean) = (found.latency_max_ns.unwrap() * 1e3, found.latency_mean_ns.unwrap() * 1e3);
        assert!((max - other as f64).abs() < 1e-3, "{router} {back}: {max}, not {other}");
        assert!((mean - (one + other) as f64 / 2.0).abs() < 100.0, "{router} {back}: {mean}, not {one} or {other}");
        assert!((found.open().unwrap().accepted_load - 1.0).abs() < 0.01, "{router} {back}: {found:?}");
    }
}

/// Two ends, a channel between routers and the next router's delay for each hop, and one serialization.
fn sum_of_stages(routers: u32) -> u64 {
    5_000 + 11_000 + 7_000 * u64::from(routers - 1) + 13_000 * u64::from(routers) + SERIALIZATION_PS
}

/// Runs one pair and compares with the sum of stages; returns the routers on the way.
fn check(topology: &str, routing: &str, router: &str, (src, dst): (u32, u32)) -> u32 {
    let matrix = Matrix::pair(&format!("zero-{router}"), src, dst);
    let text = experiment(topology, routing, router, &matrix.pattern());
    let found = result(&text);
    let routers = found.hops_mean.unwrap() as u32;
    let exact = sum_of_stages(routers);
    let (max, mean) = (found.latency_max_ns.unwrap() * 1e3, found.latency_mean_ns.unwrap() * 1e3);
    // The mean is the largest: so all are equal.
    assert!((max - exact as f64).abs() < 1e-3, "{text}: {exact} ps, but at most {max}");
    assert!((mean - exact as f64).abs() < 1e-3, "{text}: {exact} ps, but {mean} on average");
    assert!(found.packets > 50, "{text}: {} packets say little", found.packets);
    routers
}

const SWITCH: &str = r#"{ kind = "single-switch", ports = 4 }"#;
const BINARY_TREE: &str = r#"{ kind = "fat-tree", k = 2, n = 4 }"#;
const WIDE_TREE: &str = r#"{ kind = "fat-tree", k = 16, n = 2 }"#;
const TORUS: &str = r#"{ kind = "torus", dims = [4, 4] }"#;
const RING: &str = r#"{ kind = "torus", dims = [9], nodes_per_router = 2 }"#;
const CUBE: &str = r#"{ kind = "mesh", dims = [2, 3, 4] }"#;
const LINE: &str = r#"{ kind = "file", path = "data/line.edges" }"#;

/// Destinations of node 0 that cover every hop count of a topology.
fn destinations(topology: &str) -> Vec<u32> {
    let matrix = Matrix::pair("destinations", 0, 1);
    let system = build(&experiment(topology, "", ROUTERS[0], &matrix.pattern())).unwrap();
    let mut found: Vec<(u32, u32)> = Vec::new();
    for dst in 1..system.network.topology.nodes() {
        let routers = system.network.topology.routers_between(units::NodeId(0), units::NodeId(dst));
        if found.iter().all(|&(known, _)| known != routers) {
            found.push((routers, dst));
        }
    }
    found.into_iter().map(|(_, dst)| dst).collect()
}

#[test]
fn the_sum_of_stages_is_exact_for_every_router_topology_and_hop_count() {
    // Would catch a delay charged twice or not at all, store-and-forward in place of cut-through, a slot of waiting
    // without contention, rounding of times.
    for topology in [SWITCH, BINARY_TREE, WIDE_TREE, TORUS, RING, CUBE, LINE] {
        let destinations = destinations(topology);
        for router in ROUTERS {
            let routers: Vec<u32> = destinations.iter().map(|&dst| check(topology, "", router, (0, dst))).collect();
            let distances: Vec<u32> = {
                let matrix = Matrix::pair("distances", 0, 1);
                let system = build(&experiment(topology, "", router, &matrix.pattern())).unwrap();
                let between = |&dst| system.network.topology.routers_between(units::NodeId(0), units::NodeId(dst));
                destinations.iter().map(between).collect()
            };
            assert_eq!(routers, distances, "{topology}: a path that is not a shortest one");
        }
    }
}

#[test]
fn the_sum_of_stages_is_exact_for_every_routing() {
    // Would catch a routing that costs time by itself, or that takes another path than it counts. Up*/down* may go a
    // longer path; all others take a shortest one. (Valiant routing takes paths of several lengths.)
    for topology in [SWITCH, BINARY_TREE, TORUS, RING, CUBE, LINE] {
        let destinations = destinations(topology);
        for spec in RoutingSpec::all().into_iter().filter(|spec| spec.kind() != "valiant-node") {
            let routing = format!("routing = {{ kind = \"{}\" }}", spec.kind());
            let matrix = Matrix::pair("fits", 0, 1);
            let Ok(system) = build(&experiment(topology, &routing, ROUTERS[0], &matrix.pattern())) else { continue };
            for &dst in &destinations {
                let shortest = system.network.topology.routers_between(units::NodeId(0), units::NodeId(dst));
                let gone = check(topology, &routing, ROUTERS[0], (0, dst));
                let minimal = spec.kind() != "up-down";
                assert!(if minimal { gone == shortest } else { gone >= shortest }, "{topology} {routing} to {dst}");
            }
        }
    }
}

#[test]
fn paths_of_more_than_255_routers_are_counted() {
    // Would catch a count of routers in 8 bits, in `hops_mean` and wherever else it is kept.
    for (dst, routers) in [(254, 255), (255, 256), (599, 600)] {
        for router in ROUTERS {
            assert_eq!(check(r#"{ kind = "mesh", dims = [600] }"#, "", router, (0, dst)), routers, "{router}");
        }
    }
}

#[test]
fn paths_of_more_routers_than_packets_count_are_refused() {
    // Would catch a count that wraps at 16 bits: a line of 70,000 routers had paths through 4464.
    let of = |topology: &str, routing: &str| {
        let text = format!(
            r#"
            topology = {topology}
            {routing}
            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
            workload = {{ kind = "traffic", load = 0.1 }}
            "#
        );
        build(&text).err().map(|error| (error.key, error.message))
    };
    assert_eq!(of(r#"{ kind = "mesh", dims = [65535] }"#, ""), None);
    for topology in ["{ kind = \"mesh\", dims = [65536] }", "{ kind = \"torus\", dims = [131072] }"] {
        let (key, message) = of(topology, "").unwrap();
        assert!(key == "topology" && message.contains("65535"), "{key}: {message}");
    }
}

#[test]
fn each_class_of_channels_has_its_own_delay_and_bandwidth() {
    // 0 to 3 of the line: injection, local, global, local, ejection, each slower than the one before, so that a packet
    // flows into each without a stop and takes the last one's time. Would catch a class that is looked up wrongly.
    let matrix = Matrix::pair("classes", 0, 4);
    for router in ROUTERS {
        let text = format!(
            r#"
            topology = {LINE}
            router = {{ kind = "{router}", delay = "13 ns" }}
            workload = {{ kind = "traffic", load = 0.01, packet_size = "100 B", injection = "periodic", pattern = {} }}
            measure = {{ warm_up = "10 us", max_time = "600 us" }}
            [link]
            bandwidth = "1 b/s"
            delay = "1 s"
            injection = {{ bandwidth = "40 Gb/s", delay = "1 ns" }}
            local = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
            global = {{ bandwidth = "10 Gb/s", delay = "300 ns" }}
            ejection = {{ bandwidth = "3 Gb/s", delay = "4 us" }}
            "#,
            matrix.pattern()
        );
        let found = result(&text);
        let exact = 1_000 + 2 * 20_000 + 300_000 + 4_000_000 + 4 * 13_000 + SERIALIZATION_PS;
        assert!((found.latency_max_ns.unwrap() * 1e3 - exact as f64).abs() < 1e-3, "{router}: {found:?}");
        assert!((found.latency_mean_ns.unwrap() * 1e3 - exact as f64).abs() < 1e-3, "{router}: {found:?}");
    }
}

/// Times of a dragonfly's channels in picoseconds, for packets of 100 bytes: its delay and its serialization.
struct Times {
    local: (u64, u64),
    global: (u64, u64),
}

/// The local channels before and after the global one of the minimal path between two nodes, found in the wiring; none
/// within a group.
fn minimal_path(topology: &dyn Topology, src: NodeId, dst: NodeId) -> (u32, u32, u32) {
    let (from, to) = (topology.attachment(src).0, topology.attachment(dst).0);
    let group = |router: RouterId| topology.coordinates(router)[0];
    if group(from) == group(to) {
        return (u32::from(from != to), 0, 0);
    }
    let all = (0..topology.routers()).map(RouterId).filter(|&exit| group(exit) == group(from));
    let channels = all.flat_map(|exit| (0..topology.ports(exit)).map(move |port| (exit, PortId(port))));
    let mut joining = channels.filter_map(|(exit, port)| match topology.endpoint(exit, port) {
        Endpoint::Router(entry, _) if group(entry) == group(to) => Some((exit, entry)),
        _ => None,
    });
    let (exit, entry) = joining.next().expect("a global channel between any two groups");
    assert!(joining.next().is_none(), "one channel between two groups");
    (u32::from(exit != from), 1, u32::from(entry != to))
}

#[test]
fn the_sum_of_stages_is_exact_on_dragonflies() {
    // Local and global channels differ in delay and in bandwidth, either way. A packet that meets no other is delayed
    // by every channel and router, and its tail by the slowest channel that it crosses. Would catch a delay or a rate
    // of the wrong class, a path over another global channel, a tail that overtakes.
    let both = [
        Times { local: (7_000, 80_000), global: (101_000, SERIALIZATION_PS) },
        Times { local: (23_000, SERIALIZATION_PS), global: (3_000, 80_000) },
    ];
    let rate = |(_, serialization): (u64, u64)| if serialization == 80_000 { "10 Gb/s" } else { "3 Gb/s" };
    for (times, router) in both.iter().flat_map(|times| ROUTERS.map(|router| (times, router))) {
        let text = |pattern: &str| {
            format!(
                r#"
                topology = {{ kind = "dragonfly", h = 2 }}
                routing = {{ kind = "minimal" }}
                router = {{ kind = "{router}", delay = "13 ns", buffer = "4 packets" }}
                workload = {{ kind = "traffic", load = 0.05, packet_size = "100 B", injection = "periodic", pattern = {pattern} }}
                measure = {{ warm_up = "10 us", max_time = "60 us" }}
                [link]
                bandwidth = "40 Gb/s"
                delay = "1 s"
                injection = {{ delay = "5 ns" }}
                ejection = {{ delay = "11 ns", bandwidth = "20 Gb/s" }}
                local = {{ delay = "{} ps", bandwidth = "{}" }}
                global = {{ delay = "{} ps", bandwidth = "{}" }}
                "#,
                times.local.0,
                rate(times.local),
                times.global.0,
                rate(times.global)
            )
        };
        let system = build(&text("\"uniform\"")).unwrap();
        let mut paths = BTreeMap::new();
        for dst in (1..system.network.topology.nodes()).map(NodeId) {
            paths.entry(minimal_path(&*system.network.topology, NodeId(0), dst)).or_insert(dst);
        }
        assert_eq!(paths.len(), 6, "all kinds of paths: {paths:?}");
        for ((before, global, after), dst) in paths {
            let locals = before + after;
            let routers = u64::from(locals + global + 1);
            let delays = 5_000
                + 11_000
                + 13_000 * routers
                + times.local.0 * u64::from(locals)
                + times.global.0 * u64::from(global);
            let local = if locals > 0 { times.local.1 } else { 0 };
            let slowest = local.max(if global > 0 { times.global.1 } else { 0 }).max(40_000);
            let matrix = Matrix::pair(&format!("dragonfly-{router}"), 0, dst.0);
            let found = result(&text(&matrix.pattern()));
            let (max, mean) = (found.latency_max_ns.unwrap() * 1e3, found.latency_mean_ns.unwrap() * 1e3);
            let exact = (delays + slowest) as f64;
            assert!((max - exact).abs() < 1e-3 && (mean - exact).abs() < 1e-3, "{router} {dst}: {max} {mean} {exact}");
            assert_eq!((found.hops_mean, found.packets > 50), (Some(routers as f64), true), "{router} {dst}");
        }
    }
}

#[test]
fn packets_of_a_message_follow_one_another_without_a_gap() {
    // 600 bytes in packets of 256, 256 and 88: each waits for those before it. Would catch a short last packet that
    // takes a whole one's time, a message that is generated packet by packet, a gap between packets.
    let (full, rest) = (682_667, 234_667);
    let idle = 5_000 + 11_000 + 7_000 + 2 * 13_000;
    let exact = [idle + full, idle + 2 * full, idle + 2 * full + rest];
    let matrix = Matrix::pair("message", 0, 1);
    for router in ROUTERS {
        for injection in ["bernoulli", "periodic"] {
            let text = experiment(r#"{ kind = "mesh", dims = [2] }"#, "", router, &matrix.pattern()).replace(
                r#"packet_size = "100 B""#,
                &format!(r#"packet_size = "256 B", message_size = "600 B", injection = "{injection}""#),
            );
            let found = result(&text);
            let mean = exact.iter().sum::<u64>() as f64 / 3.0;
            assert!((found.latency_max_ns.unwrap() * 1e3 - exact[2] as f64).abs() < 1e-3, "{text}{found:?}");
            assert!((found.latency_mean_ns.unwrap() * 1e3 - mean).abs() < 1e-3, "{text}{found:?}");
        }
    }
}

#[test]
fn a_permutation_without_conflicts_runs_at_full_load_as_if_alone() {
    // Every channel carries one flow: neighbours on a ring, a permutation of a switch, and any shift of a fat-tree
    // under D-mod-K (Zahavi 2012). Would catch any slot lost at full load, a credit that is late, a channel that is
    // shared where it need not be.
    let neighbour = ["{ kind = \"torus\", dims = [8] }", "", "\"neighbor\""];
    let complement = ["{ kind = \"single-switch\", ports = 8 }", "", "\"bit-complement\""];
    let shift = |offset: u32| format!("{{ kind = \"shift\", offset = {offset} }}");
    let shifts = [1, 3, 4, 8, 15].map(shift);
    let tree = |pattern| ["{ kind = \"fat-tree\", k = 4, n = 2 }", "routing = { kind = \"d-mod-k\" }", pattern];
    let mut cases = vec![neighbour, complement];
    cases.extend(shifts.iter().map(|pattern| tree(pattern)));
    for [topology, routing, pattern] in cases {
        for router in ROUTERS {
            let text = experiment(topology, routing, router, pattern).replace("load = 0.05", "load = 1.0");
            let found = result(&text);
            let hops = found.hops_mean.unwrap();
            let mean = 16_000.0 + 7_000.0 * (hops - 1.0) + 13_000.0 * hops + SERIALIZATION_PS as f64;
            assert!((found.latency_mean_ns.unwrap() * 1e3 - mean).abs() < 1e-3, "{text}{found:?}");
            assert!(
                (found.open().unwrap().accepted_load - 1.0).abs() < 1e-3 && !found.open().unwrap().saturated,
                "{text}{found:?}"
            );
        }
    }
}

#[test]
fn a_packet_does_not_leave_a_fast_channel_before_it_has_left_the_slow_one_before() {
    // One channel is slower than all others: nothing can arrive before its last bit is sent. Would catch a cut-through
    // that sends bits that have not come yet, at the next router or at one behind it.
    for (topology, dst) in [(SWITCH, 1), (BINARY_TREE, 15)] {
        let matrix = Matrix::pair("slow-to-fast", 0, dst);
        for (router, slow) in ROUTERS.into_iter().flat_map(|router| [(router, "injection"), (router, "ejection")]) {
            let text = experiment(topology, "", router, &matrix.pattern())
                .replace(&format!("{slow} = {{ delay"), &format!("{slow} = {{ bandwidth = \"1 Gb/s\", delay"))
                .replace("load = 0.05", "load = 0.05, injection = \"periodic\"");
            let found = result(&text);
            let exact = sum_of_stages(found.hops_mean.unwrap() as u32) - SERIALIZATION_PS + 800_000;
            assert!((found.latency_max_ns.unwrap() * 1e3 - exact as f64).abs() < 1e-3, "{router}: {text}{found:?}");
            let system = build(&text).unwrap();
            let routers = system.network.topology.routers_between(units::NodeId(0), units::NodeId(dst));
            assert_eq!(system.picoseconds(system.zero_load_latency(routers)), exact, "{text}");
        }
    }
}
