//! Multicasts of random sets: against their exact loads, idle times and bounds, in hardware and software.

use fabric::Grain;
use sim::{PointResult, analyze};

use crate::common::{ROUTERS, as_text, build, result, run_divided};

/// A network with collective traffic.
fn network(topology: &str, router: &str, workload: &str, measure: &str) -> String {
    format!(
        r#"
        seed = 7
        topology = {{ {topology} }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ {router} }}
        workload = {{ kind = "collective", {workload} }}
        measure = {{ {measure} }}
        "#
    )
}

const OUTPUT_QUEUED: &str = r#"kind = "output-queued", buffer = "4 packets""#;
const SWITCH: &str = r#"kind = "single-switch", ports = 8"#;

#[test]
fn channels_carry_what_the_analysis_expects() {
    // Would catch a copy too many on a trunk (a multicast that splits too early), loads that count copies for each
    // member, and the probability of a set behind a channel drawn with replacement; of groups with trees, packets that
    // go by other channels than the tables say. Means over 40 us to 400 us of random sets: 5 % of a channel's load.
    let cases = [
        (r#"kind = "fat-tree", k = 4, n = 2"#, r#"fanout = { mean = 4, law = "uniform" }, load = 0.1"#),
        (r#"kind = "fat-tree", k = 2, n = 4"#, r#"fanout = { mean = 5 }, load = 0.1, include_self = true"#),
        (r#"kind = "mesh", dims = [4, 3]"#, r#"fanout = { mean = 3, law = "binomial" }, load = 0.1"#),
        (r#"kind = "torus", dims = [5, 3]"#, r#"fanout = { mean = 6, law = "geometric" }, load = 0.05"#),
        (r#"kind = "dragonfly", h = 1"#, r#"fanout = { mean = 2 }, load = 0.1, senders = 3"#),
        (SWITCH, r#"fanout = { mean = 4 }, load = 0.15, collectives = "software", senders = 2"#),
        (
            r#"kind = "fat-tree", k = 4, n = 2"#,
            r#"groups = "persistent", fanout = { mean = 4, law = "uniform" }, load = 0.04"#,
        ),
        (r#"kind = "torus", dims = [4, 3]"#, r#"groups = "persistent", fanout = { mean = 5 }, load = 0.06"#),
        (r#"kind = "dragonfly", h = 1"#, r#"groups = "persistent", fanout = { mean = 3 }, load = 0.1"#),
        (
            r#"kind = "torus", dims = [4, 3]"#,
            r#"groups = "persistent", fanout = { mean = 5 }, load = 0.06 }
                                               in_switch = { directed = true"#,
        ),
        (
            r#"kind = "dragonfly", h = 1"#,
            r#"groups = "persistent", fanout = { mean = 3 }, load = 0.1 }
                                            in_switch = { directed = true, trees_per_group = 2"#,
        ),
        (
            r#"kind = "mesh", dims = [4, 3]"#,
            r#"groups = "persistent", collectives = "software", fanout = { mean = 3 }, load = 0.03"#,
        ),
    ];
    for (topology, workload) in cases {
        let measure = r#"warm_up = "20 us", max_time = "4 ms", precision = 1e-4"#;
        let text = network(topology, OUTPUT_QUEUED, workload, measure);
        let system = build(&text).unwrap();
        let (expected, found) = (analyze(&system).unwrap(), result(&text));
        assert!(
            !found.open().unwrap().saturated,
            "{text}: {} of {}",
            found.open().unwrap().accepted_load,
            found.open().unwrap().offered_load
        );
        let load = found.open().unwrap().offered_load;
        for (id, (share, used)) in expected.channel_loads.iter().zip(&found.channel_utilization).enumerate() {
            let wanted = share * load;
            assert!((used - wanted).abs() < 0.05 * wanted + 0.003, "{topology}, channel {id}: {used} for {wanted}");
        }
        // An accepted load is that of the copies over their mean number.
        assert!(
            (found.open().unwrap().accepted_load - load).abs() < 0.03 * load,
            "{text}: {}",
            found.open().unwrap().accepted_load
        );
    }
}

#[test]
fn an_idle_multicast_takes_as_long_as_the_longest_of_its_paths() {
    // Would catch copies that wait for one another, and an operation that ends with its first copy. On a line of three
    // routers, from node 0 to both others, far apart in time: 256 B at 10 Gb/s are 204.8 ns, a router 90 ns, a link 20
    // ns.
    let workload = r#"fanout = { mean = 2 }, load = 0.01, senders = 1, injection = "bernoulli""#;
    for router in ["output-queued", "shared-buffer"] {
        let router = format!(r#"kind = "{router}", buffer = "2 packets""#);
        let text = network(r#"kind = "mesh", dims = [3]"#, &router, workload, r#"warm_up = "1 us", max_time = "1 ms""#);
        let found = result(&text);
        let collective = found.open().unwrap().collective.as_ref().unwrap();
        let path = |routers: f64| 204.8 + 20.0 + routers * 110.0;
        let close = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-6;
        assert!(close(collective.operation_time_mean_ns, path(3.0)), "{router}: {collective:?}");
        assert!(close(collective.operation_time_p99_ns, path(3.0)), "{router}: {collective:?}");
        assert!(close(collective.completion_mean_ns, (path(2.0) + path(3.0)) / 2.0), "{router}: {collective:?}");
        assert_eq!((collective.fanout_mean, collective.copies), (2.0, 2 * collective.operations), "{router}");
        // Four transmissions an operation: one to the second router, one from it to its node and one to the third,
        // which sends one.
        assert_eq!(found.packet_hops % 4, 0, "{router}: {}", found.packet_hops);
    }
}

#[test]
fn a_switch_saturates_where_its_outputs_do() {
    // The papers' figures 13 and 14: with a fanout of 4 on 8 ports, outputs are full at a load of 0.25; with two
    // senders of eight ports the senders' own channels are not full at 0.7, which single-FIFO switches do not reach.
    // Would catch a crossbar that is used once a copy, and credit that comes back too late.
    let measure = r#"warm_up = "50 us", max_time = "600 us""#;
    let at = |load: f64, more: &str| {
        let workload = format!(r#"fanout = {{ mean = 4, law = "uniform" }}, load = {load}{more}"#);
        result(&network(SWITCH, OUTPUT_QUEUED, &workload, measure))
    };
    let all = at(1.0, "");
    assert!(
        all.open().unwrap().saturated && (0.23..=0.25).contains(&all.open().unwrap().accepted_load),
        "{}",
        all.open().unwrap().accepted_load
    );
    assert!(!at(0.22, "").open().unwrap().saturated);
    assert!(!at(0.7, ", senders = 2").open().unwrap().saturated);
    let bound =
        analyze(&build(&network(SWITCH, OUTPUT_QUEUED, "fanout = { mean = 4 }, load = 0.1", "")).unwrap()).unwrap();
    assert!((bound.throughput_bound - 0.25).abs() < 1e-9 && bound.exact, "{}", bound.throughput_bound);
}

#[test]
fn copies_that_the_sender_makes_take_its_channel_as_often_as_they_are() {
    // Would catch a multicast in software that costs its sender one packet.
    let measure = r#"warm_up = "50 us", max_time = "400 us""#;
    let run = |collectives: &str, load: f64| {
        let workload = format!(r#"fanout = {{ mean = 4 }}, load = {load}, senders = 1, collectives = "{collectives}""#);
        result(&network(SWITCH, OUTPUT_QUEUED, &workload, measure))
    };
    let (hardware, software) = (run("hardware", 0.2), run("software", 0.2));
    let time = |found: &PointResult| found.open().unwrap().collective.as_ref().unwrap().operation_time_mean_ns.unwrap();
    assert!(time(&software) > time(&hardware) + 3.0 * 204.0, "{} and {}", time(&software), time(&hardware));
    assert!(run("software", 0.3).open().unwrap().saturated && !run("hardware", 0.9).open().unwrap().saturated);
    let bound = |collectives: &str| {
        let workload = format!(r#"fanout = {{ mean = 4 }}, load = 0.1, senders = 1, collectives = "{collectives}""#);
        analyze(&build(&network(SWITCH, OUTPUT_QUEUED, &workload, measure)).unwrap()).unwrap().throughput_bound
    };
    assert!((bound("software") - 0.25).abs() < 1e-9 && (bound("hardware") - 1.0).abs() < 1e-9);
}

#[test]
fn multicasts_beside_other_jobs_are_the_same_bytes_on_any_number_of_threads() {
    // Would catch sets that are lost or confused where a job takes its packet back, or between partitions; every
    // architecture.
    for (topology, routing, collectives) in [
        (r#"kind = "fat-tree", k = 4, n = 2"#, "", r#"in_switch = { turn = "top-switch", trees_per_group = 4 }"#),
        (
            r#"kind = "torus", dims = [4, 4]"#,
            r#"routing = { kind = "minimal-adaptive" }"#,
            "in_switch = { trees_per_group = 2 }",
        ),
        (r#"kind = "dragonfly", h = 1"#, r#"routing = { kind = "ugal-g" }"#, ""),
    ] {
        for router in ROUTERS {
            let text = format!(
                r#"
                topology = {{ {topology} }}
                link = {{ bandwidth = "10 Gb/s", delay = "130 ns" }}
                router = {{ kind = "{router}" }}
                {routing}
                {collectives}
                measure = {{ warm_up = "5 us", max_time = "25 us" }}
                [[job]]
                name = "multicasts"
                workload = {{ kind = "collective", fanout = {{ mean = 3, law = "uniform" }}, load = 0.1, size = "600 B" }}
                [[job]]
                name = "groups"
                workload = {{ kind = "collective", groups = "persistent", fanout = {{ mean = 3 }}, load = 0.05, size = "600 B" }}
                [[job]]
                name = "others"
                workload = {{ kind = "traffic", load = 0.2, injection = "poisson" }}
                "#
            );
            let system = build(&text).unwrap();
            let alone = as_text(&run_divided(&system, 1, Grain::Fine));
            for (threads, grain) in [(2, Grain::Fine), (3, Grain::Coarse), (1, Grain::Exactly(5))] {
                let other = as_text(&run_divided(&system, threads, grain));
                assert_eq!(other, alone, "{topology}, {router}, {threads} threads");
            }
            assert!(alone.contains("operations"), "{alone}");
        }
    }
}

#[test]
fn what_no_multicast_can_be_is_refused() {
    let refused = |router: &str, workload: &str, more: &str| {
        let error = build(&(network(SWITCH, router, workload, "") + more)).unwrap_err();
        (error.key, error.message)
    };
    for (workload, key) in [
        ("fanout = { mean = 8 }, load = 0.1", "workload.fanout"),
        ("fanout = { mean = 2.5 }, load = 0.1", "workload.fanout"),
        ("fanout = { mean = 4 }, load = 0.1, senders = 9", "workload.senders"),
    ] {
        assert_eq!(refused(OUTPUT_QUEUED, workload, "").0, key, "{workload}");
    }
    let fine = "fanout = { mean = 4 }, load = 0.1";
    assert_eq!(
        refused(OUTPUT_QUEUED, fine, "\nplacement = { processes_per_node = 2 }").0,
        "placement.processes_per_node"
    );
    let (key, message) = refused(r#"kind = "output-queued", credits = "per-crosspoint""#, fine, "");
    assert!(key == "router.credits" && message.contains("row-minimum"), "{key}: {message}");
}

#[test]
fn trees_on_one_class_stand_still_on_a_torus_where_packets_wait_for_one_another() {
    // Would catch a proof that leaves trees out, a run that is not refused, one that goes on for ever or ends with
    // numbers, and a cycle that is not named. Single packets in buffers: the trees of all nodes cross one another
    // everywhere.
    let trees = "\nin_switch = { classes = \"single\", trees = { kind = \"minimal-depth\" } }";
    let workload = r#"groups = "persistent", fanout = { mean = 6 }, load = 1.0"#;
    let routers = [
        r#"kind = "output-queued", buffer = "1 packets", credits = "row-counter", vcs = 2"#,
        r#"kind = "input-queued", buffer = "1 packets", vcs = 2"#,
        r#"kind = "input-queued", buffer = "1 packets", vcs = 2, multicast = { fanout = "no-splitting" }"#,
        r#"kind = "virtual-output-queued", buffer = "1 packets", vcs = 2"#,
    ];
    for router in routers {
        let on = |topology: &str, measure: &str| network(topology, router, workload, measure) + trees;
        let refused = build(&on(r#"kind = "torus", dims = [4, 4]"#, r#"max_time = "1 ms""#)).unwrap();
        let error = refused.refuse_deadlock().unwrap_err();
        assert!(error.message.contains("waits for"), "{router}: {error}");
        let unproven = r#"max_time = "1 ms", unproven = true"#;
        let system = build(&on(r#"kind = "torus", dims = [4, 4]"#, unproven)).unwrap();
        let stopped = sim::run(&system, &sim::RunOptions::default());
        let Err(sim::RunError::Deadlock { in_flight, cycle, .. }) = &stopped else { panic!("{router}: {stopped:?}") };
        assert!(*in_flight > 0 && cycle.contains("holds the buffer of router"), "{router}: {cycle}");
        // Up and then down there is no cycle, whatever the router.
        let tree = build(&on(r#"kind = "fat-tree", k = 4, n = 2"#, r#"max_time = "100 us""#)).unwrap();
        let found = sim::run(&tree, &sim::RunOptions::default()).unwrap();
        assert!(found.open().unwrap().accepted_load > 0.01, "{router}: {}", found.open().unwrap().accepted_load);
    }
}

/// Runs of consecutive destinations that are equally far from their sender, on average: over all subsets of the other
/// nodes, each size with its probability.
fn mean_runs((nodes, sender): (u32, u32), law: impl Fn(u32) -> f64, far: impl Fn(u32) -> u32) -> f64 {
    let subsets = (1..1_u32 << nodes).filter(|set| set & 1 << sender == 0);
    let of_size = |size: u32| subsets.clone().filter(move |set| set.count_ones() == size);
    let runs = |set: u32| {
        let begins = |node: u32| {
            let goes_on = node > 0 && set & 1 << (node - 1) != 0 && far(node) == far(node - 1);
            set & 1 << node != 0 && !goes_on
        };
        (0..nodes).filter(|&node| begins(node)).count() as f64
    };
    let mean = |size| of_size(size).map(runs).sum::<f64>() / of_size(size).count() as f64;
    (1..nodes).filter(|&size| law(size) > 0.0).map(|size| law(size) * mean(size)).sum()
}

#[test]
fn packets_for_consecutive_nodes_are_as_many_as_there_are_runs() {
    // Would catch a run that goes on past the sender, past a node that is no member, or past nodes that are nearer to
    // the sender, and a copy that is lost or made twice: the loads of senders' channels, expected, against every
    // subset, and those that a run finds, of every architecture.
    let uniform = |size: u32| if size < 8 { 1.0 / 7.0 } else { 0.0 };
    let on_tree =
        |sender: u32| move |node: u32| (0..3).find(|level| node >> (level + 1) == sender >> (level + 1)).unwrap();
    // Members with one choice of ports leave in one turn.
    let in_turn = "kind = \"fat-tree\", k = 2, n = 3 }\n routing = { kind = \"round-robin-up-down\"";
    for (number, router) in ROUTERS.iter().enumerate() {
        let router = format!(r#"kind = "{router}""#);
        let topologies = [SWITCH, r#"kind = "fat-tree", k = 2, n = 3"#, in_turn];
        for topology in topologies.into_iter().take(if number == 0 { 3 } else { 2 }) {
            let workload = r#"fanout = { mean = 4, law = "uniform" }, load = 0.06, packet_for = "consecutive""#;
            let text =
                network(topology, &router, workload, r#"warm_up = "20 us", max_time = "4 ms", precision = 1e-4"#);
            let system = build(&text).unwrap();
            let (expected, found) = (analyze(&system).unwrap(), result(&text));
            let adapts = system.network.routing.adaptive();
            assert!(expected.exact != adapts && !found.open().unwrap().saturated, "{text}");
            let channels = system.network.plan.channels();
            for sender in 0..8 {
                let far = |node| if topology == SWITCH { 0 } else { on_tree(sender)(node) };
                let channel = channels.injection(units::NodeId(sender)).index();
                let wanted = mean_runs((8, sender), uniform, far);
                let load = expected.channel_loads[channel];
                assert!((load - wanted).abs() < 1e-9, "{topology}, node {sender}: {load} for {wanted}");
            }
            for (id, (share, used)) in expected.channel_loads.iter().zip(&found.channel_utilization).enumerate() {
                let wanted = share * found.open().unwrap().offered_load;
                assert!((used - wanted).abs() < 0.06 * wanted + 0.003, "{text}, channel {id}: {used} for {wanted}");
            }
            assert!(
                (found.open().unwrap().accepted_load - found.open().unwrap().offered_load).abs()
                    < 0.03 * found.open().unwrap().offered_load,
                "{text}"
            );
            let collective = found.open().unwrap().collective.as_ref().unwrap();
            assert!((collective.fanout_mean - 4.0).abs() < 0.2, "{text}: {collective:?}");
        }
    }
}

#[test]
fn an_idle_multicast_to_two_runs_takes_a_packet_time_more() {
    // Would catch runs that are sent at once, or as a message to each node: from node 0 of a switch with 8 ports to all
    // others is one run, from node 4 are two. 256 B at 10 Gb/s are 204.8 ns, a router 90 ns, a link 20 ns.
    for (senders, runs) in [(1, 1.0), (2, 1.5)] {
        let workload = format!(
            r#"fanout = {{ mean = 7 }}, load = 0.005, senders = {senders}, injection = "periodic", packet_for = "consecutive""#
        );
        let text = network(SWITCH, OUTPUT_QUEUED, &workload, r#"warm_up = "1 us", max_time = "1 ms""#);
        let found = result(&text).open().unwrap().collective.clone().unwrap().operation_time_mean_ns.unwrap();
        let wanted = runs * 204.8 + 20.0 + 110.0;
        assert!((found - wanted).abs() < 6.0, "{senders}: {found} for {wanted}");
    }
}

#[test]
fn packets_for_consecutive_nodes_are_refused_where_ports_are_not() {
    // Would catch a rule of routers that is quietly not kept.
    let of = |topology: &str, workload: &str| {
        let workload = format!(r#"fanout = {{ mean = 4 }}, load = 0.05, packet_for = "consecutive"{workload}"#);
        build(&network(topology, OUTPUT_QUEUED, &workload, "")).unwrap_err().key
    };
    assert_eq!(of(r#"kind = "torus", dims = [4, 4]"#, ""), "workload.packet_for");
    assert_eq!(of(SWITCH, r#", collectives = "software""#), "workload.packet_for");
    assert_eq!(of(SWITCH, r#", groups = "persistent""#), "workload.packet_for");
    let tree = r#"kind = "fat-tree", k = 4, n = 2 }
        routing = { kind = "d-mod-k""#;
    assert_eq!(of(tree, ""), "routing.kind");
}

#[test]
fn on_directed_trees_of_a_torus_copies_take_shortest_paths() {
    // Would catch a root other than the sender's switch, and a tree that is not of shortest paths: from every node to
    // all others of 4 x 4, where distances in a dimension are 0, 1, 2 and 1, a copy traverses one router more than 2 *
    // 16 / 15 channels on average. By way of one root it takes more.
    let hops = |directed: bool| {
        let workload = format!(
            r#"groups = "persistent", fanout = {{ mean = 15 }}, load = 0.002 }}
            in_switch = {{ directed = {directed}"#
        );
        let measure = r#"warm_up = "10 us", max_time = "500 us""#;
        let found = result(&network(r#"kind = "torus", dims = [4, 4]"#, OUTPUT_QUEUED, &workload, measure));
        found.hops_mean.unwrap()
    };
    let shortest = 1.0 + 32.0 / 15.0;
    assert!((hops(true) - shortest).abs() < 1e-9, "{} for {shortest}", hops(true));
    assert!(hops(false) > shortest + 0.5, "{}", hops(false));
}

#[test]
fn runs_of_messages_are_the_same_bytes_on_any_number_of_threads() {
    // Would catch packets of a message whose run is that of the packet before, or of the next message, and sets that
    // are lost between partitions: messages of three packets, on two planes and beside another job.
    for planes in [1, 2] {
        let text = format!(
            r#"
            seed = 3
            topology = {{ kind = "fat-tree", k = 2, n = 3, planes = {planes} }}
            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
            router = {{ {OUTPUT_QUEUED} }}
            measure = {{ warm_up = "10 us", max_time = "60 us", messages = true }}
            [[job]]
            name = "multicasts"
            workload = {{ kind = "collective", fanout = {{ mean = 4 }}, load = 0.05, size = "600 B", packet_for = "consecutive" }}
            [[job]]
            name = "traffic"
            workload = {{ kind = "traffic", packet_size = "256 B", load = 0.2 }}
            "#
        );
        let system = build(&text).unwrap_or_else(|error| panic!("{text}{error}"));
        let found = run_divided(&system, 1, Grain::Fine);
        assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&found), "{text}");
        let own = found.jobs.iter().find(|job| job.name == "multicasts").unwrap();
        let operations = own.point.open().unwrap().collective.as_ref().unwrap();
        assert!(operations.operations > 20 && (operations.fanout_mean - 4.0).abs() < 1e-12, "{operations:?}");
        assert_eq!(own.point.packets, 3 * operations.copies, "{text}");
    }
}
