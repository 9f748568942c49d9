//! Protocols of ranks on whole systems: times to the picosecond, the same bytes for any number of threads, and keys
//! that contradict.

use fabric::Grain;
use sim::{RunError, RunOptions, run};

use crate::common::{build, digest, digest_of, result};
use crate::program::{ProgramFile, TORUS, experiment, per_rank};

/// Overheads, and the way to the next router without a packet's length, in nanoseconds.
const SEND: f64 = 1009.0;
const RECEIVE: f64 = 503.0;
const PATH: f64 = 50.0 + 70.0 + 110.0 + 2.0 * 13.0;
/// The time of a byte, and of a control message of 32.
const BYTE: f64 = 2.0;
const CONTROL: f64 = PATH + 32.0 * BYTE;

/// An experiment whose interface has keys besides its overheads.
fn with_nic(program: &str, keys: &str, rest: &str) -> String {
    experiment(TORUS, program, rest).replace("\"503 ns\" }", &format!("\"503 ns\", {keys} }}"))
}

#[test]
fn data_are_read_to_the_picosecond() {
    // Would catch a read request that waits for overheads at the sender, and control messages that take no link.
    let goal = ProgramFile::goal("read", "num_ranks 2\nrank 0 {\nsend 300b to 1\n}\nrank 1 {\nrecv 300b from 0\n}");
    let ends = |keys: &str| {
        let ends = per_rank(&result(&with_nic(&goal.program(), keys, "")));
        [ends[0].unwrap(), ends[1].unwrap()]
    };
    let data = PATH + 300.0 * BYTE;
    let received = 2.0 * SEND + 2.0 * RECEIVE + 2.0 * CONTROL + data;
    let finished = received + SEND + CONTROL + RECEIVE;
    assert_eq!(ends("eager_limit = \"200 B\", rendezvous = \"read\""), [finished, received]);
    let written = 3.0 * SEND + 2.0 * RECEIVE + 2.0 * CONTROL;
    assert_eq!(ends("eager_limit = \"200 B\", rendezvous = \"write\""), [written, written + data + RECEIVE]);
    assert_eq!(ends("eager_limit = \"300 B\", rendezvous = \"read\""), [SEND, SEND + data + RECEIVE]);
}

#[test]
fn messages_within_a_node_take_its_memory() {
    // Would catch a bandwidth in bits for bytes, copies that are not counted, and a key that has no effect.
    let goal = ProgramFile::goal("within", "num_ranks 2\nrank 0 {\nsend 300b to 1\n}\nrank 1 {\nrecv 300b from 0\n}");
    let run = |keys: &str| {
        let rest = "placement = { strategy = \"contiguous\", processes_per_node = 2 }\nnode = { memory = { bandwidth = \"1 GB/s\", \
                    latency = \"40 ns\" } }";
        let rest = rest.replace("\"40 ns\"", &format!("\"40 ns\"{keys}"));
        let point = result(&with_nic(&goal.program(), "eager_limit = \"200 B\"", &rest));
        let ends = per_rank(&point);
        let program = point.closed().unwrap().clone().program.unwrap();
        (ends[0].unwrap(), ends[1].unwrap(), program.copied_bytes)
    };
    assert_eq!(run(""), (SEND + 300.0, SEND + 300.0 + 40.0 + 300.0 + RECEIVE, 600));
    assert_eq!(run(", copies = 2"), run(""));
    assert_eq!(run(", copies = 1"), (SEND + 40.0 + 300.0 + 40.0, SEND + 40.0 + 300.0 + RECEIVE, 300));
}

#[test]
fn credits_bound_the_memory_of_unexpected_messages() {
    // Would catch credits that the run does not know of, and bytes that are not reported: 59 ranks send 8 messages each
    // to one that calculates first.
    let sends: String = (1..60).map(|rank| format!("rank {rank} {{\n{}}}\n", "send 100b to 0\n".repeat(8))).collect();
    let receives: String =
        (0..472).map(|number| format!("r{number}: recv 100b from any\nr{number} requires c\n")).collect();
    let goal = ProgramFile::goal("incast", &format!("num_ranks 60\nrank 0 {{\nc: calc 5000000\n{receives}}}\n{sends}"));
    let unexpected = |keys: &str| {
        let program = result(&with_nic(&goal.program(), keys, "")).closed().unwrap().clone().program.unwrap();
        (program.unexpected_max, program.unexpected_max_bytes, program.credit_waits)
    };
    assert_eq!(unexpected("eager_credits = 3"), (3 * 59, 3 * 59 * 100, 5 * 59));
    assert_eq!(unexpected("eager_credits = 8"), (472, 47_200, 0));
    assert_eq!(unexpected("eager_limit = \"99 B\""), (472, 0, 0));
}

