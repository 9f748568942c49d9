//! Reductions and barriers of persistent groups that begin at a rate.

use fabric::Grain;
use proptest::prelude::*;

use crate::common::{ROUTERS, as_text, build, result, run_divided};

/// A switch with six nodes, all of one group.
fn on_switch(operation: &str, workload: &str, more: &str) -> String {
    format!(
        r#"
        seed = 4
        topology = {{ kind = "single-switch", ports = 6 }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ kind = "output-queued", delay = "90 ns" }}
        workload = {{ kind = "collective", operation = "{operation}", groups = "persistent", senders = 1, fanout = {{ mean = 5 }}, {workload} }}
        {more}
        "#
    )
}

/// The time of the same operation as a program, begun once.
fn as_program(operation: &str, algorithm: &str, size: &str, more: &str) -> f64 {
    let text = format!(
        r#"
        topology = {{ kind = "single-switch", ports = 6 }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ kind = "output-queued", delay = "90 ns" }}
        workload = {{ kind = "program", packet_size = "256 B", program = {{ kind = "collective", operation = "{operation}", algorithm = "{algorithm}", size = "{size}" }} }}
        {more}
        "#
    );
    result(&text).closed().unwrap().clone().time_ns.unwrap()
}

const NIC: &str = r#"nic = { kind = "ideal", send_overhead = "300 ns", receive_overhead = "200 ns" }"#;
const RARE: &str = r#"load = 0.001, injection = "periodic""#;
const LONG: &str = r#"measure = { warm_up = "100 us", max_time = "10 ms" }"#;

#[test]
fn an_operation_alone_takes_as_long_as_that_of_a_program() {
    // Would catch times that begin or end with the wrong member, overheads that are left out or paid twice, an
    // operation of another size, root or algorithm, and members that do not count what has come. Nothing else is under
    // way; a release waits for the next tick in each round.
    for (operation, size) in [("reduce", "1 KiB"), ("allreduce", "1 KiB"), ("barrier", "0 B")] {
        for (collectives, algorithm) in [("hardware", "in-switch"), ("software", "auto")] {
            let sized = if operation == "barrier" { String::new() } else { format!(", size = \"{size}\"") };
            let text = on_switch(
                operation,
                &format!("{RARE}{sized}, collectives = \"{collectives}\", packet_size = \"256 B\""),
                &format!("{NIC}\n{LONG}"),
            );
            let found = result(&text);
            let tick = build(&text).unwrap().network.plan.tick().0 as f64 / 1e3;
            let own = found.open().unwrap().collective.clone().unwrap();
            let time = own.operation_time_mean_ns.unwrap();
            let expected = as_program(operation, algorithm, size, NIC);
            assert!((-1e-3..=8.0 * tick).contains(&(time - expected)), "{text}{time}, and {expected} as a program");
            assert!(
                own.operations > 8 && found.open().unwrap().drained && !found.open().unwrap().saturated,
                "{text}{own:?}"
            );
            let results = if operation == "reduce" { 1 } else { 6 };
            assert_eq!(own.copies, results * own.operations);
            assert!((own.operation_time_p99_ns.unwrap() - time).abs() <= 0.02 * time);
            let is_hardware = own.groups.as_ref().map(|groups| (groups.groups, groups.groups_verified));
            assert_eq!(is_hardware, (collectives == "hardware").then_some((1, true)));
        }
    }
}

