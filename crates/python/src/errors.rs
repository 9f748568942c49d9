//! What Python sees of errors.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sim::PointError;

create_exception!(
    cutthrough._core,
    ExperimentError,
    PyValueError,
    "The experiment is wrong; `str()` is the whole message, with the line, the key and what is allowed."
);
create_exception!(
    cutthrough._core,
    RunError,
    PyRuntimeError,
    "A simulation ended without a result, such as in a deadlock; `str()` says what was seen."
);
create_exception!(cutthrough._core, Cancelled, PyException, "A run was cancelled through its `Progress`.");

/// An error of the experiment, as Python raises it.
pub fn wrong(error: &sim::ExperimentError) -> PyErr {
    ExperimentError::new_err(error.to_string())
}

/// A topology that cannot be built, as Python raises it.
pub fn wrong_topology(error: &dyn std::fmt::Display) -> PyErr {
    ExperimentError::new_err(format!("error: topology: {error}"))
}

/// What is wrong at a key, as Python raises it.
pub fn wrong_key(error: &sim::SystemError) -> PyErr {
    ExperimentError::new_err(format!("error: {}: {error}", error.key))
}

/// Why a point has no result, as Python raises it.
pub fn unfinished(error: &PointError) -> PyErr {
    match error {
        PointError::Experiment(error) => wrong(error),
        PointError::Run(sim::RunError::Cancelled) => Cancelled::new_err(error.to_string()),
        PointError::Run(error) => RunError::new_err(error.to_string()),
    }
}
