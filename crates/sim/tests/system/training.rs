//! Training steps on whole systems: the same bytes for any number of threads and partitions.

use crate::common::{digest, digest_of, result};
use crate::program::experiment;
use fabric::Grain;

/// Tensor, pipeline, data and expert parallelism at once, with gradients that are combined while ranks go on backwards,
/// and bytes that take time to combine.
fn training(rest: &str) -> String {
    format!(
        "{{ kind = \"training\", tensor = 2, pipeline = 2, expert = 2, layers = 4, hidden = 16, sequence = 8, \
         micro_batches = 3, steps = 2, forward_time = \"3 us\", bucket_size = \"2 KiB\", reduction_time = \"10 ps\", {rest} }}"
    )
}

#[test]
fn any_division_gives_the_same_bytes() {
    // Would catch a bucket that is combined before another where partitions change the order of an instant, a message
    // of one stage that another takes, and noise or a placement that depends on the thread.
    let machines = [
        ("{ kind = \"fat-tree\", k = 4, n = 2 }", "placement = { strategy = \"round-robin\", processes_per_node = 2 }"),
        ("{ kind = \"torus\", dims = [4, 2, 2] }", "routing = { kind = \"minimal-adaptive\" }"),
        (
            "{ kind = \"dragonfly\", p = 1, a = 4, h = 1 }",
            "placement = { strategy = \"random\", processes_per_node = 4 }",
        ),
    ];
    let calls = "nic = { kind = \"loggp\", send_overhead = \"1009 ns\", receive_overhead = \"503 ns\", gap = \"300 ns\", \
                 progress = \"calls\", eager_limit = \"1 KiB\" }\n\
                 node = { noise = { period = \"40 us\", duration = \"2 us\", detours = \"drawn\" } }";
    let programs =
        ["overlap = true", "overlap = false, allreduce = \"hierarchical\"", "overlap = true, allreduce = \"ring\""];
    for (index, (topology, rest)) in machines.into_iter().enumerate() {
        for (number, program) in programs.into_iter().enumerate() {
            let mut text = experiment(topology, &training(program), rest);
            if number == 0 {
                text = text.replace("nic = { send_overhead = \"1009 ns\", receive_overhead = \"503 ns\" }", calls);
            }
            let expected = digest(&text, 1);
            let (threads, grain) =
                [(2, Grain::Exactly(3)), (1, Grain::Exactly(5)), (2, Grain::Fine)][(index + number) % 3];
            assert_eq!(digest_of(&text, threads, grain), expected, "{threads} threads, {grain:?}: {text}");
        }
        let point = result(&experiment(topology, &training("overlap = true"), rest));
        assert!(point.closed().unwrap().clone().program.unwrap().program_messages > 500, "too little to compare");
    }
}

#[test]
fn the_bound_of_a_step_is_no_less_than_that_of_its_parts() {
    // Would catch gradients that are left out of the step's bound because they overlap with the backward pass, a group
    // within a node without a bound, and a bound above what a run takes.
    let within =
        "placement = { strategy = \"contiguous\", processes_per_node = 4 }\nnode.memory.bandwidth = \"40 GB/s\"";
    let cases = [
        ("", "", [64, 1024, 4096].as_slice()),
        ("tensor = 4,", within, &[64]),
        ("expert = 4, tensor = 2,", within, &[64]),
    ];
    for (overlap, (groups, rest, widths)) in
        [true, false].into_iter().flat_map(|overlap| cases.map(|own| (overlap, own)))
    {
        for hidden in widths {
            let program = format!(
                r#"{{ kind = "training", {groups} overlap = {overlap}, hidden = {hidden}, layers = 4, steps = 1 }}"#
            );
            let point = result(&format!(
                r#"
                topology = {{ kind = "fat-tree", k = 4, n = 1 }}
                link = {{ bandwidth = "100 Gb/s", delay = "20 ns" }}
                workload = {{ kind = "program", program = {program} }}
                {rest}
                "#
            ));
            let parts = point.closed().unwrap().clone().program.unwrap().times.unwrap().measures;
            let step = parts.iter().find(|part| part.name == "step").unwrap();
            for part in &parts {
                let bound = part.bound_ns.unwrap_or(0.0);
                assert!(bound > 0.0 || part.name == "pipeline-wait", "{program}: {part:?}");
                assert!(part.span_mean_ns.unwrap() >= bound && step.bound_ns.unwrap() >= bound, "{program}: {part:?}");
            }
        }
    }
}
