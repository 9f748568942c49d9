//! Building and running small experiments.

use std::path::Path;

use sim::{Experiment, PointResult, Progress, RunError, RunOptions, System, SystemError, run};

/// The system of an experiment's first point.
pub fn build(text: &str) -> Result<System, SystemError> {
    let experiment = Experiment::load(text, "test.toml", Path::new("."), &[]).unwrap_or_else(|e| panic!("{text}\n{e}"));
    System::build(&experiment.points()[0].spec, Path::new("."))
}

/// The result of an experiment's first point.
pub fn run_on(text: &str, threads: usize) -> Result<PointResult, RunError> {
    run(&build(text)?, &RunOptions { threads, progress: Progress::new() })
}

/// The same, where it has to work.
pub fn result(text: &str) -> PointResult {
    run_on(text, 1).unwrap_or_else(|error| panic!("{text}\n{error}"))
}
