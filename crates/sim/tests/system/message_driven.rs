//! Message-driven applications, on whole systems: closed forms to the picosecond, the same bytes for any number of
//! threads.

use fabric::Grain;
use sim::{PointResult, StepsResult};

use crate::common::{Held, build, digest, digest_of, result};

/// A message of 200 bytes takes two channels and a router of 100 ns each, and 200 ns for its length.
const MESSAGE: f64 = 500.0;

/// An application on a switch of two ports, of which all times are multiples of 100 ns.
fn on_switch(graph: &Held, rest: &str, nodes: &Held) -> PointResult {
    result(&format!(
        "topology = {{ kind = \"single-switch\", ports = 2 }}\nrouter = {{ kind = \"input-queued\", delay = \"100 ns\" }}\n\
         link = {{ bandwidth = \"8 Gb/s\", delay = \"100 ns\" }}\n\
         workload = {{ kind = \"application\", graph = '{}', packet_size = \"200 B\", {rest} }}\n\
         placement = {{ strategy = \"file\", path = '{}' }}",
        graph.display(),
        nodes.display()
    ))
}

fn driven(graph: &Held, compute: &str, iterations: u32, nodes: &Held) -> (f64, StepsResult) {
    let rest = format!("time_per_load = \"{compute}\", execution = \"message-driven\", iterations = {iterations}");
    let closed = on_switch(graph, &rest, nodes).closed().unwrap().clone();
    (closed.time_ns.unwrap(), closed.steps.unwrap())
}

#[test]
fn two_objects_overlap_and_one_does_not() {
    // Would catch a barrier between steps, an object that waits for another's message, two entry methods at once on a
    // processor, and messages of two steps that are taken for one another. With k objects a node, each of which needs a
    // message of the other node and computes for c: a step takes max(m + c, k c); bulk-synchronous, m + k c.
    let one = (Held::new("one", "from,to,bytes\n0,1,200\n1,0,200\n"), Held::new("one-nodes", "0\n1\n"));
    let pairs = "from,to,bytes\n0,2,200\n2,0,200\n1,3,200\n3,1,200\n";
    let two = (Held::new("two", pairs), Held::new("two-nodes", "0\n0\n1\n1\n"));
    for (time, compute) in [("700 ns", 700.0), ("300 ns", 300.0)] {
        let (all, steps) = driven(&one.0, time, 5, &one.1);
        let step = MESSAGE + compute;
        let expected = StepsResult { steps: 5, step_time_ns: Some(step), first_step_ns: Some(step) };
        assert_eq!((all, steps), (5.0 * step, expected), "one object, {time}");
        let (all, steps) = driven(&two.0, time, 5, &two.1);
        let (first, step) = (MESSAGE + 2.0 * compute, (MESSAGE + compute).max(2.0 * compute));
        let expected =
            StepsResult { steps: 5, step_time_ns: Some((first + 4.0 * step) / 5.0), first_step_ns: Some(first) };
        assert_eq!((all, steps), (first + 4.0 * step, expected), "two objects, {time}");
    }
    let bulk = on_switch(&two.0, "time_per_load = \"700 ns\"", &two.1).closed().unwrap().clone();
    // The two messages of a node follow one another.
    assert_eq!(bulk.time_ns, Some(2.0 * 700.0 + MESSAGE + 200.0));
}

#[test]
fn an_object_waits_for_what_it_answers() {
    // Would catch a phase that is sent before the one before it has come, a load that is spent twice or not at all, and
    // a load that is rounded to the tick. Task 0 computes 1, then 1 computes 2, then 2 computes 3: from a node to the
    // other and back.
    let there = Held::new("there", "0,1,200\ntask,0,1\ntask,1,2\ntask,2,3\n");
    let back = Held::new("back", "1,2,200\ntask,0,0\ntask,1,0\ntask,2,0\n");
    let nodes = Held::new("chain-nodes", "0\n1\n0\n");
    for (time, compute) in [("100 ns", 100.0), ("0 ns", 0.0)] {
        let rest =
            format!("time_per_load = \"{time}\", execution = \"message-driven\", next_graphs = ['{}']", back.display());
        let found = on_switch(&there, &rest, &nodes);
        let closed = found.closed().unwrap().clone();
        assert_eq!(closed.time_ns, Some(2.0 * MESSAGE + 6.0 * compute), "{time}");
        assert_eq!(closed.steps.unwrap().steps, 1);
        assert_eq!(closed.program.unwrap().program_messages, 2);
        assert_eq!(closed.application.unwrap().compute_ns, 4.0 * compute);
        assert_eq!(closed.per_rank, [closed.time_ns, Some(MESSAGE + 3.0 * compute)]);
    }
}

