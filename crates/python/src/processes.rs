//! Python class of the processes of a run.

use std::path::PathBuf;
use std::sync::Arc;

use engine::Exchange;
use processes::ProcessesError;
use pyo3::prelude::*;

use crate::errors::RunError;
use crate::watched::interruptible;

/// The processes that an MPI launcher has started to run points together.
#[pyclass(frozen, module = "cutthrough._core")]
pub struct Processes {
    inner: Arc<processes::Processes>,
}

impl Processes {
    /// Returns the exchange between the processes.
    pub fn exchange(&self) -> Arc<dyn Exchange> {
        Arc::<processes::Processes>::clone(&self.inner)
    }
}

#[pymethods]
impl Processes {
    /// Joins the processes. All of them call this, with the path of the compiled shim and the threads of each process.
    #[staticmethod]
    fn open(path: PathBuf, threads: usize) -> PyResult<Self> {
        let inner = processes::Processes::open(&path, threads).map_err(|error| failed(&error))?;
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The number of this process, from 0.
    #[getter]
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    /// The number of processes.
    #[getter]
    fn size(&self) -> usize {
        self.inner.size()
    }

    /// The names of all processes: rank, number of the process in its system, and node.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.inner.names().to_vec()
    }

    /// The text of process 0. All processes call this. Ctrl-C and other signals end the wait.
    fn share(&self, py: Python<'_>, text: String) -> PyResult<String> {
        let inner = Arc::clone(&self.inner);
        let shared = interruptible(py, move || {
            let mut message = text.into_bytes();
            inner.broadcast(&mut message);
            message
        })?;
        Ok(String::from_utf8_lossy(&shared).into_owned())
    }

    /// Ends all processes with a message that names this one.
    fn fail(&self, message: &str) {
        self.inner.fail(message);
    }

    /// Leaves the other processes. All processes call this.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.inner.close()).map_err(|error| failed(&error))
    }
}

/// The name and the version of the MPI library that a compiled shim loads.
#[pyfunction]
pub fn mpi_library(path: PathBuf) -> PyResult<String> {
    processes::library(&path).map_err(|error| failed(&error))
}

fn failed(error: &ProcessesError) -> PyErr {
    RunError::new_err(error.to_string())
}
