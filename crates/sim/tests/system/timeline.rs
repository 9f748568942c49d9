//! Where the time of ranks goes: closed forms to the picosecond, and parts that add up to their wholes on every
//! network.

use crate::common::{ROUTERS, build, digest, digest_of, result};
use crate::program::{PROGRAMS, ProgramFile, TORUS, experiment};
use fabric::Grain;
use sim::{BreakdownRanks, ClosedResult, CriticalPathResult, KindResult, PointResult};

const TIMELINE: &str = "measure = { timeline = true }";

/// From a sender's interface to the next router's node without the message's length, in picoseconds: links and two
/// routers.
const WIRES: u64 = 256_000;
/// Overheads of a send and of a receive, and the length of a packet of 100 bytes.
const SEND: u64 = 1_009_000;
const RECEIVE: u64 = 503_000;
const PACKET: u64 = 200_000;

const OCCUPIES: &str = "occupies = true";

#[test]
fn a_transmission_of_more_than_2_to_the_32_ticks_is_whole() {
    // Would catch a log that keeps the time of a packet in 32 bits: 4 MiB at 1 Gb/s take 33,554,432 ns, of ticks of 1
    // ps.
    let goal = ProgramFile::goal(
        "large-packet",
        "num_ranks 2\nrank 0 {\nsend 4194304b to 1\n}\nrank 1 {\nrecv 4194304b from 0\n}",
    );
    let text = format!(
        r#"
        topology = {{ kind = "single-switch", ports = 2 }}
        link = {{ bandwidth = "1 Gb/s", delay = "20003 ps" }}
        workload = {{ kind = "program", program = {}, packet_size = "4 MiB" }}
        {TIMELINE}
        "#,
        goal.program()
    );
    let path = result(&text).closed().unwrap().clone().explained.unwrap().critical_path;
    assert_eq!(of_path(&path), [0, 0, 33_554_432_000, 2 * 20_003, 90_000, 0]);
}

/// Where the time of a program goes, with keys of the network interface besides.
fn closed(name: &str, goal: &str, nic: &str) -> ClosedResult {
    let goal = ProgramFile::goal(name, goal);
    let text = experiment(TORUS, &goal.program(), TIMELINE);
    let keys =
        ["eager_limit = \"10000 B\", control_size = \"100 B\"", nic].join(if nic.is_empty() { "" } else { ", " });
    result(&text.replace("\"503 ns\" }", &format!("\"503 ns\", {keys} }}"))).closed().unwrap().clone()
}

fn ps(ns: f64) -> u64 {
    (ns * 1e3).round() as u64
}

/// What a rank does, in picoseconds: computing, overhead, late sender, late receiver, transfer, ended.
fn of_rank(closed: &ClosedResult, rank: usize) -> [u64; 6] {
    let BreakdownRanks { computing_ns, overhead_ns, late_sender_ns, late_receiver_ns, transfer_ns, ended_ns, .. } =
        &closed.explained.as_ref().unwrap().breakdown.ranks;
    [computing_ns, overhead_ns, late_sender_ns, late_receiver_ns, transfer_ns, ended_ns].map(|all| ps(all[rank]))
}

/// Computing, overhead, sending, delays of channels, pipelines and waiting on the critical path, in picoseconds.
fn of_path(path: &CriticalPathResult) -> [u64; 6] {
    let CriticalPathResult { computing_ns, overhead_ns, serialization_ns, propagation_ns, routers_ns, .. } = path;
    [*computing_ns, *overhead_ns, *serialization_ns, *propagation_ns, *routers_ns, path.queueing_ns].map(ps)
}

#[test]
fn the_two_of_a_ping_pong_wait_for_one_another() {
    // Would catch a sender that is late from the wrong time, a time that counts twice, and a path that stays on one
    // rank.
    let found = closed(
        "ping-pong",
        "num_ranks 2\nrank 0 {\nsend 100b to 1 tag 0\nrecv 100b from 1 tag 0\n}\n\
         rank 1 {\na: recv 100b from 0 tag 0\nb: send 100b to 0 tag 0\nb requires a\n}",
        "",
    );
    let network = WIRES + PACKET;
    let message = SEND + network + RECEIVE;
    assert_eq!(of_rank(&found, 0), [0, SEND + RECEIVE, message - SEND, 0, SEND + network, 0]);
    assert_eq!(of_rank(&found, 1), [0, SEND + RECEIVE, 0, 0, SEND + network, message - SEND]);
    let path = found.explained.unwrap().critical_path;
    assert_eq!(of_path(&path), [0, 2 * (SEND + RECEIVE), 2 * PACKET, 2 * 230_000, 2 * 26_000, 0]);
    assert_eq!((path.messages, path.ranks, ps(path.network_ns)), (2, 2, 2 * network));
    let classes: Vec<_> = path.classes.iter().map(|class| (&*class.class, class.crossed)).collect();
    assert_eq!(classes, [("injection", 2), ("ejection", 2), ("dim0", 2), ("dim1", 0), ("dim2", 0)]);
    assert!((path.classes[2].share - 140.0 / found.time_ns.unwrap()).abs() < 1e-12);
}

