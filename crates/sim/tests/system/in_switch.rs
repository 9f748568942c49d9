//! Collective operations that routers carry out: on every topology and router, against closed forms and against
//! software.

use fabric::Grain;
use sim::LoadsKind;
use units::NodeId;

use crate::common::{ROUTERS, as_text, build, result, run_divided};

/// A machine with a collective operation of all ranks.
fn network(topology: &str, router: &str, program: &str, more: &str) -> String {
    format!(
        r#"
        seed = 7
        topology = {{ {topology} }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ {router} }}
        nic = {{ kind = "ideal", send_overhead = "1300 ns", receive_overhead = "1300 ns" }}
        workload = {{ kind = "program", packet_size = "256 B", program = {{ kind = "collective", {program} }} }}
        {more}
        "#
    )
}

const OUTPUT_QUEUED: &str = r#"kind = "output-queued", delay = "90 ns""#;
const OPERATIONS: [&str; 6] = ["broadcast", "reduce", "allreduce", "barrier", "allgather", "reduce-scatter"];

#[test]
fn every_operation_is_carried_out_right_on_every_network() {
    // Would catch trees or units that an architecture or a topology breaks, ranks that wait for ever, contributions
    // that are lost, and results that depend on threads. Windows of two packets; messages of five packets and a rest.
    let networks = [
        (r#"kind = "fat-tree", k = 2, n = 3"#, "in_switch = { trees_per_group = 2, turn = \"top-switch\" }"),
        (
            r#"kind = "torus", dims = [4, 3]"#,
            "in_switch = { combine = { kind = \"word-serial\", units = 3, window = 2 } }",
        ),
        (r#"kind = "dragonfly", h = 1"#, "in_switch = { combine = { kind = \"line-rate\", window = 2 } }"),
        (r#"kind = "mesh", dims = [3, 3]"#, "placement = { processes_per_node = 2 }"),
    ];
    for (at, (topology, more)) in networks.into_iter().enumerate() {
        for (number, operation) in OPERATIONS.into_iter().enumerate() {
            let router = format!(r#"kind = "{}", delay = "90 ns""#, ROUTERS[(at + number) % ROUTERS.len()]);
            let program =
                format!(r#"operation = "{operation}", algorithm = "in-switch", size = "1400 B", iterations = 3"#);
            let text = network(topology, &router, &program, more);
            let system = build(&text).unwrap_or_else(|error| panic!("{text}{error:?}"));
            let alone = run_divided(&system, 1, Grain::Fine);
            let closed = alone.closed().unwrap();
            assert!(closed.time_ns.is_some(), "{text}");
            assert!(closed.program.as_ref().unwrap().groups.as_ref().unwrap().groups_verified, "{text}");
            let alone = as_text(&alone);
            for (threads, grain) in [(2, Grain::Fine), (1, Grain::Exactly(4))] {
                assert_eq!(as_text(&run_divided(&system, threads, grain)), alone, "{text}{threads} threads");
            }
        }
    }
}

#[test]
fn a_barrier_takes_the_time_of_its_way_up_and_down() {
    // Would catch a unit that is passed twice, a level of the tree too many, and overheads that are charged for each
    // packet. On a 2-ary 2-tree: two routers up, two units, and back through both routers. A control packet of 64 B
    // takes 51.2 ns on a link, and 3 cycles of 4 ns for its header and 8 for its words in a unit, for each of two
    // packets; up again it is cut through, but for the units, which wait for its tail.
    let combine = "in_switch = { combine = { kind = \"word-serial\" } }";
    let text = network(
        r#"kind = "fat-tree", k = 2, n = 2"#,
        OUTPUT_QUEUED,
        r#"operation = "barrier", algorithm = "in-switch""#,
        combine,
    );
    let found = result(&text).closed().unwrap().clone();
    let control = sizes_of_control(&text);
    let (tail, cycles) = (control * 0.8, 3.0 + (control / 8.0).ceil());
    let level = 20.0 + 90.0 + tail + 2.0 * cycles * 4.0 + 4.0;
    let down = 20.0 + 90.0 + 20.0 + tail;
    let expected = 1300.0 + 2.0 * level + down + 1300.0;
    assert!((found.time_ns.unwrap() - expected).abs() < 1e-6, "{:?} for {expected}", found.time_ns);
}

/// Bytes of a control packet.
fn sizes_of_control(text: &str) -> f64 {
    build(text).unwrap().spec.nic.host().control().0 as f64
}

#[test]
fn switches_beat_software_where_the_paper_says_so() {
    // Would catch combine units that are slower than a tree of messages, and one unit that does not become a bottleneck
    // on wide switches: figure 16. Reductions of one packet to a root on 64 nodes, with 8 and with 16 ports.
    let time = |topology: &str, algorithm: &str, units: u32, size: &str| {
        let more = format!("in_switch = {{ combine = {{ kind = \"word-serial\", units = {units} }} }}");
        let program = format!(r#"operation = "reduce", algorithm = "{algorithm}", size = "{size}""#);
        result(&network(topology, OUTPUT_QUEUED, &program, &more)).closed().unwrap().clone().time_ns.unwrap()
    };
    let (narrow, wide) = (r#"kind = "fat-tree", k = 2, n = 6"#, r#"kind = "fat-tree", k = 8, n = 2"#);
    for size in ["8 B", "256 B"] {
        assert!(time(wide, "in-switch", 1, size) < time(wide, "binomial", 1, size), "{size}");
    }
    assert!(time(wide, "in-switch", 1, "8 B") < time(narrow, "in-switch", 1, "8 B"));
    // A packet of 256 B takes 32 cycles, 128 ns, and 3 for its header, which a part that is handed over has not. One
    // unit of a leaf switch combines eight, of the top switch seven, of the root's leaf switch the last one. Of five
    // units, two have four of them each (or three, at the top), hand over, and the root of the units combines two; in
    // the root's leaf switch the last packet passes a leaf unit and the root.
    let (one, five) = (time(wide, "in-switch", 1, "256 B"), time(wide, "in-switch", 5, "256 B"));
    let (unit, part, wire) = (140.0, 128.0, 4.0);
    let [by_one, by_five] =
        [(8.0 + 7.0 + 1.0) * unit, 4.0 * unit + 2.0 * part + wire + 4.0 * unit + part + wire + unit + part + wire];
    assert!((one - five - (by_one - by_five)).abs() < 1e-6, "{five} and {one}");
}

#[test]
fn packets_of_groups_that_go_first_wait_for_one_packet_at_a_channel() {
    // Would catch an arbiter that takes a packet of a group for another one, and trees that share buffers with other
    // traffic. Single packets are combined again and again beside random packets at a load of 0.85: up and down they
    // pass the sender's link, a link up, one down and the receiver's link, and wait at each for what is being sent; at
    // the sender's also for one that was there before. Who had the last result early, by up to two packets, begins as
    // much earlier.
    let text = |arbitration: &str, load: f64| {
        let sum =
            r#"kind = "collective", operation = "allreduce", algorithm = "in-switch", size = "8 B", iterations = 200"#;
        format!(
            r#"
            seed = 3
            topology = {{ kind = "fat-tree", k = 4, n = 2 }}
            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
            router = {{ kind = "output-queued", buffer = "16 packets", delay = "90 ns", arbitration = "{arbitration}" }}
            in_switch = {{ classes = "own" }}
            [[job]]
            name = "sums"
            workload = {{ kind = "program", packet_size = "256 B", program = {{ {sum} }} }}
            [[job]]
            name = "others"
            background = true
            workload = {{ kind = "traffic", load = {load}, packet_size = "256 B" }}
            "#
        )
    };
    let slowest = |arbitration: &str, load: f64| {
        let found = result(&text(arbitration, load));
        let sums = found.jobs.iter().find(|job| job.name == "sums").unwrap();
        sums.point.closed().unwrap().program.as_ref().unwrap().times.as_ref().unwrap().operation_time_max_ns.unwrap()
    };
    let (idle, packet) = (slowest("groups-first", 1e-6), 204.8);
    let (first, in_turn) = (slowest("groups-first", 0.85), slowest("round-robin", 0.85));
    assert!(first > idle && first <= idle + 7.0 * packet, "{first} ns beside traffic, {idle} alone");
    assert!(in_turn > idle + 10.0 * packet, "in turn {in_turn} ns, first {first}");
}

#[test]
fn on_directed_trees_every_sender_has_a_tree_of_its_own() {
    // Would catch packets that go by another member's tree, trees for members that send nothing, loads of other
    // channels than those that they take, an arrival that is counted for another segment, and reductions on trees that
    // lead one way only.
    let networks = [
        r#"kind = "fat-tree", k = 2, n = 3"#,
        r#"kind = "torus", dims = [4, 3]"#,
        r#"kind = "dragonfly", h = 1"#,
        r#"kind = "mesh", dims = [5]"#,
    ];
    for (topology, operation) in networks.into_iter().flat_map(|own| [(own, "broadcast"), (own, "allgather")]) {
        let program = format!(r#"operation = "{operation}", algorithm = "in-switch", size = "4 KiB", iterations = 3"#);
        let text = |more: &str| network(topology, OUTPUT_QUEUED, &program, &format!("in_switch = {{ {more} }}"));
        let entries = |point: &sim::PointResult| {
            point.closed().unwrap().program.as_ref().unwrap().groups.as_ref().unwrap().table_entries_max
        };
        let (own, shared) = (text("directed = true"), result(&text("directed = false")));
        let system = build(&own).unwrap_or_else(|error| panic!("{own}\n{error}"));
        let (expected, found) = (sim::analyze(&system).unwrap(), run_divided(&system, 1, Grain::Fine));
        for (id, (share, used)) in expected.channel_loads.iter().zip(&found.channel_utilization).enumerate() {
            let want = share * found.closed().unwrap().throughput.unwrap();
            assert!(
                (want - used).abs() <= 1e-6 * found.closed().unwrap().throughput.unwrap(),
                "{own}channel {id}: {used} for {want}"
            );
        }
        // Of a broadcast, one member sends.
        let members = system.network.topology.nodes();
        let trees = if operation == "broadcast" { 1 } else { members };
        assert_eq!((entries(&shared), entries(&found)), (1, trees), "{own}");
        assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&found), "{own}");
    }
    for operation in ["reduce", "allreduce", "barrier", "reduce-scatter"] {
        let program = format!(r#"operation = "{operation}", algorithm = "in-switch""#);
        let error =
            build(&network(networks[0], OUTPUT_QUEUED, &program, "in_switch = { directed = true }")).unwrap_err();
        assert!(error.key == "in_switch.directed" && error.message.contains("undirected"), "{error}");
    }
}

#[test]
fn directed_trees_without_room_in_tables_are_messages() {
    // Would catch a tree a group that is counted where each sender has one, a group that has room for some of its trees
    // only, and messages that take another time than those of software. Every router of the tree is on all trees of its
    // members: eight in an allgather of eight.
    let program = |algorithm: &str| format!(r#"operation = "allgather", algorithm = "{algorithm}", size = "1 KiB""#);
    let topology = r#"kind = "fat-tree", k = 2, n = 3"#;
    let run = |algorithm: &str, keys: &str| {
        let text = network(topology, OUTPUT_QUEUED, &program(algorithm), keys);
        let closed = result(&text).closed().unwrap().clone();
        (closed.time_ns.unwrap(), closed.program.unwrap().groups)
    };
    let limited = |entries: u32, overflow: &str| {
        format!(r#"in_switch = {{ directed = true, table_entries = {entries}, overflow = "{overflow}" }}"#)
    };
    let (time, groups) = run("in-switch", &limited(8, "software"));
    let groups = groups.unwrap();
    assert_eq!((groups.groups, groups.groups_in_software, groups.table_entries_max), (1, 0, 8));
    let (by_messages, groups) = run("in-switch", &limited(7, "software"));
    let groups = groups.unwrap();
    assert_eq!((groups.groups, groups.groups_in_software, groups.table_entries_max), (0, 1, 0));
    assert_eq!(by_messages, run("auto", "").0);
    assert!(time < by_messages, "{time} and {by_messages}");
    let error = build(&network(topology, OUTPUT_QUEUED, &program("in-switch"), &limited(7, "refuse"))).unwrap_err();
    assert_eq!(error.key, "in_switch.trees", "{error}");
}

#[test]
fn directed_trees_go_on_beside_other_jobs() {
    // Would catch packets of one job that go by a tree of another's, groups that are numbered from 0 in every job, and
    // results that depend on the division: two programs on directed trees that share every node, beside random packets.
    let job = |name: &str, operation: &str| {
        format!(
            r#"
            [[job]]
            name = "{name}"
            workload = {{ kind = "program", packet_size = "256 B", program = {{ kind = "collective", operation = "{operation}", algorithm = "in-switch", size = "2 KiB", iterations = 4 }} }}
            "#
        )
    };
    for topology in [r#"kind = "torus", dims = [4, 3]"#, r#"kind = "fat-tree", k = 2, n = 3"#] {
        let text = format!(
            r#"
            seed = 7
            topology = {{ {topology} }}
            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
            router = {{ {OUTPUT_QUEUED} }}
            in_switch = {{ directed = true }}
            {}{}
            [[job]]
            name = "traffic"
            background = true
            workload = {{ kind = "traffic", packet_size = "256 B", load = 0.2 }}
            "#,
            job("one", "allgather"),
            job("other", "broadcast")
        );
        let system = build(&text).unwrap_or_else(|error| panic!("{text}{error}"));
        let found = run_divided(&system, 1, Grain::Fine);
        assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&found), "{text}");
        for job in found.jobs.iter().filter(|job| job.name != "traffic") {
            let closed = job.point.closed().unwrap();
            let groups = closed.program.as_ref().unwrap().groups.as_ref().unwrap();
            assert!(closed.time_ns.is_some() && groups.groups_verified, "{}: {text}", job.name);
        }
    }
}

#[test]
fn what_goes_by_trees_only_is_exact_with_any_routing() {
    // Would catch an adaptive routing that is taken to decide where packets of trees go.
    let exact = |operation: &str, algorithm: &str| {
        let program = format!(r#"operation = "{operation}", algorithm = "{algorithm}", size = "1 KiB""#);
        let text = network(r#"kind = "fat-tree", k = 2, n = 3"#, OUTPUT_QUEUED, &program, "");
        let system = build(&text).unwrap();
        assert!(system.network.routing.adaptive());
        let found = sim::analyze(&system).unwrap();
        assert_eq!(found.exact, found.loads_kind == LoadsKind::Exact);
        found.loads_kind
    };
    assert_eq!([exact("allreduce", "in-switch"), exact("broadcast", "in-switch")], [LoadsKind::Exact; 2]);
    // What reports to members that the result of others has come is not counted.
    assert_eq!(exact("reduce", "in-switch"), LoadsKind::WithoutAcknowledgements);
    assert_eq!(exact("allreduce", "auto"), LoadsKind::EvenSpread);
}

#[test]
fn acknowledgements_are_no_throughput() {
    // Would catch packets for 63 members that are counted as what the one member receives: a bandwidth above that of
    // its link, expected loads above 1, and a series or a number of packets that has them.
    for operation in ["reduce", "reduce-scatter"] {
        let program = format!(r#"operation = "{operation}", algorithm = "in-switch", size = "64 KiB""#);
        let more = "in_switch = { combine = { kind = \"line-rate\", window = 4 } }\nmeasure = { series = \"1 us\" }";
        let text = network(r#"kind = "fat-tree", k = 4, n = 3"#, OUTPUT_QUEUED, &program, more);
        let (expected, found) = (sim::analyze(&build(&text).unwrap()).unwrap(), result(&text));
        let closed = found.closed().unwrap();
        let delivered = closed.bandwidth_bytes_per_s.unwrap() * closed.time_ns.unwrap() / 1e9;
        assert!((delivered - 65536.0).abs() < 1e-3, "{text}{delivered}");
        assert!(
            found.closed().unwrap().throughput.unwrap() < 1.0,
            "{text}{}",
            found.closed().unwrap().throughput.unwrap()
        );
        // Results are what is delivered, in as many packets as they take.
        assert_eq!(found.packets, 65536 / 256, "{text}");
        let series = found.series.as_ref().unwrap();
        let begins = std::iter::once(&0.0).chain(&series.time_ns);
        let lengths = series.time_ns.iter().zip(begins).map(|(end, begin)| end - begin);
        let sum: f64 = series.accepted_load.iter().zip(lengths).map(|(load, length)| load * length).sum();
        assert!(
            (sum / (found.closed().unwrap().throughput.unwrap() * closed.time_ns.unwrap()) - 1.0).abs() < 1e-9,
            "{text}{sum}"
        );
        // What channels carry beside that are acknowledgements.
        let pairs = expected.channel_loads.iter().zip(&found.channel_utilization);
        let rest: Vec<f64> =
            pairs.map(|(share, used)| used - share * found.closed().unwrap().throughput.unwrap()).collect();
        assert!(rest.iter().all(|&rest| rest >= -1e-9) && rest.iter().any(|&rest| rest > 0.0), "{text}");
    }
}

#[test]
fn channels_carry_what_the_analysis_expects_of_operations() {
    // Would catch a wire of a tree that is left out or counted twice, a result that goes back to who does not get it,
    // turns that are taken for one another, trees that share unevenly, and shares of another node than the one that
    // sends most. Acknowledgements of what one member gets alone are not expected: they are packets of a byte.
    let networks = [
        (r#"kind = "fat-tree", k = 2, n = 3"#, "in_switch = { turn = \"top-switch\" }"),
        (r#"kind = "fat-tree", k = 2, n = 3"#, "in_switch = { trees_per_group = 2 }"),
        (r#"kind = "torus", dims = [4, 3]"#, "placement = { processes_per_node = 2 }"),
        (r#"kind = "dragonfly", h = 1"#, "placement = { strategy = \"random\" }"),
    ];
    for (topology, more) in networks {
        for operation in OPERATIONS {
            let program =
                format!(r#"operation = "{operation}", algorithm = "in-switch", size = "4 KiB", iterations = 4"#);
            let text = network(topology, OUTPUT_QUEUED, &program, more)
                .replace("receive_overhead", "control_size = \"1 B\", eager_limit = \"1 MiB\", receive_overhead");
            let system = build(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
            let (expected, found) = (sim::analyze(&system).unwrap(), result(&text));
            let is_exact = !operation.starts_with("reduce");
            // Where messages are routed adaptively, nothing is said to be exact.
            assert!(expected.exact == is_exact || system.network.routing.adaptive(), "{text}");
            for (id, (share, used)) in expected.channel_loads.iter().zip(&found.channel_utilization).enumerate() {
                let (want, off) =
                    (share * found.closed().unwrap().throughput.unwrap(), if is_exact { 1e-6 } else { 0.05 });
                assert!(
                    (want - used).abs() <= off * found.closed().unwrap().throughput.unwrap(),
                    "{text}channel {id}: {used} for {want}"
                );
            }
            let largest = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
            let channels = system.network.plan.channels();
            let sent = (0..system.network.topology.nodes()).map(|node| channels.injection(NodeId(node)));
            let sent: Vec<f64> = sent.map(|channel| expected.channel_loads[channel.index()]).collect();
            assert!((largest(&sent) - 1.0).abs() < 1e-9, "{text}");
        }
    }
}

#[test]
fn loads_of_an_allreduce_are_those_of_its_tree() {
    // Each wire of the tree carries all bytes once a way, whatever the number of members: nothing else can. Would catch
    // loads that grow with them.
    let program = r#"operation = "allreduce", algorithm = "in-switch", size = "1 KiB""#;
    let system = build(&network(r#"kind = "fat-tree", k = 4, n = 2"#, OUTPUT_QUEUED, program, "")).unwrap();
    let found = sim::analyze(&system).unwrap();
    // Sixteen nodes, four leaf switches below one root.
    let carrying = found.channel_loads.iter().filter(|&&load| load > 0.0);
    assert!(carrying.clone().all(|&load| (load - 1.0).abs() < 1e-12));
    assert_eq!((carrying.count(), found.throughput_bound), (2 * (16 + 4), 1.0));
}

#[test]
fn what_cannot_be_done_in_switches_is_refused() {
    let refused = |topology: &str, router: &str, program: &str, more: &str| {
        let error = build(&network(topology, router, program, more)).unwrap_err();
        (error.key, error.message)
    };
    let tree = r#"kind = "fat-tree", k = 2, n = 2"#;
    let allreduce = r#"operation = "allreduce", algorithm = "in-switch""#;
    let per_crosspoint = r#"kind = "output-queued", credits = "per-crosspoint""#;
    assert_eq!(refused(tree, per_crosspoint, allreduce, "").0, "router.credits");
    let (key, message) =
        refused(tree, OUTPUT_QUEUED, allreduce, "in_switch = { combine = { kind = \"word-serial\", units = 2 } }");
    assert!(key == "in_switch.combine.units" && message.contains("3 and more"), "{key}: {message}");
    let (key, message) = refused(
        r#"kind = "torus", dims = [3, 3]"#,
        OUTPUT_QUEUED,
        allreduce,
        "in_switch = { trees = { kind = \"least-loaded-parent\" } }",
    );
    assert!(key.starts_with("in_switch.trees") && message.contains("load-balanced"), "{key}: {message}");
    let groups = r#"operation = "allreduce", algorithm = "in-switch", group_size = 2, group_stride = 2"#;
    let (key, message) = refused(tree, OUTPUT_QUEUED, groups, "in_switch = { table_entries = 1 }");
    assert!(key.starts_with("in_switch") && message.contains("table"), "{key}: {message}");
    assert_eq!(
        refused(tree, OUTPUT_QUEUED, r#"operation = "alltoall", algorithm = "in-switch""#, "").0,
        "workload.program.algorithm"
    );
}

#[test]
fn what_operations_cost_is_known_before_the_run() {
    // Exactly the packet-hops that are measured. Would catch operations that cost nothing, a tree's units or levels
    // that are left out, calls that are counted once, and acknowledgements of results that one member gets: of 80
    // packets here, one each half window.
    let topologies = [r#"kind = "fat-tree", k = 4, n = 3"#, r#"kind = "torus", dims = [4, 4]"#];
    for topology in topologies {
        for operation in OPERATIONS {
            let program =
                format!(r#"operation = "{operation}", algorithm = "in-switch", size = "20 KiB", iterations = 2"#);
            let text = network(topology, OUTPUT_QUEUED, &program, "");
            let estimate = sim::check(&build(&text).unwrap()).unwrap().packet_hops;
            let found = result(&text).packet_hops as f64;
            assert!((estimate / found - 1.0).abs() < 1e-9, "{text}: {estimate}, and {found} measured");
        }
    }
}

#[test]
fn groups_that_only_copy_have_no_partial_sums() {
    // Would catch memory that is reserved for what is never combined, and an estimate that leaves partial sums out: a
    // window of 100,000 of them in one switch, each of at least a segment, its contributions, and their sum.
    let memory = |operation: &str| {
        let program = format!(r#"operation = "{operation}", algorithm = "in-switch", size = "1 KiB""#);
        let window = r#"in_switch = { combine = { kind = "line-rate", window = 100000 } }"#;
        let text = network(r#"kind = "single-switch", ports = 4"#, OUTPUT_QUEUED, &program, window);
        sim::check(&build(&text).unwrap()).unwrap().memory_bytes
    };
    for (combines, copies) in [("allreduce", "broadcast"), ("reduce-scatter", "allgather")] {
        let (with, without) = (memory(combines), memory(copies));
        assert!(without < 1_000_000 && with > without + 1_600_000, "{combines} {with}, {copies} {without}");
    }
}
