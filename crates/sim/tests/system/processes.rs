//! Runs in several processes give the bytes of a run in one.

use std::path::Path;

use fabric::Grain;
use sim::{Experiment, PointResult, RunError, RunOptions, System, run, run_point};
use testkit::processes::in_processes;

use crate::common::{as_text, build, run_divided};
use crate::program::ProgramFile;

/// Topologies, routers, routings and workloads of many kinds: open traffic on adaptive and oblivious paths, multicasts,
/// operations in switches and at a rate, ranks with interfaces and collectives, volumes, jobs, pacers, series, messages
/// and explained time.
pub const CASES: &[(&str, &str)] = &[
    (
        "open traffic",
        r#"topology = { kind = "dragonfly", p = 1, a = 3, h = 2 }
        workload = { kind = "traffic", load = 0.4 }"#,
    ),
    (
        "snapshots of congestion",
        r#"topology = { kind = "dragonfly", p = 2, a = 4, h = 2, g = 5 }
        routing = { kind = "ugal-g" }
        workload = { kind = "traffic", load = 0.5, pattern = "adversarial" }"#,
    ),
    (
        "messages and series",
        r#"topology = { kind = "torus", dims = [4, 3, 2] }
        measure = { warm_up = "5 us", max_time = "25 us", messages = true, series = "1500 ns" }
        router = { kind = "input-output-queued" }
        workload = { kind = "traffic", load = 0.4, injection = "poisson", message_size = "600 B" }"#,
    ),
    (
        "backlogged crosspoints",
        r#"topology = { kind = "mesh", dims = [4, 4], nodes_per_router = 2 }
        router = { kind = "input-crosspoint-queued", vcs = 8, buffer = "700 B", queueing = "fifo" }
        workload = { kind = "traffic", load = 1.0, injection = "backlogged" }"#,
    ),
    (
        "pacers with acknowledgements",
        r#"topology = { kind = "fat-tree", k = 4, n = 2 }
        node = { receive_buffer = "3 packets" }
        workload = { kind = "traffic", load = 0.4, pacer = { kind = "window", window = "600 B" } }"#,
    ),
    (
        "multicasts",
        r#"topology = { kind = "torus", dims = [4, 4] }
        workload = { kind = "collective", load = 0.2, fanout = { mean = 4 }, collectives = "hardware" }"#,
    ),
    (
        "operations at a rate",
        r#"topology = { kind = "fat-tree", k = 2, n = 3 }
        nic = { kind = "ideal", send_overhead = "300 ns", receive_overhead = "200 ns" }
        workload = { kind = "collective", operation = "allreduce", groups = "persistent", load = 0.05, size = "1 KiB",
        fanout = { mean = 3 }, collectives = "hardware" }"#,
    ),
    (
        "operations in switches",
        r#"topology = { kind = "torus", dims = [4, 3] }
        in_switch = { combine = { kind = "word-serial", units = 3, window = 2 } }
        workload = { kind = "program", program = { kind = "collective", operation = "allreduce", algorithm = "in-switch",
        size = "1400 B", iterations = 3 } }"#,
    ),
    (
        "ranks with interfaces",
        r#"topology = { kind = "dragonfly", p = 1, a = 3, h = 2 }
        nic = { kind = "ideal", send_overhead = "300 ns", receive_overhead = "200 ns", eager_limit = "1 KiB" }
        measure = { messages = true, timeline = true }
        workload = { kind = "program", program = { kind = "collective", operation = "alltoall", size = "3 KiB" } }"#,
    ),
    (
        "benchmark of pairs",
        r#"topology = { kind = "torus", dims = [4, 2, 2] }
        workload = { kind = "benchmark", benchmark = { kind = "wicon", pairs = "random", messages = 2,
        message_size = "600 B" } }"#,
    ),
    (
        "volumes",
        r#"topology = { kind = "torus", dims = [4, 2, 2] }
        measure = { messages = true }
        workload = { kind = "exchange", volume = "3 KiB" }"#,
    ),
    (
        "step of an application",
        r#"topology = { kind = "fat-tree", k = 4, n = 2 }
        workload = { kind = "application", graph = "matmul:2,matrix=64", time_per_load = "3 us" }"#,
    ),
    (
        "jobs",
        r#"topology = { kind = "torus", dims = [4, 4] }
        router = { kind = "input-output-queued" }
        measure = { warm_up = "5 us", max_time = "40 us", compare_alone = true, series = "2 us" }
        [[job]]
        name = "open"
        workload = { kind = "traffic", load = 0.3 }
        [[job]]
        name = "steps"
        nodes = "0-7"
        start = "3 us"
        workload = { kind = "exchange", dims = [4, 2], volume = "3 KiB" }
        [[job]]
        name = "ranks"
        nodes = "4-11"
        start = "2 us"
        workload = { kind = "program", program = { kind = "fft", message_size = "3 KiB" } }
        [[job]]
        name = "behind"
        nodes = "1,3,5,7"
        background = true
        end = "20 us"
        workload = { kind = "traffic", load = 0.5, packet_size = "100 B", injection = "periodic" }"#,
    ),
];

/// A case as an experiment.
pub fn text_of(keys: &str) -> String {
    let measure =
        if keys.contains("measure = ") { "" } else { "measure = { warm_up = \"5 us\", max_time = \"25 us\" }" };
    format!("seed = 5\nlink = {{ bandwidth = \"10 Gb/s\", delay = \"130 ns\" }}\n{measure}\n{keys}")
}

