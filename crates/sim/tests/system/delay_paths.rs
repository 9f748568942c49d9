//! The delay model on topologies with routers: closed forms, the packet model's latency of a single packet, and what is
//! refused.

use std::path::Path;

use sim::{Experiment, PointResult, RunOptions, System, analyze, run};
use units::KeyError;

const TORUS: &str = r#"kind = "torus", dims = [8, 4]"#;
const DRAGONFLY: &str = r#"kind = "dragonfly", p = 1, a = 2, h = 1"#;

/// Links of 1 B/ns and 70 ns, routers of 33 ns.
fn build(topology: &str, model: &str, rest: &str) -> Result<System, KeyError> {
    let text = format!(
        "topology = {{ {topology} }}\nlink = {{ bandwidth = \"8 Gb/s\", delay = \"70 ns\" }}\nrouter.delay = \"33 ns\"\n\
         simulation.model = \"{model}\"\n{rest}"
    );
    let experiment = Experiment::load(&text, "test.toml", Path::new("."), &[]).map_err(|error| error.to_string());
    System::build(&experiment.unwrap().points()[0].spec, Path::new("."))
}

fn result(system: &System, threads: usize) -> PointResult {
    run(system, &RunOptions { threads, grain: fabric::Grain::Exactly(1), ..RunOptions::default() }).unwrap()
}

/// Returns the time of a message of 100 B between two nodes, in nanoseconds.
fn ping(topology: &str, model: &str, (from, to): (u32, u32)) -> Option<f64> {
    let program = r#"{ kind = "program", program = { kind = "incast", message_size = "100 B" } }"#;
    let job = format!("job = [{{ name = \"one\", nodes = \"{to},{from}\", workload = {program} }}]");
    let point = result(&build(topology, model, &job).unwrap(), 1);
    point.closed().map_or_else(|| point.jobs[0].point.closed().unwrap().time_ns, |closed| closed.time_ns)
}

#[test]
fn a_message_takes_what_a_single_packet_takes() {
    // Would catch a router or a link of the path that is left out or counted twice, and a delay of another pair.
    for to in [1, 2, 4, 9, 12, 20, 31] {
        let (x, y) = (to % 8, to / 8);
        let hops = f64::from(x.min(8 - x) + y.min(4 - y));
        let expected = 100.0 + 70.0 * (2.0 + hops) + 33.0 * (1.0 + hops);
        assert_eq!(ping(TORUS, "delay", (0, to)), Some(expected), "0 to {to}");
        assert_eq!(ping(TORUS, "packet", (0, to)), Some(expected), "0 to {to}");
    }
    let fat_tree = r#"kind = "fat-tree", k = 4, n = 2"#;
    for (topology, to) in
        [(fat_tree, 1), (fat_tree, 15), (DRAGONFLY, 1), (DRAGONFLY, 2), (DRAGONFLY, 3), (DRAGONFLY, 5)]
    {
        let packets = ping(topology, "packet", (0, to));
        assert_eq!(ping(topology, "delay", (0, to)), packets, "0 to {to} of {topology}");
        assert!(packets.is_some());
    }
}

#[test]
fn messages_do_not_wait_for_one_another_at_routers() {
    // Would catch contention behind the links of the senders, and a result that depends on threads: an incast of 31
    // nodes, the farthest of which are 6 hops away, and an exchange whose rows of 8 nodes send 7 messages each.
    let incast = r#"workload = { kind = "program", program = { kind = "incast", message_size = "1000 B" } }"#;
    let system = build(TORUS, "delay", incast).unwrap();
    let expected = 1000.0 + 70.0 * 8.0 + 33.0 * 7.0;
    assert_eq!(result(&system, 1).closed().unwrap().time_ns, Some(expected));
    let fft = r#"workload = { kind = "program", program = { kind = "fft", dims = [8, 4] } }"#;
    for workload in [incast, fft, r#"workload = { kind = "exchange", dims = [8, 4], volume = "1000 B" }"#] {
        let system = build(TORUS, "delay", &format!("{workload}\nmeasure.messages = true")).unwrap();
        let of = |threads| {
            let point = PointResult { wall_s: 0.0, ..result(&system, threads) };
            serde_json::to_string(&point).unwrap()
        };
        assert_eq!(of(1), of(3), "{workload}");
    }
}

#[test]
fn keys_of_packets_and_routes_are_refused() {
    // Would catch a key that is ignored.
    let program =
        |rest: &str| format!("workload = {{ kind = \"program\", program = {{ kind = \"collective\", {rest} }} }}");
    let allreduce = program(r#"operation = "allreduce""#);
    for (topology, rest, key) in [
        (TORUS, format!("{allreduce}\nrouting.kind = \"dimension-order\""), "routing"),
        (TORUS, format!("{allreduce}\nrouter.kind = \"input-queued\""), "router"),
        (TORUS, format!("{allreduce}\nlink.injection.bandwidth = \"4 Gb/s\""), "link.injection.bandwidth"),
        (TORUS, format!("{allreduce}\nmeasure.timeline = true"), "measure.timeline"),
        (TORUS, format!("{allreduce}\nmeasure.series = \"1 us\""), "measure.series"),
        (r#"kind = "torus", dims = [4, 4], planes = 2"#, allreduce.clone(), "topology.planes"),
        (TORUS, r#"workload = { kind = "traffic", load = 0.1 }"#.into(), "workload.kind"),
    ] {
        assert_eq!(build(topology, "delay", &rest).unwrap_err().key, key, "{rest}");
    }
    let in_switch = program(r#"operation = "allreduce", algorithm = "in-switch""#);
    assert!(build(TORUS, "delay", &in_switch).unwrap_err().message.contains("no switches"));
    assert_eq!(analyze(&build(TORUS, "delay", &allreduce).unwrap()).unwrap_err().key, "simulation.model");
}
