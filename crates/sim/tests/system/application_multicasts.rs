//! Bulk-synchronous applications whose multicasts routers copy: closed forms, exact loads, the same bytes as by
//! messages.

use fabric::Grain;
use sim::{ClosedResult, PointResult, analyze};

use crate::common::{Held, ROUTERS, as_text, build, result, run_divided};

/// A list of 1000 B from task 0 to five others.
fn one_to_all(name: &str) -> Held {
    Held::new(name, "multicast,0,1000,1,2,3,4,5\n")
}

/// An application on a switch of whose times all are multiples of 100 ns: 200 B take 200 ns, a channel and the switch
/// 100 ns each.
fn on_switch(graph: &Held, rest: &str) -> String {
    format!(
        "topology = {{ kind = \"single-switch\", ports = 6 }}\nrouter = {{ kind = \"output-queued\", delay = \"100 ns\" }}\n\
         link = {{ bandwidth = \"8 Gb/s\", delay = \"100 ns\" }}\n\
         workload = {{ kind = \"application\", graph = '{}', packet_size = \"200 B\"{rest} }}",
        graph.display()
    )
}

const HARDWARE: &str = ", collectives = \"hardware\"";

#[test]
fn a_multicast_takes_its_senders_link_once() {
    // Would catch a copy for each node on the sender's link, a phase that ends with the first copies, and bytes that
    // are counted once.
    let graph = one_to_all("exact");
    let [hardware, software] = [HARDWARE, ""].map(|collectives| result(&on_switch(&graph, collectives)));
    let closed = |point: &PointResult| point.closed().unwrap().clone();
    assert_eq!(closed(&hardware).time_ns, Some(300.0 + 1000.0));
    assert_eq!(closed(&software).time_ns, Some(300.0 + 5.0 * 1000.0));
    for point in [&hardware, &software] {
        assert_eq!((point.packets, closed(point).phases[0].bytes), (25, 5000));
    }
    // Of what the sender's link could have sent: 1000 B in 1300 ns, and five times as much in 5300 ns.
    assert_eq!(closed(&hardware).phases[0].throughput, Some(1000.0 / 1300.0));
    assert_eq!(closed(&software).phases[0].throughput, Some(5000.0 / 5300.0));
    assert!(
        (hardware.closed().unwrap().throughput.unwrap() - 1000.0 / 1300.0).abs() < 1e-12,
        "{}",
        hardware.closed().unwrap().throughput.unwrap()
    );
    // A packet passes the switch once for each of its nodes.
    assert_eq!((hardware.packet_hops, software.packet_hops), (25, 25));
    let bound = |collectives| analyze(&build(&on_switch(&graph, collectives)).unwrap()).unwrap();
    assert!(bound(HARDWARE).exact && bound(HARDWARE).throughput_bound == 1.0);
}

/// NAMD's patches, on a network; `more` are keys of the workload.
fn namd(topology: &str, router: &str, more: &str) -> String {
    format!(
        r#"
        seed = 5
        topology = {{ {topology} }}
        link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
        router = {{ kind = "{router}" }}
        workload = {{ kind = "application", graph = "namd:3x3x3,multicast=true,atoms=1500", packet_size = "256 B", shuffle = 2{more} }}
        placement = {{ strategy = "greedy" }}
        measure = {{ messages = true }}
        "#
    )
}

