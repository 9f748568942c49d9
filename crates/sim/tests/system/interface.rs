//! Processors and interfaces on whole systems: LogGP's formulas to the picosecond, other simulators' numbers, and the
//! same bytes for any division.

use std::fmt::Write as _;

use crate::common::{build, digest, digest_of, result};
use crate::program::ProgramFile;
use fabric::Grain;

/// A switch that adds nothing: L is 2500 ns, and a packet of 1 KiB takes 1 ns on a link.
fn switched(ports: u32, nic: &str, program: &str, rest: &str) -> String {
    let nic = if nic.is_empty() { String::new() } else { format!(", {nic}") };
    format!(
        r#"
        topology = {{ kind = "single-switch", ports = {ports} }}
        router = {{ kind = "output-queued", delay = "100 ns", buffer = "4 packets" }}
        workload = {{ kind = "program", packet_size = "1 KiB", program = {program} }}
        nic = {{ kind = "loggp", send_overhead = "1500 ns", receive_overhead = "1500 ns"{nic} }}
        {rest}
        [link]
        bandwidth = "8192 Gb/s"
        delay = "1000 ns"
        ejection = {{ delay = "1400 ns" }}
        "#
    )
}

/// Rounds of ranks that each send a message and receive one before the next: the partners of a rank in a round.
fn rounds(ranks: u32, count: u32, bytes: u64, partners: impl Fn(u32, u32) -> (u32, u32)) -> String {
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        writeln!(text, "rank {rank} {{").unwrap();
        for round in 0..count {
            let (to, from) = partners(rank, round);
            writeln!(text, "s{round}: send {bytes}b to {to} tag 0\nr{round}: recv {bytes}b from {from} tag 0").unwrap();
            if let Some(before) = round.checked_sub(1) {
                for (after, before) in
                    [("s", "s"), ("s", "r"), ("r", "s"), ("r", "r")].map(|(a, b)| (a, format!("{b}{before}")))
                {
                    writeln!(text, "{after}{round} requires {before}").unwrap();
                }
            }
        }
        text.push_str("}\n");
    }
    text
}

fn time_ns(text: &str) -> f64 {
    result(text).closed().unwrap().clone().time_ns.unwrap()
}

/// LogGOPSim charges G for all bytes but the first, and none at the receiver.
const LOGGOPSIM: &str = r#"gap = "1000 ns", gap_per_byte = "6 ns", receive_gap_per_byte = "0 ns""#;

#[test]
fn an_alltoall_ends_when_loggopsim_says() {
    // Would catch any term of LogGP that is charged twice, late or not at all. LogGOPSim's own end of a pairwise
    // alltoall of 1 KiB on 256 ranks with L 2500, o 1500, g 1000 and G 6: 255 times L + 2 o + 1023 G.
    let goal = ProgramFile::goal(
        "nic-pairwise",
        &rounds(256, 255, 1024, |rank, round| ((rank + round + 1) % 256, (rank + 255 - round) % 256)),
    );
    assert_eq!(time_ns(&switched(256, LOGGOPSIM, &goal.program(), "")), 2_967_690.0);
}

#[test]
fn recursive_doubling_and_a_broadcast_take_their_formulas() {
    // Would catch times that are rounded to a coarser tick: rounds of L + 2 o + 7 G, and a binomial tree whose deepest
    // leaf is 4 messages away.
    let goal =
        ProgramFile::goal("nic-doubling", &rounds(16, 4, 8, |rank, round| (rank ^ 1 << round, rank ^ 1 << round)));
    assert_eq!(time_ns(&switched(16, LOGGOPSIM, &goal.program(), "")), 4.0 * (2500.0 + 3000.0 + 42.0));
    let mut tree = "num_ranks 16\n".to_owned();
    for rank in 0_u32..16 {
        writeln!(tree, "rank {rank} {{").unwrap();
        let low = if rank == 0 { 16 } else { rank & rank.wrapping_neg() };
        if rank > 0 {
            writeln!(tree, "r: recv 1024b from {} tag 0", rank - low).unwrap();
        }
        let children = (0..4).rev().map(|bit| 1 << bit).filter(|&bit| bit < low);
        for bit in children {
            writeln!(tree, "s{bit}: send 1024b to {} tag 0", rank + bit).unwrap();
            if rank > 0 {
                writeln!(tree, "s{bit} requires r").unwrap();
            }
        }
        tree.push_str("}\n");
    }
    let goal = ProgramFile::goal("nic-broadcast", &tree);
    assert_eq!(time_ns(&switched(16, LOGGOPSIM, &goal.program(), "")), 4.0 * (2500.0 + 3000.0 + 6138.0));
}

