//! Progress of a run.

use pyo3::prelude::*;

/// Progress of a run, and a way to end it early. Safe to use from several threads.
#[pyclass(frozen, module = "cutthrough._core")]
#[derive(Default)]
pub struct Progress {
    pub inner: sim::Progress,
}

#[pymethods]
impl Progress {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The completed fraction, 0 to 1: an estimate that never falls.
    #[getter]
    fn fraction(&self) -> f64 {
        self.inner.fraction()
    }

    /// The current phase, in a word or two.
    #[getter]
    fn phase(&self) -> &'static str {
        self.inner.phase().name()
    }

    /// Makes the run raise `Cancelled` soon.
    fn cancel(&self) {
        self.inner.cancel();
    }
}