#[test]
fn channels_carry_what_the_analysis_expects() {
    // Would catch a copy too many on a channel, loads that count copies for each node, and shares of another sender
    // than the one that sends most. In dimension order every packet has one path.
    let text = namd(r#"kind = "mesh", dims = [4, 3]"#, "output-queued", HARDWARE);
    let system = build(&text).unwrap();
    let (expected, found) = (analyze(&system).unwrap(), result(&text));
    assert!(expected.exact);
    let time = found.closed().unwrap().clone().time_ns.unwrap();
    let phases: Vec<_> = (0..2).map(|phase| system.jobs[0].workload.flows(phase)).collect();
    let sent = |node: usize| phases.iter().flat_map(|flows| &flows[node]).map(|flow| flow.left).sum::<u64>();
    let most = (0..12).map(sent).max().unwrap() as f64 * 0.8;
    let mut used = 0;
    for (id, (share, utilization)) in expected.channel_loads.iter().zip(&found.channel_utilization).enumerate() {
        assert!((share * most - utilization * time).abs() < 1e-6 * time, "channel {id}: {utilization} for {share}");
        used += usize::from(*share > 0.0);
    }
    assert!(used > 12 + 12 + 20, "{used}");
}

#[test]
fn copies_arrive_as_messages_do_on_every_topology_and_router() {
    // Would catch copies that are lost, a phase that ends before its last copy, reductions that are changed, sets that
    // are confused between threads, planes or beside other jobs.
    let topologies = [
        r#"kind = "fat-tree", k = 4, n = 2"#,
        r#"kind = "torus", dims = [4, 3], planes = 2"#,
        r#"kind = "dragonfly", h = 1"#,
    ];
    for (number, router) in ROUTERS.into_iter().enumerate() {
        let topology = topologies[number % topologies.len()];
        let text = namd(topology, router, HARDWARE);
        let system = build(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let alone = run_divided(&system, 1, Grain::Fine);
        assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&alone), "{text}");
        let software = result(&namd(topology, router, ""));
        assert_eq!(alone.packets, software.packets, "{text}");
        let count = |point: &PointResult| point.messages.as_ref().unwrap().figures.count;
        assert_eq!(count(&alone), count(&software), "{text}");
        let closed = |point: &PointResult| -> ClosedResult { point.closed().unwrap().clone() };
        let [hardware, software] = [closed(&alone), closed(&software)];
        let bytes = |closed: &ClosedResult| closed.phases.iter().map(|phase| phase.bytes).collect::<Vec<_>>();
        assert_eq!(bytes(&hardware), bytes(&software), "{text}");
        assert!(hardware.phases[0].time_ns < software.phases[0].time_ns, "{text}");
        assert_eq!(hardware.phases[1].time_ns, software.phases[1].time_ns, "{text}");
        assert_eq!(hardware.application, software.application, "{text}");
    }
}

#[test]
fn copies_beside_other_jobs_arrive() {
    // Would catch a phase that begins before the one before has ended, and a head whose nodes are lost as another job's
    // packet goes first.
    let workload = |collectives: &str| {
        format!(
            r#"
            topology = {{ kind = "torus", dims = [4, 4] }}
            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
            [[job]]
            name = "tasks"
            workload = {{ kind = "application", graph = "namd:3x3x3,multicast=true,atoms=1500"{collectives} }}
            placement = {{ processes_per_node = 32 }}
            [[job]]
            name = "others"
            background = true
            workload = {{ kind = "traffic", load = 0.1 }}
            "#
        )
    };
    let text = workload(HARDWARE);
    let system = build(&text).unwrap();
    let alone = run_divided(&system, 1, Grain::Fine);
    assert_eq!(as_text(&run_divided(&system, 2, Grain::Exactly(3))), as_text(&alone));
    let software = result(&workload(""));
    let bytes = |point: &PointResult| {
        let closed = point.jobs[0].point.closed().unwrap();
        assert!(closed.time_ns.is_some());
        closed.phases.iter().map(|phase| phase.bytes).collect::<Vec<_>>()
    };
    assert_eq!(bytes(&alone), bytes(&software));
}

#[test]
fn what_routers_cannot_copy_is_refused_at_its_key() {
    // Would catch copies that are made by nobody, or by the sender in silence.
    let graph = one_to_all("refused");
    let key = |text: &str| build(text).map(|_| String::new()).unwrap_or_else(|error| error.key);
    assert_eq!(key(&on_switch(&graph, ", collectives = \"nic\"")), "workload.collectives");
    let paced = format!("{HARDWARE}, pacer = {{ kind = \"window\", window = \"1 KiB\" }}");
    assert_eq!(key(&on_switch(&graph, &paced)), "workload.pacer");
    let crosspoints =
        on_switch(&graph, HARDWARE).replace("delay = \"100 ns\" }\nlink", "credits = \"per-crosspoint\" }\nlink");
    assert_eq!(key(&crosspoints), "router.credits");
    for execution in ["bulk-synchronous", "message-driven"] {
        let flat = format!(
            "topology = {{ kind = \"flat\", nodes = 6 }}\nlink = {{ bandwidth = \"8 Gb/s\", delay = \"100 ns\" }}\n\
             workload = {{ kind = \"application\", graph = '{}', execution = \"{execution}\"{HARDWARE} }}",
            graph.display()
        );
        assert_eq!(key(&flat), "workload.collectives");
    }
    // Without multicasts there is nothing to copy.
    let plain = on_switch(&graph, HARDWARE).replace(&graph.display().to_string(), "stencil:6");
    assert_eq!(result(&plain).closed(), result(&plain.replace(HARDWARE, "")).closed());
}
