//! Applications whose multicasts and reductions switches carry out, message-driven: closed forms, programs that do the
//! same, random graphs.

use fabric::Grain;
use proptest::prelude::*;
use sim::{ClosedResult, PointResult, analyze};

use crate::common::{Held, ROUTERS, as_text, build, result, run_divided};

/// A group of task 0 and those from 1 on, as a list says it.
fn of_all(kind: &str, bytes: u64, tasks: u32) -> String {
    let members: String = (1..tasks).map(|task| format!(",{task}")).collect();
    format!("{kind},0,{bytes}{members}\n")
}

/// An application on a switch of whose times all are multiples of 100 ns: 200 B take 200 ns, a channel and the switch
/// 100 ns each.
fn on_switch(graph: &str, ports: u32, rest: &str) -> PointResult {
    result(&format!(
        "topology = {{ kind = \"single-switch\", ports = {ports} }}\nrouter = {{ kind = \"output-queued\", delay = \"100 ns\" }}\n\
         link = {{ bandwidth = \"8 Gb/s\", delay = \"100 ns\" }}\n\
         workload = {{ kind = \"application\", graph = '{graph}', packet_size = \"200 B\", {rest} }}"
    ))
}

/// The groups of switches, those without room there, and the entries of the fullest table; all of them verified.
fn groups(closed: &ClosedResult) -> (u32, u32, u32) {
    let found = closed.program.as_ref().unwrap().groups.as_ref().unwrap();
    assert!(found.groups_verified, "{found:?}");
    (found.groups, found.groups_in_software, found.table_entries_max)
}

#[test]
fn a_multicast_takes_its_senders_link_once() {
    // Would catch a copy for each node on the sender's link, a member that gets nothing, or a step that waits for
    // another. From one node to five others, 1000 B in three steps: what a task sends that receives nothing it sends at
    // once.
    let graph = Held::new("one-to-all", &of_all("multicast", 1000, 6));
    let time = |collectives: &str| {
        let rest = format!("execution = \"message-driven\", iterations = 3, time_per_load = \"0 ns\"{collectives}");
        on_switch(&graph.display().to_string(), 6, &rest).closed().unwrap().clone()
    };
    let (hardware, software) = (time(", collectives = \"hardware\""), time(""));
    assert_eq!(hardware.time_ns, Some(300.0 + 3.0 * 1000.0));
    assert_eq!(software.time_ns, Some(300.0 + 3.0 * 5.0 * 1000.0));
    assert_eq!(hardware.per_rank[1..], [hardware.time_ns; 5]);
    assert_eq!(hardware.steps.as_ref().unwrap().steps, 3);
    assert_eq!(groups(&hardware), (1, 0, 1));
    assert!(software.program.as_ref().unwrap().groups.is_none());
    assert_eq!(software, time(", collectives = \"software\""));
    let counts = [&hardware, &software].map(|closed| closed.program.as_ref().unwrap().program_messages);
    assert_eq!(counts, [0, 15]);
}

#[test]
fn computation_goes_on_while_a_multicast_is_under_way() {
    // Would catch a member that computes before it has what it needs, a root that waits for its members, and an
    // operation that blocks its rank: the root computes for 700 ns, and then its members, whose next step's data are
    // there by then.
    let graph = Held::new("computing", &of_all("multicast", 200, 4));
    let rest = "execution = \"message-driven\", iterations = 4, time_per_load = \"700 ns\", collectives = \"hardware\"";
    let closed = on_switch(&graph.display().to_string(), 4, rest).closed().unwrap().clone();
    assert_eq!(closed.time_ns, Some(700.0 + 500.0 + 4.0 * 700.0));
    assert_eq!(closed.per_rank[0], Some(4.0 * 700.0));
}

/// A machine with an application, or with a program.
fn network(topology: &str, workload: &str, more: &str) -> String {
    format!(
        r#"
        seed = 7
        topology = {{ {topology} }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ kind = "output-queued", delay = "90 ns" }}
        nic = {{ kind = "ideal", send_overhead = "1300 ns", receive_overhead = "1300 ns" }}
        workload = {{ packet_size = "256 B", {workload} }}
        {more}
        "#
    )
}

const DRIVEN: &str = r#"kind = "application", execution = "message-driven", time_per_load = "0 ns""#;

