//! The experiment file: what it may hold, what it means, and what is said when it is wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests may panic")]

mod errors;
mod fuzz;
mod generated;
mod includes;
mod loading;
mod machines;
mod rules;
mod shipped;
mod sweeps;

use std::path::Path;

use sim::{Experiment, ExperimentError};

/// A small experiment that is right.
const BASE: &str = r#"title = "a fat-tree"

[topology]
kind = "fat-tree"
k = 4
n = 2

[link]
bandwidth = "10 Gb/s"
delay = "20 ns"

[router]
kind = "output-queued"
buffer = "4 packets"

[workload]
kind = "traffic"
load = 0.5
"#;

fn load_with(text: &str, options: &[(&str, &str)]) -> Result<Experiment, ExperimentError> {
    let options: Vec<_> = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Experiment::load(text, "fat_tree.toml", Path::new("somewhere"), &options)
}

fn load(text: &str) -> Result<Experiment, ExperimentError> {
    load_with(text, &[])
}

/// The base with one line replaced, which has to be there.
fn changed(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    BASE.replacen(from, to, 1)
}

fn error_of(text: &str) -> ExperimentError {
    load(text).expect_err(text)
}