#[test]
fn a_receiver_waits_for_a_late_sender() {
    // Would catch the sender's computation taken for transfer, and a path that follows the rank that waits.
    let found = closed(
        "late-sender",
        "num_ranks 2\nrank 0 {\na: calc 30000\nb: send 100b to 1 tag 0\nb requires a\n}\nrank 1 {\nrecv 100b from 0 tag 0\n}",
        "",
    );
    let network = WIRES + PACKET;
    assert_eq!(of_rank(&found, 1), [0, RECEIVE, 30_000_000, 0, SEND + network, 0]);
    assert_eq!(of_path(&found.explained.unwrap().critical_path)[..2], [30_000_000, SEND + RECEIVE]);
}

#[test]
fn a_send_by_rendezvous_waits_for_a_late_receiver() {
    // Would catch a late receiver that is taken for transfer, overheads under a calculation that count, and a path that
    // loses the answer: 10,001 bytes ask, and are 101 packets, the last of one byte.
    let found = closed(
        "late-receiver",
        "num_ranks 2\nrank 0 {\nsend 10001b to 1 tag 0\n}\n\
         rank 1 {\na: calc 50000\nb: recv 10001b from 0 tag 0\nb requires a\n}",
        "",
    );
    let (control, posted) = (WIRES + PACKET, 50_000_000);
    let data = WIRES + 100 * PACKET + 2_000;
    assert_eq!(of_rank(&found, 0), [0, 2 * SEND + RECEIVE, 0, posted - SEND, SEND + control, data + RECEIVE]);
    assert_eq!(of_rank(&found, 1), [posted, SEND + RECEIVE, 0, 0, control + RECEIVE + SEND + data, 0]);
    let path = found.explained.unwrap().critical_path;
    assert_eq!(of_path(&path)[..2], [posted, 2 * (SEND + RECEIVE)]);
    assert_eq!((ps(path.network_ns), path.messages), (control + data, 2));
    assert_eq!(ps(path.serialization_ns), PACKET + 100 * PACKET + 2_000);
}

#[test]
fn a_calculation_hides_a_message() {
    // Would catch a rank that waits while it computes: the message has come long before the calculation ends.
    let found = closed(
        "overlap",
        "num_ranks 2\nrank 0 {\nsend 100b to 1 tag 0\ncalc 40000\n}\n\
         rank 1 {\nrecv 100b from 0 tag 0\ncalc 40000\n}",
        "",
    );
    for rank in [0, 1] {
        assert_eq!(of_rank(&found, rank), [40_000_000, 0, 0, 0, 0, 0]);
    }
    assert_eq!(of_path(&found.explained.unwrap().critical_path), [40_000_000, 0, 0, 0, 0, 0]);
}

#[test]
fn an_incast_queues_for_the_channel_of_its_root() {
    // Would catch a wait that is charged to the wrong class: senders on routers of their own meet at the root's channel
    // alone, in a switch.
    let program = r#"{ kind = "incast", message_size = "1000 B", messages = 1 }"#;
    let switch = r#"{ kind = "single-switch", ports = 9 }"#;
    let point = result(&experiment(switch, program, TIMELINE));
    let closed = point.closed().unwrap().clone();
    let path = closed.explained.unwrap().critical_path;
    let class = |name: &str| path.classes.iter().find(|class| class.class == name).unwrap();
    let (injection, ejection) = (class("injection"), class("ejection"));
    // Eight messages of ten packets follow one another: a message's own wait and its last packet are a part of that.
    assert_eq!(ps(path.serialization_ns + path.queueing_ns), 80 * PACKET);
    assert_eq!(ps(ejection.propagation_ns + injection.propagation_ns), 160_000);
    assert!(ejection.queueing_ns > 0.0 && path.computing_ns == 0.0);
}