#[test]
fn the_accepted_load_is_what_may_be_under_way() {
    // Would catch an accepted load that counts members or copies, a rate that is not the load, groups that stop or wait
    // for one another before they have to, and memory that grows past saturation. With k operations under way, of
    // latency L, the rate is k/L, which is k s/L of the load, s being the time of a message. Below it all is accepted.
    let latency = as_program("allreduce", "in-switch", "256 B", "");
    for k in [1.0, 2.0] {
        let found = |load: f64| {
            result(&on_switch(
                "allreduce",
                &format!("load = {load}"),
                &format!(
                    "in_switch = {{ outstanding_operations = {k} }}\nmeasure = {{ precision = 0.02, max_time = \"2 ms\" }}"
                ),
            ))
        };
        let bound = k * 204.8 / latency;
        let over = found((1.5 * bound).min(1.0));
        assert!(
            (over.open().unwrap().accepted_load / bound - 1.0).abs() < 0.02,
            "{} of {bound}",
            over.open().unwrap().accepted_load
        );
        // Of one group, the least is that of all, in operations as in time.
        assert!(
            (over.open().unwrap().accepted_load_min.unwrap() / over.open().unwrap().accepted_load - 1.0).abs() < 0.1,
            "{:?}",
            over.open().unwrap().accepted_load_min
        );
        assert!(over.open().unwrap().saturated && !over.open().unwrap().drained);
        let under = found(0.5 * bound);
        let own = under.open().unwrap().collective.clone().unwrap();
        // Past saturation the mean is that of the operations that have ended, and grows with the run; the tail is
        // unknown.
        let of_ended = over.open().unwrap().collective.clone().unwrap();
        assert!(
            of_ended.operation_time_mean_ns > own.operation_time_mean_ns && of_ended.operation_time_p99_ns.is_none()
        );
        let half = own.operation_time_ci_ns.unwrap();
        assert!(half > 0.0 && half < 0.1 * own.operation_time_mean_ns.unwrap(), "{own:?}");
        assert!(!under.open().unwrap().saturated && under.open().unwrap().drained, "{own:?}");
        assert!(
            under.open().unwrap().accepted_load_min.unwrap() > 0.95 * under.open().unwrap().accepted_load,
            "{:?}",
            under.open().unwrap().accepted_load_min
        );
        assert!(
            (under.open().unwrap().accepted_load / (0.5 * bound) - 1.0).abs() < 0.05,
            "{} of {bound}",
            under.open().unwrap().accepted_load
        );
        assert!(own.groups.unwrap().outstanding_waits > 0);
        let expected = 2e6 / 204.8 * 0.5 * bound;
        assert!(own.operations as f64 <= expected * 1.1, "{} of {expected}", own.operations);
    }
}

