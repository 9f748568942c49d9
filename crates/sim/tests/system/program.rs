//! Programs of ranks, on whole systems: times to the picosecond, the same bytes for any number of threads, and errors
//! that say who waits.

use crate::common::{build, digest, digest_of, result};
use fabric::Grain;
use sim::{PointResult, RunError, RunOptions, run};
use units::Time;

pub const TORUS: &str = r#"{ kind = "torus", dims = [5, 4, 3] }"#;

/// Delays of nodes, channels, routers and overheads are different primes; 100 bytes at 4 Gb/s are 200 ns.
pub fn experiment(topology: &str, program: &str, rest: &str) -> String {
    format!(
        r#"
        topology = {topology}
        router = {{ kind = "output-queued", delay = "13 ns", buffer = "4 packets" }}
        workload = {{ kind = "program", packet_size = "100 B", program = {program} }}
        nic = {{ send_overhead = "1009 ns", receive_overhead = "503 ns" }}
        {rest}
        [link]
        bandwidth = "4 Gb/s"
        delay = "70 ns"
        injection = {{ delay = "50 ns" }}
        ejection = {{ delay = "110 ns" }}
        "#
    )
}

/// A program in a file in the temporary folder that is there as long as this.
pub struct ProgramFile {
    path: std::path::PathBuf,
    kind: &'static str,
}

impl ProgramFile {
    pub fn goal(name: &str, text: &str) -> Self {
        Self::write(name, "goal", text)
    }

    pub fn calls(name: &str, text: &str) -> Self {
        Self::write(name, "calls", text)
    }

    fn write(name: &str, kind: &'static str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cutthrough-{}-{name}.{kind}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self { path, kind }
    }

    pub fn program(&self) -> String {
        format!("{{ kind = \"{}\", file = '{}' }}", self.kind, self.path.display())
    }
}

impl Drop for ProgramFile {
    fn drop(&mut self) {
        // What is left behind in the temporary folder harms nobody.
        let _ = std::fs::remove_file(&self.path);
    }
}

pub fn per_rank(point: &PointResult) -> Vec<Option<f64>> {
    point.closed().unwrap().per_rank.clone()
}

/// A message to the next router without its length, in nanoseconds: both overheads, the links and two routers.
const ONE_HOP: f64 = 1009.0 + 503.0 + 50.0 + 70.0 + 110.0 + 2.0 * 13.0;

#[test]
fn a_file_runs_to_the_picosecond() {
    // Would catch calculations in another unit, a requirement that is lost, and ranks beyond those of the file that
    // run.
    let goal = ProgramFile::goal(
        "chain",
        "num_ranks 3\nrank 0 {\na: calc 100.5\nb: send 300b to 1 tag 7\nb requires a\n}\n\
         rank 1 {\na: recv 300b from any tag any\nb: calc 40\nc: send 1b to 2 tag 0\nb requires a\nc requires b\n}\n\
         rank 2 {\nrecv 8b from 1 tag any\n}",
    );
    let point = result(&experiment(TORUS, &goal.program(), ""));
    let first = 100.5 + ONE_HOP + 600.0;
    let second = first + 40.0 + ONE_HOP + 2.0;
    let ends = per_rank(&point);
    assert_eq!(ends.len(), 3);
    // What is handed over between two ticks is released at the next.
    for (end, exact) in ends.iter().zip([100.5 + 1009.0, first + 40.0 + 1009.0, second]) {
        assert!((end.unwrap() - exact).abs() <= 2.0, "{end:?} {exact}");
    }
    let program = point.closed().unwrap().clone().program.unwrap();
    assert_eq!((program.program_messages, program.unexpected_max, program.search_max), (2, 0, 1));
}

/// Ranks that hand a message of 300 B on, each after calculations of so many ns.
fn relay(ranks: u32, calculation: u64) -> String {
    let of = |rank: u32| {
        let receive = if rank > 0 { format!("r: recv 300b from {}\nc requires r\n", rank - 1) } else { String::new() };
        let send =
            if rank + 1 < ranks { format!("s: send 300b to {}\ns requires c\n", rank + 1) } else { String::new() };
        format!("rank {rank} {{\nc: calc {calculation}\n{receive}{send}}}\n")
    };
    (0..ranks).map(of).fold(format!("num_ranks {ranks}\n"), |all, own| all + &own)
}