fn is_complete(point: &PointResult, text: &str) {
    let closed = point.closed().unwrap();
    let time = ps(closed.time_ns.unwrap());
    for rank in 0..closed.per_rank.len() {
        let parts = of_rank(closed, rank);
        let noise = ps(closed.explained.as_ref().unwrap().breakdown.ranks.noise_ns[rank]);
        assert_eq!(parts.iter().sum::<u64>() + noise, time, "rank {rank}: {parts:?}\n{text}");
        assert_eq!(time - parts[5], ps(closed.per_rank[rank].unwrap()), "{text}");
    }
    let path = &closed.explained.as_ref().unwrap().critical_path;
    let [computing, overhead, rest @ ..] = of_path(path);
    let network = ps(path.network_ns);
    assert_eq!(computing + overhead + ps(path.noise_ns) + network, time, "{path:?}\n{text}");
    assert_eq!(rest.iter().sum::<u64>() + ps(path.host_ns), network, "{path:?}\n{text}");
    assert_eq!(path.unresolved_ns, 0.0, "{path:?}\n{text}");
    let timeline = &closed.explained.as_ref().unwrap().timeline;
    let steps = &timeline.path;
    assert_eq!((steps.begin_ns.first(), steps.end_ns.last()), (Some(&0.0), Some(&timeline.end_ns)), "{text}");
    for next in 1..steps.kind.len() {
        assert_eq!((steps.end_ns[next - 1], steps.to[next - 1]), (steps.begin_ns[next], steps.from[next]), "{text}");
    }
}