#[test]
fn an_incast_is_limited_by_the_gap_of_its_root() {
    // Would catch a root that takes messages of several ranks at a time. All of 7 messages of a packet come to the
    // switch together, and leave it 1 ns apart, a packet's time on the link, while the root takes 1023 G + g each.
    let nic = r#"gap = "700 ns", gap_per_byte = "0 ns", receive_gap_per_byte = "2 ns""#;
    let program = r#"{ kind = "incast", message_size = "1 KiB" }"#;
    let gap = 1023.0 * 2.0 + 700.0;
    // The head of the first has come when it was released.
    let exact = 1500.0 + 2500.0 + 7.0 * gap - 700.0 + 1500.0;
    assert_eq!(time_ns(&switched(8, nic, program, "")), exact);
}

#[test]
fn shares_of_processors_add_up() {
    // Would catch a share of another time, and library work that is counted where it is latency.
    let goal = ProgramFile::goal(
        "nic-shares",
        "num_ranks 2\nrank 0 {\na: calc 4000\nb: send 8b to 1 tag 0\nb requires a\n}\nrank 1 {\nrecv 8b from 0 tag 0\n}",
    );
    let found = result(&switched(2, "", &goal.program(), "")).closed().unwrap().clone();
    let (program, end) = (found.program.unwrap(), found.time_ns.unwrap());
    assert_eq!(end, 4000.0 + 1500.0 + 2500.0 + 0.008 + 1500.0);
    assert_eq!(
        (program.computing_share, program.library_share),
        (Some(4_000_000.0 / 19_000_016.0), Some(3_000_000.0 / 19_000_016.0))
    );
    assert_eq!(program.noise_share, Some(0.0));
    let ideal = switched(2, "", &goal.program(), "").replace("kind = \"loggp\", ", "");
    assert_eq!(result(&ideal).closed().unwrap().clone().program.unwrap().library_share, Some(0.0));
}

/// All parts at once, with noise that is drawn and processors that differ.
const ALL: &str = r#"
    gap = "30 ns", gap_per_byte = "0.3 ns", receive_gap = "50 ns", overhead_per_byte = "0.1 ns", eager_limit = "600 B", PROGRESS
    matching = { per_entry = "13 ns", on = "ON" }, pio = { bandwidth = "9 Gb/s", limit = "400 B" },
    dma = { bandwidth = "11 Gb/s", setup = "170 ns", engines = 2 },
    bus = { bandwidth = "10 Gb/s", directions = "one", per_packet = "17 ns" } REGISTRATION
"#;