#[test]
fn a_processor_takes_objects_as_they_become_ready() {
    // Would catch a queue the wrong way round: messages of task 3 for objects 0, 1 and 2 of the other node arrive 200
    // ns apart. While 0 computes, 1 and 2 become ready; 1 is first, and the long computation of task 3 waits for its
    // answer only.
    let there = Held::new("queue-there", "3,0,200\n3,1,200\n3,2,200\ntask,2,4\ntask,3,10\ntask,4,0\n");
    let back = Held::new("queue-back", "1,3,200\n2,4,200\ntask,0,0\ntask,1,0\ntask,2,0\ntask,3,0\ntask,4,0\n");
    let nodes = Held::new("queue-nodes", "0\n0\n0\n1\n1\n");
    let rest =
        format!("time_per_load = \"500 ns\", execution = \"message-driven\", next_graphs = ['{}']", back.display());
    let closed = on_switch(&there, &rest, &nodes).closed().unwrap().clone();
    assert_eq!(closed.time_ns, Some(MESSAGE + 2.0 * 500.0 + MESSAGE + 10.0 * 500.0));
    assert_eq!(closed.per_rank[0], Some(MESSAGE + (1.0 + 1.0 + 4.0) * 500.0));
}

#[test]
fn groups_send_as_in_a_bulk_synchronous_step() {
    // Would catch a copy for each member, a reduction that is sent more than once or without one of its members, and
    // steps that are not alike: two patches' worth of computes on two nodes.
    let nodes: String = (0..405).map(|task| format!("{}\n", task % 2)).collect();
    let nodes = Held::new("namd-nodes", &nodes);
    let point = |rest: &str| {
        let text = format!(
            "topology = {{ kind = \"single-switch\", ports = 2 }}\nlink = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\n\
             workload = {{ kind = \"application\", graph = \"namd:3x3x3,multicast=true\", packet_size = \"256 B\"{rest} }}\n\
             placement = {{ strategy = \"file\", path = '{}' }}",
            nodes.display()
        );
        result(&text)
    };
    let (bulk, steps) = (point(""), point(", execution = \"message-driven\", iterations = 3"));
    assert_eq!(steps.packets, 3 * bulk.packets);
    let (bulk, closed) = (bulk.closed().unwrap().clone(), steps.closed().unwrap().clone());
    assert_eq!(closed.program.unwrap().program_messages, 3 * 2 * 27);
    assert_eq!(bulk.application, closed.application);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    // Would catch a turn that depends on partitions, and a message that is announced too late.
    let workloads = [
        (
            "openatom:water-32,states=8,planes=4,real_planes=6,block=2,one_way=true",
            "{ kind = \"torus\", dims = [4, 3, 2] }",
        ),
        ("namd:5x5x5,multicast=true,patch_load=0.3", "{ kind = \"torus\", dims = [5, 5] }"),
        ("random:40", "{ kind = \"mesh\", dims = [5, 4] }"),
    ];
    let divisions = [(1, Grain::Exactly(3)), (2, Grain::Exactly(3)), (2, Grain::Fine)];
    for ((graph, topology), (threads, grain)) in workloads.into_iter().zip(divisions) {
        let text = format!(
            "topology = {topology}\nrouting = {{ kind = \"minimal-adaptive\" }}\n\
             router = {{ kind = \"output-queued\", delay = \"13 ns\", buffer = \"4 packets\" }}\n\
             link = {{ bandwidth = \"4 Gb/s\", delay = \"70 ns\" }}\n\
             nic = {{ send_overhead = \"109 ns\", receive_overhead = \"53 ns\", eager_limit = \"600 B\" }}\n\
             workload = {{ kind = \"application\", graph = \"{graph}\", packet_size = \"100 B\", shuffle = 4, \
             time_per_load = \"333 ns\", execution = \"message-driven\", iterations = 3 }}\n\
             placement = {{ strategy = \"greedy\" }}\nmeasure = {{ messages = true }}"
        );
        assert_eq!(digest(&text, 1), digest_of(&text, threads, grain), "{graph}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_at_its_key() {
    // Would catch a key that is ignored in silence, and an error without a place.
    let key = |rest: &str| {
        let text = format!(
            "topology = {{ kind = \"torus\", dims = [8] }}\nlink = {{ bandwidth = \"10 Gb/s\", delay = \"20 ns\" }}\n\
             workload = {{ kind = \"application\", graph = \"stencil:8\", packet_size = \"256 B\", {rest} }}"
        );
        build(&text).map(|_| String::new()).unwrap_or_else(|error| error.key)
    };
    assert_eq!(key("iterations = 2"), "workload.iterations");
    assert_eq!(key("execution = \"message-driven\", iterations = 0"), "workload.iterations");
    assert_eq!(key("execution = \"message-driven\", iterations = 10001"), "workload.iterations");
    assert_eq!(key("execution = \"message-drven\""), "workload.execution");
    assert_eq!(key("execution = \"message-driven\", iterations = 10000"), "");
}
