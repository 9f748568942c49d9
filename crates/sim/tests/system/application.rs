//! Applications as closed workloads: task graphs on placements.

use fabric::Grain;

use crate::common::{Held, build, digest, digest_of, result};

fn experiment(topology: &str, workload: &str, placement: &str) -> String {
    format!(
        "[topology]\n{topology}\n[link]\nbandwidth = \"10 Gb/s\"\ndelay = \"20 ns\"\n[workload]\n{workload}\n\
         packet_size = \"256 B\"\n[placement]\n{placement}\n"
    )
}

/// The placement that a file has.
fn placed(held: &Held) -> String {
    format!("strategy = \"file\"\npath = '{}'", held.display())
}

fn time(text: &str) -> f64 {
    result(text).closed().unwrap().clone().time_ns.unwrap()
}

const RING: &str = "kind = \"torus\"\ndims = [8]";
const STENCIL: &str = "kind = \"application\"\ngraph = \"stencil:8,bytes=4096\"";
const IN_ORDER: &str = "strategy = \"contiguous\"";

#[test]
fn a_ring_of_tasks_is_the_exchange_of_the_same_volume() {
    // Would catch bytes that are lost or doubled on the way from a graph to flows: the same work, described in two
    // ways. Nodes serve their two flows in another order, which changes when the last packets meet.
    let phase = |workload| result(&experiment(RING, workload, IN_ORDER)).closed().unwrap().clone().phases[0].clone();
    let (application, exchange) = (phase(STENCIL), phase("kind = \"exchange\"\ndims = [8]\nvolume = \"4 KiB\""));
    assert_eq!(application.bytes, exchange.bytes);
    let ratio = application.time_ns.unwrap() / exchange.time_ns.unwrap();
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

#[test]
fn a_phase_takes_what_its_fullest_link_needs() {
    // Would catch phases that overlap or bytes at a wrong rate. A node sends 64 KiB in a phase of the multiplication
    // (three messages of its portion), over a link of 10 Gb/s: no faster, and on a single switch hardly slower.
    let workload = "kind = \"application\"\ngraph = \"matmul:4,matrix=1024\"";
    let found = result(&experiment("kind = \"single-switch\"\nports = 64", workload, IN_ORDER));
    let closed = found.closed().unwrap().clone();
    let names: Vec<&str> = closed.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let sent = 3.0 * 1024.0 * 1024.0 * 8.0 / 64.0;
    for phase in &closed.phases {
        let time = phase.time_ns.unwrap();
        assert!(time >= sent * 0.8 && time <= sent * 0.8 * 1.35, "{time} {sent}");
        assert_eq!(phase.bytes, 64 * sent as u64);
    }
    assert_eq!(closed.per_rank.len(), 64);
}

#[test]
fn computation_is_counted_to_the_picosecond() {
    // Would catch computation that is rounded up to the tick: all times of the network are multiples of 100 ns. Two
    // tasks exchange 200 bytes, which take two channels, a router and their length: 100 + 100 + 100 + 200 ns.
    let graph = Held::new("ring.csv", "from,to,bytes\n0,1,200\n1,0,200\n");
    let text = |time: &str| {
        format!(
            "topology = {{ kind = \"single-switch\", ports = 2 }}\nrouter = {{ kind = \"input-queued\", delay = \"100 ns\" }}\n\
             link = {{ bandwidth = \"8 Gb/s\", delay = \"100 ns\" }}\n\
             workload = {{ kind = \"application\", graph = '{}', packet_size = \"200 B\", time_per_load = \"{time}\" }}",
            graph.display()
        )
    };
    for (time, compute) in [("1 ns", 1.0), ("0 ns", 0.0), ("7 ps", 0.007), ("250 ns", 250.0)] {
        let closed = result(&text(time)).closed().unwrap().clone();
        assert_eq!(closed.application.unwrap().compute_ns, compute);
        assert!((closed.time_ns.unwrap() - 500.0 - compute).abs() < 1e-9, "{time}: {:?}", closed.time_ns);
        assert!(closed.per_rank.iter().all(|&end| (end.unwrap() - 500.0 - compute).abs() < 1e-9));
    }
}

#[test]
fn a_file_places_tasks_and_a_better_one_is_faster() {
    // Would catch a placement that is not used: tasks of a ring in order, and each far from its neighbours.
    let far: String = [0, 4, 1, 5, 2, 6, 3, 7].iter().map(|node| format!("{node}\n")).collect();
    let near: String = (0..8).map(|node| format!("{node}\n")).collect();
    let (far, near) = (Held::new("far", &far), Held::new("near", &near));
    let of = |held: &Held| time(&experiment(RING, STENCIL, &placed(held)));
    assert_eq!(of(&near), time(&experiment(RING, STENCIL, IN_ORDER)));
    assert!(of(&far) > 2.0 * of(&near), "{} {}", of(&far), of(&near));
}

#[test]
fn a_strategy_places_tasks() {
    // Would catch a strategy that is not asked, or asked with other keys: a shuffled grid comes back in place.
    let shuffled = "kind = \"application\"\ngraph = \"stencil:8x8,bytes=4096\"\nshuffle = 3";
    let torus = "kind = \"torus\"\ndims = [8, 8]";
    let of = |placement: &str| time(&experiment(torus, shuffled, placement));
    assert!(of("strategy = \"auto\"") < 0.8 * of(IN_ORDER));
    assert_eq!(of("strategy = \"embedding\""), of("strategy = \"auto\"\nbudget = 0.1"));
    assert_eq!(of("strategy = \"identity\""), of(IN_ORDER));
}

#[test]
fn a_multicast_sends_one_copy_to_a_node() {
    // Would catch a copy for each member: two patches' worth of computes on two nodes, by multicast and by messages.
    let half: String = (0..405).map(|task| format!("{}\n", task % 2)).collect();
    let held = Held::new("half", &half);
    let bytes = |graph: &str| {
        let workload = format!("kind = \"application\"\ngraph = \"{graph}\"");
        let text = experiment("kind = \"single-switch\"\nports = 2", &workload, &placed(&held));
        result(&text).closed().unwrap().clone().phases.iter().map(|phase| phase.bytes).sum::<u64>()
    };
    let share = 92_227 * 24 / 27;
    assert_eq!(bytes("namd:3x3x3,multicast=true"), 2 * 27 * share);
    assert!(bytes("namd:3x3x3") > 10 * 2 * 27 * share);
}

#[test]
fn applications_are_the_same_on_any_number_of_threads() {
    // Would catch flows that depend on how nodes are divided.
    let text = experiment("kind = \"torus\"\ndims = [4, 4]", "kind = \"application\"\ngraph = \"random:16\"", IN_ORDER);
    let one = digest(&text, 1);
    assert_eq!(one, digest(&text, 2));
    assert_eq!(one, digest(&text, 3));
    assert_eq!(one, digest_of(&text, 2, Grain::Exactly(3)));
}

#[test]
fn what_does_not_fit_is_refused_at_its_key() {
    // Would catch a panic, or an error that does not say where.
    let key = |workload: &str, placement: &str| {
        let text = experiment(RING, workload, placement);
        build(&text).map(|_| String::new()).unwrap_or_else(|error| error.key)
    };
    let bad = Held::new("bad", "0\n8\n");
    let short = Held::new("short", "0\n1\n");
    assert_eq!(key("kind = \"application\"\ngraph = \"stensil:8\"", IN_ORDER), "workload.graph");
    assert_eq!(key("kind = \"application\"\ngraph = \"stencil:9\"", IN_ORDER), "placement.processes_per_node");
    assert_eq!(key(STENCIL, &placed(&bad)), "placement.path");
    assert_eq!(key(STENCIL, &placed(&short)), "placement.path");
    assert_eq!(key(STENCIL, "strategy = \"file\"\npath = \"missing\""), "placement.path");
    let traffic = "kind = \"traffic\"\nload = 0.5";
    assert_eq!(key(traffic, "strategy = \"auto\""), "placement.strategy");
    assert_eq!(key("kind = \"application\"\ngraph = \"random:8\"", "strategy = \"embedding\""), "placement.strategy");
    let many = "kind = \"application\"\ngraph = \"stencil:32\"";
    assert_eq!(key(many, "strategy = \"greedy\"\ntasks_per_node = 2"), "placement.tasks_per_node");
    assert_eq!(key(traffic, &placed(&short)), "placement.path");
}

#[test]
fn a_short_message_takes_its_own_time_and_a_step_within_a_node_none() {
    // Would catch packets that are paced as if all were whole, and a step that is refused because nothing crosses. Four
    // neighbours get 1 byte each: all leave within four times its time of 0.8 ns, and arrive after a router and two
    // links.
    let torus = "kind = \"torus\"\ndims = [4, 4]";
    let of = |bytes: u32, packet: &str| {
        let workload = format!("kind = \"application\"\ngraph = \"stencil:4x4,bytes={bytes}\"");
        let text = experiment(torus, &workload, IN_ORDER).replace("\"256 B\"", &format!("\"{packet}\""));
        time(&text)
    };
    assert!(of(1, "256 B") < 260.0, "{}", of(1, "256 B"));
    let ratio = of(1024, "64 KiB") / of(1024, "1 KiB");
    assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    let alone = "kind = \"application\"\ngraph = \"stencil:2x2\"\ntime_per_load = \"3 ns\"";
    let found = result(&experiment(torus, alone, "strategy = \"contiguous\"\nprocesses_per_node = 4"));
    let closed = found.closed().unwrap().clone();
    assert_eq!((closed.time_ns, found.packets, found.closed().unwrap().throughput.unwrap()), (Some(12.0), 0, 0.0));
}

#[test]
fn a_few_tasks_on_the_first_nodes_are_a_step_too() {
    // Would catch a pattern of tasks that is asked for nodes without any.
    let torus = "kind = \"torus\"\ndims = [4, 4]";
    let workload = "kind = \"application\"\ngraph = \"stencil:2x2\"";
    let system = build(&experiment(torus, workload, "strategy = \"identity\"")).unwrap();
    let analysis = sim::analyze(&system).unwrap();
    assert!(analysis.throughput_bound > 0.0);
    let error = build(&experiment(torus, workload, &placed(&Held::new("long", "0\n1\n2\n3\n4\n")))).unwrap_err();
    assert_eq!(error.key, "placement.path");
    let two = format!("{workload}\nnext_graphs = [\"random:4\"]");
    let phases = result(&experiment(torus, &two, IN_ORDER)).closed().unwrap().clone().phases;
    assert_eq!(phases.len(), 2);
    let unequal = format!("{workload}\nnext_graphs = [\"random:5\"]");
    assert_eq!(build(&experiment(torus, &unequal, IN_ORDER)).unwrap_err().key, "workload.next_graphs");
}

#[test]
fn imbalance_is_over_the_nodes_of_the_job() {
    // Would catch a mean over nodes that the job does not have, and one over more nodes than there are tasks: loads 1,
    // 1 and 2 on nodes 0, 0 and 5 of 8.
    let graph = Held::new("loads.csv", "0,1,100\n1,0,100\ntask,2,2\n");
    let tasks = Held::new("loads-nodes", "0\n0\n5\n");
    let workload = format!("kind = \"application\"\ngraph = '{}'", graph.display());
    let imbalance = |rest: &str| {
        let found = result(&experiment(RING, &workload, &format!("{}\n{rest}", placed(&tasks))));
        found.closed().unwrap().clone().application.unwrap().mapping.unwrap().imbalance
    };
    assert_eq!([imbalance(""), imbalance("allocated_nodes = 2"), imbalance("allocated_nodes = 8")], [1.0, 1.0, 1.5]);
    for wrong in [1, 9] {
        let placement = format!("{}\nallocated_nodes = {wrong}", placed(&tasks));
        let error = build(&experiment(RING, &workload, &placement)).unwrap_err();
        assert_eq!(error.key, "placement.allocated_nodes", "{error}");
    }
}

#[test]
fn used_and_exact_shares_agree_where_tasks_share_nodes_and_compute() {
    // Would catch a throughput that counts other bytes or another time than the loads of channels do.
    let workload = "kind = \"application\"\ngraph = \"stencil:8x8,bytes=4096\"\ntime_per_load = \"700 ns\"";
    let text =
        experiment("kind = \"mesh\"\ndims = [4, 4]", workload, "strategy = \"contiguous\"\nprocesses_per_node = 4");
    let (system, found) = (build(&text).unwrap(), result(&text));
    let analysis = sim::analyze(&system).unwrap();
    // The node that sends most sends at full load, in analyses: so no more than that is accepted.
    assert!((analysis.class_loads[0].max - 1.0).abs() < 1e-12, "{}", analysis.class_loads[0].max);
    assert!(found.closed().unwrap().throughput.unwrap() < 1.0, "{}", found.closed().unwrap().throughput.unwrap());
    for (exact, used) in analysis.channel_loads.iter().zip(&found.channel_utilization) {
        let scaled = exact * found.closed().unwrap().throughput.unwrap();
        assert!((scaled - used).abs() < 1e-6, "{scaled} {used}");
    }
}