#[test]
fn what_tasks_do_takes_as_long_as_what_a_program_does() {
    // Would catch an operation of another size or root than the group's, a contribution that waits for others, and one
    // that is paid twice. The closed forms of programs' operations then hold for groups too: of one segment and of six,
    // with one combine unit and with three.
    let units = r#"in_switch = { combine = { kind = "word-serial", units = 3 } }"#;
    for (topology, more) in [(r#"kind = "fat-tree", k = 4, n = 2"#, ""), (r#"kind = "fat-tree", k = 2, n = 4"#, units)]
    {
        for (kind, operation) in [("reduction", "reduce"), ("multicast", "broadcast")] {
            for bytes in [8, 256, 1400] {
                let graph = Held::new(&format!("{kind}-{bytes}"), &of_all(kind, bytes, 16));
                let tasks = format!("{DRIVEN}, collectives = \"hardware\", graph = '{}'", graph.display());
                let program = format!(
                    r#"kind = "program", program = {{ kind = "collective", operation = "{operation}", algorithm = "in-switch", size = "{bytes} B" }}"#
                );
                let closed = |workload: &str| result(&network(topology, workload, more)).closed().unwrap().clone();
                let (tasks, program) = (closed(&tasks), closed(&program));
                assert_eq!(tasks.time_ns, program.time_ns, "{topology}, {operation} of {bytes} B");
                assert_eq!(tasks.per_rank, program.per_rank, "{topology}, {operation} of {bytes} B");
                let [tasks, program] = [tasks, program].map(|closed| closed.program.unwrap().groups);
                assert_eq!(tasks, program, "{topology}, {operation} of {bytes} B");
            }
        }
    }
}

#[test]
fn generated_applications_are_carried_out_right_on_every_network() {
    // Would catch trees or units that an application's groups break, contributions that are lost, steps that are taken
    // for one another, and results that depend on threads or partitions. Windows of two packets; elements that are
    // computed again.
    let cases = [
        (r#"kind = "torus", dims = [4, 3]"#, "namd:3x3x3,multicast=true,patch_load=0.3"),
        (
            r#"kind = "fat-tree", k = 2, n = 4"#,
            "openatom:water-32,states=8,planes=4,real_planes=6,block=2,one_way=true",
        ),
        (r#"kind = "dragonfly", h = 1"#, "namd:3x3x3,multicast=true"),
    ];
    for (number, (topology, graph)) in cases.into_iter().enumerate() {
        let text = |collectives: &str, router: &str| {
            format!(
                "topology = {{ {topology} }}\nrouter = {{ kind = \"{router}\", delay = \"13 ns\" }}\n\
                 link = {{ bandwidth = \"4 Gb/s\", delay = \"70 ns\" }}\n\
                 in_switch = {{ verify = true, combine = {{ kind = \"line-rate\", window = 2 }} }}\n\
                 nic = {{ send_overhead = \"109 ns\", receive_overhead = \"53 ns\", eager_limit = \"600 B\" }}\n\
                 workload = {{ kind = \"application\", graph = \"{graph}\", packet_size = \"500 B\", shuffle = 4, \
                 time_per_load = \"3 us\", execution = \"message-driven\", iterations = 3{collectives} }}\n\
                 placement = {{ strategy = \"greedy\" }}"
            )
        };
        for router in [ROUTERS[number], ROUTERS[number + 3]] {
            let hardware = text(", collectives = \"hardware\"", router);
            let system = build(&hardware).unwrap_or_else(|error| panic!("{hardware}\n{error}"));
            let alone = run_divided(&system, 1, Grain::Fine);
            assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&alone), "{hardware}");
            let closed = alone.closed().unwrap().clone();
            assert!(closed.time_ns.is_some() && groups(&closed).0 > 9, "{hardware}\n{:?}", groups(&closed));
            assert!(closed.program.unwrap().groups.unwrap().elements_checked.unwrap() > 0, "{hardware}");
            let software = result(&text("", router)).closed().unwrap().clone();
            assert_eq!(closed.steps.map(|steps| steps.steps), software.steps.map(|steps| steps.steps));
            assert_eq!(closed.application, software.application);
        }
    }
}

/// An edge: from, to, bytes, messages.
type Edge = (u32, u32, u64, u32);

/// A group: whether it reduces, its root, its members, its bytes.
type DrawnGroup = (bool, u32, Vec<u32>, u64);

/// A phase as a list.
fn phase(tasks: u32, edges: &[Edge], groups: &[DrawnGroup]) -> String {
    let mut text = format!("task,{}\n", tasks - 1);
    for (from, to, bytes, messages) in edges.iter().filter(|edge| edge.0 != edge.1) {
        text += &format!("{from},{to},{bytes},{messages}\n");
    }
    for (reduces, root, members, bytes) in groups {
        let mut members: Vec<u32> = members.iter().copied().filter(|member| member != root).collect();
        members.sort_unstable();
        members.dedup();
        if !members.is_empty() {
            let kind = if *reduces { "reduction" } else { "multicast" };
            let members: String = members.iter().map(|member| format!(",{member}")).collect();
            text += &format!("{kind},{root},{bytes}{members}\n");
        }
    }
    text
}

/// Phases of tasks.
fn phases(tasks: u32) -> impl Strategy<Value = Vec<(Vec<Edge>, Vec<DrawnGroup>)>> {
    let edges = prop::collection::vec((0..tasks, 0..tasks, 1_u64..900, 1_u32..4), 0..12);
    let members = prop::collection::vec(0..tasks, 1..20);
    let groups = prop::collection::vec((any::<bool>(), 0..tasks, members, 1_u64..1500), 0..12);
    prop::collection::vec((edges, groups), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_end_in_hardware_on_every_topology(
        phases in phases(29),
        (topology, router, entries) in (0_usize..3, 0_usize..6, 1_u32..6),
        (iterations, window, load, limit) in (1_u32..4, 1_u32..4, 0_u32..3, 0_u32..4),
        (outstanding, segment) in (1_u32..3, 32_u32..300),
    ) {
        // Would catch groups that wait for one another in a cycle, a member that posts operations in another order than
        // others, a root without tasks of its group on its rank, and a table that is full for some. Two or three tasks
        // on a node, computing or not.
        let topology = [
            r#"kind = "fat-tree", k = 2, n = 3"#,
            r#"kind = "torus", dims = [3, 3]"#,
            r#"kind = "dragonfly", h = 1"#,
        ][topology];
        let name = |number: usize| format!("drawn-{number}");
        let files: Vec<Held> =
            phases.iter().enumerate().map(|(number, own)| Held::new(&name(number), &phase(29, &own.0, &own.1))).collect();
        let others: Vec<String> = files[1..].iter().map(|file| format!("'{}'", file.display())).collect();
        let small = format!("low_latency = {{ segment = \"{segment} B\", max_message = \"700 B\" }}, overflow = \"software\"");
        let limit = match limit {
            0 => String::new(),
            1 => format!("table_entries = {entries}, overflow = \"software\", "),
            2 => format!("groups_per_router = {entries}, outstanding_operations = {outstanding}, {small}, "),
            _ => format!("{small}, streaming = {{ groups_per_router = {entries}, outstanding_operations = {outstanding} }}, "),
        };
        let text = format!(
            "topology = {{ {topology} }}\nrouter = {{ kind = \"{}\", delay = \"90 ns\" }}\n\
             link = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\n\
             in_switch = {{ {limit}combine = {{ kind = \"line-rate\", window = {window} }} }}\n\
             workload = {{ kind = \"application\", graph = '{}', next_graphs = [{}], packet_size = \"256 B\", collectives = \"hardware\", \
             execution = \"message-driven\", iterations = {iterations}, time_per_load = \"{load} us\" }}\n\
             placement = {{ processes_per_node = 5 }}",
            ROUTERS[router], files[0].display(), others.join(", ")
        );
        let system = build(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let alone = run_divided(&system, 1, Grain::Fine);
        prop_assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&alone));
        let closed = alone.closed().unwrap().clone();
        prop_assert_eq!(closed.steps.map(|steps| steps.steps), Some(iterations));
        prop_assert!(closed.program.unwrap().groups.is_none_or(|found| found.groups_verified));
    }
}

#[test]
fn groups_without_room_in_tables_send_messages() {
    // Would catch a group that is carried out by nobody or by both, and one that is served although there is no room.
    // Two ranks of a program take the one entry of the switch's table: an application beside them is that of messages
    // to the picosecond; alone it has room for one.
    let list = of_all("multicast", 700, 6) + &of_all("reduction", 300, 6) + "multicast,3,900,1,2\n2,4,100\n";
    let graph = Held::new("overflow", &list);
    let application = |collectives: &str| {
        format!(
            "kind = \"application\", execution = \"message-driven\", iterations = 3, time_per_load = \"100 ns\", {collectives} graph = '{}'",
            graph.display()
        )
    };
    let text = |collectives: &str, overflow: &str| {
        format!(
            r#"
            topology = {{ kind = "single-switch", ports = 8 }}
            link = {{ bandwidth = "8 Gb/s", delay = "100 ns" }}
            router = {{ kind = "output-queued", delay = "100 ns" }}
            in_switch = {{ {overflow} }}
            [[job]]
            name = "sum"
            node_count = 2
            workload = {{ kind = "program", packet_size = "256 B", program = {{ kind = "collective", operation = "allreduce", algorithm = "in-switch", size = "1 KiB" }} }}
            [[job]]
            name = "tasks"
            node_count = 6
            workload = {{ packet_size = "256 B", {} }}
            "#,
            application(collectives)
        )
    };
    let limited = "table_entries = 1, overflow = \"software\"";
    let closed = |collectives: &str, overflow: &str| {
        let found = result(&text(collectives, overflow));
        found.jobs[1].point.closed().unwrap().clone()
    };
    let (none, software) = (closed("collectives = \"hardware\",", limited), closed("", limited));
    assert_eq!(groups(&none), (0, 3, 1));
    assert_eq!((none.time_ns, &none.per_rank, &none.steps), (software.time_ns, &software.per_rank, &software.steps));
    let all = closed("collectives = \"hardware\",", "");
    assert!(all.time_ns < software.time_ns && groups(&all).0 == 3 && groups(&all).1 == 0);
    // Alone.
    let alone = network(r#"kind = "single-switch", ports = 6"#, &application("collectives = \"hardware\","), "");
    let alone = result(&format!("{alone}in_switch = {{ {limited} }}")).closed().unwrap().clone();
    assert_eq!(groups(&alone), (1, 2, 1));
    // Without the key they are refused.
    let refused = build(&text("collectives = \"hardware\",", "table_entries = 1")).unwrap_err();
    assert!(refused.key.starts_with("in_switch") && refused.message.contains("full"), "{refused}");
}

#[test]
fn what_cannot_be_done_in_switches_is_refused_at_its_key() {
    // Would catch a group that is carried out by something else in silence.
    let graph = Held::new("refused", &of_all("multicast", 700, 4));
    let application = |collectives: &str, more: &str| {
        format!("{DRIVEN}, collectives = \"{collectives}\", graph = '{}'{more}", graph.display())
    };
    let switch = r#"kind = "single-switch", ports = 4"#;
    let refused = |text: &str| {
        let error = build(text).map(|_| ()).unwrap_err();
        (error.key, error.message)
    };
    let (key, message) = refused(&network(switch, &application("nic", ""), ""));
    assert!(key == "workload.collectives" && message.contains("\"hardware\""), "{key}: {message}");
    let paced = application("hardware", ", pacer = { kind = \"window\", window = \"1 KiB\" }");
    assert_eq!(refused(&network(switch, &paced, "")).0, "workload.pacer");
    let crosspoints = network(switch, &application("hardware", ""), "");
    let crosspoints = crosspoints.replace("delay = \"90 ns\"", "credits = \"per-crosspoint\"");
    assert_eq!(refused(&crosspoints).0, "router.credits");
    // Operations in the switches are loads: of a graph with groups alone, the channels to nodes carry what these get.
    let found = analyze(&build(&network(switch, &application("hardware", ""), "")).unwrap()).unwrap();
    assert!(found.throughput_bound.is_finite() && !found.binding_channels.is_empty());
    // Where all members are on one node, nothing is in the switches.
    let one = network(switch, &application("hardware", ""), "placement = { processes_per_node = 4 }");
    let found = result(&one).closed().unwrap().clone();
    assert!(found.time_ns.is_some() && found.program.unwrap().groups.is_none());
}
