//! Collective operations of members that own parts (NVLink SHARP): closed forms of times and of bytes by member, what
//! the analysis expects, and operations beside one another.

use fabric::Grain;
use proptest::prelude::*;
use sim::LoadsKind;
use units::{NodeId, RouterId};

use crate::common::{ROUTERS, as_text, build, nodes_with_rails, result, run_divided};
use crate::program::ProgramFile;

/// Overheads, in ns.
const OVERHEADS: f64 = 600.0 + 400.0;

/// Keys of an operation, its ranks and its units. A unit of line rate takes a packet of each port of 819.2 Gb/s in
/// 40 ns.
fn keys((operation, algorithm): (&str, &str), bytes: u64) -> String {
    format!(
        r#"
        seed = 7
        nic = {{ send_overhead = "600 ns", receive_overhead = "400 ns" }}
        in_switch = {{ combine = {{ kind = "line-rate", window = 4096 }} }}
        workload = {{ kind = "program", packet_size = "4 KiB", program = {{ kind = "collective", operation = "{operation}", algorithm = "{algorithm}", size = "{bytes} B" }} }}
        "#
    )
}

/// An island of some GPUs behind `planes` switches. A packet of 4 KiB takes 40 ns on a link, and the
/// packets of all GPUs take a unit 40 ns.
fn island(gpus: u32, planes: u32, operation: (&str, &str), bytes: u64, more: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "single-switch", ports = {gpus}, planes = {planes} }}
        link = {{ bandwidth = "819.2 Gb/s", delay = "500 ns" }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
        {}
        {more}
        "#,
        keys(operation, bytes)
    )
}

fn ns(text: &str) -> f64 {
    result(text).closed().unwrap().time_ns.unwrap()
}

#[test]
fn an_allreduce_takes_one_way_up_and_down_twice() {
    // One packet for each owner, and links so long that all are on their way before the first result is back. Member k
    // sends contribution k behind k others; the unit takes all of one number one by one, and lets the result in again a
    // cycle (1 ns) later. The owner gets the result whole, and returns it to all. Would catch a result that returns
    // before it is whole, contributions of one owner in one burst, an owner without a copy, and a stage too many.
    let (packet, link, router, unit) = (40.0, 500.0, 100.0, 40.0 + 1.0);
    for gpus in [2_u32, 4, 8] {
        let sent = f64::from(gpus) * packet;
        let result_at = sent + link + router + unit + link + packet;
        let expected = OVERHEADS + result_at + link + router + link + packet;
        let found = ns(&island(gpus, 1, ("allreduce", "nvls"), u64::from(gpus) * 4096, ""));
        assert!((found - expected).abs() < 1e-9, "{gpus}: {found} ns for {expected}");
    }
}

#[test]
fn a_long_allreduce_takes_a_share_more_than_its_buffer() {
    // Each further round of a packet for every owner takes gpus + 1 packets on each link, (n + 1)/n of the buffer, with
    // one switch or with four: to a packet, since the order of the last results varies. Would catch owners whose
    // segments take one plane, and a pipeline that waits.
    for (gpus, planes) in [(2_u32, 1_u32), (4, 1), (8, 1), (8, 4)] {
        let round = u64::from(gpus) * u64::from(planes) * 4096;
        let time = |rounds: u64| ns(&island(gpus, planes, ("allreduce", "nvls"), rounds * round, ""));
        let more = time(180) - time(120);
        let expected = 60.0 * f64::from(gpus + 1) * 40.0;
        assert!((more - expected).abs() <= 40.0, "{gpus} on {planes}: {more} ns for {expected}");
    }
}

