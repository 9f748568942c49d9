//! The delay model on topologies with routers: closed forms, the packet model's latency of a single packet, and what is
//! refused.

use std::path::Path;

use sim::{Experiment, PointResult, RunOptions, System, analyze, check, completed, run};
use units::KeyError;

/// Topology, and the delays of the classes of its links that do not have 70 ns.
type Shape<'a> = (&'a str, &'a str);

const TORUS: Shape<'_> = (r#"kind = "torus", dims = [8, 4]"#, "");
const TORUS_BY_CLASS: Shape<'_> = (TORUS.0, "injection = 50, ejection = 90, dim0 = 110");
const DRAGONFLY: Shape<'_> = (r#"kind = "dragonfly", p = 1, a = 2, h = 1"#, "");
const DRAGONFLY_BY_CLASS: Shape<'_> = (DRAGONFLY.0, "injection = 50, ejection = 90, local = 20, global = 400");
const FAT_TREE: Shape<'_> = (r#"kind = "fat-tree", k = 4, n = 2"#, "");
const FAT_TREE_BY_CLASS: Shape<'_> = (FAT_TREE.0, "injection = 50, ejection = 90, up = 30");

/// Links of 1 B/ns, routers of 33 ns.
fn load((topology, delays): Shape<'_>, model: &str, rest: &str) -> Experiment {
    let delays = delays.split_terminator(", ").map(|delay| {
        let (class, ns) = delay.split_once(" = ").unwrap();
        format!("link.{class}.delay = \"{ns} ns\"\n")
    });
    let text = format!(
        "topology = {{ {topology} }}\nlink.bandwidth = \"8 Gb/s\"\nlink.delay = \"70 ns\"\n{}{}simulation.model = \"{model}\"\n{rest}",
        delays.collect::<String>(),
        if rest.contains("router.delay") { "" } else { "router.delay = \"33 ns\"\n" },
    );
    Experiment::load(&text, "test.toml", Path::new("."), &[]).map_err(|error| error.to_string()).unwrap()
}

fn build(shape: Shape<'_>, model: &str, rest: &str) -> Result<System, KeyError> {
    System::build(&load(shape, model, rest).points()[0].spec, Path::new("."))
}

fn result(system: &System, threads: usize) -> PointResult {
    run(system, &RunOptions { threads, grain: fabric::Grain::Exactly(1), ..RunOptions::default() }).unwrap()
}

/// Returns the result of the first job of a system.
fn first(point: &PointResult) -> &PointResult {
    point.jobs.first().map_or(point, |job| &job.point)
}

const INCAST: &str = r#"{ kind = "program", program = { kind = "incast", message_size = "100 B" } }"#;

/// Returns a job whose nodes are `to` and `from`.
fn job(name: &str, workload: &str, (from, to): (u32, u32)) -> String {
    format!("[[job]]\nname = \"{name}\"\nnodes = \"{to},{from}\"\nworkload = {workload}\n")
}

/// Returns the time of a message of 100 B between two nodes, in nanoseconds.
fn ping(shape: Shape<'_>, model: &str, ends: (u32, u32)) -> Option<f64> {
    let rest = format!("measure.messages = true\n{}", job("one", INCAST, ends));
    let point = result(&build(shape, model, &rest).unwrap(), 1);
    let figures = &first(&point).messages.as_ref().unwrap().figures;
    assert_eq!((figures.count, figures.slowdown_mean), (1, Some(1.0)), "{ends:?} of {shape:?}");
    first(&point).closed().unwrap().time_ns
}

/// Returns the distance of node 0 and another node of the torus, by dimension.
fn hops_on_torus(to: u32) -> [f64; 2] {
    let (x, y) = (to % 8, to / 8);
    [x.min(8 - x), y.min(4 - y)].map(f64::from)
}

#[test]
fn a_message_takes_what_a_single_packet_takes() {
    // Would catch a router or a link of the path that is left out or counted twice, a delay of another pair or of
    // another class, a closed form of equal delays that is taken for different ones, and an idle time other than the
    // latency of a message alone.
    for to in [1, 2, 4, 9, 12, 20, 31] {
        let [x, y] = hops_on_torus(to);
        let routers = 33.0 * (1.0 + x + y);
        for (shape, links) in [(TORUS, 70.0 * (2.0 + x + y)), (TORUS_BY_CLASS, 140.0 + 110.0 * x + 70.0 * y)] {
            assert_eq!(ping(shape, "delay", (0, to)), Some(100.0 + links + routers), "0 to {to} of {shape:?}");
            assert_eq!(ping(shape, "packet", (0, to)), Some(100.0 + links + routers), "0 to {to} of {shape:?}");
        }
    }
    let destinations = [(FAT_TREE, vec![1, 15]), (FAT_TREE_BY_CLASS, vec![1, 15])];
    let all = (1..6).collect::<Vec<u32>>();
    for (shape, to) in destinations.into_iter().chain([(DRAGONFLY, all.clone()), (DRAGONFLY_BY_CLASS, all)]) {
        for to in to {
            let packets = ping(shape, "packet", (0, to));
            assert_eq!(ping(shape, "delay", (0, to)), packets, "0 to {to} of {shape:?}");
            assert!(packets.is_some());
        }
    }
}

