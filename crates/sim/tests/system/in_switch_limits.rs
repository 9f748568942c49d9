//! Limits of what routers have room for, of operations under way, and of small operations and streams.

use fabric::Grain;
use sim::GroupsResult;

use crate::common::{as_text, build, result, run_divided};
use crate::in_switch_values;
use crate::program::ProgramFile;

/// A 4-ary 2-tree whose 16 ranks run a program.
fn network(program: &str, in_switch: &str) -> String {
    in_switch_values::network(program, in_switch, "")
}

fn collective(operation: &str, more: &str) -> String {
    format!(r#"{{ kind = "collective", operation = "{operation}", algorithm = "in-switch", {more} }}"#)
}

/// Eight groups of two ranks eight apart, which cross the top switches: four meet at each leaf switch.
fn pairs(operation: &str, size: &str) -> String {
    collective(operation, &format!(r#"size = "{size}", group_size = 2, group_stride = 8"#))
}

/// What has been measured, and when the ranks have ended; the same for any division.
fn measured(text: &str) -> (GroupsResult, Vec<f64>) {
    let system = build(text).unwrap_or_else(|error| panic!("{text}{error}"));
    let alone = run_divided(&system, 1, Grain::Fine);
    assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&alone), "{text}");
    let closed = alone.closed().unwrap().clone();
    let groups = closed.program.unwrap().groups.unwrap();
    assert!(groups.groups_verified && closed.time_ns.is_some(), "{text}");
    (groups, closed.per_rank.into_iter().map(Option::unwrap).collect())
}

fn refused(text: &str) -> (String, String) {
    let error = build(text).unwrap_err();
    (error.key, error.message)
}

#[test]
fn a_router_combines_for_so_many_groups() {
    // Would catch a limit that is one off, one that counts trees or groups that are only copied for, a group that takes
    // room and is not served, and a group without room that is refused without its router.
    for limit in 1..=4 {
        for trees in [1, 2] {
            let keys = format!("groups_per_router = {limit}, trees_per_group = {trees}, overflow = \"software\"");
            let (found, _) = measured(&network(&pairs("allreduce", "1 KiB"), &keys));
            assert_eq!((found.groups, found.groups_in_software), (2 * limit, 8 - 2 * limit), "{keys}");
            assert_eq!(found.groups_partly_in_software, 0);
        }
    }
    let (copies, _) = measured(&network(&pairs("allgather", "1 KiB"), "groups_per_router = 1"));
    assert_eq!((copies.groups, copies.groups_in_software), (8, 0));
    let (key, message) = refused(&network(&pairs("barrier", "1 KiB"), "groups_per_router = 3"));
    assert_eq!(key, "in_switch.groups_per_router");
    assert!(message.contains("3 groups") && message.contains("router 0") && message.contains("group 3"), "{message}");
}

#[test]
fn what_is_larger_than_small_operations_is_refused_or_made_of_messages() {
    // Would catch a limit that copies have too, one that is one off, an operation that is served beyond it, and times
    // that are not those of messages, or of switches, then.
    let limit = r#"low_latency = { max_message = "1 KiB" }, overflow = "software""#;
    let ends = |operation: &str, keys: &str| {
        let closed = result(&network(operation, keys)).closed().unwrap().clone();
        closed.per_rank.into_iter().map(Option::unwrap).collect::<Vec<f64>>()
    };
    let reduction = |size| collective("allreduce", &format!(r#"size = "{size}""#));
    let (small, small_ends) = measured(&network(&reduction("1024 B"), limit));
    assert_eq!((small.groups, small.groups_in_software), (1, 0));
    assert_eq!(small_ends, ends(&reduction("1024 B"), ""));
    let (large, large_ends) = measured(&network(&reduction("1025 B"), limit));
    // Nothing is left of the group.
    assert_eq!((large.groups, large.groups_in_software, large.table_entries_max), (0, 1, 0));
    assert_eq!(large_ends, ends(&reduction("1025 B").replace("in-switch", "auto"), ""));
    let (copied, _) = measured(&network(&collective("broadcast", r#"size = "4 KiB""#), limit));
    assert_eq!((copied.groups, copied.groups_in_software), (1, 0));
    let (key, message) = refused(&network(&reduction("2 KiB"), r#"low_latency = { max_message = "1 KiB" }"#));
    assert_eq!(key, "in_switch.low_latency.max_message");
    assert!(message.contains("`allreduce` of 2 KiB") && message.contains("in_switch.streaming"), "{message}");
}

#[test]
fn a_group_may_be_served_for_its_small_operations_only() {
    // Would catch members that do not agree about which operations are messages, a group whose tree is left out with
    // its large operations, and places of groups that shift where some are not served.
    let calls = |name: &str, lines: &str| {
        let all: Vec<String> = (0..16).map(|rank| format!("rank {rank}\n{lines}")).collect();
        ProgramFile::calls(name, &format!("ranks 16\n{}", all.join("\n")))
    };
    let lines = "allreduce 64 B by in-switch\nallreduce 8 KiB by in-switch\nbarrier by in-switch\n";
    let file = calls("small-and-large", lines);
    let limit = r#"low_latency = { max_message = "1 KiB" }, overflow = "software""#;
    let (found, ends) = measured(&network(&file.program(), limit));
    assert_eq!((found.groups, found.groups_in_software, found.groups_partly_in_software), (1, 0, 1));
    let (whole, all) = measured(&network(&file.program(), ""));
    assert_eq!((whole.groups, whole.groups_partly_in_software), (1, 0));
    assert_ne!(ends, all);
    let by_messages = calls("large-by-messages", &lines.replacen("8 KiB by in-switch", "8 KiB by auto", 1));
    let (_, expected) = measured(&network(&by_messages.program(), ""));
    assert_eq!(ends, expected, "as if the large operation were written as messages");
}

#[test]
fn streams_are_of_few_groups() {
    // Would catch rights to stream that are given twice or to groups without large operations, and small operations
    // that need one.
    let keys = |limit: u32, overflow: &str| {
        format!(
            r#"low_latency = {{ max_message = "1 KiB" }}, streaming = {{ groups_per_router = {limit} }}, overflow = "{overflow}""#
        )
    };
    for limit in 1..=4 {
        let (found, _) = measured(&network(&pairs("allreduce", "4 KiB"), &keys(limit, "software")));
        assert_eq!((found.groups, found.groups_in_software), (2 * limit, 8 - 2 * limit), "{limit}");
    }
    let (small, _) = measured(&network(&pairs("allreduce", "1 KiB"), &keys(1, "refuse")));
    assert_eq!(small.groups, 8);
    let (key, message) = refused(&network(&pairs("allreduce", "4 KiB"), &keys(2, "refuse")));
    assert_eq!(key, "in_switch.streaming.groups_per_router");
    assert!(message.contains("2 groups stream through router 0") && message.contains("1 KiB"), "{message}");
}

#[test]
fn small_operations_have_packets_of_their_own() {
    // Would catch segments that streams and copies have too, and ones that are not those of all members. In packets of
    // a quarter of the size four times as many cross the network; the last of them is shorter, and so is the time.
    let found = |operation: &str, size: &str, segment: &str| {
        let keys = match segment {
            "" => String::new(),
            _ => format!(r#"low_latency = {{ segment = "{segment}", max_message = "1 KiB" }}, streaming = {{ }}"#),
        };
        let found = result(&network(&collective(operation, &format!(r#"size = "{size}""#)), &keys));
        (found.packet_hops, found.closed().unwrap().clone().time_ns.unwrap())
    };
    for operation in ["allreduce", "reduce"] {
        let (whole, quarter) = (found(operation, "1 KiB", ""), found(operation, "1 KiB", "64 B"));
        // Of a reduction results are acknowledged, by fewer packets with the larger window of smaller ones.
        let acknowledgements = if operation == "reduce" { 0.25 } else { 0.0 };
        assert!((quarter.0 as f64 / whole.0 as f64 - 4.0).abs() <= 4.0 * acknowledgements, "{whole:?} {quarter:?}");
        // The window is one of as many packets as cover the round trip with the smaller of both sizes.
        assert!(quarter.1 < whole.1, "{operation}: {quarter:?}, {whole:?}");
        // Streams have whole packets; of a reduction a larger window has fewer acknowledgements, which are waited for
        // less.
        let (streams, whole) = (found(operation, "2 KiB", "64 B"), found(operation, "2 KiB", ""));
        let is_acknowledged = operation == "reduce" && streams.0 < whole.0 && streams.1 < whole.1;
        assert!(streams == whole || is_acknowledged, "{operation}: {streams:?}, {whole:?}");
    }
    assert_eq!(found("broadcast", "1 KiB", "64 B"), found("broadcast", "1 KiB", ""), "and so have copies");
}

#[test]
fn the_default_window_does_not_hold_back_what_is_acknowledged() {
    // Would catch a window that covers the way up and down, but not acknowledgements, which members that get nothing
    // wait for. Those of a reduce-scatter, from every member, wait behind what the member sends itself.
    for (operation, most) in [("reduce", 1.01), ("reduce-scatter", 1.1), ("allreduce", 1.01)] {
        let time = |keys: &str| {
            let program = collective(operation, r#"size = "256 KiB""#);
            result(&network(&program, keys)).closed().unwrap().clone().time_ns.unwrap()
        };
        let (default, without) = (time(""), time(r#"combine = { kind = "line-rate", window = 10000 }"#));
        assert!(default <= most * without, "{operation}: {default} ns, without limits {without}");
        let narrow = time(r#"combine = { kind = "line-rate", window = 2 }"#);
        assert!(
            narrow > 1.5 * without,
            "{operation}: {narrow} ns with two packets under way, without limits {without}"
        );
    }
}

#[test]
fn operations_wait_for_those_under_way() {
    // Would catch a limit that is not handed to members, and waits that are not counted. 20 barriers are begun at once;
    // with one under way each takes the time of one alone after the one before, but for the overheads, which are paid
    // meanwhile.
    let file = |count: usize| {
        let starts = "start barrier by in-switch\n".repeat(count);
        let all: Vec<String> = (0..16).map(|rank| format!("rank {rank}\n{starts}waitall\n")).collect();
        ProgramFile::calls(&format!("barriers-{count}"), &format!("ranks 16\n{}", all.join("\n")))
    };
    let (one, many) = (file(1), file(20));
    let time = |file: &ProgramFile, keys: &str| {
        let (groups, ends) = measured(&network(&file.program(), keys));
        (ends.into_iter().fold(0.0, f64::max), groups.outstanding_waits)
    };
    let alone = time(&one, "").0;
    let (free, none) = time(&many, "");
    let (single, waits) = time(&many, "outstanding_operations = 1");
    assert_eq!((none, waits), (0, 16 * 19));
    let latency = alone - 1000.0;
    assert!((single - (1000.0 + 20.0 * latency)).abs() < 1e-3, "{single}, alone {alone}");
    assert!(free < single);
    // With k under way the rate is k over the latency, until the link's is reached.
    let (pair, _) = time(&many, "outstanding_operations = 2");
    assert!((pair - (1000.0 + 10.0 * latency)).abs() < 0.15 * pair, "{pair}, alone {alone}");
}

#[test]
fn limits_that_contradict_one_another_are_refused() {
    let program = collective("allreduce", r#"size = "1 KiB""#);
    let cases = [
        (r#"streaming = { groups_per_router = 1 }"#, "in_switch.streaming", "max_message"),
        (
            r#"low_latency = { segment = "2 KiB", max_message = "1 KiB" }"#,
            "in_switch.low_latency.segment",
            "`in_switch.low_latency.max_message`, 1 KiB",
        ),
        (
            r#"groups_per_router = 2, low_latency = { max_message = "1 KiB" }, streaming = { groups_per_router = 3 }"#,
            "in_switch.streaming.groups_per_router",
            "at most `in_switch.groups_per_router`, 2",
        ),
        (
            r#"outstanding_operations = 2, low_latency = { max_message = "1 KiB" }, streaming = { outstanding_operations = 3 }"#,
            "in_switch.streaming.outstanding_operations",
            "at most `in_switch.outstanding_operations`, 2",
        ),
    ];
    for (keys, key, part) in cases {
        let error = build(&network(&program, keys)).unwrap_err();
        assert!(error.key == key && error.message.contains(part), "{keys}: {error:?}");
    }
}