#[test]
fn links_carry_the_part_of_their_owner_too() {
    // Bytes on each link and way, of n bytes and g members: (g + 1)/g n of an allreduce; n up and n/g down of a
    // reduce-scatter; n/g up and n down of an allgather. By in-switch, an allreduce takes n and n, and others leave the
    // owner out. Would catch an owner that does not contribute, or gets no copy.
    let share = |name: &str, gpus: f64| match name {
        "allreduce" => [(gpus + 1.0) / gpus; 2],
        "reduce-scatter" => [1.0, 1.0 / gpus],
        _ => [1.0 / gpus, 1.0],
    };
    for gpus in [2_u32, 4, 8] {
        for operation in ["allreduce", "reduce-scatter", "allgather"] {
            let buffer = u64::from(gpus) * 16 * 4096;
            let bytes = if operation == "allgather" { buffer / u64::from(gpus) } else { buffer };
            let text = island(gpus, 1, (operation, "nvls"), bytes, "")
                .replace("send_overhead", "control_size = \"1 B\", eager_limit = \"1 MiB\", send_overhead");
            let (system, found) = (build(&text).unwrap(), result(&text));
            let channels = system.network.plan.channels();
            let seconds = found.closed().unwrap().time_ns.unwrap() * 1e-9;
            let [up, down] = share(operation, f64::from(gpus));
            for node in 0..gpus {
                let (router, port) = system.network.topology.attachment(NodeId(node));
                assert_eq!(router, RouterId(0));
                let ends = [(channels.injection(NodeId(node)), up), (channels.output(router, port), down)];
                for (channel, share) in ends {
                    let carried = found.channel_utilization[channel.index()] * seconds * 102.4e9;
                    let expected = share * buffer as f64;
                    // A reduce-scatter has acknowledgements of a byte each. One may be on its way at the end, which counts as
                    // at most a packet.
                    let off = if operation == "reduce-scatter" { 4097.5 } else { 1e-3 };
                    assert!((carried - expected).abs() < off, "{operation} of {gpus}: {carried} for {expected}");
                }
            }
            let expected = sim::analyze(&system).unwrap();
            let throughput = found.closed().unwrap().throughput.unwrap();
            for (share, used) in expected.channel_loads.iter().zip(&found.channel_utilization) {
                let off = if operation == "reduce-scatter" { 0.07 } else { 1e-6 };
                assert!((share * throughput - used).abs() <= off * throughput, "{operation}: {used} for {share}");
            }
            let kind = if operation == "allgather" { LoadsKind::Exact } else { LoadsKind::WithoutAcknowledgements };
            assert_eq!(expected.loads_kind, kind, "{operation}");
        }
    }
}

#[test]
fn owners_get_right_results_on_every_network() {
    // Would catch trees of several switches, several units, planes, nodes of several ranks and sizes that are no whole
    // packets or fewer packets than owners; and results that depend on threads.
    let networks = [
        (r#"kind = "fat-tree", k = 2, n = 3"#, "in_switch = { trees_per_group = 2, turn = \"top-switch\" }"),
        (
            r#"kind = "torus", dims = [4, 3]"#,
            "in_switch = { combine = { kind = \"word-serial\", units = 3, window = 2 } }",
        ),
        (r#"kind = "single-switch", ports = 6, planes = 3"#, "in_switch = { verify = true }"),
        (r#"kind = "mesh", dims = [3, 3]"#, "placement = { processes_per_node = 2 }"),
    ];
    for (at, (topology, more)) in networks.into_iter().enumerate() {
        for (number, operation) in ["allreduce", "reduce-scatter", "allgather"].into_iter().enumerate() {
            for size in [8, 1400, 6000] {
                let text = format!(
                    r#"
                    seed = 7
                    topology = {{ {topology} }}
                    link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
                    router = {{ kind = "{}", delay = "90 ns" }}
                    {more}
                    workload = {{ kind = "program", packet_size = "256 B", program = {{ kind = "collective", operation = "{operation}", algorithm = "nvls", size = "{size} B", iterations = 3 }} }}
                    "#,
                    ROUTERS[(at + number) % ROUTERS.len()]
                );
                let system = build(&text).unwrap_or_else(|error| panic!("{text}{error:?}"));
                let alone = run_divided(&system, 1, Grain::Fine);
                let closed = alone.closed().unwrap();
                assert!(closed.time_ns.is_some(), "{text}");
                assert!(closed.program.as_ref().unwrap().groups.as_ref().unwrap().groups_verified, "{text}");
                assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(4))), as_text(&alone), "{text}");
            }
        }
    }
}

#[test]
fn operations_without_owners_are_refused() {
    // Would catch an operation in which no member owns a part.
    for operation in ["broadcast", "reduce", "barrier", "alltoall"] {
        let error = build(&island(4, 1, (operation, "nvls"), 0, "")).unwrap_err();
        assert_eq!(error.key, "workload.program.algorithm");
        assert!(error.message.contains("`nvls` does not serve"), "{error}");
    }
}