#[test]
fn long_calculations_are_passed_over_and_change_nothing() {
    // Would catch runs that poll every few microseconds, or move partitions on by windows of nanoseconds, through hours
    // in which nothing happens: they would not end. And events, snapshots and samples that are passed over: times are
    // exact, and the bytes the same for every division. Calculations of a microsecond are not passed over, and differ
    // by just so much.
    const LONG: u64 = 999_000_000_000;
    let program = ProgramFile::goal("relay", &relay(5, LONG));
    let short = ProgramFile::goal("relay-short", &relay(5, 1000));
    let dragonfly = "{ kind = \"dragonfly\", p = 1, a = 4, h = 2 }";
    let machines = [
        (TORUS, ""),
        (TORUS, "node = { receive_buffer = \"4 packets\" }\nmeasure = { max_time = \"2000 s\" }"),
        (TORUS, "measure = { messages = true, timeline = true, series = \"100 s\" }"),
        (dragonfly, "routing = { kind = \"ugal-g\", refresh = \"101 ns\" }"),
    ];
    for (topology, rest) in machines {
        let text = experiment(topology, &program.program(), rest);
        let found = result(&text);
        if rest.contains("max_time") {
            assert_eq!((found.closed().unwrap().time_ns, found.sim_time_ns), (None, 2e12), "{rest}");
        } else {
            let (time, quick) = (time(&found), time(&result(&experiment(topology, &short.program(), rest))));
            assert!((time - quick - 5.0 * (LONG - 1000) as f64).abs() <= 1e-3, "{time} {quick} {rest}");
        }
        // With receive buffers windows stay as short as they are.
        let divisions = [(1, Grain::Exactly(5)), (2, Grain::Fine), (2, Grain::Exactly(3))];
        for (threads, grain) in divisions.into_iter().filter(|_| !rest.contains("receive_buffer")) {
            assert_eq!(digest_of(&text, threads, grain), digest(&text, 1), "{threads} threads, {grain:?}: {text}");
        }
    }
    let flat = format!(
        r#"
        topology = {{ kind = "flat", nodes = 5 }}
        link = {{ bandwidth = "8 Gb/s", delay = "700 ns" }}
        workload = {{ kind = "program", program = {} }}
        "#,
        program.program()
    );
    assert_eq!(time(&result(&flat)), (5 * LONG + 4 * (300 + 700)) as f64);
    assert_eq!(digest(&flat, 3), digest(&flat, 1));
}

fn time(point: &PointResult) -> f64 {
    point.closed().unwrap().time_ns.unwrap()
}

/// Programs with wildcards, with several ranks a node, by rendezvous and on adaptive routings.
pub(crate) const PROGRAMS: [&str; 5] = [
    r#"{ kind = "halo-3d", message_size = "700 B", iterations = 2, compute = "3 us" }"#,
    r#"{ kind = "sweep", message_size = "300 B", sweeps = 4, blocks = 2 }"#,
    r#"{ kind = "fft", message_size = "250 B" }"#,
    r#"{ kind = "incast", message_size = "900 B", messages = 3 }"#,
    r#"{ kind = "halo-2d", message_size = "1200 B", iterations = 2 }"#,
];

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    // Would catch a message that is announced too late, a match that depends on partitions, and an order of one instant
    // that does.
    let machines = [
        ("{ kind = \"torus\", dims = [4, 3, 2] }", "routing = { kind = \"minimal-adaptive\" }"),
        ("{ kind = \"dragonfly\", p = 2, a = 4, h = 2 }", "routing = { kind = \"ugal-l\" }"),
        ("{ kind = \"fat-tree\", k = 4, n = 3 }", ""),
    ];
    let divisions = [(1, Grain::Exactly(5)), (2, Grain::Fine), (2, Grain::Exactly(3))];
    for (index, program) in PROGRAMS.iter().enumerate() {
        let (topology, routing) = machines[index % machines.len()];
        let placement = "placement = { strategy = \"random\", processes_per_node = 2 }\nmeasure = { messages = true }";
        let text = experiment(topology, program, &format!("{routing}\n{placement}"));
        let text = text.replace("\"503 ns\" }", "\"503 ns\", eager_limit = \"600 B\" }");
        let (threads, grain) = divisions[index % divisions.len()];
        assert_eq!(digest_of(&text, threads, grain), digest(&text, 1), "{threads} threads, {grain:?}: {text}");
    }
}

