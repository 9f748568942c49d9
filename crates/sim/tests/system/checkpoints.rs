//! Runs that go on from a checkpoint give the bytes of an undisturbed run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use engine::{Alone, Exchange};
use fabric::Grain;
use rayon::prelude::*;
use sim::{CheckpointPlace, PointResult, RunError, RunOptions, System, run};
use testkit::processes::in_processes;
use units::Duration;

use crate::common::{as_text, build, run_divided};
use crate::determinism::{GOLDEN, Golden};
use crate::processes::{CASES, text_of};

/// Folder of checkpoints, which is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("cutthrough-{}-{number}-checkpoint", std::process::id())))
    }

    fn place(&self, most: Option<u64>) -> CheckpointPlace {
        CheckpointPlace { folder: self.0.clone(), identity: "one".into(), most }
    }

    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Division of a run: processes, threads of each, and grain.
type Divided = (usize, usize, Grain);

/// A system with checkpoints at an interval, without jobs that run alone.
fn with_checkpoints(system: &System, interval: Duration) -> System {
    let mut system = system.clone();
    system.spec.measure.checkpoint = Some(interval);
    system.spec.measure.compare_alone = false;
    system
}

fn run_once(
    system: &System,
    (threads, grain): (usize, Grain),
    place: CheckpointPlace,
    exchange: Arc<dyn Exchange>,
) -> Result<PointResult, RunError> {
    let options = RunOptions { threads, grain, exchange, checkpoints: Some(place), ..RunOptions::default() };
    let mut found = run(system, &options)?;
    found.wall_s = 0.0;
    found.processes = None;
    found.jobs.iter_mut().for_each(|job| (job.point.wall_s, job.point.processes) = (0.0, None));
    Ok(found)
}

/// Runs a system in a folder of checkpoints. Returns the outcome of process 0.
fn run_in(
    system: &System,
    (processes, threads, grain): Divided,
    (folder, most): (&Folder, Option<u64>),
) -> Result<PointResult, RunError> {
    let once = |exchange| run_once(system, (threads, grain), folder.place(most), exchange);
    match processes {
        1 => once(Arc::new(Alone)),
        _ => in_processes(processes, once).into_iter().next().unwrap(),
    }
}

/// Panics unless a run that is ended after some checkpoints, again and again, ends with the bytes of `want`. The last
/// division ends it. Returns how many of the runs were ended.
pub fn check_resumed(name: &str, system: &System, want: &str, runs: &[(Divided, u64)], last: Divided) -> usize {
    let (soon, later) = (with_checkpoints(system, Duration(0)), with_checkpoints(system, Duration(3_600_000)));
    let folder = Folder::new();
    for (done, &(divided, most)) in runs.iter().enumerate() {
        match run_in(&soon, divided, (&folder, Some(most))) {
            Err(RunError::Cancelled) => {}
            Ok(found) => {
                assert_eq!(as_text(&found), want, "{name}: run {done} in {divided:?}");
                return done;
            }
            Err(error) => panic!("{name}: run {done} in {divided:?}: {error}"),
        }
    }
    let found = run_in(&later, last, (&folder, None)).unwrap_or_else(|error| panic!("{name}: last run: {error}"));
    assert_eq!(as_text(&found), want, "{name}: last run in {last:?}");
    runs.len()
}

/// An undisturbed run of a case, as text, and its system.
fn undisturbed(keys: &str) -> (System, String) {
    let system = build(&text_of(keys)).unwrap_or_else(|error| panic!("{keys}: {error:?}"));
    let want = as_text(&run_divided(&with_checkpoints_left_out(&system), 1, Grain::Fine));
    (system, want)
}

fn with_checkpoints_left_out(system: &System) -> System {
    let mut system = with_checkpoints(system, Duration(0));
    system.spec.measure.checkpoint = None;
    system
}

#[test]
fn runs_of_many_kinds_go_on_with_other_threads_and_processes() {
    // Would catch a field that changes in a run and is not saved, mail that is lost, a count that is loaded twice, and
    // a state that depends on the division over threads or processes.
    let fine = Grain::Fine;
    let mut ended = 0;
    for (name, keys) in CASES {
        let (system, want) = undisturbed(keys);
        for (runs, last) in [
            (vec![((1, 2, Grain::Exactly(2)), 1), ((1, 1, fine), 1), ((1, 3, fine), 2)], (1, 1, fine)),
            (vec![((1, 1, fine), 5)], (1, 3, Grain::Coarse)),
            (vec![((3, 1, fine), 3), ((2, 2, fine), 8)], (2, 1, fine)),
            (vec![((2, 2, Grain::Exactly(2)), 2)], (1, 2, fine)),
        ] {
            ended += check_resumed(name, &system, &want, &runs, last);
        }
    }
    assert!(ended > 3 * CASES.len(), "only {ended} runs were ended");
}

