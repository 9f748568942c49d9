//! Estimates before a run against the run, and their cost.

use crate::common::build;
use mpi::program::Sizes;

const LINK: &str = r#"link = { bandwidth = "100 Gb/s", delay = "20 ns" }"#;

fn experiment(topology: &str, workload: &str, rest: &str) -> String {
    format!("topology = {topology}\n{LINK}\nworkload = {workload}\n{rest}\n")
}

#[test]
fn sizes_of_all_ranks_are_those_of_each() {
    // Would catch an algorithm that is taken for symmetric although a rank sends more or other messages.
    let operations = [
        "allreduce",
        "alltoall",
        "allgather",
        "barrier",
        "bcast",
        "reduce",
        "reduce-scatter",
        "gather",
        "scatter",
        "scan",
    ];
    let (mut symmetric, mut other) = (0, 0);
    for operation in operations {
        for algorithm in
            ["auto", "linear", "pairwise", "bruck", "ring", "recursive-doubling", "rabenseifner", "dissemination"]
        {
            for (nodes, size) in [(1, "64 B"), (7, "64 B"), (8, "64 B"), (8, "20 B"), (12, "96 KiB")] {
                let program = format!(
                    r#"{{ kind = "program", program = {{ kind = "collective", operation = "{operation}", algorithm = "{algorithm}", size = "{size}" }} }}"#
                );
                let kind = format!(r#"{{ kind = "flat", nodes = {nodes} }}"#);
                let Ok(system) = build(&experiment(&kind, &program, "")) else { continue };
                let programs = &**system.jobs[0].workload.programs().unwrap();
                let of = |rank: u32| {
                    let mut sizes = Sizes::default();
                    programs.sizes_of(rank, &mut |bytes, count| sizes.add(bytes, count));
                    sizes.settle();
                    sizes
                };
                let mut all = Sizes::default();
                (0..programs.ranks())
                    .for_each(|rank| programs.sizes_of(rank, &mut |bytes, count| all.add(bytes, count)));
                all.settle();
                assert_eq!(Sizes::of(programs), all, "{operation} {algorithm} {nodes} {size}");
                if programs.is_symmetric() {
                    symmetric += 1;
                    assert!(
                        (1..programs.ranks()).all(|rank| of(rank) == of(0)),
                        "{operation} {algorithm} {nodes} {size}"
                    );
                } else {
                    other += 1;
                }
            }
        }
    }
    assert!(symmetric >= 20 && other >= 20, "{symmetric} {other}");
}

#[test]
fn millions_of_ranks_take_few_visits() {
    // Would catch a pass over all ranks, of which one stands for all.
    let flat = r#"{ kind = "flat", nodes = 65536 }"#;
    for kind in ["barrier", "alltoall", "allgather"] {
        let text = experiment(flat, &format!(r#"{{ kind = "benchmark", benchmark = {{ kind = "{kind}" }} }}"#), "");
        let system = build(&text).unwrap();
        let mut visits = 0;
        system.jobs[0].workload.programs().unwrap().each_size(&mut |_, _| visits += 1);
        assert!(visits < 10_000, "{kind}: {visits}");
    }
}