#[test]
fn volumes_and_jobs_take_the_delays_of_their_paths() {
    // Would catch a phase that ends with another delay, and a job that takes the paths of another one: of two jobs on
    // node 0, the second waits until its link has carried the first one's message.
    for shape in [TORUS, TORUS_BY_CLASS] {
        for to in [1, 8, 12] {
            let [x, y] = hops_on_torus(to);
            let exchange = job("one", r#"{ kind = "exchange", dims = [2], volume = "1000 B" }"#, (0, to));
            let point = result(&build(shape, "delay", &exchange).unwrap(), 2);
            let delay =
                if shape == TORUS { 70.0 * (x + y) } else { 110.0 * x + 70.0 * y } + 140.0 + 33.0 * (1.0 + x + y);
            assert_eq!(first(&point).closed().unwrap().time_ns, Some(1000.0 + delay), "{to} of {shape:?}");
        }
        let jobs = job("one", INCAST, (0, 20)) + &job("two", INCAST, (0, 1));
        let point = result(&build(shape, "delay", &jobs).unwrap(), 2);
        let times: Vec<_> = point.jobs.iter().map(|job| job.point.closed().unwrap().time_ns).collect();
        let alone = |to| ping(shape, "delay", (0, to)).unwrap();
        assert_eq!(times, [Some(alone(20)), Some(100.0 + alone(1))], "{shape:?}");
    }
}

#[test]
fn the_default_of_the_delay_is_written_out() {
    // Would catch a result that depends on a default which the resolved experiment does not have, and keys that have no
    // meaning and that the model refuses.
    let workload = format!("workload = {INCAST}\n");
    let without = load(TORUS, "delay", &format!("{workload}# router.delay"));
    let found = completed(&without, &without.points()[0]);
    assert_eq!(found.keys, ["router.delay"]);
    let times = [&without.points()[0].spec, &found.spec].map(|spec| {
        let system = System::build(spec, Path::new(".")).unwrap();
        result(&system, 1).closed().unwrap().time_ns
    });
    assert_eq!(times[0], times[1]);
    let given = load(TORUS, "delay", &workload);
    assert_eq!(completed(&given, &given.points()[0]).spec, given.points()[0].spec);
}

#[test]
fn the_description_is_that_of_paths() {
    // Would catch figures of packets, and a window above the delay of some message.
    let system = build(TORUS_BY_CLASS, "delay", &format!("workload = {INCAST}")).unwrap();
    let check = check(&system).unwrap();
    assert_eq!((check.routers, check.diameter, check.channels, check.window_ps), (32, 6, 32, Some(173_000)));
    assert_eq!((check.router_delay_ns, check.packet_hops, check.vcs), (33.0, 0.0, 0));
}

#[test]
fn bounds_of_operations_count_all_delays() {
    // Would catch a bound that leaves out the link into the receiver: a broadcast to a node of the same router takes its
    // bound.
    let broadcast =
        r#"{ kind = "program", program = { kind = "collective", operation = "broadcast", size = "100 B" } }"#;
    let point = result(&build(FAT_TREE_BY_CLASS, "delay", &job("one", broadcast, (1, 0))).unwrap(), 1);
    let times = first(&point).closed().unwrap().program.as_ref().unwrap().times.clone().unwrap();
    assert_eq!((times.operation_bound_ns, times.operation_span_mean_ns), (Some(273.0), Some(273.0)));
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
    let exchange = |rest: &str| format!("workload = {{ kind = \"exchange\", dims = [8, 4], {rest} }}");
    let allreduce = program(r#"operation = "allreduce""#);
    for (topology, rest, key) in [
        (TORUS, format!("{allreduce}\nrouting.kind = \"dimension-order\""), "routing"),
        (TORUS, format!("{allreduce}\nrouter.kind = \"input-queued\""), "router"),
        (TORUS, format!("{allreduce}\nlink.injection.bandwidth = \"4 Gb/s\""), "link.injection.bandwidth"),
        (TORUS, format!("{allreduce}\nmeasure.timeline = true"), "measure.timeline"),
        (TORUS, format!("{allreduce}\nmeasure.unproven = true"), "measure.unproven"),
        (TORUS, format!("{allreduce}\nin_switch.trees_per_group = 2"), "in_switch"),
        (TORUS, format!("{allreduce}\nmeasure.series = \"1 us\""), "measure.series"),
        ((r#"kind = "torus", dims = [4, 4], planes = 2"#, ""), allreduce.clone(), "topology.planes"),
        (TORUS, r#"workload = { kind = "traffic", load = 0.1 }"#.into(), "workload.kind"),
        (TORUS, format!("{allreduce}\nnode.receive_buffer = \"4 KiB\""), "node.receive_buffer"),
        (TORUS, exchange(r#"packet_size = "256 B""#), "workload.packet_size"),
        (TORUS, exchange(r#"pacer = { kind = "window", window = "1 KiB" }"#), "workload.pacer"),
    ] {
        assert_eq!(build(topology, "delay", &rest).unwrap_err().key, key, "{rest}");
    }
    let in_switch = program(r#"operation = "allreduce", algorithm = "in-switch""#);
    assert!(build(TORUS, "delay", &in_switch).unwrap_err().message.contains("no switches"));
    assert_eq!(analyze(&build(TORUS, "delay", &allreduce).unwrap()).unwrap_err().key, "simulation.model");
}