#[test]
fn any_division_gives_the_same_bytes() {
    // Would catch a part whose order of service, or noise whose draws, depend on partitions.
    let programs = [
        r#"{ kind = "halo-3d", message_size = "700 B", iterations = 3, compute = "3 us" }"#,
        r#"{ kind = "incast", message_size = "900 B", messages = 3 }"#,
        r#"{ kind = "fft", message_size = "250 B" }"#,
    ];
    let registration = r#", registration = { time = "300 ns", per_page = "40 ns", cached = 2 }, connections = { mode = "on-demand", setup = "900 ns", cached = 2, miss = "60 ns" }"#;
    let variants = [
        (r#"progress = "calls","#, "host", registration),
        (r#"progress = "interrupt", interrupt_cost = "200 ns","#, "host", registration),
        (r#"progress = "independent","#, "nic", ""),
    ];
    let divisions = [(1, Grain::Exactly(5)), (2, Grain::Fine), (2, Grain::Exactly(3))];
    for (index, (program, (progress, on, registration))) in programs.iter().zip(variants).enumerate() {
        let nic = ALL.replace("PROGRESS", progress).replace("REGISTRATION", registration);
        let nic = nic.replace("\"ON\"", &format!("\"{on}\"")).replace('\n', " ");
        let noise = "node = { speeds = [1.0, 0.7], noise = { period = \"10 us\", duration = \"700 ns\", detours = \"drawn\" } }";
        let rest = format!("{noise}\nplacement = {{ processes_per_node = 2 }}");
        let text =
            switched(12, &nic, program, &rest).replace("single-switch\", ports = 12", "torus\", dims = [4, 3, 2]");
        let (threads, grain) = divisions[index % divisions.len()];
        assert_eq!(digest_of(&text, threads, grain), digest(&text, 1), "{threads} threads, {grain:?}: {text}");
    }
}

#[test]
fn a_tight_receive_buffer_is_drained_by_the_bus() {
    // Would catch a buffer that is drained at the link's rate although the bus is slower: 7 ranks send 64 KiB each to
    // one whose bus takes 10 Gb/s, by way of a buffer of 2 packets. The same rate as `node.drain` gives the same end.
    let program = r#"{ kind = "incast", message_size = "64 KiB" }"#;
    let nic = r#"bus = { bandwidth = "10 Gb/s" }"#;
    let by_bus = time_ns(&switched(8, nic, program, "node = { receive_buffer = \"2 packets\" }"));
    let by_drain =
        time_ns(&switched(8, nic, program, "node = { receive_buffer = \"2 packets\", drain = \"10 Gb/s\" }"));
    assert_eq!(by_bus, by_drain);
    assert!(by_bus >= 7.0 * 65536.0 * 8.0 / 10.0, "{by_bus}");
}

#[test]
fn what_contradicts_itself_is_refused() {
    // Would catch a key that is ignored in silence: of traffic without ranks, of overheads that are latency, of parts
    // that are not there.
    let program = r#"{ kind = "incast" }"#;
    let refused = |nic: &str, rest: &str| build(&switched(4, nic, program, rest)).unwrap_err();
    for (nic, rest, key) in [
        (r#"occupies = false, progress = "calls""#, "", "nic.progress"),
        (r#"interrupt_cost = "1 us""#, "", "nic.interrupt_cost"),
        (r#"pio = { bandwidth = "8 Gb/s", limit = "1 KiB" }"#, "", "nic.pio.limit"),
        (r#"pio = { bandwidth = "8 Gb/s" }, dma = { bandwidth = "8 Gb/s" }"#, "", "nic.pio"),
        ("registration = {}", "", "nic.registration"),
        (r#"eager_limit = "1 KiB", registration = {}, matching = { on = "nic" }"#, "", "nic.registration"),
        (r#"gap = "2 s""#, "", "nic.gap"),
        (r#"dma = { bandwidth = "8 Gb/s", setup = "2 s" }"#, "", "nic.dma.setup"),
        ("", r#"node = { noise = { period = "1 us", duration = "1 us" } }"#, "node.noise.duration"),
        ("", r#"node = { noise = { period = "1 us", duration = "1 ns", nodes = "0-9" } }"#, "node.noise.nodes"),
    ] {
        assert_eq!(refused(nic, rest).key, key, "{nic} {rest}");
    }
    let traffic = |text: &str| {
        let workload = "workload = { kind = \"traffic\", load = 0.1 }";
        let own = "[link]\nbandwidth = \"100 Gb/s\"\ndelay = \"10 ns\"";
        build(&format!("topology = {{ kind = \"single-switch\", ports = 4 }}\n{workload}\n{text}\n{own}"))
            .unwrap_err()
            .key
    };
    let job = |name, nodes| {
        format!(
            "[[job]]\nname = \"{name}\"\nnodes = \"{nodes}\"\nworkload = {{ kind = \"program\", program = {program} }}\n"
        )
    };
    let jobs = |other| {
        let text = switched(8, "", program, "").replace("workload = {", "# workload = {");
        build(&format!("{text}\n{}{}", job("one", "0-3"), job("other", other)))
    };
    assert!(jobs("4-7").is_ok());
    assert_eq!(jobs("3-6").unwrap_err().key, "job.other.nodes");
    assert_eq!(traffic("nic = { kind = \"loggp\" }"), "nic.kind");
    assert_eq!(traffic("nic = { occupies = true }"), "nic.occupies");
    assert_eq!(traffic("node = { speeds = [2.0] }"), "node.speeds");
}