/// Returns the result of a system in several processes, each with some threads, without the times of the simulator.
pub fn run_in_processes(system: &System, processes: usize, (threads, grain): (usize, Grain)) -> PointResult {
    let found = in_processes(processes, |exchange| {
        let options = RunOptions { threads, grain, exchange, ..RunOptions::default() };
        run(system, &options).unwrap_or_else(|error| panic!("{error}"))
    });
    let mut first = found.into_iter().next().unwrap();
    let times = first.processes.take().unwrap();
    assert!(times.processes as usize == processes && times.windows > 0, "{times:?}");
    assert!(times.window_bytes > 0.0, "{times:?}");
    first.wall_s = 0.0;
    for job in &mut first.jobs {
        assert!(job.point.processes.is_none());
        job.point.wall_s = 0.0;
    }
    first
}

#[test]
fn any_number_of_processes_gives_the_same_bytes() {
    // Would catch mail that is lost, late or doubled between processes, a decision from a part of the counts, a count
    // of one process that is left out, and calls that differ between processes. Conservation of packets and credits is
    // checked over all processes.
    for (name, keys) in CASES {
        let text = text_of(keys);
        let system = build(&text).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let one = as_text(&run_divided(&system, 1, Grain::Fine));
        for (processes, threads, grain) in
            [(2, 1, Grain::Fine), (3, 2, Grain::Coarse), (4, 1, Grain::Exactly(3)), (64, 1, Grain::Fine)]
        {
            let found = run_in_processes(&system, processes, (threads, grain));
            assert_eq!(as_text(&found), one, "{name} in {processes} processes");
        }
    }
}

#[test]
fn errors_of_ranks_and_models_end_every_process() {
    // Would catch a process that goes on alone after an error of another one, and a message that depends on processes.
    let program = |name: &str, ranks: [&str; 2]| {
        let idle: String = (1..7).map(|rank| format!("rank {rank} {{ }}\n")).collect();
        let [first, last] = ranks;
        ProgramFile::goal(name, &format!("num_ranks 8\nrank 0 {{\n{first}\n}}\n{idle}rank 7 {{\n{last}\n}}"))
    };
    let goal = program(
        "nobody-sends",
        ["a: recv 8b from any tag any\nb: recv 8b from 7 tag 5\nb requires a", "send 8b to 0 tag 5"],
    );
    let truncated = program("truncated", ["recv 8b from any tag 0", "send 9b to 0 tag 0"]);
    let keys = |program: &str| {
        format!(
            "topology = {{ kind = \"torus\", dims = [4, 2] }}\nworkload = {{ kind = \"program\", program = {program} }}"
        )
    };
    let stuck = build(&text_of(&keys(&goal.program()))).unwrap();
    let alone = run(&stuck, &RunOptions { threads: 1, ..RunOptions::default() }).unwrap_err();
    assert!(alone.to_string().contains("rank 0 waits for a message from rank 7 under tag 5"), "{alone}");
    let refused = build(&text_of(&keys(&truncated.program()))).unwrap();
    let too_long = run(&refused, &RunOptions { threads: 1, ..RunOptions::default() }).unwrap_err();
    for (system, alone) in [(&stuck, &alone), (&refused, &too_long)] {
        let found =
            in_processes(3, |exchange| run(system, &RunOptions { threads: 1, exchange, ..RunOptions::default() }));
        for error in found {
            assert_eq!(error.unwrap_err().to_string(), alone.to_string());
        }
    }
    let flow = r#"topology = { kind = "torus", dims = [4, 2] }
        simulation = { model = "flow" }
        workload = { kind = "exchange", volume = "3 KiB" }"#;
    let system = build(&text_of(flow)).unwrap();
    let found = in_processes(2, |exchange| run(&system, &RunOptions { threads: 1, exchange, ..RunOptions::default() }));
    for error in found.into_iter().map(Result::unwrap_err) {
        assert!(matches!(&error, RunError::System(error) if error.key == "simulation.model"), "{error}");
    }
}

#[test]
fn processes_that_read_another_file_are_named() {
    // Would catch data files that differ between nodes, which give a mixture of two runs, and a file that is taken for
    // another one.
    let text = text_of(CASES[0].1);
    let experiment = Experiment::load(&text, "test.toml", Path::new("."), &[]).unwrap();
    let point = &experiment.points()[0];
    let hashes = |own: [&str; 2]| ["graph.csv", "ranks.trace"].map(String::from).into_iter().zip(own.map(String::from));
    for (other, said) in [
        (["aa", "bb"], None),
        (["aa", "cc"], Some("process 1: it reads another content of ranks.trace than process 0")),
        (["cc", "bb"], Some("process 1: it reads another content of graph.csv than process 0")),
    ] {
        let found = in_processes(3, |exchange| {
            let own = if exchange.rank() == 1 { other } else { ["aa", "bb"] };
            let inputs = hashes(own).collect();
            run_point(&experiment, point, &RunOptions { threads: 1, exchange, inputs, ..RunOptions::default() })
        });
        for ended in found {
            let error = ended.err().map(|error| error.to_string());
            assert_eq!(error.is_some(), said.is_some(), "{error:?}");
            assert!(error.unwrap_or_default().starts_with(said.unwrap_or_default()), "{other:?}");
        }
    }
}
