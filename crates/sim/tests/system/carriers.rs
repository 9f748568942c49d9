//! Who carries collective operations out: `workload.collectives`.

use fabric::Grain;

use crate::common::{as_text, build, result, run_divided};

/// A 4-ary 2-tree whose 16 ranks carry an operation out; `nic` and `more` are keys.
fn network(operation: &str, carrier: &str, nic: &str, more: &str) -> String {
    let carrier = if carrier.is_empty() { String::new() } else { format!("collectives = \"{carrier}\",") };
    format!(
        r#"
        seed = 3
        topology = {{ kind = "fat-tree", k = 4, n = 2 }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ kind = "output-queued", delay = "90 ns" }}
        nic = {{ kind = "ideal", send_overhead = "1000 ns", receive_overhead = "700 ns", {nic} }}
        workload = {{ kind = "program", packet_size = "256 B", {carrier} program = {{ kind = "collective", {operation} }} }}
        {more}
        "#
    )
}

/// When each rank ends, in nanoseconds.
fn ends(text: &str) -> Vec<f64> {
    result(text).closed().unwrap().clone().per_rank.into_iter().map(Option::unwrap).collect()
}

const SLOW: &str = r#"collectives = { send_overhead = "5 us", receive_overhead = "3 us", combine_per_byte = "2 ns" }"#;

#[test]
fn an_interface_takes_its_time_for_each_message_and_the_rank_for_the_operation() {
    // Would catch overheads of the rank for each message, work of an interface that goes on at the same time, and a
    // begin or an end that is paid by who gives or gets nothing. A linear broadcast: the root hands over in 1000 ns;
    // its interface sends 15 messages, 5 us each; a wire later each is taken in 3 us, and the rank notified in 700 ns.
    // By software the same with the rank's overheads: as latency, at once.
    let linear = r#"operation = "broadcast", algorithm = "linear", size = "256 B""#;
    let (software, nic) = (ends(&network(linear, "software", "", "")), ends(&network(linear, "nic", SLOW, "")));
    assert_eq!(ends(&network(linear, "", "", "")), software);
    assert!(
        (nic[0] - (1000.0 + 15.0 * 5000.0)).abs() < 1e-6,
        "the root ends when its last message has been handed over: {nic:?}"
    );
    // The way of the first message alone, of software: its overheads taken off.
    let wire = software[1..].iter().copied().fold(f64::INFINITY, f64::min) - 1700.0;
    let mut others = nic[1..].to_vec();
    others.sort_by(f64::total_cmp);
    let expected = |number: usize| 1000.0 + 5000.0 * (number as f64 + 1.0) + wire + 3000.0 + 700.0;
    // Messages to another leaf switch take two channels and routers more.
    let apart = |own: f64, number: usize| own - expected(number);
    let far = 2.0 * (20.0 + 90.0);
    for (number, &own) in others.iter().enumerate() {
        let apart = apart(own, number);
        assert!(apart.abs() < 1e-6 || (apart - far).abs() < 1e-6, "message {number} {apart} ns late: {others:?}");
    }
}

#[test]
fn an_interface_combines_what_comes() {
    // Would catch bytes that are combined for free, or by the rank's processor. A linear reduction at the root: 15
    // messages come, 3 us each; each of 256 B, all combined at the end at 2 ns a byte.
    let linear = r#"operation = "reduce", algorithm = "linear", size = "256 B""#;
    let free = SLOW.replace("2 ns", "0 ns");
    let (combined, free) = (ends(&network(linear, "nic", SLOW, "")), ends(&network(linear, "nic", &free, "")));
    assert!((combined[0] - free[0] - 15.0 * 256.0 * 2.0).abs() < 1e-6, "{combined:?} {free:?}");
    assert_eq!(combined[1..], free[1..]);
}

#[test]
fn a_daemon_on_one_host_delays_a_broadcast_by_software_only() {
    // Would catch messages that a processor forwards although switches or interfaces do, and noise that nobody feels.
    // Rank 8 forwards to 12, 10 and 9, and has a daemon for the first 200 us.
    let operation = r#"operation = "broadcast", size = "256 B", algorithm = "auto", iterations = 1"#;
    let occupied = r#"occupies = true, progress = "calls""#;
    let noise = r#"node = { noise = { period = "1 ms", duration = "200 us", phase = "aligned", nodes = "8" } }"#;
    let late = |carrier: &str| {
        let (quiet, noisy) = (network(operation, carrier, occupied, ""), network(operation, carrier, occupied, noise));
        let (quiet, noisy) = (ends(&quiet), ends(&noisy));
        let others =
            |ends: &[f64]| ends.iter().enumerate().filter(|(rank, _)| *rank != 8).map(|own| *own.1).fold(0.0, f64::max);
        assert!(noisy[8] > quiet[8] + 100e3, "{carrier}: the daemon's own rank is late: {noisy:?}");
        others(&noisy) - others(&quiet)
    };
    assert!(late("software") > 100e3, "software is {} ns late", late("software"));
    assert_eq!(late("hardware"), 0.0);
    assert_eq!(late("nic"), 0.0);
}