#[test]
fn groups_share_the_channel_of_a_word_serial_unit_and_not_that_of_line_rate() {
    // Would catch units of line rate that send no faster than one link, and word-serial ones whose port is faster than
    // any. Eight pairs of nodes at a load of 0.2 each come to 1.6 links of results; one link shared by eight groups
    // carries 0.125 of each.
    let found = |combine: &str| {
        result(&format!(
            r#"
            seed = 4
            topology = {{ kind = "single-switch", ports = 16 }}
            link = {{ bandwidth = "100 Gb/s", delay = "20 ns" }}
            router = {{ kind = "output-queued", delay = "90 ns", buffer = "16 packets" }}
            workload = {{ kind = "collective", operation = "allreduce", groups = "persistent", senders = 8,
                         fanout = {{ mean = 1, law = "fixed" }}, load = 0.2, size = "1 KiB", injection = "periodic" }}
            in_switch = {{ combine = {combine} }}
            measure = {{ precision = 0.02, min_time = "200 us", max_time = "400 us" }}
            "#
        ))
    };
    let line_rate = found(r#"{ kind = "line-rate" }"#);
    assert!(
        !line_rate.open().unwrap().saturated && (line_rate.open().unwrap().accepted_load / 0.2 - 1.0).abs() < 0.03,
        "{}",
        line_rate.open().unwrap().accepted_load
    );
    let serial = found(r#"{ kind = "word-serial", words_per_cycle = 1000, header_cycles = 0 }"#);
    assert!(
        serial.open().unwrap().saturated && (serial.open().unwrap().accepted_load / 0.125 - 1.0).abs() < 0.01,
        "{}",
        serial.open().unwrap().accepted_load
    );
}

#[test]
fn late_members_cost_what_they_are_late() {
    // Would catch members that are late together, or all where one is, times that do not count from the begin, laws
    // with another mean, and lateness that is drawn by each member as it likes. Rarely begun, an operation ends as much
    // later as its last member comes.
    let found = |late: &str| {
        result(&on_switch("allreduce", &format!("{RARE}, {late}"), LONG)).open().unwrap().collective.clone().unwrap()
    };
    let time = |late: &str| {
        let own = found(late);
        (own.operation_time_mean_ns.unwrap(), own.last_begin_mean_ns)
    };
    let (alone, none) = time("size = \"256 B\"");
    assert_eq!(none, None);
    for members in ["", ", members = 1", ", members = 5"] {
        let (late, last) = time(&format!("late = {{ time = \"3 us\"{members} }}"));
        assert_eq!(last, Some(3000.0), "{members}");
        // The others' packets are there by then: less than the time of one, which the unit need not take after that of
        // the late member, is saved.
        assert!((2790.0..=3001.0).contains(&(late - alone)), "{members}: {late} and {alone}");
    }
    // The largest of n exponential times has n-th harmonic number times their mean; of uniform ones up to 2 t, it is 2
    // t n / (n + 1).
    let harmonic = (1..=6).map(|n| 1.0 / f64::from(n)).sum::<f64>();
    for (law, expected) in [("exponential", 3000.0 * harmonic), ("uniform", 6000.0 * 6.0 / 7.0)] {
        let text = on_switch(
            "allreduce",
            &format!("{RARE}, late = {{ time = \"3 us\", law = \"{law}\" }}"),
            r#"measure = { warm_up = "0 ns", max_time = "100 ms" }"#,
        );
        let own = result(&text).open().unwrap().collective.clone().unwrap();
        let last = own.last_begin_mean_ns.unwrap();
        assert!((last / expected - 1.0).abs() < 0.12, "{law}: {last} for {expected}, of {} operations", own.operations);
    }
}

#[test]
fn partial_sums_that_wait_for_late_members_hold_back_who_may_have_no_more() {
    // Would catch limits that late members do not feel, and operations that wait for others without a limit. At a tenth
    // of the load one member is late by 20 times the time between operations: others go on meanwhile, if they may. What
    // the late member has begun late itself leaves by its link one after the other.
    let time = |limit: &str| {
        let text = on_switch(
            "allreduce",
            r#"load = 0.1, late = { time = "40 us", members = 1, law = "exponential" }"#,
            &format!("{limit}\nmeasure = {{ warm_up = \"500 us\", max_time = \"5 ms\" }}"),
        );
        let own = result(&text).open().unwrap().collective.clone().unwrap();
        (own.operation_time_mean_ns.unwrap(), own.last_begin_mean_ns.unwrap())
    };
    let (free, last) = time("in_switch = { combine = { kind = \"line-rate\", window = 4096 } }");
    let (one, same) = time("in_switch = { combine = { kind = \"line-rate\", window = 1 } }");
    assert_eq!(last, same, "who is late does not depend on the window");
    assert!(free < last + 10_000.0 && one > free + 10_000.0, "{free} and {one} ns, the last member {last}");
}

#[test]
fn groups_are_measured_beside_other_traffic_whatever_the_threads() {
    // Would catch results that depend on the division, contributions that are lost beside unicasts, and unicasts that
    // are counted as operations.
    let text = |background: f64, operation: &str, collectives: &str| {
        format!(
            r#"
            seed = 9
            topology = {{ kind = "fat-tree", k = 4, n = 2 }}
            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
            router = {{ kind = "output-queued", delay = "90 ns" }}
            measure = {{ precision = 0.1, max_time = "300 us" }}
            [[job]]
            name = "groups"
            workload = {{ kind = "collective", operation = "{operation}", collectives = "{collectives}", groups = "persistent", senders = 4, fanout = {{ mean = 4, law = "uniform" }}, load = 0.02 }}
            [[job]]
            name = "others"
            start = "3 us"
            workload = {{ kind = "traffic", load = {background}, packet_size = "256 B" }}
            "#
        )
    };
    for (operation, collectives) in [("allreduce", "hardware"), ("reduce", "software")] {
        let time = |background: f64| {
            let system = build(&text(background, operation, collectives)).unwrap();
            let alone = run_divided(&system, 1, Grain::Fine);
            assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&alone), "{operation}");
            let own = alone.jobs[0].point.clone();
            let found = own.open().unwrap().collective.clone().unwrap();
            assert!(own.open().unwrap().drained && !own.open().unwrap().saturated, "{found:?}");
            assert!(found.groups.is_none_or(|groups| groups.groups_verified && groups.groups == 4));
            assert!(alone.jobs[1].point.open().unwrap().collective.is_none());
            found.operation_time_mean_ns.unwrap()
        };
        let (quiet, loaded) = (time(0.01), time(0.7));
        assert!(loaded > 1.05 * quiet, "{operation}: {loaded} beside others, {quiet} alone");
    }
}