#[test]
fn parts_add_up_on_every_network_and_do_not_depend_on_threads() {
    // Would catch a time that belongs to nothing or to two things, a packet whose transmissions are not found, a wait
    // that is charged beyond its length, and bytes that depend on the division.
    let networks = [
        (r#"{ kind = "torus", dims = [4, 3, 2] }"#, ""),
        (r#"{ kind = "dragonfly", p = 2, a = 4, h = 2 }"#, "routing = { kind = \"ugal-l\" }"),
        (r#"{ kind = "fat-tree", k = 4, n = 3 }"#, ""),
        (r#"{ kind = "dragonfly", p = 2, a = 4, h = 2 }"#, "routing = { kind = \"valiant-node\" }"),
    ];
    let placement = "placement = { strategy = \"random\", processes_per_node = 2 }";
    for (index, program) in PROGRAMS.iter().enumerate() {
        let (topology, routing) = networks[index % networks.len()];
        let text = experiment(topology, program, &format!("{routing}\n{placement}\n{TIMELINE}"));
        let text = text.replace("\"503 ns\" }", "\"503 ns\", eager_limit = \"600 B\" }");
        let text = text.replace("kind = \"output-queued\"", &format!("kind = \"{}\"", ROUTERS[index]));
        let occupies = [
            "",
            ", occupies = true",
            ", occupies = true, progress = \"interrupt\", interrupt_cost = \"30 ns\"",
            ", occupies = true, progress = \"independent\"",
        ];
        let text = text.replace("\"600 B\" }", &format!("\"600 B\"{} }}", occupies[index % occupies.len()]));
        is_complete(&result(&text), &text);
        assert_eq!(digest_of(&text, 2, Grain::Exactly(3)), digest(&text, 1), "{text}");
    }
    // Gaps at both ends of messages, searches and registration that take time, noise, and what writes messages.
    let node = "[node.noise]\nperiod = \"5 us\"\nduration = \"400 ns\"\n";
    for (nic, node) in [
        ("kind = \"loggp\", gap = \"700 ns\", gap_per_byte = \"3 ns\", ", ""),
        ("occupies = true, progress = \"interrupt\", eager_limit = \"600 B\", ", node),
        ("eager_limit = \"600 B\", occupies = true, ", node),
    ] {
        let text = experiment(networks[0].0, PROGRAMS[0], &format!("{placement}\n{TIMELINE}"));
        let text = format!("{}{node}", text.replace("nic = { ", &format!("nic = {{ {nic}")));
        let found = result(&text);
        is_complete(&found, &text);
        let noise = found.closed().unwrap().clone().explained.unwrap().breakdown.mean.noise_ns;
        assert_eq!(noise > 0.0, !node.is_empty(), "{text}");
    }
}

#[test]
fn operations_in_switches_have_their_place_in_a_timeline() {
    // Would catch the wait of a member that receives nothing, for its interface or for what becomes of its part,
    // counted as noise, and time that belongs to nothing, or to two things. What a path spends in the switches is not
    // divided.
    let operations = ["allreduce", "reduce", "broadcast", "barrier", "allgather", "reduce-scatter"];
    let networks = [TORUS, r#"{ kind = "fat-tree", k = 4, n = 2 }"#, r#"{ kind = "dragonfly", p = 2, a = 4, h = 2 }"#];
    for (index, operation) in operations.into_iter().enumerate() {
        let size = if operation == "barrier" { "" } else { r#", size = "3000 B""# };
        let program = format!(
            r#"{{ kind = "collective", operation = "{operation}", algorithm = "in-switch", iterations = 3{size} }}"#
        );
        let placement = "placement = { strategy = \"random\", processes_per_node = 2 }";
        let text = experiment(networks[index % networks.len()], &program, &format!("{placement}\n{TIMELINE}"));
        let point = result(&text);
        let closed = point.closed().unwrap();
        let time = ps(closed.time_ns.unwrap());
        for rank in 0..closed.per_rank.len() {
            let parts = of_rank(closed, rank);
            assert_eq!(parts.iter().sum::<u64>(), time, "rank {rank}: {parts:?}\n{text}");
        }
        let path = &closed.explained.as_ref().unwrap().critical_path;
        let [computing, overhead, ..] = of_path(path);
        assert_eq!(computing + overhead + ps(path.network_ns), time, "{path:?}\n{text}");
        assert!(path.noise_ns == 0.0 && path.unresolved_ns > 0.0, "{path:?}\n{text}");
        assert_eq!(digest_of(&text, 2, Grain::Exactly(3)), digest(&text, 1), "{text}");
    }
}

#[test]
fn an_overhead_that_keeps_the_processor_delays_what_comes_after_it() {
    // Would catch a calculation whose wait for the processor belongs to nothing, overheads that a calculation hides
    // although they have the processor, and a path that loses what was before them: two sends, a calculation, and a
    // receive after it.
    let found = closed(
        "occupied",
        "num_ranks 2\nrank 0 {\nsend 100b to 1 tag 0\nsend 100b to 1 tag 1\ncalc 20000\n}\n\
         rank 1 {\nrecv 100b from 0 tag 0\nrecv 100b from 0 tag 1\ncalc 40000\n}",
        OCCUPIES,
    );
    assert_eq!(of_rank(&found, 0)[..5], [20_000_000, 2 * SEND, 0, 0, 0]);
    // Both messages wait until the calculation has ended.
    assert_eq!(of_rank(&found, 1), [40_000_000, 2 * RECEIVE, 0, 0, 0, 0]);
    assert_eq!(of_path(&found.explained.unwrap().critical_path), [40_000_000, 2 * RECEIVE, 0, 0, 0, 0]);
}

#[test]
fn an_interrupt_takes_time_from_a_calculation() {
    // Would catch interrupts that count as computing: a calculation of 40 us that two messages interrupt.
    let found = closed(
        "interrupted",
        "num_ranks 2\nrank 0 {\nsend 100b to 1 tag 0\nsend 100b to 1 tag 1\n}\n\
         rank 1 {\nrecv 100b from 0 tag 0\nrecv 100b from 0 tag 1\ncalc 40000\n}",
        "occupies = true, progress = \"interrupt\", interrupt_cost = \"40 ns\"",
    );
    let taken = 2 * (RECEIVE + 40_000);
    assert_eq!(of_rank(&found, 1), [40_000_000, taken, 0, 0, 0, 0]);
    assert_eq!(of_path(&found.explained.unwrap().critical_path)[..2], [40_000_000, taken]);
}

#[test]
fn a_timeline_changes_nothing_else() {
    // Would catch a log that changes an order, and records where none are asked for.
    let text = experiment(TORUS, PROGRAMS[0], TIMELINE);
    let mut with = result(&text);
    let KindResult::Closed(closed) = &mut with.kind else { panic!("{text}") };
    assert!(closed.explained.take().is_some());
    let mut without = result(&text.replace(TIMELINE, ""));
    without.wall_s = with.wall_s;
    assert_eq!(with, without);
}

#[test]
fn traffic_without_ranks_has_no_timeline() {
    // Would catch a key that is ignored.
    let text = r#"
        topology = { kind = "torus", dims = [4] }
        link = { bandwidth = "10 Gb/s", delay = "20 ns" }
        workload = { kind = "traffic", load = 0.2 }
        measure = { timeline = true }
    "#;
    let error = build(text).unwrap_err();
    assert_eq!(error.key, "measure.timeline");
    assert!(error.message.contains("no ranks"), "{error}");
}

#[test]
fn of_several_jobs_each_has_its_own_time() {
    // Would catch packets of one job that are taken for another's, and a start that is not the job's.
    let job = |name: &str, start: &str| {
        format!(
            "[[job]]\nname = \"{name}\"\n{start}\nworkload = {{ kind = \"program\", packet_size = \"100 B\", program = {} }}\n",
            PROGRAMS[4]
        )
    };
    let text = experiment(TORUS, PROGRAMS[4], TIMELINE);
    let text = text.lines().filter(|line| !line.contains("workload = ")).collect::<Vec<_>>().join("\n");
    let text = format!("{text}\n{}{}", job("one", ""), job("two", "start = \"7 us\""));
    let point = result(&text);
    for job in &point.jobs {
        let closed = job.point.closed().unwrap();
        let path = &closed.explained.as_ref().unwrap().critical_path;
        assert_eq!(path.unresolved_ns, 0.0);
        let all = ps(path.computing_ns + path.overhead_ns + path.network_ns);
        assert_eq!(all, ps(closed.time_ns.unwrap()), "{}", job.name);
    }
}