/// Nodes of `gpus` GPUs on one switch each, and a rail for each GPU. A packet of 4 KiB takes 40 ns inside a node, and
/// 640 ns on a rail.
fn nodes(gpus: u32, count: u32, operation: (&str, &str), bytes: u64, more: &str) -> String {
    let links = [r#"bandwidth = "819.2 Gb/s", delay = "500 ns""#, r#"bandwidth = "51.2 Gb/s", delay = "500 ns""#];
    nodes_with_rails((gpus, count), links, &format!("{}\n{more}", keys(operation, bytes)))
}

#[test]
fn a_sequence_takes_its_stages() {
    // The last owner gets its slice when all slices have crossed a link, exchanges it on its rail, and multicasts it.
    // Would catch a slice that is exchanged before it is whole, rails that share a slice, and a stage too many. A packet
    // has 500 ns on each of two links, and 100 ns in a router. A unit takes 40 ns for the packets of all GPUs of a node.
    let (way, packet, slow) = (2.0 * 500.0 + 100.0, 40.0, 640.0);
    for (gpus, packets) in [(2_u32, 1_u32), (4, 1), (4, 5), (8, 3)] {
        let (members, each) = (f64::from(gpus), f64::from(packets));
        let bytes = u64::from(gpus * packets) * 4096;
        let unit = |packets: f64| packets * 40.0 / members + 1.0;
        let scattered = OVERHEADS + members * each * packet + way + unit(members) + packet;
        let gathered = OVERHEADS + way + each * packet;
        // By a ring of two, halves of a slice go in both directions.
        let ring = 2.0 * (OVERHEADS + way) + each * slow;
        let doubling = OVERHEADS + way + each * slow;
        let in_switch = OVERHEADS + way + unit(2.0) + (each + 1.0) * slow;
        for (algorithm, rail) in [("nvls-ring", ring), ("nvls-doubling", doubling), ("nvls-in-switch", in_switch)] {
            let found = ns(&nodes(gpus, 2, ("allreduce", algorithm), bytes, ""));
            let expected = scattered + rail + gathered;
            assert!((found - expected).abs() < 1e-6, "{algorithm} of {gpus}: {found} ns for {expected}");
        }
        // On rails alone, as every GPU alone in its node.
        let alone = ns(&nodes(1, 2, ("allreduce", "nvls-doubling"), u64::from(packets) * 4096, ""));
        assert!((alone - doubling).abs() < 1e-6, "{alone} ns for {doubling}");
    }
}

#[test]
fn chunks_are_a_pipeline() {
    // While a chunk is on its rail, the next one is combined inside and the one before returns there: the rails are never
    // idle between the first chunk's and the last one's. Would catch chunks one after another, and a chunk that overtakes
    // another one.
    let (way, packet, slow) = (2.0 * 500.0 + 100.0, 40.0, 640.0);
    for (gpus, chunks, each) in [(2_u32, 3_u32, 2_u32), (4, 5, 4), (4, 1, 4)] {
        let (members, packets) = (f64::from(gpus), f64::from(each));
        let chunk = u64::from(gpus * each) * 4096;
        let key = format!("segment = \"{chunk} B\", algorithm");
        let text = nodes(gpus, 2, ("allreduce", "nvls-doubling"), chunk * u64::from(chunks), "");
        let found = ns(&text.replace("algorithm", &key));
        let scattered = OVERHEADS + members * packets * packet + way + 40.0 + 1.0 + packet;
        let rail = OVERHEADS + way + packets * slow;
        let gathered = OVERHEADS + way + packets * packet;
        let expected = scattered + f64::from(chunks) * rail + gathered;
        assert!((found - expected).abs() < 1e-6, "{gpus}, {chunks}: {found} ns for {expected}");
    }
}

#[test]
fn all_rails_of_a_node_carry_an_equal_slice() {
    // Would catch a leader that carries the data of others: of n bytes on c nodes of g GPUs, each rail carries
    // 2 (c - 1)/c n/g bytes by a ring, and n/g in its switch.
    for (algorithm, share) in [("hierarchical", 1.5), ("nvls-ring", 1.5), ("nvls-in-switch", 1.0)] {
        let bytes = 4 * 4 * 8 * 4096_u64;
        let text = nodes(4, 4, ("allreduce", algorithm), bytes, "");
        let (system, found) = (build(&text).unwrap(), result(&text));
        let channels = system.network.plan.channels();
        let seconds = found.closed().unwrap().time_ns.unwrap() * 1e-9;
        for node in 0..16 {
            let rail = channels.injection_on(NodeId(node), units::PlaneId(1));
            let carried = found.channel_utilization[rail.index()] * seconds * 6.4e9;
            let expected = share * bytes as f64 / 4.0;
            assert!((carried - expected).abs() < 1.0, "{algorithm}: {carried} for {expected}");
        }
    }
}

#[test]
fn sequences_serve_every_program_and_are_refused_where_nodes_are_no_islands() {
    // Would catch a group that a kind of program does not list, jobs whose islands are those of another, a limit that
    // leaves half of a sequence, and results that depend on threads.
    for algorithm in ["hierarchical", "nvls-ring", "nvls-doubling", "nvls-in-switch"] {
        // A call of a file names nodes only by algorithms of switches.
        let called = if algorithm == "hierarchical" { "ring" } else { algorithm };
        let calls: String = (0..16)
            .map(|rank| {
                format!(
                    "rank {rank}\n  start allreduce 3000 B by {called} segment 1000 B\n  allgather 100 B by {called}\n  wait 0\n"
                )
            })
            .collect();
        let calls = ProgramFile::calls(&format!("sequence-{called}"), &format!("ranks 16\n{calls}"));
        for program in [
            calls.program(),
            format!(
                r#"{{ kind = "collective", operation = "reduce-scatter", algorithm = "{algorithm}", size = "9000 B", iterations = 3, overlap = true }}"#
            ),
            format!(
                r#"{{ kind = "training", tensor = 4, pipeline = 2, layers = 2, hidden = 64, sequence = 16, micro_batches = 2, forward_time = "1 us", allreduce = "{algorithm}", bucket_size = "16 KiB" }}"#
            ),
        ] {
            let text = nodes(4, 4, ("allreduce", "ring"), 64, "relay = { network = \"inside\" }");
            let at = text.find("program = {").unwrap();
            let end = at + text[at..].find("} }").unwrap();
            let text = format!("{}program = {program}{}", &text[..at], &text[end + 1..]);
            let system = build(&text).unwrap_or_else(|error| panic!("{text}{error:?}"));
            let alone = run_divided(&system, 1, Grain::Fine);
            assert!(alone.closed().unwrap().time_ns.is_some(), "{text}");
            let groups = alone.closed().unwrap().program.as_ref().unwrap().groups.as_ref();
            assert!(groups.is_none_or(|groups| groups.groups_verified), "{text}");
            assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&alone), "{text}");
        }
    }
    let error = build(&island(4, 1, ("allreduce", "nvls-ring"), 64, "")).unwrap_err();
    assert!(error.key == "workload.program.algorithm" && error.message.contains("one network"), "{error}");
    let limits =
        "in_switch = { overflow = \"software\", low_latency = { max_message = \"1 KiB\", segment = \"256 B\" },";
    let limited = nodes(4, 2, ("allreduce", "nvls-in-switch"), 8192, "").replace("in_switch = {", limits);
    assert_eq!(ns(&limited), ns(&nodes(4, 2, ("allreduce", "auto"), 8192, "")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_operation_is_faster_than_its_bound(
        (gpus, count) in (prop::sample::select(vec![2_u32, 4]), prop::sample::select(vec![2_u32, 3, 4])),
        operation in prop::sample::select(vec!["allreduce", "reduce-scatter", "allgather"]),
        algorithm in prop::sample::select(vec![
            "nvls", "in-switch", "hierarchical", "ring", "nvls-ring", "nvls-doubling", "nvls-in-switch",
        ]),
        bytes in prop_oneof![0_u64..100, 1_u64..400_000],
        rails in prop::sample::select(vec!["by-rank", "round-robin", "hash"]),
        segment in prop_oneof![Just(None), (4096_u64..100_000).prop_map(Some)],
        (is_joined, is_limited, is_striped, is_relayed) in any::<(bool, bool, bool, bool)>(),
    ) {
        // Would catch a bound that leaves out what switches save, one of another network, one that counts a rail that
        // trees do not keep to, and stages that are taken to follow one another where limits, stripes, relays or chunks
        // let messages overlap.
        let single = algorithm == "nvls" || algorithm == "in-switch" && !is_joined;
        let text = match single {
            true => island(gpus, count, (operation, algorithm), bytes, ""),
            false => nodes(gpus, count, (operation, algorithm), bytes, "relay = { network = \"inside\" }"),
        };
        let stripe = if is_striped && !single { ", stripe_above = \"2 KiB\", stripe_over = \"all-networks\"" } else { "" };
        let text = text.replace("nic = {", &format!("nic = {{ rails = {{ policy = \"{rails}\"{stripe} }},"));
        let by_rail = format!("topology = \"single-switch:{count}\"\n        order = \"by-rail\"");
        let ports = format!("{by_rail}\n        endpoints = [0]");
        let text = match is_joined {
            true => text.replace(&by_rail, &format!("topology = \"single-switch:{}\"", gpus * count)),
            false if is_relayed && ["hierarchical", "ring"].contains(&algorithm) => text.replace(&by_rail, &ports),
            false => text,
        };
        let text = match is_limited && !is_striped {
            true => text.replace("name = \"inside\"", "name = \"inside\"\n        up_to = \"8 KiB\""),
            false => text,
        };
        let pipelined = algorithm.starts_with("nvls-") && operation == "allreduce";
        let text = match segment.filter(|_| pipelined) {
            Some(segment) => text.replace("algorithm", &format!("segment = \"{segment} B\", algorithm")),
            None => text,
        };
        let found = result(&text);
        let times = found.closed().unwrap().program.as_ref().unwrap().times.as_ref().unwrap().clone();
        let (span, bound) = (times.operation_span_mean_ns.unwrap(), times.operation_bound_ns.unwrap());
        prop_assert!(bound <= span * (1.0 + 1e-9), "{text}: {span} ns, and {bound} at least");
        prop_assert!(bound > 0.0);
    }
}
