//! The watchdog: a network that stands still is reported with the packets that wait for one another, and nothing else
//! is.

use sim::{RunError, RunOptions, System, run};

use crate::common::build;

fn system(text: &str) -> System {
    build(text).unwrap()
}

/// The same experiment, run although its routing may deadlock.
fn unproven(text: &str) -> String {
    format!("measure = {{ unproven = true }}\n{text}")
}

const RING: &str = r#"
    topology = { kind = "torus", dims = [8] }
    link = { bandwidth = "10 Gb/s", delay = "20 ns" }
    router = { kind = "output-queued", buffer = "1 packets", credits = "row-counter", vcs = 1 }
    routing = { kind = "shortest-path", vc_rule = "single" }
    workload = { kind = "traffic", load = 1.0, pattern = "tornado" }
"#;

#[test]
fn a_ring_on_one_virtual_channel_is_refused_with_the_cycle_of_channels() {
    // Would catch a dependency check that is not asked before a run.
    let error = run(&system(RING), &RunOptions::default()).unwrap_err();
    assert!(matches!(&error, RunError::System(error) if error.key == "routing"), "{error}");
    assert!(error.to_string().contains("waits for"), "{error}");
}

#[test]
fn the_watchdog_sees_the_ring_stand_still_and_names_who_waits_for_whom() {
    // Would catch a run that goes on for ever, or ends with a throughput of 0, in a deadlock.
    for threads in [1, 2] {
        let options = RunOptions { threads, ..RunOptions::default() };
        let error = run(&system(&unproven(RING)), &options).unwrap_err();
        let RunError::Deadlock { in_flight, cycle, .. } = &error else { panic!("{error}") };
        assert!(*in_flight > 0);
        let links = cycle.matches("holds the buffer of router").count();
        assert!(links == 8, "a ring of 8 routers has a cycle of 8: {cycle}");
    }
}

#[test]
fn the_watchdog_sees_jobs_stand_still_and_names_their_nodes() {
    // Would catch a watchdog that takes one job's packets for all of them, and a sender that is not found behind the
    // number of its job.
    let (rest, _) = RING.split_once("workload = ").unwrap();
    let job = |name: &str| {
        format!("[[job]]\nname = \"{name}\"\nworkload = {{ kind = \"traffic\", load = 0.6, pattern = \"tornado\" }}\n")
    };
    let text = format!("{rest}\n{}{}", job("one"), job("two"));
    let error = run(&system(&unproven(&text)), &RunOptions::default()).unwrap_err();
    let RunError::Deadlock { in_flight, cycle, .. } = &error else { panic!("{error}") };
    assert!(*in_flight > 0);
    assert_eq!(cycle.matches("holds the buffer of router").count(), 8, "{cycle}");
}

#[test]
fn a_packet_that_is_long_under_way_alone_is_no_deadlock() {
    // A packet every 40 us takes 8 us, which are 26 of the batches that so short a run has. Would catch a watchdog that
    // counts batches in which nothing was on its way, or takes a long path for a standstill.
    let text = r#"
        topology = { kind = "torus", dims = [8] }
        link = { bandwidth = "10 Gb/s", delay = "2 us" }
        router = { kind = "output-queued" }
        workload = { kind = "traffic", load = 0.005, injection = "periodic", pattern = "tornado" }
        measure = { warm_up = "5 us", max_time = "25 us" }
    "#;
    let seeds = (1..20).map(|seed| run(&system(&format!("seed = {seed}\n{text}")), &RunOptions::default()));
    assert!(seeds.map(Result::unwrap).any(|found| found.packets > 0));
}

#[test]
fn the_fewest_batches_fill_the_time() {
    // Would catch a batch that is rounded down, so that one more is needed, a 64th beyond the end.
    let text = r#"
        topology = { kind = "torus", dims = [8] }
        link = { bandwidth = "10 Gb/s", delay = "20 ns" }
        router = { kind = "output-queued" }
        workload = { kind = "traffic", load = 0.5 }
        measure = { warm_up = "1 us", max_time = "1001003 ns", precision = 1e-6 }
    "#;
    let system = system(text);
    let found = run(&system, &RunOptions::default()).unwrap();
    let over = found.measured_ns - 1_000_003.0;
    assert!((0.0..=system.network.ns(64)).contains(&over), "{over} ns too long");
}

#[test]
fn a_cancelled_run_ends() {
    // Would catch a run that cannot be interrupted.
    let options = RunOptions::default();
    options.progress.cancel();
    let fine = RING.replace("vc_rule = \"single\"", "vc_rule = \"hops\"").replace(", vcs = 1", "");
    assert_eq!(run(&system(&fine), &options), Err(RunError::Cancelled));
}