#[test]
fn interfaces_work_while_processors_compute() {
    // Would catch messages of an operation that wait for the processor of their rank. While the operation is under way,
    // ranks compute 1 ms; with a library that works in calls only, software cannot go on before that, and an interface
    // can.
    let operation =
        r#"operation = "allreduce", size = "64 B", algorithm = "recursive-doubling", compute = "1 ms", overlap = true"#;
    let occupied = r#"occupies = true, progress = "calls""#;
    let time = |carrier: &str| ends(&network(operation, carrier, occupied, "")).into_iter().fold(0.0, f64::max);
    let (software, nic) = (time("software"), time("nic"));
    assert!(nic < 1e6 + 5000.0, "{nic}");
    assert!(software > 1e6 + 7000.0, "{software}");
}

#[test]
fn every_operation_ends_the_same_for_any_threads() {
    // Would catch an operation that stands still on interfaces, by algorithms with several messages at once, with
    // messages that ask first, with credits and on nodes of two ranks, and an order of an interface's work that depends
    // on partitions.
    let operations = [
        "broadcast",
        "reduce",
        "allreduce",
        "gather",
        "scatter",
        "allgather",
        "reduce-scatter",
        "alltoall",
        "barrier",
        "scan",
        "exscan",
    ];
    let settings = [
        ("", ""),
        (r#"eager_limit = "100 B""#, ""),
        (r#"eager_limit = "100 B", rendezvous = "read", occupies = true, progress = "interrupt""#, ""),
        (r#"eager_credits = 1, occupies = true"#, "placement = { processes_per_node = 2 }"),
    ];
    for (number, operation) in operations.into_iter().enumerate() {
        let (nic, more) = settings[number % settings.len()];
        let operation = format!(r#"operation = "{operation}", size = "600 B", iterations = 2"#);
        let text = network(&operation, "nic", nic, more);
        let system = build(&text).unwrap_or_else(|error| panic!("{text}{error:?}"));
        let alone = run_divided(&system, 1, Grain::Fine);
        assert!(alone.closed().unwrap().time_ns.is_some(), "{text}");
        assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&alone), "{text}");
    }
}

#[test]
fn hardware_is_what_in_switch_is() {
    // Would catch an operation that the switches serve and messages carry out, and one that they do not serve and that
    // is refused.
    for operation in ["broadcast", "reduce", "allreduce", "allgather", "reduce-scatter", "barrier"] {
        let named = network(&format!(r#"operation = "{operation}", algorithm = "in-switch""#), "", "", "");
        let chosen = network(&format!(r#"operation = "{operation}""#), "hardware", "", "");
        assert_eq!(ends(&named), ends(&chosen), "{operation}");
    }
    let all_to_all = r#"operation = "alltoall", size = "8 B""#;
    assert_eq!(ends(&network(all_to_all, "hardware", "", "")), ends(&network(all_to_all, "", "", "")));
}

#[test]
fn contradictions_are_refused() {
    let refused = |operation: &str, carrier: &str, nic: &str| {
        let error = build(&network(operation, carrier, nic, "")).unwrap_err();
        (error.key, error.message)
    };
    for (carrier, algorithm) in [("hardware", "ring"), ("software", "in-switch"), ("nic", "in-switch")] {
        let operation = format!(r#"operation = "allreduce", algorithm = "{algorithm}""#);
        let (key, message) = refused(&operation, carrier, "");
        assert_eq!(key, "workload.program.algorithm");
        assert!(message.contains(carrier) && message.contains(algorithm), "{message}");
    }
    let slow = r#"operation = "allreduce", reduction_time = "1 ns""#;
    assert_eq!(refused(slow, "nic", "").0, "workload.program.reduction_time");
    assert_eq!(refused(r#"operation = "allreduce""#, "software", SLOW).0, "nic.collectives");
    let halo = network("", "nic", "", "").replace(r#"kind = "collective", "#, r#"kind = "halo-2d""#);
    assert_eq!(build(&halo).unwrap_err().key, "workload.collectives");
}
