//! The clock has 64 bits: what it does not hold is refused, or ends with an error, and never wraps.

use sim::{PointResult, RunError};

use crate::common::{build, result, run_on};
use crate::program::ProgramFile;

/// Traffic on a slow link.
fn traffic(workload: &str, measure: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "single-switch", ports = 4 }}
        link = {{ bandwidth = "100 Mb/s", delay = "20 ns" }}
        workload = {{ kind = "traffic", {workload} }}
        measure = {{ {measure} }}
        "#
    )
}

/// An exchange between two nodes over links of 100 kb/s.
fn exchange(volume: &str, measure: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "single-switch", ports = 2 }}
        link = {{ bandwidth = "100 kb/s", delay = "20003 ps" }}
        workload = {{ kind = "exchange", dims = [2], volume = "{volume}", packet_size = "10 MB" }}
        measure = {{ {measure} }}
        "#
    )
}

/// What refuses an experiment: its key and its message.
fn refusal(text: &str) -> (String, String) {
    let error = build(text).err().unwrap_or_else(|| panic!("{text}\nis not refused"));
    (error.key, error.message)
}

#[test]
fn a_run_that_the_clock_does_not_hold_is_refused() {
    // Would catch a clock that wraps at 2^64 ticks: false saturation, false deadlocks, and volumes that seem to arrive
    // sooner than their links can take them.
    let program = ProgramFile::goal("too-slow", &sends(9, 1_073_741_824));
    let refused = [
        (traffic(r#"injection = "poisson", load = 1e-11"#, ""), "workload.load"),
        (traffic("load = 1e-17", ""), "workload.load"),
        (traffic("load = 1e-300", ""), "workload.load"),
        (traffic(r#"injection = "poisson", load = 0.3, packet_size = "511 MiB""#, ""), "workload.load"),
        (traffic("load = 0.5", r#"max_time = "8000001 s""#), "measure.max_time"),
        (traffic("load = 0.5", r#"min_time = "9000000 s""#), "measure.min_time"),
        // 8e7 s; before, 2^64 ps were given for it.
        (exchange("1000 GB", ""), "workload"),
        (ranks("single-switch", &program, "1 kb/s"), "workload"),
        (ranks("flat", &program, "1 kb/s"), "workload"),
    ];
    for (text, key) in refused {
        let (found, message) = refusal(&text);
        assert_eq!(found, key, "{text}");
        let readable = message.contains("8000000 s (92 days)") || message.contains("9000000 s (104 days)");
        assert!(readable && !message.contains(" ps"), "{message}");
    }
}

#[test]
fn what_the_clock_holds_is_not_refused() {
    // Would catch a limit for what a run might take if it never became precise: most such runs end in time.
    let rare = result(&traffic(r#"injection = "poisson", load = 1e-6"#, "precision = 0.1"));
    assert!(
        (rare.open().unwrap().accepted_load / 1e-6 - 1.0).abs() < 0.1 && !rare.open().unwrap().saturated,
        "{rare:?}"
    );
    // With the time limit that the message proposes, a light load on a slow link is right: 23 days.
    let rare = result(&traffic(r#"injection = "poisson", load = 1e-6"#, r#"precision = 0.2, max_time = "2000000 s""#));
    assert!(
        (rare.open().unwrap().accepted_load / 1e-6 - 1.0).abs() < 0.1 && !rare.open().unwrap().saturated,
        "{rare:?}"
    );
    // Packets that take 21 s: latencies of a batch together exceed 2^64 ps.
    let large = result(&traffic(r#"injection = "poisson", load = 0.3, packet_size = "256 MiB""#, "precision = 0.1"));
    assert!(
        (large.open().unwrap().accepted_load / 0.3 - 1.0).abs() < 0.05 && !large.open().unwrap().saturated,
        "{large:?}"
    );
    // 8,000,000 s and a packet's delay, of which the sum of latencies exceeds 64 bits.
    let slow = result(&exchange("100 GB", ""));
    let time = slow.closed().unwrap().time_ns.unwrap();
    assert!(
        (time / 8e15 - 1.0).abs() < 1e-6 && slow.closed().unwrap().throughput.unwrap() > 0.999,
        "{time} {}",
        slow.closed().unwrap().throughput.unwrap()
    );
    // What is refused for its length goes with a limit, and ends by it.
    let cut = result(&exchange("1000 GB", r#"max_time = "2000000 s""#));
    assert!(
        cut.closed().unwrap().time_ns.is_none()
            && cut.sim_time_ns <= 2e15
            && cut.closed().unwrap().throughput.unwrap() > 0.99,
        "{cut:?}"
    );
}

/// So many messages of so many bytes from one rank to another, at once.
fn sends(count: u32, bytes: u32) -> String {
    let all = |what: &str, to: &str| -> String {
        (0..count).map(|number| format!("{what} {bytes}b {to} tag {number}\n")).collect()
    };
    format!("num_ranks 2\nrank 0 {{\n{}}}\nrank 1 {{\n{}}}\n", all("send", "to 1"), all("recv", "from 0"))
}

/// So many calculations of 1000 s, one after the other or all begun at once.
fn calculations(count: u32, in_order: bool) -> String {
    let calc = |number: u32| match number {
        0 => "c0: calc 1000000000000\n".to_owned(),
        _ if !in_order => format!("c{number}: calc 1000000000000\n"),
        _ => format!("c{number}: calc 1000000000000\nc{number} requires c{}\n", number - 1),
    };
    let all: String = (0..count).map(calc).collect();
    format!("num_ranks 2\nrank 0 {{\n{all}}}\nrank 1 {{\n}}\n")
}

fn ranks(topology: &str, program: &ProgramFile, bandwidth: &str) -> String {
    let (size, packets) = match topology {
        "flat" => ("nodes", ""),
        _ => ("ports", r#", packet_size = "100 kB""#),
    };
    format!(
        r#"
        topology = {{ kind = "{topology}", {size} = 2 }}
        link = {{ bandwidth = "{bandwidth}", delay = "100 s" }}
        workload = {{ kind = "program", program = {}{packets} }}
        "#,
        program.program()
    )
}

/// An exchange on a mesh whose links between routers are a hundred times slower than those of nodes, in packets of 1000
/// s.
fn behind_slow_links(dims: &str, volume: &str) -> String {
    format!(
        r#"
        topology = {{ kind = "mesh", dims = {dims} }}
        workload = {{ kind = "exchange", dims = {dims}, volume = "{volume}", packet_size = "100 kB" }}
        [link]
        bandwidth = "800 b/s"
        delay = "500 s"
        injection = {{ bandwidth = "80 kb/s" }}
        ejection = {{ bandwidth = "80 kb/s" }}
        "#
    )
}

/// How a run ends: by the clock, at a time that the error names, or with a result.
fn ends_by_the_clock(found: &Result<PointResult, RunError>) -> bool {
    let named = |error: &RunError| error.to_string().contains("9000000 s of simulated time (104 days)");
    matches!(found, Err(error @ RunError::Clock { .. }) if named(error))
}

#[test]
fn a_run_that_turns_out_too_long_ends_with_an_error() {
    // What is beyond the clock is not always known beforehand. Would catch a run that wraps, or that goes on for ever;
    // phases that each have a clock of their own; and processors whose work, accepted at once, ends beyond 64 bits.
    let queue = ProgramFile::goal("calculations-at-once", &calculations(20_000, false));
    let too_long = ProgramFile::goal("calculations-too-long", &calculations(9_001, true));
    let fits = ProgramFile::goal("calculations", &calculations(8_990, true));
    for threads in [1, 2] {
        assert!(ends_by_the_clock(&run_on(&behind_slow_links("[2]", "910 MB"), threads)), "one phase");
        assert!(ends_by_the_clock(&run_on(&behind_slow_links("[2, 2]", "500 MB"), threads)), "two phases");
        for topology in ["single-switch", "flat"] {
            for program in [&queue, &too_long] {
                let found = run_on(&ranks(topology, program, "80 kb/s"), threads);
                assert!(ends_by_the_clock(&found), "{topology}: {found:?}");
            }
            let found = run_on(&ranks(topology, &fits, "80 kb/s"), threads).unwrap();
            assert_eq!(found.closed().unwrap().clone().time_ns, Some(8_990e12), "{topology}");
        }
    }
    // Beside another job the phases share one clock.
    let jobs = behind_slow_links("[2, 2]", "500 MB").replace("workload = { kind", "job = [{ name = \"one\", workload = { kind").replace(
        "\"100 kB\" }",
        "\"100 kB\" } }, { name = \"two\", workload = { kind = \"exchange\", dims = [2, 2], volume = \"1 MB\", packet_size = \"100 kB\" } }]",
    );
    assert!(ends_by_the_clock(&run_on(&jobs, 1)), "beside another job");
}