#[test]
fn the_loads_of_operations_are_known_beforehand() {
    // Would catch groups that are left out, loads of all members together, and messages of software that are counted in
    // another unit. An allreduce puts a message on each member's channels, both ways; a reduction of P members by
    // messages P - 1 on the root's.
    let of = |operation: &str, collectives: &str| {
        let text = on_switch(operation, &format!("load = 0.1, collectives = \"{collectives}\""), "");
        let loads = sim::loads(&build(&text).unwrap()).unwrap().load;
        (loads.iter().copied().fold(0.0, f64::max), loads.iter().sum::<f64>())
    };
    let near = |found: (f64, f64), expected: (f64, f64)| {
        assert!(
            (found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9,
            "{found:?}, not {expected:?}"
        );
    };
    near(of("allreduce", "hardware"), (1.0, 12.0));
    near(of("reduce", "hardware"), (1.0, 6.0));
    // A binomial tree of six: the root receives three messages of five, each on one channel up and one down.
    near(of("reduce", "software"), (3.0, 10.0));
}

#[test]
fn what_does_not_go_together_is_refused_at_its_key() {
    let refused = |operation: &str, workload: &str, more: &str| {
        let error = build(&on_switch(operation, &format!("load = 0.1, {workload}"), more)).unwrap_err();
        (error.key, error.message)
    };
    let one_shot = on_switch("reduce", "load = 0.1", "").replace("\"persistent\"", "\"one-shot\"");
    assert_eq!(build(&one_shot).unwrap_err().key, "workload.groups");
    assert_eq!(refused("barrier", r#"size = "8 B""#, "").0, "workload.size");
    assert_eq!(refused("reduce", "include_self = true", "").0, "workload.include_self");
    assert_eq!(refused("multicast", r#"late = { time = "1 us" }"#, "").0, "workload.late");
    assert_eq!(refused("reduce", r#"injection = "backlogged""#, "").0, "workload.load");
    assert_eq!(refused("allreduce", r#"late = { time = "1 us", members = 7 }"#, "").0, "workload.late.members");
    assert_eq!(refused("barrier", "", r#"nic = { kind = "loggp" }"#).0, "nic.kind");
    assert_eq!(refused("barrier", "", "measure = { timeline = true }").0, "measure.timeline");
    assert_eq!(refused("allreduce", "", "measure = { messages = true }").0, "measure.messages");
    let (key, message) =
        refused("allreduce", r#"size = "8 KiB""#, r#"in_switch = { low_latency = { max_message = "4 KiB" } }"#);
    assert!(key == "in_switch.low_latency.max_message" && message.contains("8 KiB"), "{key}: {message}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_operations_end_on_every_network(
        (topology, router, operation) in (0_usize..4, 0_usize..6, 0_usize..3),
        (senders, mean, size) in (1_u32..8, 1.0_f64..5.0, 1_u32..1500),
        (window, outstanding, room) in (1_u32..5, 1_u32..4, 1_u32..4),
        (limited, late, software) in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        // Would catch groups that overlap and wait for one another in a cycle, members that lose count where they are
        // late, groups without room that are not carried out, and results that depend on the division.
        let topology = [
            r#"kind = "fat-tree", k = 2, n = 3"#,
            r#"kind = "torus", dims = [3, 3]"#,
            r#"kind = "dragonfly", h = 1"#,
            r#"kind = "mesh", dims = [4, 2]"#,
        ][topology];
        let operation = ["reduce", "allreduce", "barrier"][operation];
        let sized = if operation == "barrier" { String::new() } else { format!("size = \"{size} B\", ") };
        let limit = if limited {
            format!("groups_per_router = {room}, outstanding_operations = {outstanding}, overflow = \"software\", low_latency = {{ segment = \"100 B\" }}, ")
        } else {
            String::new()
        };
        let late = if late { "late = { time = \"2 us\", law = \"exponential\" }, " } else { "" };
        let collectives = if software { "software" } else { "hardware" };
        let text = format!(
            "topology = {{ {topology} }}\nrouter = {{ kind = \"{}\", delay = \"90 ns\" }}\n\
             link = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\n\
             in_switch = {{ {limit}combine = {{ kind = \"line-rate\", window = {window} }} }}\n\
             workload = {{ kind = \"collective\", operation = \"{operation}\", groups = \"persistent\", {sized}{late}senders = {}, \
             collectives = \"{collectives}\", fanout = {{ mean = {mean}, law = \"binomial\" }}, load = 0.01, packet_size = \"256 B\" }}\n\
             measure = {{ warm_up = \"5 us\", max_time = \"100 us\" }}",
            ROUTERS[router], senders.min(6)
        );
        let system = build(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let alone = run_divided(&system, 1, Grain::Fine);
        prop_assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&alone));
        let own = alone.open().unwrap().collective.clone().unwrap();
        prop_assert!(alone.open().unwrap().drained || alone.open().unwrap().saturated, "{}\n{:?}", text, own);
        prop_assert!(own.groups.is_none_or(|groups| groups.groups_verified));
    }
}
