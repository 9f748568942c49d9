//! Reuse of episodes: the bytes of a run without it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod files;
mod random;
mod workloads;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use measure::ReuseResult;
use network::NetworkModel;
use sim::{Experiment, PointResult, RunOptions, System, run};
use system::BuildCache;

/// File in the temporary folder, which goes when this does.
struct Held(PathBuf);

impl Held {
    fn new(text: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cutthrough-reuse-{}-{number}.goal", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // What is left behind in the temporary folder harms nobody.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns the system of an experiment, on a network of a model other than that of its keys, or its error.
fn build(text: &str, model: Option<Arc<dyn NetworkModel>>) -> Result<System, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let experiment = Experiment::load(text, "test.toml", here, &[]).map_err(|error| error.to_string())?;
    let spec = &experiment.points()[0].spec;
    let built = match model {
        Some(model) => System::build_with(&model, spec, here, &BuildCache::default()),
        None => System::build(spec, here),
    };
    built.map_err(|error| format!("{}: {error}", error.key))
}

/// Returns the result of a system without its wall-clock time.
fn result(system: &System) -> Result<PointResult, String> {
    let mut point = run(system, &RunOptions { threads: 1, ..RunOptions::default() }).map_err(|e| e.to_string())?;
    point.wall_s = 0.0;
    Ok(point)
}

/// Returns the results of an experiment with reuse, by `model` or the default, and without, and what was reused.
fn both(text: &str, model: Option<Arc<dyn NetworkModel>>) -> Result<(PointResult, PointResult, ReuseResult), String> {
    let mut with = result(&build(&format!("{text}\nsimulation = {{ reuse = true }}"), model)?)?;
    let reuse = with.reuse.take().ok_or("nothing says what was reused")?;
    Ok((with, result(&build(text, None)?)?, reuse))
}

/// Returns a result as text that differs if a bit of it does.
fn as_text(found: &PointResult) -> String {
    serde_json::to_string(found).unwrap()
}
