//! Real elements through combine units, members that are late, and members that never come.

use fabric::Grain;
use sim::{RunError, RunOptions, run};

use crate::common::{as_text, build, result, run_divided};
use crate::program::ProgramFile;

/// A 4-ary 2-tree whose 16 ranks carry out an operation in the switches.
pub(crate) fn network(program: &str, in_switch: &str, more: &str) -> String {
    format!(
        r#"
        seed = 5
        topology = {{ kind = "fat-tree", k = 4, n = 2 }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ kind = "output-queued", delay = "90 ns" }}
        nic = {{ kind = "ideal", send_overhead = "500 ns", receive_overhead = "500 ns" }}
        in_switch = {{ {in_switch} }}
        workload = {{ kind = "program", packet_size = "256 B", program = {program} }}
        {more}
        "#
    )
}

fn collective(operation: &str) -> String {
    format!(r#"{{ kind = "collective", algorithm = "in-switch", {operation} }}"#)
}

#[test]
fn elements_of_every_type_are_combined_right() {
    // Would catch an operator of another type, an element that is lost, comes twice or is of another segment, one that
    // a unit of several leaves out, results that are not checked, and ones that depend on threads. Three operations of
    // five packets and a rest.
    let members = 16;
    let counts = [("allreduce", 6 * members), ("reduce", 6), ("reduce-scatter", members), ("barrier", members)];
    let types = ["int32", "int64", "float32", "float64"];
    let (operators, orders) = (["sum", "min", "max"], ["arrival", "ports"]);
    for (number, element) in types.into_iter().enumerate() {
        for (at, operator) in operators.into_iter().enumerate() {
            let (operation, count) = counts[(number + at) % counts.len()];
            let order = orders[(number + at) % 2];
            let units = if at == 1 {
                r#"combine = { kind = "word-serial", units = 3, window = 2 },"#
            } else {
                "trees_per_group = 2,"
            };
            let in_switch = format!(
                r#"{units} verify = true, elements = {{ operator = "{operator}", type = "{element}", order = "{order}" }}"#
            );
            let text = network(
                &collective(&format!(r#"operation = "{operation}", size = "1400 B", iterations = 3"#)),
                &in_switch,
                "",
            );
            let system = build(&text).unwrap_or_else(|error| panic!("{text}{error:?}"));
            let alone = run_divided(&system, 1, Grain::Fine);
            let groups = alone.closed().unwrap().program.as_ref().unwrap().groups.clone().unwrap();
            assert!(groups.groups_verified, "{text}");
            assert_eq!(groups.elements_checked, Some(3 * count), "{text}");
            assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&alone), "{text}");
        }
    }
}

/// What stands for the elements of all results, where some nodes compute slower than others before they contribute.
fn digest(element: &str, order: &str, units: u32, speeds: &str) -> String {
    let in_switch = format!(
        r#"combine = {{ kind = "word-serial", units = {units} }}, verify = true, elements = {{ type = "{element}", order = "{order}" }}"#
    );
    let program = collective(r#"operation = "allreduce", size = "4 KiB", compute = "10 us""#);
    let found = result(&network(&program, &in_switch, &format!("node = {{ speeds = {speeds} }}")));
    let groups = found.closed().unwrap().clone().program.unwrap().groups.unwrap();
    assert!(groups.groups_verified);
    groups.elements_digest.unwrap()
}

#[test]
fn sums_in_the_order_of_ports_are_reproducible() {
    // Would catch an order of ports that depends on who comes first (in one unit, in leaves or at their root), a digest
    // that does not depend on the bits, and an order of arrival that is none.
    let orders = ["[1.0, 0.9, 0.8, 0.7]", "[0.7, 0.8, 0.9, 1.0]", "[0.8, 1.0, 0.7, 0.9, 0.95]"];
    for units in [1, 3] {
        for element in ["float32", "float64"] {
            let digests = |order| orders.map(|speeds| digest(element, order, units, speeds));
            let (ports, arrival) = (digests("ports"), digests("arrival"));
            assert!(ports.iter().all(|own| *own == ports[0]), "{element}, {units} units: {ports:?}");
            assert!(arrival.iter().any(|own| *own != arrival[0]), "{element}, {units} units: {arrival:?}");
        }
        let whole = orders.map(|speeds| digest("int64", "arrival", units, speeds));
        assert!(whole.iter().all(|own| *own == whole[0]), "integers do not depend on the order: {whole:?}");
    }
}

#[test]
fn elements_take_no_time() {
    // Would catch elements that change what is simulated.
    let program = collective(r#"operation = "allreduce", size = "4 KiB""#);
    let time = |in_switch: &str| result(&network(&program, in_switch, "")).closed().unwrap().clone().time_ns;
    assert_eq!(time(""), time(r#"verify = true, elements = { order = "ports" }"#));
}

#[test]
fn elements_without_verification_are_refused() {
    let text = network(&collective(r#"operation = "allreduce""#), r#"elements = { type = "int32" }"#, "");
    assert_eq!(build(&text).unwrap_err().key, "in_switch.elements");
}

#[test]
fn one_late_member_costs_what_it_is_late() {
    // Would catch partial sums that are given up, or that keep the others from sending what the window allows, and a
    // result that goes on before the last contribution. Rank 6 computes 10 us longer than the others. Alone, all
    // members are done 10 us later, whatever the size and the window: what they may send meanwhile waits in the units,
    // and the last member's packets find the way free.
    for (size, window) in [("8 B", 64), ("16 KiB", 64), ("16 KiB", 2)] {
        let program = collective(&format!(r#"operation = "allreduce", size = "{size}", compute = "10 us""#));
        let in_switch = format!(r#"combine = {{ kind = "line-rate", window = {window} }}"#);
        let ends = |more: &str| {
            let closed = result(&network(&program, &in_switch, more)).closed().unwrap().clone();
            closed.per_rank.into_iter().map(Option::unwrap).fold(0.0, f64::max)
        };
        let speeds: Vec<&str> = (0..16).map(|node| if node == 6 { "0.5" } else { "1.0" }).collect();
        let (quiet, late) = (ends(""), ends(&format!("node = {{ speeds = [{}] }}", speeds.join(", "))));
        let cost = late - quiet;
        // With a window of two the others have two packets there already, which saves no more than their way.
        assert!((9_000.0..=10_000.1).contains(&cost), "{size}, window {window}: {cost} ns");
        if size == "8 B" {
            assert!(cost > 9_700.0, "{cost}");
        }
    }
}

#[test]
fn a_member_that_never_calls_is_reported() {
    // Would catch a run that goes on for ever while switches hold contributions. Rank 2 waits for a message that nobody
    // sends.
    let barrier = "barrier by in-switch";
    let calls = ProgramFile::calls(
        "never",
        &format!(
            "ranks 3\nrank 0\n{barrier}\nrank 1\n{barrier}\nrank 2\nirecv 8 B from any tag 7\nwait 0\n{barrier}\n"
        ),
    );
    for threads in [1, 2] {
        let system = build(&network(&calls.program(), "", "")).unwrap();
        let found = run(&system, &RunOptions { threads, ..RunOptions::default() }).unwrap_err();
        let RunError::Standstill { waits, .. } = &found else { panic!("{found}") };
        assert_eq!(
            waits,
            "rank 0 waits for the in-switch barrier of group 0; rank 1 waits for the in-switch barrier of group 0; rank 2 waits for a \
             message from any rank under tag 7"
        );
    }
}

#[test]
fn groups_without_room_in_tables_are_carried_out_by_messages() {
    // Would catch a group that has room and is not served, one that is served beyond the limit, members that disagree
    // about who is, and a table that counts what is not there. Eight groups of two ranks eight apart cross the top
    // switches; ranks 0 to 3 share a leaf switch.
    let program = |algorithm: &str| {
        format!(
            r#"{{ kind = "collective", algorithm = "{algorithm}", operation = "allreduce", size = "1 KiB", group_size = 2, group_stride = 8 }}"#
        )
    };
    let limited = |entries: u32, program: &str| {
        let text = network(program, &format!("table_entries = {entries}, overflow = \"software\""), "");
        let system = build(&text).unwrap();
        let alone = run_divided(&system, 1, Grain::Fine);
        assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&alone), "{entries} entries");
        let closed = alone.closed().unwrap().clone();
        assert!(closed.time_ns.is_some());
        (closed.program.unwrap().groups.unwrap(), closed.per_rank)
    };
    // Four groups meet at each leaf switch: a table of so many entries has room for as many of each four.
    for entries in 1..=4 {
        let (groups, _) = limited(entries, &program("in-switch"));
        assert_eq!((groups.groups, groups.groups_in_software), (2 * entries, 8 - 2 * entries), "{entries} entries");
        assert!(groups.groups_verified && groups.table_entries_max <= entries);
    }
    // Without the key the first group that does not fit is refused.
    let refused = build(&network(&program("in-switch"), "table_entries = 1", "")).unwrap_err();
    assert!(refused.key.starts_with("in_switch") && refused.message.contains("full"), "{refused}");
    // With room for some, times are neither those of messages nor those of switches.
    let software = result(&network(&program("auto"), "", "")).closed().unwrap().clone().per_rank;
    let (_, hardware) = limited(4, &program("in-switch"));
    let (_, mixed) = limited(1, &program("in-switch"));
    assert_ne!(mixed, hardware, "some are not served");
    assert_ne!(mixed, software, "and others are");
}

#[test]
fn packets_that_wait_for_a_unit_are_measured() {
    // Would catch waits that are counted twice where several packets wait, that go on as the last packet is combined,
    // and packets that come to a free unit and are counted. A barrier of four ranks on one switch: its packets come at
    // the same time, and the unit takes each 8 cycles of 1 us after its tail. The first is taken at once; the second to
    // the fourth wait, and the last goes after three times that.
    let text = |units: &str| {
        network(&collective(r#"operation = "barrier""#), units, "")
            .replace(r#"kind = "fat-tree", k = 4, n = 2"#, r#"kind = "single-switch", ports = 4"#)
    };
    let share = |units: &str| {
        let closed = result(&text(units)).closed().unwrap().clone();
        (closed.program.unwrap().groups.unwrap().stall_share.unwrap(), closed.time_ns.unwrap())
    };
    let control = build(&text("")).unwrap().spec.nic.host().control().0;
    // Three of the header, and one a word.
    let cycles = 3.0 + control.div_ceil(8) as f64;
    let (stalled, time) = share(r#"combine = { kind = "word-serial", cycle = "1 us" }"#);
    // While a tail comes in, the unit takes no other packet.
    let tail = control as f64 * 0.8;
    let waits = stalled * time;
    assert!((waits - (3.0 * cycles * 1000.0 + tail)).abs() < 1e-3, "{waits} ns of {time}, {cycles} cycles");
    let (fast, _) = share("");
    assert!(fast < 0.1, "{fast}");
}
