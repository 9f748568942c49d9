//! Joining and reading of traces of real programs.

use std::path::Path;

use mpi::program::Programs;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use traces::recorded::{Joined, LARGEST_SCALE, Replay, Trace};

/// Opens a trace file.
pub fn open(path: &str, wildcards: bool, compute_scale: f64) -> Result<Trace, String> {
    if !(0.0..=LARGEST_SCALE).contains(&compute_scale) {
        return Err(format!("`compute_scale` is {compute_scale}; 0 to {LARGEST_SCALE} are allowed"));
    }
    let replay = Replay { wildcards, compute_scale, backend: None };
    Trace::open(Path::new(path), replay).map_err(|error| format!("{path}: {error}"))
}

/// Returns the properties of a trace besides the calls of its ranks.
pub fn facts<'py>(py: Python<'py>, trace: &Trace) -> PyResult<Bound<'py, PyDict>> {
    let summaries = || (0..trace.ranks()).map(|rank| trace.summary(rank));
    let known = PyDict::new(py);
    known.set_item("operations", trace.operations())?;
    known.set_item("wall_ns", summaries().map(|own| own.wall).max().unwrap_or(0))?;
    known.set_item("cut_ranks", summaries().filter(|own| !own.whole).count())?;
    known.set_item("threaded_ranks", summaries().filter(|own| own.threads).count())?;
    known.set_item("unsupported", trace.unsupported().to_vec())?;
    Ok(known)
}

/// Returns the contents of a joined trace.
pub fn joined<'py>(py: Python<'py>, joined: &Joined) -> PyResult<Bound<'py, PyDict>> {
    let known = PyDict::new(py);
    known.set_item("ranks", joined.ranks)?;
    known.set_item("records", joined.records)?;
    known.set_item("bytes", joined.bytes)?;
    known.set_item("wall_ns", joined.wall)?;
    known.set_item("compute_ns", joined.compute)?;
    known.set_item("cut_ranks", joined.cut)?;
    known.set_item("threaded_ranks", joined.threads)?;
    known.set_item("open_receives", joined.open)?;
    known.set_item("unsupported", joined.unsupported.clone())?;
    Ok(known)
}
