//! Experiments over the whole schema: every pair of kinds, sections and counts that go together, on any number of
//! threads; and random ones that nobody would write.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the helpers of tests may panic")]
#![allow(clippy::disallowed_methods, reason = "a watch over cases that hang reads the wall clock")]

mod cover;
mod fuzz;
mod generate;
mod shape;
mod threads;
mod values;
mod watch;

use std::path::{Path, PathBuf};

use sim::{Experiment, System};
use toml::Table;
use units::KeyError;

/// The folder that the paths in experiments start from.
fn base() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// The system of an experiment's first point, or why there is none: a key and a message.
fn build(file: &Table) -> Result<System, KeyError> {
    let experiment = Experiment::load(&file.to_string(), "drawn.toml", &base(), &[])
        .map_err(|error| KeyError::new(&*error.key, &error.message))?;
    System::build(&experiment.points()[0].spec, &base())
}

/// Has mapping strategies search in the thread of the caller: a test is one thread, and waits for no other.
///
/// None if the thread does so already. A thread that waits for a pool starves on a busy machine, since idle pools
/// yield.
fn map_alone() -> Option<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().ok()
}

/// The seed of random inputs: fixed in `make test`, another one in `make test-long`.
fn seed() -> u64 {
    std::env::var("CUTTHROUGH_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2026)
}