/// Ranks whose receives take whatever comes first, by requirements: each sends to two others, and to a third when it
/// has received twice.
fn wildcard_goal(ranks: u32) -> String {
    let of = |rank: u32| {
        let to = [rank + 1, 7 * rank + 3, rank + 11].map(|rank| rank % ranks);
        format!(
            "rank {rank} {{\nc: calc {}\na: send 500b to {} tag 1\nb: send 900b to {} tag 2\na requires c\n\
             r: recv 900b from any tag any\ns: recv 900b from any tag any\nt: recv 900b from any tag any\n\
             d: send 200b to {} tag 3\nd requires r\nd requires s\n}}\n",
            100 * (rank % 5),
            to[0],
            to[1],
            to[2]
        )
    };
    (0..ranks).fold(format!("num_ranks {ranks}\n"), |text, rank| text + &of(rank))
}

/// A master that probes for its workers' messages, and workers in a ring that test and wait for any, beside an
/// allreduce.
fn master_and_workers(ranks: u32) -> String {
    let workers = ranks - 1;
    let master = "probe from any tag 1\nirecv from any tag 1\ncalc 90 ns\n".repeat(2 * workers as usize);
    let start = "start allreduce 600 B by recursive-doubling\n";
    let of = |rank: u32| {
        format!(
            "rank {rank}\n{start}irecv from any tag 2\ncalc {} ns\nisend 700 B to 0 tag 1 times 2 stride 0\niprobe from any tag 2\n\
             isend 900 B to {} tag 2\ntest\npoll\nwaitany\ncalc 200 ns\nwaitall\nbarrier by dissemination\n",
            37 * rank,
            1 + rank % workers
        )
    };
    let head = format!("ranks {ranks}\nrank 0\n{start}{master}waitall\nbarrier by dissemination\n");
    (1..ranks).fold(head, |text, rank| text + &of(rank))
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_of_what_files_say() {
    // Would catch a wildcard, a probe, a test or a wait for any that is answered by the partition's order instead of
    // time's.
    let files =
        [ProgramFile::goal("wildcards", &wildcard_goal(24)), ProgramFile::calls("master", &master_and_workers(24))];
    for (number, file) in files.iter().enumerate() {
        for (topology, rest) in [
            ("{ kind = \"torus\", dims = [3, 2, 2] }", "routing = { kind = \"minimal-adaptive\" }"),
            ("{ kind = \"fat-tree\", k = 4, n = 2, planes = 2 }", ""),
        ] {
            let placement =
                "placement = { strategy = \"random\", processes_per_node = 2 }\nmeasure = { messages = true }";
            let text = experiment(topology, &file.program(), &format!("{rest}\n{placement}"));
            let text = text.replace("\"503 ns\" }", "\"503 ns\", eager_limit = \"600 B\" }");
            let one = digest(&text, 1);
            let ends = per_rank(&result(&text));
            assert!(ends.len() == 24 && ends.iter().all(Option::is_some), "{number}: {ends:?}");
            for (threads, grain) in [(1, Grain::Exactly(5)), (2, Grain::Fine), (2, Grain::Exactly(3))] {
                assert_eq!(digest_of(&text, threads, grain), one, "{number}: {threads} threads, {grain:?}, {topology}");
            }
        }
    }
}

#[test]
fn an_incast_waits_in_the_queue_of_its_root() {
    // Would catch receives that are searched from the end, and messages that are not counted.
    let point = result(&experiment(TORUS, r#"{ kind = "incast", message_size = "1 KiB", messages = 2 }"#, ""));
    let found = point.closed().unwrap().clone();
    let program = found.program.unwrap();
    assert_eq!((program.program_messages, program.unexpected_max), (2 * 59, 0));
    // All receives are alike: each message meets the first.
    assert_eq!((program.posted_search_mean, program.search_max), (Some(1.0), 1));
    // The link of the root carries all: eleven packets of a message, the last of 24 bytes.
    assert!(found.time_ns.unwrap() >= 2.0 * 59.0 * 2048.0);
}

fn error(program: &str, threads: usize) -> RunError {
    let system = build(&experiment(TORUS, program, "")).unwrap();
    run(&system, &RunOptions { threads, ..RunOptions::default() }).unwrap_err()
}

#[test]
fn ranks_that_wait_for_ever_end_the_run_with_who_waits_for_whom() {
    // Would catch a run that does not end, or ends as if all had been done: rank 0 takes the message that its second
    // receive is for.
    let goal = ProgramFile::goal(
        "stuck",
        "num_ranks 2\nrank 0 {\na: recv 8b from any tag any\nb: recv 8b from 1 tag 5\nb requires a\n}\nrank 1 {\nsend 8b to 0 tag 5\n}",
    );
    // Overheads, three channels, two routers, and 16 ns for 8 bytes. When the run finds that nothing goes on is of no
    // interest.
    let received = Time(1000 * (1009 + 50 + 70 + 110 + 2 * 13 + 16 + 503));
    for threads in [1, 2] {
        let found = error(&goal.program(), threads);
        let RunError::Standstill { since, waits } = &found else { panic!("{found}") };
        assert_eq!(waits, "rank 0 waits for a message from rank 1 under tag 5");
        assert_eq!(*since, received);
    }
    let large =
        ProgramFile::goal("large", "num_ranks 2\nrank 0 {\nrecv 8b from any tag 0\n}\nrank 1 {\nsend 9b to 0 tag 0\n}");
    assert!(matches!(error(&large.program(), 1), RunError::Rank(_)));
}

#[test]
fn messages_that_nobody_receives_are_said() {
    // Would catch a run that ends as if all were well: two messages, and one receive that takes any. Threads change
    // nothing; what is received is not said.
    let lost =
        "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1\nsend 100000b to 1 tag 2\n}\nrank 1 {\nrecv 8b from any tag any\n}";
    let goal = ProgramFile::goal("lost", lost);
    let whole = ProgramFile::goal("whole", &lost.replace("tag any\n", "tag any\nrecv 100000b from any tag any\n"));
    let kinds = |program: &ProgramFile, threads: usize| {
        let system = build(&experiment(TORUS, &program.program(), "")).unwrap();
        let found = run(&system, &RunOptions { threads, ..RunOptions::default() }).unwrap();
        let unreceived = |warning: &sim::Warning| (warning.kind == "unreceived").then(|| warning.message.clone());
        found.warnings.iter().filter_map(unreceived).collect::<Vec<_>>()
    };
    for threads in [1, 2] {
        let said = kinds(&goal, threads);
        assert!(said.len() == 1 && said[0].starts_with("1 message has no receive"), "{said:?}");
        assert!(kinds(&whole, threads).is_empty());
    }
}

#[test]
fn what_cannot_be_is_refused_at_its_key() {
    // Would catch a panic, a rank that is left out in silence, and two processors of a rank that are simulated as one.
    let many = ProgramFile::goal("many", "num_ranks 61\n");
    let cpus = ProgramFile::goal("cpus", "num_ranks 1\nrank 0 {\ncalc 1 cpu 1\n}");
    let long = ProgramFile::goal("long", "num_ranks 1\nrank 0 {\ncalc 1000000000000.001\n}");
    let cases = [
        (long.program(), "workload.program.file"),
        (many.program(), "workload.program.file"),
        (cpus.program(), "workload.program.file"),
        ("{ kind = \"halo-2d\", dims = [7, 9] }".to_owned(), "workload.program.dims"),
        ("{ kind = \"incast\", root = 60 }".to_owned(), "workload.program.root"),
        ("{ kind = \"sweep\", message_size = \"2 GiB\" }".to_owned(), "workload.program.message_size"),
        ("{ kind = \"fft\", compute = \"2000 s\" }".to_owned(), "workload.program.compute"),
    ];
    for (program, key) in cases {
        let error = build(&experiment(TORUS, &program, "")).unwrap_err();
        assert_eq!(error.key, key, "{error}");
    }
}
