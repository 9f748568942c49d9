//! How far a run is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

/// How far a run is, and a way to end it early. Safe to use from several threads.
#[pyclass(frozen, module = "cutthrough._core")]
#[derive(Default)]
pub struct Progress {
    pub cancelled: Arc<AtomicBool>,
}

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The part that is done, 0 to 1: an estimate that never falls.
    #[getter]
    fn fraction(&self) -> f64 {
        0.0
    }

    /// What is under way, in a word or two.
    #[getter]
    fn phase(&self) -> &'static str {
        ""
    }

    /// Makes the run raise `Cancelled` soon.
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}