#[test]
fn a_run_without_credits_ends_with_who_waits_for_them() {
    // Would catch a run that waits for ever for a credit, and one that is taken for ended.
    let goal = ProgramFile::goal(
        "credits",
        "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1\nsend 8b to 1 tag 2\n}\n\
         rank 1 {\na: recv 8b from 0 tag 2\nb: recv 8b from 0 tag 1\nb requires a\n}",
    );
    let system = build(&with_nic(&goal.program(), "eager_credits = 1", "")).unwrap();
    let found = run(&system, &RunOptions::default()).unwrap_err();
    let RunError::Standstill { waits, .. } = &found else { panic!("{found}") };
    let expected = "rank 0 waits for credits of rank 1 for its message under tag 2; rank 1 waits for a message from rank 0 under tag 2";
    assert_eq!(waits, expected);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_with_every_protocol() {
    // Would catch a credit, a read or a notice that comes in an order that depends on partitions, and a memory that
    // does.
    let programs = [
        r#"{ kind = "halo-3d", message_size = "700 B", iterations = 2, compute = "3 us" }"#,
        r#"{ kind = "incast", message_size = "500 B", messages = 3 }"#,
        r#"{ kind = "fft", message_size = "650 B" }"#,
    ];
    let protocols = [
        ("eager_limit = \"600 B\", rendezvous = \"read\", eager_credits = 1", "bandwidth = \"3 GB/s\""),
        ("eager_credits = 2", "bandwidth = \"2 GB/s\", latency = \"70 ns\""),
        ("eager_limit = \"600 B\", eager_credits = 2", "bandwidth = \"3 GB/s\", copies = 1"),
    ];
    let divisions = [(2, Grain::Exactly(5)), (1, Grain::Exactly(3)), (2, Grain::Fine)];
    for (index, (program, (nic, node))) in programs.iter().zip(protocols).enumerate() {
        let placement = "placement = { strategy = \"random\", processes_per_node = 2 }";
        let rest =
            format!("routing = {{ kind = \"minimal-adaptive\" }}\n{placement}\nnode = {{ memory = {{ {node} }} }}");
        let text = with_nic(program, nic, &rest);
        let (threads, grain) = divisions[index];
        assert_eq!(digest_of(&text, threads, grain), digest(&text, 1), "{threads} threads, {grain:?}: {text}");
    }
}

#[test]
fn keys_that_do_not_go_together_are_refused() {
    // Would catch a key that is ignored in silence.
    let program = r#"{ kind = "incast" }"#;
    let cases = [
        ("rendezvous = \"read\"", "", "nic.rendezvous"),
        ("control_size = \"16 B\"", "", "nic.control_size"),
        ("eager_credits = 4, control_size = \"200 B\"", "", "nic.control_size"),
        ("", "node = { memory = { bandwidth = \"1 GB/s\", latency = \"2 s\" } }", "node.memory.latency"),
        ("", "node = { memory = { bandwidth = \"1 GB/s\", copies = 1 } }", "node.memory.copies"),
    ];
    for (keys, rest, key) in cases {
        let text = if keys.is_empty() { experiment(TORUS, program, rest) } else { with_nic(program, keys, rest) };
        let error = build(&text).unwrap_err();
        assert_eq!(error.key, key, "{error}");
    }
    let traffic = "topology = { kind = \"single-switch\", ports = 4 }\nlink = { bandwidth = \"1 Gb/s\", delay = \"1 ns\" }\n\
                   workload = { kind = \"traffic\", load = 0.5 }\n";
    for (rest, key) in [
        ("nic = { eager_credits = 4 }", "nic.eager_credits"),
        ("node = { memory = { bandwidth = \"1 GB/s\" } }", "node.memory"),
    ] {
        assert_eq!(build(&format!("{traffic}{rest}")).unwrap_err().key, key);
    }
}
