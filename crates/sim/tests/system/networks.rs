//! Several networks of a machine: closed forms of messages inside nodes, over rails and by relays, loads of each
//! network, and the same bytes for any division.

use fabric::Grain;
use proptest::collection;
use proptest::prelude::*;
use sim::{analyze, check};

use crate::common::{build, digest_of, nodes_with_rails, result};
use crate::program::ProgramFile;

/// Nodes of two endpoints: a switch inside each of `count` nodes on which a packet of 1 KiB takes 100 ns, and a switch
/// for all on which it takes 1 us. A head takes 300 ns inside a node, and 2.1 us between nodes.
fn machine(count: u32, network: &str, program: &str, rest: &str) -> String {
    format!(
        r#"
        node = {{ endpoints = 2 }}
        router = {{ kind = "output-queued", buffer = "64 packets" }}
        workload = {{ kind = "program", packet_size = "1 KiB", program = {program} }}
        {rest}
        [[network]]
        name = "inside"
        topology = "single-switch:2"
        link = {{ bandwidth = "81.92 Gb/s", delay = "100 ns" }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
        [[network]]
        name = "between"
        topology = "single-switch:{}"
        link = {{ bandwidth = "8.192 Gb/s", delay = "1 us" }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
        {network}
        "#,
        2 * count
    )
}

fn end_ns(text: &str) -> f64 {
    result(text).closed().unwrap().clone().time_ns.unwrap()
}

/// A message of some bytes from rank 0 to another, among `ranks` ranks.
fn message(name: &str, ranks: u32, to: u32, bytes: u64) -> ProgramFile {
    let others: String = (1..ranks).filter(|&rank| rank != to).map(|rank| format!("rank {rank} {{\n}}\n")).collect();
    let text = format!(
        "num_ranks {ranks}\nrank 0 {{\nsend {bytes}b to {to} tag 0\n}}\nrank {to} {{\nrecv {bytes}b from 0 tag 0\n}}\n{others}"
    );
    ProgramFile::goal(name, &text)
}

#[test]
fn a_message_takes_the_first_network_that_joins_its_ends() {
    // Would catch a message inside a node on the slow network, and times of one network's links on the other.
    let inside = message("inside", 4, 1, 4096);
    assert_eq!(end_ns(&machine(2, "", &inside.program(), "")), 300.0 + 4.0 * 100.0);
    let between = message("between", 4, 2, 4096);
    assert_eq!(end_ns(&machine(2, "", &between.program(), "")), 2100.0 + 4.0 * 1000.0);
}

#[test]
fn a_message_takes_a_network_by_its_size() {
    // Would catch a limit that excludes its own size, and a message that no network takes by its size.
    let time = |bytes, key: &str| {
        let goal = message("size", 4, 1, bytes);
        let text = machine(2, "", &goal.program(), "");
        end_ns(&text.replace("topology = \"single-switch:2\"", &format!("topology = \"single-switch:2\"\n{key}")))
    };
    assert_eq!(time(2048, "up_to = \"2 KiB\""), 300.0 + 200.0);
    assert_eq!(time(2049, "up_to = \"2 KiB\""), 4100.977);
    assert_eq!(time(1024, "above = \"1 KiB\""), 2100.0 + 1000.0);
}

#[test]
fn a_stripe_over_unequal_networks_ends_on_both_at_once() {
    // 11 packets: 10 on the link that takes 100 ns, and one on the link that takes 1 us, behind its longer path. Would
    // catch equal shares, and a stripe on a network that does not join the ends.
    let goal = message("stripe", 4, 1, 11 * 1024);
    let nic = "nic = { rails = { stripe_above = \"1 KiB\", stripe_over = \"all-networks\" } }";
    assert_eq!(end_ns(&machine(2, "", &goal.program(), nic)), 2100.0 + 1000.0);
    let far = message("far", 4, 2, 11 * 1024);
    assert_eq!(end_ns(&machine(2, "", &far.program(), nic)), 2100.0 + 11.0 * 1000.0);
}

/// Two nodes of two endpoints with a switch inside each node, and two rails that join equal endpoints.
fn rails(program: &str, relay: &str) -> String {
    let links = [r#"bandwidth = "81.92 Gb/s", delay = "100 ns""#, r#"bandwidth = "8.192 Gb/s", delay = "1 us""#];
    let work = format!(r#"workload = {{ kind = "program", packet_size = "1 KiB", program = {program} }}"#);
    nodes_with_rails((2, 2), links, &format!("{work}\n{relay}"))
}

#[test]
fn the_time_of_a_relayed_message_is_that_of_its_legs() {
    // Sending, delays, pipelines, waiting, host and unresolved time on the critical path, which add up to the run. Would
    // catch a leg that is left out, the time of a leg that counts as waiting for the next, a chunk that is taken for the
    // message, and the legs of another packet. A packet takes 100 ns inside and 1 us on a rail.
    let goal = message("relay-explained", 4, 3, 4096);
    let explained = |keys: &str| {
        let keys = format!("relay = {{ network = \"inside\", {keys} }}\nmeasure = {{ timeline = true }}");
        let closed = result(&rails(&goal.program(), &keys)).closed().unwrap().clone();
        let path = closed.explained.unwrap().critical_path;
        let parts = [
            path.serialization_ns,
            path.propagation_ns,
            path.routers_ns,
            path.queueing_ns,
            path.host_ns,
            path.unresolved_ns,
        ];
        assert!((parts.iter().sum::<f64>() - closed.time_ns.unwrap()).abs() < 1e-9, "{keys}: {parts:?}");
        let crossed: Vec<u64> = path.classes.iter().map(|class| class.crossed).collect();
        assert_eq!(crossed.iter().sum::<u64>(), 4, "{keys}: {crossed:?}");
        parts
    };
    let of = |sending: f64| [sending, 2.0 * 100.0 + 2.0 * 1000.0, 2.0 * 100.0, 0.0, 0.0, 0.0];
    assert_eq!(explained("at = \"source\""), of(4.0 * 100.0 + 4.0 * 1000.0));
    assert_eq!(explained("at = \"destination\""), of(4.0 * 1000.0 + 4.0 * 100.0));
    // The last packet follows three inside, and then what is left of three on the rail.
    assert_eq!(explained("at = \"source\", chunk = \"1 KiB\""), of(100.0 + 4.0 * 1000.0));
    assert_eq!(explained("at = \"source\", chunk = \"2 KiB\""), of(200.0 + 4.0 * 1000.0));
    assert_eq!(explained("at = \"destination\", chunk = \"1 KiB\""), of(4.0 * 1000.0 + 100.0));
    // A relay that holds one chunk: the sender waits for room, which is no serialization of its message.
    let waits = explained("at = \"source\", chunk = \"2 KiB\", buffer = \"2 KiB\"");
    assert!(waits[3] > 0.0 && waits[5] == 0.0, "{waits:?}");
}

#[test]
fn a_relay_passes_messages_on() {
    // From endpoint 0 of node 0 to endpoint 1 of node 1: inside, then over rail 1, or over rail 0, then inside. Would
    // catch a relay that waits for the whole message though it passes pieces on, one that does not wait for a piece, and
    // the wrong side.
    let goal = message("relay", 4, 3, 4096);
    let time = |keys: &str| end_ns(&rails(&goal.program(), &format!("relay = {{ network = \"inside\", {keys} }}")));
    let (inside, rail) = (|packets: f64| 300.0 + 100.0 * packets, |packets: f64| 2100.0 + 1000.0 * packets);
    assert_eq!(time("at = \"source\""), inside(4.0) + rail(4.0));
    assert_eq!(time("at = \"destination\""), rail(4.0) + inside(4.0));
    // The rail is slower: behind the first piece it is never idle.
    assert_eq!(time("at = \"source\", chunk = \"1 KiB\""), inside(1.0) + rail(4.0));
    assert_eq!(time("at = \"source\", chunk = \"2 KiB\""), inside(2.0) + rail(4.0));
    // Behind the rail, the last piece goes on alone.
    assert_eq!(time("at = \"destination\", chunk = \"1 KiB\""), rail(4.0) + inside(1.0));
}

#[test]
fn ranks_that_no_way_joins_are_refused() {
    // Would catch a message that is lost, and a run that ends in an error of the program.
    let goal = message("lost", 4, 3, 4096);
    let error = build(&rails(&goal.program(), "")).unwrap_err().to_string();
    assert!(error.contains("no network joins") && error.contains("relay"), "{error}");
}

/// Nodes of four endpoints, with open traffic on one of two networks.
fn open(network: &str, nodes: &str) -> String {
    format!(
        r#"
        node = {{ endpoints = 4 }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
        measure = {{ max_time = "200 us" }}
        [[network]]
        name = "inside"
        topology = "single-switch:4"
        link = {{ bandwidth = "81.92 Gb/s", delay = "100 ns" }}
        [[network]]
        name = "tree"
        topology = "{network}"
        link = {{ bandwidth = "8.192 Gb/s", delay = "1 us" }}
        [[job]]
        name = "only"
        nodes = "{nodes}"
        workload = {{ kind = "traffic", packet_size = "1 KiB", load = 0.5, pattern = "random-permutation" }}
        "#
    )
}

#[test]
fn open_traffic_takes_the_first_network_that_joins_its_endpoints() {
    // Load 1 fills the ports of that network. Would catch traffic on the other network, on both, or at the rate of the
    // other network's links.
    for (nodes, used, idle) in [("0-3", "inside", "tree"), ("0-15", "tree", "inside")] {
        let text = open("fat-tree:k=4,n=2", nodes);
        let found = result(&text);
        let class = |name: &str| {
            let found = found.class_utilization.iter().find(|own| own.class == name);
            found.map(|own| (own.mean * f64::from(own.channels), own.channels))
        };
        let senders = if nodes == "0-3" { 4.0 } else { 16.0 };
        let (sum, channels) = class(&format!("{used}.injection")).unwrap();
        assert_eq!(channels, 16);
        assert!((sum / senders - 0.5).abs() < 0.05, "{sum}");
        assert!(class(&format!("{idle}.injection")).is_none_or(|(sum, _)| sum == 0.0));
        let loads = analyze(&build(&text).unwrap()).unwrap();
        assert!((loads.throughput_bound - 1.0).abs() < 1e-9);
        let used = loads.class_loads.iter().filter(|own| own.max > 0.0).map(|own| own.class.clone());
        assert!(
            used.clone()
                .all(|class| class.starts_with(&format!("{}.", if nodes == "0-3" { "inside" } else { "tree" })))
        );
    }
}

/// Returns the largest and mean load of each class of channels that carries traffic, without its network's name, and
/// the bound on the load.
fn loads_of(text: &str) -> (Vec<(String, f64, f64)>, f64) {
    let found = analyze(&build(text).unwrap()).unwrap();
    let used = found.class_loads.iter().filter(|own| own.max > 0.0);
    let name = |class: &str| class.rsplit('.').next().unwrap_or_default().to_owned();
    let sum = |own: &sim::ClassLoads| own.mean * f64::from(own.channels);
    (used.map(|own| (name(&own.class), own.max, sum(own))).collect(), found.throughput_bound)
}

#[test]
fn an_island_of_several_has_the_loads_of_its_network_alone() {
    // Would catch loads of multicasts or of credits that are followed in the first island of the first network, and a
    // single named network that is taken for a network without islands.
    let traffic = "{ kind = \"traffic\", packet_size = \"1 KiB\", load = 0.5, pattern = \"random-permutation\" }";
    let multicast = r#"{ kind = "collective", operation = "multicast", collectives = "hardware", packet_size = "1 KiB",
        fanout = { mean = 2, law = "uniform" }, load = 0.1 }"#;
    let all = |text: &str, nodes: &str| {
        let text = text.replace("ROUTER", "router = { kind = \"output-queued\", buffer = \"2 packets\" }");
        text + &format!("[[job]]\nname = \"only\"\nnodes = \"{nodes}\"\nworkload = WORKLOAD\n")
    };
    let inside = "[[network]]\nname = \"inside\"\ntopology = \"single-switch:4\"\nlink = { bandwidth = \"80 Gb/s\", delay = \"1 us\" }\n";
    let tree = "[[network]]\nname = \"tree\"\ntopology = \"fat-tree:k=4,n=2\"\nlink = { bandwidth = \"8 Gb/s\", delay = \"1 us\" }\n";
    let node = "ROUTER\nnode = { endpoints = 4, count = 4 }\n";
    let whole = |topology: &str, bandwidth: &str| {
        format!("ROUTER\ntopology = \"{topology}\"\nlink = {{ bandwidth = \"{bandwidth}\", delay = \"1 us\" }}\n")
    };
    for workload in [traffic, multicast] {
        let loads = |text: &str, nodes: &str| loads_of(&all(text, nodes).replace("WORKLOAD", workload));
        let alone = loads(&whole("single-switch:4", "80 Gb/s"), "0-3");
        assert_eq!(loads(&format!("{node}{inside}"), "4-7"), alone);
        assert_eq!(loads(&format!("{node}{inside}{tree}"), "4-7"), alone);
        let alone = loads(&whole("fat-tree:k=4,n=2", "8 Gb/s"), "0-15");
        assert_eq!(loads(&format!("{node}{inside}{tree}"), "0-15"), alone);
    }
}

#[test]
fn several_networks_give_the_same_bytes_for_any_division() {
    // Would catch a result that depends on the partition of an endpoint, of a router or of a relay.
    let goal = ProgramFile::goal("all", &{
        let ranks = 16;
        let rank = |own: u32| {
            let sends: String =
                (0..ranks).filter(|&to| to != own).map(|to| format!("send 5000b to {to} tag 0\n")).collect();
            let receives: String =
                (0..ranks).filter(|&from| from != own).map(|from| format!("recv 5000b from {from} tag 0\n")).collect();
            format!("rank {own} {{\n{sends}{receives}}}\n")
        };
        format!("num_ranks {ranks}\n{}", (0..ranks).map(rank).collect::<String>())
    });
    for relay in ["at = \"source\", chunk = \"2 KiB\", buffer = \"4 KiB\"", "at = \"destination\""] {
        let text = format!(
            r#"
            node = {{ endpoints = 4 }}
            router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
            workload = {{ kind = "program", packet_size = "1 KiB", program = {} }}
            relay = {{ network = "inside", {relay} }}
            [[network]]
            name = "inside"
            topology = {{ kind = "single-switch", ports = 4, planes = 2 }}
            link = {{ bandwidth = "81.92 Gb/s", delay = "100 ns" }}
            [[network]]
            name = "rail"
            topology = "leaf-spine:leaves=4,spines=2,nodes_per_leaf=2"
            endpoints = [0, 3]
            order = "by-rail"
            link = {{ bandwidth = "8.192 Gb/s", delay = "1 us" }}
            "#,
            goal.program()
        );
        assert!(check(&build(&text).unwrap()).unwrap().deadlock_free);
        let divisions = [(1, Grain::Coarse), (1, Grain::Exactly(3)), (2, Grain::Coarse), (4, Grain::Fine)];
        let digests = divisions.map(|(threads, grain)| digest_of(&text, threads, grain));
        assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{relay}: {digests:?}");
    }
}

/// A random machine of two or three networks: its experiment without workload, and its number of endpoints.
#[derive(Clone, Debug)]
struct Drawn {
    text: String,
    endpoints: u32,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let inside = prop_oneof![Just((4, "single-switch:4")), Just((2, "torus:2")), Just((4, "hyperx:2x2"))];
    let outside = prop_oneof![
        Just((16, "fat-tree:k=4,n=2")),
        Just((16, "torus:4x4")),
        Just((16, "dragonfly:p=2,a=2,h=2,g=4")),
        Just((16, "leaf-spine:leaves=4,spines=2,nodes_per_leaf=4")),
    ];
    let members = prop_oneof![Just(""), Just("endpoints = [0]"), Just("endpoints = [0, 1]")];
    let order = prop_oneof![Just("by-node"), Just("by-rail")];
    let router = prop_oneof![
        Just("output-queued"),
        Just("input-queued"),
        Just("virtual-output-queued"),
        Just("input-output-queued"),
        Just("input-crosspoint-queued"),
        Just("shared-buffer"),
    ];
    let relay = prop_oneof![
        Just("at = \"source\""),
        Just("at = \"destination\""),
        Just("at = \"source\", chunk = \"512 B\", buffer = \"1 KiB\""),
        Just("at = \"destination\", chunk = \"512 B\""),
    ];
    (inside, outside, members, order, router, relay, 1..3_u32).prop_map(
        |((per_node, inside), (all, outside), members, order, router, relay, planes)| {
            let ports = if members.is_empty() { per_node } else { members.matches(char::is_numeric).count() as u32 };
            let count = all / ports;
            let text = format!(
                r#"
                node = {{ endpoints = {per_node}, count = {count} }}
                router = {{ kind = "{router}" }}
                relay = {{ network = "inside", {relay} }}
                link = {{ bandwidth = "80 Gb/s", delay = "20 ns" }}
                [[network]]
                name = "inside"
                topology = "{inside}{}planes={planes}"
                link = {{ bandwidth = "160 Gb/s", delay = "10 ns" }}
                [[network]]
                name = "outside"
                topology = "{outside}"
                order = "{order}"
                {members}
                "#,
                if inside.contains(':') { "," } else { ":" },
            );
            Drawn { text, endpoints: per_node * count }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn random_networks_deliver_every_message(drawn in drawn(), shifts in collection::vec(1..64_u32, 1..4), bytes in 1..3000_u64) {
        // Would catch a relay that no way leads from, a message that is lost or delivered twice at a relay, a routing that
        // is taken for another network's, a packet, request or answer that is acknowledged to a node that has not sent it,
        // and a result that depends on partitions.
        let Drawn { text, endpoints } = drawn;
        let shifts: Vec<u32> = shifts.into_iter().map(|shift| shift % endpoints).filter(|&shift| shift > 0).collect();
        let rank = |own: u32| {
            let sends: String =
                shifts.iter().map(|shift| format!("send {bytes}b to {} tag {shift}\n", (own + shift) % endpoints)).collect();
            let receives = shifts.iter().map(|shift| {
                format!("recv {bytes}b from {} tag {shift}\n", (own + endpoints - shift) % endpoints)
            });
            format!("rank {own} {{\n{sends}{}}}\n", receives.collect::<String>())
        };
        let goal = format!("num_ranks {endpoints}\n{}", (0..endpoints).map(rank).collect::<String>());
        let goal = ProgramFile::goal("random", &goal);
        let pacer = match bytes % 3 {
            0 => "",
            1 => ", pacer = { kind = \"window\", window = \"300 B\" }",
            _ => ", pacer = { kind = \"window\", window = \"700 B\", ack_size = \"32 B\" }",
        };
        let nic = if bytes % 2 == 0 { "nic = { eager_limit = \"1 KiB\", eager_credits = 1 }\n" } else { "" };
        let workload = format!(
            "{nic}workload = {{ kind = \"program\", packet_size = \"256 B\", program = {}{pacer} }}\n", goal.program()
        );
        let text = workload + &text;
        let system = build(&text).unwrap();
        prop_assert!(check(&system).unwrap().deadlock_free);
        let found = result(&text);
        prop_assert!(found.closed().unwrap().time_ns.is_some());
        let digests = [(1, Grain::Coarse), (2, Grain::Exactly(3))].map(|(threads, grain)| digest_of(&text, threads, grain));
        prop_assert_eq!(&digests[0], &digests[1]);
        // All that enters a network leaves it: a leg has two ends.
        let loads = analyze(&system).unwrap();
        for name in ["inside", "outside"] {
            let sum = |class: &str| {
                let own = loads.class_loads.iter().find(|own| own.class == format!("{name}.{class}"));
                own.map_or(0.0, |own| own.mean * f64::from(own.channels))
            };
            prop_assert!((sum("injection") - sum("ejection")).abs() < 1e-9);
        }
    }
}

/// An allreduce of some packets of 1 KiB by `gpus` GPUs on `planes` switches, whose links take 100 ns for a packet.
fn island(gpus: u32, planes: u32, packets: u64) -> String {
    format!(
        r#"
        topology = {{ kind = "single-switch", ports = {gpus}, planes = {planes} }}
        link = {{ bandwidth = "81.92 Gb/s", delay = "100 ns" }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "64 packets" }}
        [workload]
        kind = "program"
        packet_size = "1 KiB"
        program = {{ kind = "collective", operation = "allreduce", algorithm = "in-switch", size = "{packets} KiB" }}
        "#
    )
}

/// Time in which a combine unit of line rate combines a packet of 1 KiB of each of some GPUs, in ns: in a cycle of 1 ns
/// it combines what all links carry in a cycle, in words of 8 B, and a packet takes whole cycles.
fn combining(gpus: u32) -> f64 {
    let words = (81.92 * f64::from(gpus) / 64.0).ceil();
    f64::from(gpus) * (128.0 / words).ceil()
}

#[test]
fn an_allreduce_in_switches_uses_every_plane() {
    // Each of n packets goes up and comes down once on a plane, and ceil(n / planes) on the fullest. The last passes a
    // link and the router (200 ns), is combined once its tail is there, is at the crossbar a cycle later (1 ns), and
    // passes a link (100 ns) in a packet's time. Would catch planes that are used in turn instead of together, a plane
    // without a tree, and a window too small for the link.
    for gpus in [2, 4, 8] {
        for planes in [1, 2, 4] {
            for packets in [1_u64, 7, 32] {
                let own = packets.div_ceil(planes.into()) as f64;
                let expected = (own + 1.0) * 100.0 + 300.0 + combining(gpus) + 1.0;
                let time = end_ns(&island(gpus, planes, packets));
                assert_eq!(time, expected, "{gpus} GPUs, {planes} planes, {packets} packets");
            }
        }
    }
}

/// Four nodes of two GPUs: two switches in each node, and two rails, each of which joins one GPU of all nodes. Groups
/// of consecutive ranks, or of ranks two apart, combine 16 KiB.
fn rails_of_gpus(size: u32, stride: u32) -> String {
    let program = format!(
        r#"{{ kind = "collective", operation = "allreduce", algorithm = "in-switch", size = "16 KiB", group_size = {size}, group_stride = {stride} }}"#
    );
    rails(&program, "")
        .replace("count = 2", "count = 4")
        .replace("topology = \"single-switch:2\"\n        order", "topology = \"single-switch:4\"\n        order")
}

#[test]
fn groups_combine_in_the_first_network_that_joins_them() {
    // Each member sends and gets equally much in its group's network, and nothing in the other. Would catch trees in the
    // other network, and loads at the wrong plane. Groups of four consecutive GPUs cross nodes and rails.
    for (size, stride, used) in [(2, 1, "inside"), (4, 2, "rail")] {
        let text = rails_of_gpus(size, stride);
        let system = build(&text).unwrap();
        assert!(check(&system).unwrap().deadlock_free);
        let found = result(&text);
        assert!(found.closed().unwrap().program.as_ref().unwrap().groups.as_ref().unwrap().groups_verified);
        let loads = analyze(&system).unwrap();
        for class in loads.class_loads.iter().filter(|own| own.max > 0.0) {
            assert!(class.class.starts_with(used), "{} in {used}", class.class);
            assert!((class.max - class.mean).abs() < 1e-12, "all members send alike: {class:?}");
        }
        let divisions = [(1, Grain::Coarse), (1, Grain::Exactly(3)), (4, Grain::Fine)];
        let digests = divisions.map(|(threads, grain)| digest_of(&text, threads, grain));
        assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{digests:?}");
    }
    let error = build(&rails_of_gpus(4, 1)).unwrap_err();
    assert_eq!(error.key, "workload.program.algorithm");
    assert!(error.message.contains("no network joins nodes 0, 3 of group 0"), "{error}");
}
