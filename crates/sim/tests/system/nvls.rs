//! Collective operations of members that own parts (NVLink SHARP): closed forms of times and of bytes by member, what the
//! analysis expects, and operations beside one another.

use fabric::Grain;
use sim::LoadsKind;
use units::{NodeId, RouterId};

use crate::common::{ROUTERS, as_text, build, result, run_divided};

/// Overheads, in ns.
const OVERHEADS: f64 = 600.0 + 400.0;

/// An island of some GPUs behind `planes` switches. A packet of 4 KiB takes 40 ns on a link, and the
/// packets of all GPUs take a unit 40 ns.
fn island(gpus: u32, planes: u32, (operation, algorithm): (&str, &str), bytes: u64, more: &str) -> String {
    format!(
        r#"
        seed = 7
        topology = {{ kind = "single-switch", ports = {gpus}, planes = {planes} }}
        link = {{ bandwidth = "819.2 Gb/s", delay = "500 ns" }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
        nic = {{ send_overhead = "600 ns", receive_overhead = "400 ns" }}
        in_switch = {{ combine = {{ kind = "line-rate", window = 4096 }} }}
        workload = {{ kind = "program", packet_size = "4 KiB", program = {{ kind = "collective", operation = "{operation}", algorithm = "{algorithm}", size = "{bytes} B" }} }}
        {more}
        "#
    )
}

fn ns(text: &str) -> f64 {
    result(text).closed().unwrap().time_ns.unwrap()
}

#[test]
fn an_allreduce_takes_one_way_up_and_down_twice() {
    // One packet for each owner, and links so long that all are on their way before the first result is back. Member k
    // sends contribution k behind k others; the unit takes all of one number one by one, and lets the result in again a cycle
    // (1 ns) later. The owner gets the result whole, and returns it to all. Would catch a result that returns before it is
    // whole, contributions of one owner in one burst, an owner without a copy, and a stage too many.
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
    // Each further round of a packet for every owner takes gpus + 1 packets on each link, (n + 1)/n of the buffer, with one
    // switch or with four: to a packet, since the order of the last results varies. Would catch owners whose segments take one plane, and a pipeline that waits.
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
