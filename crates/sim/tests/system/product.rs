//! Every cell of router x topology x routing x pattern x injection: it delivers what is offered, or is refused with a
//! reason. Generated from the catalogues, so that a new variant is covered by being there.

use rayon::prelude::*;
use routing::RoutingSpec;
use sim::{Progress, RunError, RunOptions, run};

use crate::common::build;

const TOPOLOGIES: &[&str] = &[
    r#"{ kind = "single-switch", ports = 16 }"#,
    r#"{ kind = "fat-tree", k = 4, n = 2 }"#,
    r#"{ kind = "fat-tree", k = 2, n = 4 }"#,
    r#"{ kind = "torus", dims = [4, 4] }"#,
    r#"{ kind = "torus", dims = [4, 2, 2] }"#,
    r#"{ kind = "mesh", dims = [4, 4] }"#,
    r#"{ kind = "mesh", dims = [2, 4], nodes_per_router = 2 }"#,
];

const ROUTERS: &[&str] = &[
    r#"{ kind = "output-queued" }"#,
    r#"{ kind = "output-queued", credits = "row-counter", credit_return = "tail", arbitration = "oldest-first" }"#,
    r#"{ kind = "output-queued", credits = "per-crosspoint", arbitration = "random", buffer = "512 B" }"#,
    r#"{ kind = "output-queued", credit_return = "tail", vcs = 8 }"#,
    r#"{ kind = "input-queued" }"#,
    r#"{ kind = "input-queued", vcs = 8, arbitration = "oldest-first", buffer = "1 packets" }"#,
    r#"{ kind = "virtual-output-queued" }"#,
    r#"{ kind = "virtual-output-queued", vcs = 8, iterations = 1, credit_return = "tail" }"#,
    r#"{ kind = "input-output-queued" }"#,
    r#"{ kind = "input-output-queued", vcs = 8, speedup = 3, arbitration = "random", output_buffer = "1 packets" }"#,
];

const INJECTIONS: &[&str] = &["bernoulli", "poisson", "periodic"];

/// A pattern's keys where it has no defaults.
fn pattern(kind: &str) -> Option<String> {
    match kind {
        "shift" => Some(r#"{ kind = "shift", offset = 3 }"#.into()),
        "hotspot" => Some(r#"{ kind = "hotspot", nodes = [5], fraction = 0.1 }"#.into()),
        // Read from a file: its own tests and those of zero-load latencies cover it.
        "matrix" => None,
        kind => Some(format!("\"{kind}\"")),
    }
}

fn cells() -> Vec<String> {
    let routings: Vec<String> =
        RoutingSpec::all().iter().map(|spec| format!(r#"{{ kind = "{}" }}"#, spec.kind())).collect();
    let patterns: Vec<String> = workload::list().iter().filter_map(|entry| pattern(&entry.name)).collect();
    let mut cells = Vec::new();
    for topology in TOPOLOGIES {
        for routing in &routings {
            for router in ROUTERS {
                for pattern in &patterns {
                    for injection in INJECTIONS {
                        cells.push(format!(
                            r#"
                            topology = {topology}
                            link = {{ bandwidth = "10 Gb/s", delay = "20 ns" }}
                            router = {router}
                            routing = {routing}
                            workload = {{ kind = "traffic", load = 0.1, pattern = {pattern}, injection = "{injection}" }}
                            measure = {{ warm_up = "20 us", min_time = "150 us", max_time = "170 us", precision = 0.5 }}
                            "#
                        ));
                    }
                }
            }
        }
    }
    cells
}

/// What became of a cell: whether it ran, or why it is wrong.
fn check(text: &str) -> Result<bool, String> {
    let options = RunOptions { threads: 1, progress: Progress::new() };
    let (system, outcome) = match build(text) {
        Ok(system) => {
            let outcome = run(&system, &options);
            (Some(system), outcome)
        }
        Err(error) => (None, Err(RunError::System(error))),
    };
    match (system, outcome) {
        (_, Err(RunError::System(error))) if !error.message.is_empty() && !error.key.is_empty() => Ok(false),
        (_, Err(error)) => Err(format!("{text}\n{error}")),
        (None, Ok(_)) => Err(format!("{text}\nran without a system")),
        (Some(system), Ok(found)) => {
            let idle = system.picoseconds(system.zero_load_latency(1)) as f64 / 1e3;
            let delivered = (found.accepted_load - 0.1).abs() < 0.02;
            let fine = delivered && !found.saturated && found.drained && found.latency_mean_ns >= Some(idle - 1e-6);
            if fine { Ok(true) } else { Err(format!("{text}\n{found:?}")) }
        }
    }
}

#[test]
fn every_cell_delivers_what_is_offered_or_is_refused_with_a_reason() {
    // Would catch a combination that panics, deadlocks, loses packets, or is refused without saying why.
    let cells = cells();
    let outcomes: Vec<Result<bool, String>> = cells.par_iter().map(|text| check(text)).collect();
    let wrong: Vec<&String> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{} of {} cells are wrong, the first:\n{}", wrong.len(), cells.len(), wrong[0]);
    let ran = outcomes.iter().filter(|outcome| matches!(outcome, Ok(true))).count();
    // More than a third of the cells fit together; if hardly any does, the refusals hide something.
    assert!(3 * ran > cells.len(), "only {ran} of {} cells ran", cells.len());
}