/// Panics unless a golden case that is ended after a checkpoint goes on with its bytes.
fn check_golden((index, golden): (usize, &Golden)) {
    if golden.system.model.name() != "packet" {
        return;
    }
    let (one, most) = ((1, 1, Grain::Fine), 1 + index as u64 % 9);
    let divided = [(one, (1, 3, Grain::Fine)), ((1, 2, Grain::Exactly(2)), one), ((2, 1, Grain::Fine), one)];
    let (first, last) = divided[index % 3];
    let want = as_text(&golden.found);
    check_resumed(&golden.name, &golden.system, &want, &[(first, most), (last, 4)], last);
}

#[test]
fn golden_cases_go_on() {
    // Would catch a field of a router, a routing or a workload that changes in a run and is not saved. All cases: the
    // test below.
    GOLDEN.par_iter().enumerate().filter(|(index, _)| index % 5 == 2).for_each(check_golden);
}

#[test]
#[ignore = "long: make test-long"]
fn every_golden_case_goes_on() {
    // Would catch what is above, in a case that it leaves out.
    GOLDEN.par_iter().enumerate().for_each(check_golden);
}

/// Every part of an interface, with noise that is drawn and processors that differ. In capitals: parts that vary.
const PARTS: &str = r#"
topology = { kind = "torus", dims = [4, 3, 2] }
placement = { processes_per_node = 2 }
measure = { messages = true, timeline = true }
node = { speeds = [1.0, 0.7], memory = { bandwidth = "1 GB/s", latency = "37 ns" },
noise = { period = "10 us", duration = "700 ns", detours = "drawn" } }
nic = { kind = "loggp", send_overhead = "200 ns", receive_overhead = "300 ns", gap = "30 ns", gap_per_byte = "0.3 ns",
receive_gap = "50 ns", overhead_per_byte = "0.1 ns", eager_limit = "600 B", PROGRESS
matching = { per_entry = "13 ns", on = "ON" }, pio = { bandwidth = "9 Gb/s", limit = "400 B" },
dma = { bandwidth = "11 Gb/s", setup = "170 ns", engines = 2 },
bus = { bandwidth = "10 Gb/s", directions = "one", per_packet = "17 ns" } REGISTRATION }
workload = { kind = "program", program = PROGRAM }
"#;

/// Nodes with a switch inside and rails between them, jobs behind pacers, and relays with little room.
const NETWORKS: &str = r#"
node = { endpoints = 4, count = 4 }
relay = { network = "inside", at = "source", chunk = "2 KiB", buffer = "4 KiB" }
measure = { warm_up = "2 us", max_time = "60 us" }
[[network]]
name = "inside"
topology = "single-switch:4"
link = { bandwidth = "819.2 Gb/s", delay = "50 ns" }
[[network]]
name = "rail"
topology = "single-switch:4"
order = "by-rail"
link = { bandwidth = "102.4 Gb/s", delay = "200 ns" }
[[job]]
name = "ranks"
workload = { kind = "program", packet_size = "1 KiB", program = { kind = "collective", operation = "alltoall",
size = "5 KiB" }, pacer = { kind = "window", window = "2 KiB", ack_size = "64 B" } }
[[job]]
name = "rail"
nodes = "1,5,9,13"
background = true
workload = { kind = "traffic", load = 0.4, injection = "poisson" }
"#;

#[test]
fn every_part_of_a_node_goes_on() {
    // Would catch a queue, a processor, a cache, a connection, a copy or a relay whose state is lost.
    let joined = |text: &str| {
        text.lines().fold(String::new(), |all, line| all + line + if line.ends_with(',') { " " } else { "\n" })
    };
    let registration = r#", registration = { time = "300 ns", per_page = "40 ns", cached = 2 }, connections = { mode =
        "on-demand", setup = "900 ns", cached = 2, miss = "60 ns" }"#
        .replace("\n        ", " ");
    let parts = |progress: &str, on: &str, registration: &str, program: &str| {
        let text = PARTS.replace("PROGRESS", progress).replace("\"ON\"", &format!("\"{on}\""));
        joined(&text.replace("REGISTRATION", registration).replace("PROGRAM", program).replace("PROGRESS\n", " "))
    };
    let fine = Grain::Fine;
    for (name, text) in [
        (
            "calls",
            parts(
                r#"progress = "calls","#,
                "host",
                &registration,
                r#"{ kind = "halo-3d", message_size = "700 B", iterations = 9, compute = "3 us" }"#,
            ),
        ),
        (
            "interrupts",
            parts(
                r#"progress = "interrupt", interrupt_cost = "200 ns", eager_credits = 2,"#,
                "host",
                &registration,
                r#"{ kind = "incast", message_size = "900 B", messages = 9 }"#,
            ),
        ),
        (
            "on the interface",
            parts(r#"progress = "independent","#, "nic", "", r#"{ kind = "fft", message_size = "2500 B" }"#),
        ),
        ("networks", joined(NETWORKS)),
    ] {
        let (system, want) = undisturbed(&text);
        let ended = check_resumed(name, &system, &want, &[((1, 1, fine), 1), ((1, 2, fine), 2)], (1, 3, fine));
        assert!(ended > 0, "{name}");
        check_resumed(name, &system, &want, &[((2, 1, fine), 4)], (1, 1, Grain::Exactly(3)));
    }
}

