//! Several planes: closed forms of messages over rails, planes that do not know of one another, and the same bytes for
//! any division.

use fabric::Grain;
use sim::{Analysis, RunOptions, analyze, check, run};

use crate::common::{ROUTERS, build, digest, digest_of, result};
use crate::program::{ProgramFile, per_rank};

/// A switch on which a packet of 1 KiB takes 1 us, and its head 2.5 us from node to node.
fn switched(planes: u32, (ports, nic): (u32, &str), program: &str, rest: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "single-switch", ports = {ports}, planes = {planes} }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "4 packets" }}
        workload = {{ kind = "program", packet_size = "1 KiB", program = {program} }}
        nic = {{ {nic} }}
        {rest}
        [link]
        bandwidth = "8.192 Gb/s"
        delay = "1000 ns"
        ejection = {{ delay = "1400 ns" }}
        "#
    )
}

fn end_ns(text: &str) -> f64 {
    result(text).closed().unwrap().clone().time_ns.unwrap()
}

const PATH: f64 = 2500.0;
const PACKET: f64 = 1000.0;

#[test]
fn a_striped_message_takes_the_time_of_its_longest_stripe() {
    // Would catch a stripe that waits for another, stripes that are unequal, and a message that is cut although it is
    // not above the limit: 16 packets.
    let goal = ProgramFile::goal(
        "stripe",
        "num_ranks 2\nrank 0 {\nsend 16384b to 1 tag 0\n}\nrank 1 {\nrecv 16384b from 0 tag 0\n}",
    );
    for (planes, packets) in [(1, 16), (2, 8), (3, 6), (4, 4), (16, 1)] {
        let nic = if planes > 1 { r#"rails = { stripe_above = "16383 B" }"# } else { "" };
        let text = switched(planes, (2, nic), &goal.program(), "measure = { messages = true }");
        assert_eq!(end_ns(&text), PATH + f64::from(packets) * PACKET, "{planes} planes");
        // Nothing else is in the network, and the idle time knows of stripes.
        let messages = result(&text).messages.unwrap();
        assert_eq!(messages.figures.slowdown_mean, Some(1.0), "{planes} planes");
    }
    let above = r#"rails = { stripe_above = "16384 B" }"#;
    assert_eq!(end_ns(&switched(4, (2, above), &goal.program(), "")), PATH + 16.0 * PACKET);
    // 16 KiB is also the limit that nobody has written.
    assert_eq!(end_ns(&switched(4, (2, ""), &goal.program(), "")), PATH + 16.0 * PACKET);
}

#[test]
fn messages_take_rails_by_the_policy() {
    // Would catch messages that share a rail although another is free, and a rank or a destination that changes its
    // rail. Rank 0 sends 4 messages of 4 packets to rank 1 and to rank 2 in turn.
    let sends: String = (0..4).map(|n| format!("send 4096b to {} tag {n}\n", 1 + n % 2)).collect();
    let receives = |rank: u32| -> String {
        (0..4).filter(|n| 1 + n % 2 == rank).map(|n| format!("recv 4096b from 0 tag {n}\n")).collect()
    };
    let text = format!("num_ranks 3\nrank 0 {{\n{sends}}}\nrank 1 {{\n{}}}\nrank 2 {{\n{}}}", receives(1), receives(2));
    let goal = ProgramFile::goal("policy", &text);
    let end = |planes, policy: &str| {
        let nic = if planes > 1 { format!("rails = {{ policy = \"{policy}\" }}") } else { String::new() };
        end_ns(&switched(planes, (3, &nic), &goal.program(), ""))
    };
    let packets = |count: f64| PATH + count * PACKET;
    assert_eq!(end(1, ""), packets(16.0));
    assert_eq!(end(2, "round-robin"), packets(8.0));
    assert_eq!(end(4, "round-robin"), packets(4.0));
    // Nodes 1 and 2 have rails of their own, of which there are no more.
    assert_eq!(end(2, "by-destination"), packets(8.0));
    assert_eq!(end(4, "by-destination"), packets(8.0));
    assert_eq!(end(4, "by-rank"), packets(16.0));
    // Two ranks of a node have two rails.
    let text = "num_ranks 4\nrank 0 {\nsend 8192b to 2 tag 0\n}\nrank 1 {\nsend 8192b to 3 tag 0\n}\n\
                rank 2 {\nrecv 8192b from 0 tag 0\n}\nrank 3 {\nrecv 8192b from 1 tag 0\n}";
    let goal = ProgramFile::goal("policy-ranks", text);
    let end =
        |planes, nic| end_ns(&switched(planes, (2, nic), &goal.program(), "placement = { processes_per_node = 2 }"));
    assert_eq!(end(1, ""), packets(16.0));
    assert_eq!(end(2, r#"rails = { policy = "by-rank" }"#), packets(8.0));
}

/// Networks of 16 nodes, and routings of theirs.
const NETWORKS: [(&str, &str); 6] = [
    (r#"kind = "single-switch", ports = 16"#, ""),
    (r#"kind = "fat-tree", k = 4, n = 2"#, ""),
    (r#"kind = "fat-tree", k = 2, n = 4"#, r#"routing = { kind = "random-up-down" }"#),
    (r#"kind = "torus", dims = [4, 4]"#, r#"routing = { kind = "minimal-adaptive" }"#),
    (r#"kind = "mesh", dims = [4, 4]"#, ""),
    (r#"kind = "dragonfly", p = 2, a = 4, h = 1, g = 2"#, r#"routing = { kind = "ugal-g" }"#),
];

fn experiment((topology, routing): (&str, &str), (planes, router): (u32, &str), rest: &str) -> String {
    let vcs = if router == "output-queued" { "" } else { ", buffer = \"16 packets\"" };
    format!(
        r#"
        topology = {{ {topology}, planes = {planes} }}
        router = {{ kind = "{router}"{vcs} }}
        {routing}
        {rest}
        [link]
        bandwidth = "10 Gb/s"
        delay = "20 ns"
        "#
    )
}

/// Each of them, with an architecture of routers.
fn cells() -> Vec<((&'static str, &'static str), &'static str)> {
    NETWORKS.iter().copied().zip(ROUTERS.iter().copied().cycle()).collect()
}

#[test]
fn a_plane_that_is_not_used_changes_nothing() {
    // Would catch whatever leaks from plane to plane: a credit, a queue that an adaptive choice sees, a draw of a
    // router's stream. Ranks are on even nodes, so that all messages go by plane 0, and what happens there is what
    // happens in the only plane.
    for (network, router) in cells() {
        let program = r#"{ kind = "fft", message_size = "900 B" }"#;
        let job = |keys: &str| {
            format!(
                "nic = {{ send_overhead = \"100 ns\", eager_limit = \"800 B\"{keys} }}\n[[job]]\nname = \"even\"\nnodes = \"0,2,4,6,8,10\"\n\
                 workload = {{ kind = \"program\", packet_size = \"256 B\", program = {program} }}"
            )
        };
        let ends = |planes, keys: &str| {
            let text = experiment(network, (planes, router), "");
            let (head, link) = text.split_once("[link]").unwrap();
            // A single job is the whole result.
            per_rank(&result(&format!("{head}\nlink = {{ {} }}\n{}", link.trim().replace('\n', ","), job(keys))))
        };
        let alone = ends(1, "");
        assert!(alone.iter().all(Option::is_some));
        assert_eq!(ends(2, r#", rails = { policy = "by-destination" }"#), alone, "{network:?} {router}");
    }
}

#[test]
fn any_division_gives_the_same_bytes() {
    // Would catch a node whose planes are in two partitions, deliveries of an instant that come in another order (the
    // small messages of `bare` arrive by two planes at the instant at which receives are posted), and a draw that
    // depends on which plane was served first.
    let ranks = r#"
        workload = { kind = "program", packet_size = "256 B", program = { kind = "halo-2d", message_size = "3 KiB", iterations = 2 } }
        nic = { kind = "loggp", gap = "30 ns", gap_per_byte = "0.1 ns", eager_limit = "2 KiB", rails = { stripe_above = "1 KiB" }, bus = { bandwidth = "20 Gb/s", directions = "one" }, dma = { bandwidth = "11 Gb/s", setup = "170 ns" } }
        node = { receive_buffer = "3 packets" }
        measure = { timeline = true, messages = true }"#;
    let open = r#"workload = { kind = "traffic", load = 0.4, packet_size = "256 B", message_size = "600 B", injection = "poisson" }
        measure = { warm_up = "5 us", max_time = "30 us", series = "5 us", messages = true }"#;
    let steps = r#"workload = { kind = "application", graph = "stencil:4x4,bytes=3000", packet_size = "256 B" }"#;
    let bare = r#"workload = { kind = "benchmark", packet_size = "256 B", benchmark = { kind = "sendrecv", sizes = ["3 B"] } }
        placement = { processes_per_node = 2 }"#;
    for (number, (network, router)) in cells().into_iter().enumerate() {
        for rest in [ranks, open, steps, bare] {
            let text = experiment(network, (2 + number as u32 % 2, router), rest);
            let once = digest(&text, 1);
            for (threads, grain) in [(1, Grain::Exactly(3)), (1, Grain::Exactly(7)), (2, Grain::Fine)] {
                assert_eq!(digest_of(&text, threads, grain), once, "{text}");
            }
        }
    }
}

/// What channels carry, plane by plane.
fn by_plane(text: &str, loads: &[f64]) -> Vec<Vec<f64>> {
    let system = build(text).unwrap();
    let channels = system.network.plan.channels();
    let mut shares = vec![Vec::new(); system.network.topology.planes() as usize];
    for (channel, &load) in (0..channels.count()).zip(loads) {
        let plane = match channels.source(units::ChannelId(channel)) {
            topology::ChannelSource::Router(router, _) => system.network.topology.plane_of(router),
            topology::ChannelSource::Node(_, plane) => plane,
        };
        shares[plane.index()].push(load);
    }
    shares
}

fn analysis(text: &str) -> Analysis {
    analyze(&build(text).unwrap()).unwrap()
}

#[test]
fn every_plane_carries_what_one_does() {
    // Would catch loads of the first plane only, a bound of all planes in the units of one, and sources that send by
    // one channel.
    for (network, router) in cells() {
        let open = r#"workload = { kind = "traffic", load = 0.3, packet_size = "256 B" }
            measure = { warm_up = "10 us", max_time = "60 us" }"#;
        let [one, three] = [1, 3].map(|planes| experiment(network, (planes, router), open));
        let (alone, all) = (analysis(&one), analysis(&three));
        assert_eq!((all.throughput_bound, all.exact), (alone.throughput_bound, alone.exact));
        assert_eq!(all.binding_channels_total, 3 * alone.binding_channels_total, "{network:?}");
        for (of_all, of_one) in all.class_loads.iter().zip(&alone.class_loads) {
            assert_eq!((of_all.max, of_all.channels), (of_one.max, 3 * of_one.channels));
            assert!((of_all.mean - of_one.mean).abs() < 1e-12);
        }
        let shares = by_plane(&three, &all.channel_loads);
        assert!(shares.iter().all(|own| *own == alone.channel_loads), "{network:?}");
        let (small, large) = (result(&one), result(&three));
        assert!(
            (large.open().unwrap().accepted_load - small.open().unwrap().accepted_load).abs() < 0.02,
            "{network:?}: {}",
            large.open().unwrap().accepted_load
        );
        assert!(large.open().unwrap().accepted_load_min.unwrap() > 0.25);
        let packets = large.packets as f64 / (3.0 * small.packets as f64) * small.measured_ns / large.measured_ns;
        assert!((packets - 1.0).abs() < 0.05, "{network:?}: {packets}");
        let used = large.channel_utilization.iter().filter(|&&used| used > 0.0).count();
        assert_eq!(used, 3 * small.channel_utilization.iter().filter(|&&used| used > 0.0).count());
    }
}

#[test]
fn volumes_are_striped() {
    // Would catch a volume that goes by one plane, is sent twice, or is not waited for: an exchange of 12 packets a
    // flow on 3 planes takes the time of one of 4 packets on one, to the picosecond, where routes are fixed.
    let text = |planes: u32, packets: u32| {
        let rest =
            format!("workload = {{ kind = \"exchange\", volume = \"{} B\", packet_size = \"256 B\" }}", 256 * packets);
        experiment((r#"kind = "mesh", dims = [4, 4]"#, ""), (planes, "input-output-queued"), &rest)
    };
    let (one, three) = (result(&text(1, 4)).closed().unwrap().clone(), result(&text(3, 12)).closed().unwrap().clone());
    assert_eq!((three.time_ns, &three.per_rank), (one.time_ns, &one.per_rank));
    let bandwidth = |of: &sim::ClosedResult| of.bandwidth_bytes_per_s.unwrap();
    assert!((bandwidth(&three) / bandwidth(&one) - 3.0).abs() < 1e-9);
    let throughput = |of: &sim::ClosedResult| of.phases[0].throughput.unwrap();
    assert!((throughput(&three) - throughput(&one)).abs() < 1e-9);
}

#[test]
fn a_check_counts_planes_and_proves_one() {
    // Would catch a size of one plane only, and a cycle that is not found because planes are followed together.
    let own = |planes, routing: &str, vcs: &str| {
        let rest = format!("{routing}\nworkload = {{ kind = \"traffic\", load = 0.1 }}");
        experiment((r#"kind = "torus", dims = [8]"#, ""), (planes, "output-queued"), &rest)
            .replace("\"output-queued\"", &format!("\"output-queued\"{vcs}"))
    };
    let [one, four] = [1, 4].map(|planes| check(&build(&own(planes, "", "")).unwrap()).unwrap());
    assert_eq!((one.planes, four.planes), (None, Some(4)));
    assert_eq!((four.routers, four.nodes, four.channels), (4 * one.routers, one.nodes, 4 * one.channels));
    assert!(four.deadlock_free && four.diameter == one.diameter);
    let text = own(2, r#"routing = { kind = "shortest-path", vc_rule = "single" }"#, ", vcs = 1");
    let error = run(&build(&text).unwrap(), &RunOptions::default()).unwrap_err();
    assert!(error.to_string().contains("waits for"), "{error}");
}

#[test]
fn time_of_striped_messages_is_explained() {
    // Would catch packets of two planes that are taken for one path, and waiting for a stripe that goes by another
    // plane.
    let goal = ProgramFile::goal(
        "explained",
        "num_ranks 2\nrank 0 {\nsend 16384b to 1 tag 0\n}\nrank 1 {\nrecv 16384b from 0 tag 0\n}",
    );
    let nic = r#"rails = { stripe_above = "0 B" }"#;
    let closed =
        result(&switched(4, (2, nic), &goal.program(), "measure = { timeline = true }")).closed().unwrap().clone();
    let path = closed.explained.unwrap().critical_path;
    assert_eq!(closed.time_ns, Some(PATH + 4.0 * PACKET));
    assert_eq!((path.serialization_ns, path.queueing_ns, path.propagation_ns), (4.0 * PACKET, 0.0, 2400.0));
    assert_eq!(path.routers_ns, 100.0);
}

#[test]
fn a_multicast_goes_by_one_plane() {
    // Would catch a set of destinations that two planes write, operations of one instant that are counted as one,
    // copies that change planes, and loads or routers that are counted on the first plane only. In every architecture,
    // in hardware and software.
    const IDLE_NS: f64 = 204.8 + 20.0 + 3.0 * 110.0;
    for (number, router) in ROUTERS.iter().enumerate() {
        let text = |planes: u32| {
            let rest = r#"
                workload = { kind = "collective", fanout = { mean = 2 }, load = 0.01, senders = 1, packet_size = "256 B", injection = "bernoulli" }
                measure = { warm_up = "1 us", max_time = "500 us" }"#;
            experiment((r#"kind = "mesh", dims = [3]"#, ""), (planes, router), rest)
        };
        let (one, four) = (result(&text(1)), result(&text(4)));
        let [alone, all] = [&one, &four].map(|found| found.open().unwrap().collective.as_ref().unwrap());
        // To both other nodes of the line, with nothing else on the way; only copies that cross a crossbar wait for one
        // another, and there for the multicast before, too.
        let [time, on_one] = [all, alone].map(|found| found.operation_time_mean_ns.unwrap());
        if ["output-queued", "shared-buffer"].contains(router) {
            assert!((time - IDLE_NS).abs() < 1e-6, "{router}: {all:?}");
        }
        assert!((time - on_one).abs() < 0.02 * on_one, "{router}: {all:?}, {alone:?}");
        assert_eq!((all.fanout_mean, all.copies), (2.0, 2 * all.operations), "{router}");
        assert!(all.operations > 3 * alone.operations, "{router}: {} and {}", all.operations, alone.operations);
        let by = ["hardware", "software"][number % 2];
        let text = |max_time: &str| {
            let rest = format!(
                r#"workload = {{ kind = "collective", collectives = "{by}", fanout = {{ mean = 3, law = "uniform" }}, load = 0.08, packet_size = "256 B", size = "600 B" }}
                measure = {{ warm_up = "20 us", max_time = "{max_time}", messages = true, precision = 1e-4 }}"#
            );
            experiment((r#"kind = "fat-tree", k = 4, n = 2"#, ""), (3, router), &rest)
        };
        // Some 10,000 multicasts on each plane, of 1 to 5 copies: a part in a hundred.
        let (text, short) = (text("4 ms"), text("60 us"));
        let (expected, found) = (analysis(&text), result(&text));
        assert!(!found.open().unwrap().saturated, "{router}");
        let load = found.open().unwrap().offered_load;
        assert!(
            (found.open().unwrap().accepted_load - load).abs() < 0.05 * load,
            "{router}: {}",
            found.open().unwrap().accepted_load
        );
        let fanout = found.open().unwrap().collective.as_ref().unwrap().fanout_mean;
        assert!((fanout - 3.0).abs() < 0.06, "{router}: {fanout}");
        let shares = by_plane(&text, &expected.channel_loads);
        for (shares, used) in shares.iter().zip(by_plane(&text, &found.channel_utilization)) {
            let (wanted, used) = (shares.iter().sum::<f64>() * load, used.iter().sum::<f64>());
            assert!((used - wanted).abs() < 0.05 * wanted, "{router}, {by}: {used} for {wanted}");
        }
        let once = digest(&short, 1);
        for (threads, grain) in [(1, Grain::Exactly(3)), (2, Grain::Fine)] {
            assert_eq!(digest_of(&short, threads, grain), once, "{router}, {threads} threads");
        }
    }
}

#[test]
fn what_does_not_go_with_planes_is_refused_at_its_key() {
    // Would catch a key that is read and has no effect.
    let traffic = r#"workload = { kind = "traffic", load = 0.1 }"#;
    let torus = (r#"kind = "torus", dims = [4]"#, "");
    let program = r#"workload = { kind = "program", program = { kind = "halo-2d" } }"#;
    for (text, key, what) in [
        (
            experiment(torus, (2, "output-queued"), &format!("{traffic}\nnic = {{ rails = {{}} }}")),
            "nic.rails",
            "send and receive",
        ),
        (experiment(torus, (17, "output-queued"), traffic), "topology.planes", "16"),
        (experiment(torus, (0, "output-queued"), traffic), "topology.planes", "1"),
    ] {
        let error = build(&text).unwrap_err();
        assert_eq!(error.key, key, "{error}");
        assert!(error.message.contains(what), "{error}");
    }
    let flat = format!(
        "topology = {{ kind = \"flat\", nodes = 4, planes = 2 }}\n{program}\nlink = {{ bandwidth = \"1 Gb/s\", delay = \"1 us\" }}"
    );
    let error = build(&flat).unwrap_err();
    assert_eq!(error.key, "topology.planes", "{error}");
    // On one plane there is one rail, whatever the policy: a sweep of planes goes through.
    let alone =
        |nic: &str| digest(&experiment(torus, (1, "output-queued"), &format!("{program}\nnic = {{ {nic} }}")), 1);
    assert_eq!(alone(r#"rails = { policy = "by-rank", stripe_above = "0 B" }"#), alone(""));
}
