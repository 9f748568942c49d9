//! How far a run is.

use pyo3::prelude::*;

/// How far a run is, and a way to end it early. Safe to use from several threads.
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

    /// The part that is done, 0 to 1: an estimate that never falls.
    #[getter]
    fn fraction(&self) -> f64 {
        self.inner.fraction()
    }

    /// What is under way, in a word or two.
    #[getter]
    fn phase(&self) -> &'static str {
        self.inner.phase().name()
    }

    /// Makes the run raise `Cancelled` soon.
    fn cancel(&self) {
        self.inner.cancel();
    }
}
