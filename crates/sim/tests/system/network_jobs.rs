//! Jobs on machines of islands and rails, and tables of rules that choose algorithms of islands.

use fabric::Grain;
use sim::PointResult;

use crate::common::{build, digest, digest_of, nodes_with_rails, result};
use crate::program::ProgramFile;

/// Four nodes of four endpoints: a packet of 1 KiB takes 10 ns inside a node, and 80 ns on a rail.
fn machine(jobs: &str, keys: &str) -> String {
    let links = [r#"bandwidth = "819.2 Gb/s", delay = "50 ns""#, r#"bandwidth = "102.4 Gb/s", delay = "200 ns""#];
    nodes_with_rails((4, 4), links, &format!("relay = {{ network = \"inside\" }}\n{keys}")) + jobs
}

fn job(name: &str, keys: &str, workload: &str) -> String {
    format!("[[job]]\nname = \"{name}\"\n{keys}\nworkload = {{ {workload} }}\n")
}

fn collective(algorithm: &str, size: &str) -> String {
    format!(
        "kind = \"program\", packet_size = \"1 KiB\", program = {{ kind = \"collective\", operation = \"allreduce\", \
         algorithm = \"{algorithm}\", size = \"{size}\" }}"
    )
}

const ALONE: &str = "measure = { compare_alone = true }";

fn slowdowns(point: &PointResult) -> Vec<f64> {
    point.jobs.iter().map(|job| job.slowdown.unwrap()).collect()
}

#[test]
fn jobs_on_other_nodes_do_not_meet() {
    // Two jobs on two nodes each, on links of their own and switches that never block. Would catch a job whose islands or
    // rails are those of another, and relays on endpoints of another job. (Jobs by `nvls-in-switch` share the units of
    // the switches of rails.)
    for algorithm in ["hierarchical", "nvls-ring", "nvls-doubling", "ring", "rabenseifner"] {
        let jobs = job("one", "nodes = \"0-7\"", &collective(algorithm, "200 KiB"))
            + &job("two", "nodes = \"8-15\"\nstart = \"700 ns\"", &collective(algorithm, "200 KiB"));
        let point = result(&machine(&jobs, ALONE));
        assert_eq!(slowdowns(&point), [1.0, 1.0], "{algorithm}");
        // Nodes are alike.
        let [one, two] = &point.jobs[..] else { panic!() };
        let time = |job: &sim::JobResult| job.point.closed().unwrap().time_ns;
        assert_eq!(time(one), time(two), "{algorithm}");
    }
}

#[test]
fn jobs_on_the_same_endpoints_share_their_links() {
    // Pairs on one rail: each of two jobs sends 64 packets from endpoint 0 to endpoint 4, packet by packet in turn. Would
    // catch a job that has a link for itself, and turns on another network. A job inside the node has its own link.
    let goal = |to: u32| {
        let others: String = (1..16).filter(|&rank| rank != to).map(|rank| format!("rank {rank} {{\n}}\n")).collect();
        ProgramFile::goal(
            &format!("shared-{to}"),
            &format!(
                "num_ranks 16\nrank 0 {{\nsend 65536b to {to} tag 0\n}}\nrank {to} {{\nrecv 65536b from 0 tag 0\n}}\n{others}"
            ),
        )
    };
    let (far, near) = (goal(4), goal(1));
    let program =
        |goal: &ProgramFile| format!("kind = \"program\", packet_size = \"1 KiB\", program = {}", goal.program());
    let jobs = job("one", "", &program(&far)) + &job("two", "", &program(&far)) + &job("three", "", &program(&near));
    let text = machine(&jobs, ALONE);
    let point = result(&text);
    let times: Vec<f64> = point.jobs.iter().map(|job| job.point.closed().unwrap().time_ns.unwrap()).collect();
    let path = 2.0 * 200.0 + 100.0;
    assert_eq!(times, [path + 127.0 * 80.0, path + 128.0 * 80.0, 2.0 * 50.0 + 100.0 + 64.0 * 10.0]);
    for (threads, grain) in [(1, Grain::Exactly(3)), (2, Grain::Fine)] {
        assert_eq!(digest_of(&text, threads, grain), digest(&text, 1), "{threads} threads");
    }
}

#[test]
fn jobs_of_every_kind_share_networks_behind_pacers() {
    // Would catch a job whose acknowledgements, relays or rails are those of another, and a result that depends on
    // partitions. Traffic of one job takes the network that joins its endpoints: a node's, or a rail.
    let window = r#"pacer = { kind = "window", window = "2 KiB", ack_size = "64 B" }"#;
    let jobs = job("ranks", "", &format!("{}, {window}", collective("ring", "20 KiB")))
        + &job("inside", "nodes = \"4-7\"\nbackground = true", &format!("kind = \"traffic\", load = 0.3, {window}"))
        + &job(
            "rail",
            "nodes = \"1,5,9,13\"\nbackground = true",
            "kind = \"traffic\", load = 0.4, injection = \"poisson\"",
        )
        + &job("exchange", "nodes = \"2,6,10,14\"", &format!("kind = \"exchange\", volume = \"9 KiB\", {window}"));
    let text = machine(&jobs, "measure = { warm_up = \"2 us\", max_time = \"60 us\" }");
    let point = result(&text);
    for own in &point.jobs {
        assert!(own.point.packets > 0, "{own:?}");
        assert!(own.point.closed().is_none_or(|closed| closed.time_ns.is_some()), "{own:?}");
    }
    for (threads, grain) in [(1, Grain::Exactly(3)), (2, Grain::Fine)] {
        assert_eq!(digest_of(&text, threads, grain), digest(&text, 1), "{threads} threads");
    }
}

#[test]
fn rules_choose_algorithms_of_islands() {
    // Would catch a rule whose groups are not built, one that is applied at the wrong size, and a sequence that falls back
    // to messages. A group in one island, and one of a member in each, take the parts of the sequence that they have.
    let path = std::env::temp_dir().join(format!("cutthrough-{}-islands.selection", std::process::id()));
    std::fs::write(
        &path,
        "operation,min_ranks,min_bytes,algorithm\nallreduce,2,0,recursive-doubling\nallreduce,2,8000,nvls-doubling\n\
         allreduce,2,20000,nvls-ring\nallreduce,2,50000,nvls-in-switch\nallgather,2,0,nvls-ring\n",
    )
    .unwrap();
    for (operation, size, algorithm) in [
        ("allreduce", 4000, "recursive-doubling"),
        ("allreduce", 8000, "nvls-doubling"),
        ("allreduce", 49_999, "nvls-ring"),
        ("allreduce", 50_000, "nvls-in-switch"),
        ("allgather", 3000, "nvls-ring"),
    ] {
        for (ranks, nodes) in [(16, "0-15"), (4, "4-7"), (4, "1,5,9,13")] {
            let text = |choice: &str| {
                let program = format!(
                    "kind = \"program\", packet_size = \"1 KiB\", program = {{ kind = \"collective\", \
                     operation = \"{operation}\", {choice}, size = \"{size} B\" }}"
                );
                machine(&job("one", &format!("nodes = \"{nodes}\""), &program), "")
            };
            let chosen = text(&format!("selection = '{}'", path.display()));
            let named = text(&format!("algorithm = \"{algorithm}\""));
            assert_eq!(digest(&chosen, 1), digest(&named, 1), "{operation} of {size} B by {ranks}");
            let groups = build(&chosen).unwrap().jobs[0].workload.groups().len();
            assert_eq!(
                groups > 0,
                algorithm != "recursive-doubling" && (ranks == 16 || nodes == "4-7" || algorithm == "nvls-in-switch"),
                "{operation} of {size} B on {nodes}"
            );
        }
    }
    let _ = std::fs::remove_file(&path);
}