/// A run that has been ended after `most` checkpoints, in `processes` processes.
fn ended_run(processes: usize, most: u64) -> (System, Folder) {
    let (system, _) = undisturbed(CASES[0].1);
    let folder = Folder::new();
    let system = with_checkpoints(&system, Duration(0));
    let ended = run_in(&system, (processes, 1, Grain::Fine), (&folder, Some(most)));
    assert!(matches!(ended, Err(RunError::Cancelled)), "{ended:?}");
    (system, folder)
}

#[test]
fn a_checkpoint_replaces_the_former_one() {
    // Would catch files that pile up, and a temporary file that is left.
    let (_, folder) = ended_run(3, 4);
    assert_eq!(folder.names(), ["4-0.part", "4-1.part", "4-2.part", "manifest"]);
}

#[test]
fn damaged_checkpoints_are_refused_in_every_process() {
    // Would catch a panic, a wait for ever, and a result from half a state: each file is cut at many places, and has a
    // wrong bit at others.
    let (system, folder) = ended_run(2, 2);
    let refused = |path: &Path, what: &str| {
        let found = in_processes(2, |exchange| run_once(&system, (1, Grain::Fine), folder.place(Some(1)), exchange));
        for error in found {
            let message = error.unwrap_err().to_string();
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(message.contains("is damaged") && message.contains(name), "{name} {what}: {message}");
        }
    };
    for name in folder.names() {
        let path = folder.0.join(&name);
        let whole = std::fs::read(&path).unwrap();
        for part in 0..6 {
            let cut = part * whole.len() / 6;
            std::fs::write(&path, &whole[..cut]).unwrap();
            refused(&path, &format!("cut at {cut}"));
            let mut garbled = whole.clone();
            garbled[cut] ^= 16;
            std::fs::write(&path, &garbled).unwrap();
            refused(&path, &format!("garbled at {cut}"));
        }
        std::fs::write(&path, whole).unwrap();
    }
    let (system, _) = (with_checkpoints(&system, Duration(3_600_000)), ());
    run_in(&system, (1, 1, Grain::Fine), (&folder, None)).unwrap();
    std::fs::remove_file(folder.0.join("2-1.part")).unwrap();
    let missing = run_in(&system, (1, 1, Grain::Fine), (&folder, None)).unwrap_err().to_string();
    assert!(missing.contains("cannot be read (2-1.part: No such file or directory)"), "{missing}");
}

#[test]
fn what_checkpoints_cannot_hold_is_refused_by_name() {
    // Would catch a key that is ignored, and a checkpoint of another run that is gone on from.
    let (system, folder) = ended_run(1, 1);
    let other = CheckpointPlace { identity: "other".into(), ..folder.place(None) };
    let error = run_once(&system, (1, Grain::Fine), other, Arc::new(Alone)).unwrap_err().to_string();
    assert!(error.contains("is of another experiment, seed or version of Cutthrough: remove this folder"), "{error}");
    let options = RunOptions { threads: 1, ..RunOptions::default() };
    let RunError::System(error) = run(&system, &options).unwrap_err() else { panic!("not an error of a key") };
    assert!(error.key == "measure.checkpoint" && error.message.contains("require a folder"), "{error:?}");
    let ring = r#"topology = { kind = "torus", dims = [4, 2] }
        link = { bandwidth = "10 Gb/s", delay = "130 ns" }"#;
    let volumes = r#"workload = { kind = "exchange", volume = "3 KiB" }"#;
    let traffic = r#"workload = { kind = "traffic", load = 0.3 }"#;
    for (keys, key, words) in [
        (
            format!("{volumes}\nsimulation = {{ model = \"flow\" }}\nmeasure = {{ checkpoint = \"1 min\" }}"),
            "measure.checkpoint",
            "require the packet model",
        ),
        (
            format!("{traffic}\nmeasure = {{ checkpoint = \"1 min\", search = \"saturation\" }}"),
            "measure.checkpoint",
            "a search is made of several runs",
        ),
        (
            format!("{volumes}\nsimulation = {{ reuse = true }}\nmeasure = {{ checkpoint = \"1 min\" }}"),
            "measure.checkpoint",
            "a checkpoint holds no records of episodes",
        ),
        (format!("{traffic}\nmeasure = {{ checkpoint = \"20 ns\" }}"), "measure.checkpoint", "unknown unit"),
    ] {
        let error = build(&format!("{ring}\n{keys}")).unwrap_err();
        assert!(error.key == key && error.message.contains(words), "{keys}: {error:?}");
    }
}
