//! Errors as Python sees them.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use sim::PointError;
use units::{KeyError, abridged};

create_exception!(
    cutthrough._core,
    ExperimentError,
    PyValueError,
    "The experiment is wrong; `str()` is the whole message, with the line, the key and what is allowed, which are attributes as \
     well."
);
create_exception!(
    cutthrough._core,
    RunError,
    PyRuntimeError,
    "A simulation ended without a result, such as in a deadlock; `str()` says what was seen."
);
create_exception!(cutthrough._core, Cancelled, PyException, "A run was cancelled through its `Progress`.");

/// Parts of an error, which are attributes of the exception. Unknown parts are empty or `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts<'a> {
    /// The fault, without its position in the file.
    pub message: &'a str,
    /// The path of the key at fault, or the option.
    pub key: &'a str,
    /// The file at fault, or the option that overrides it.
    pub file: Option<&'a str>,
    /// The line in the file, from 1.
    pub line: Option<u64>,
    /// The column in the line, from 1.
    pub column: Option<u64>,
    /// The allowed values. Empty unless they are a list.
    pub allowed: &'a [String],
    /// Advice for correcting the error.
    pub help: Option<&'a str>,
    /// The text with terminal escapes, if there are any.
    pub coloured: Option<&'a str>,
}

impl Parts<'_> {
    /// Sets the attributes of an exception, or the default attributes of a class of exceptions.
    fn set_on(&self, py: Python<'_>, target: &Bound<'_, PyAny>) -> PyResult<()> {
        target.setattr("message", self.message)?;
        target.setattr("key", self.key)?;
        target.setattr("file", self.file)?;
        target.setattr("line", self.line)?;
        target.setattr("column", self.column)?;
        target.setattr("allowed", PyTuple::new(py, self.allowed)?)?;
        target.setattr("help", self.help)?;
        target.setattr("coloured", self.coloured)
    }

    /// Makes the exception with a text and these attributes.
    pub fn raise(&self, text: String) -> PyErr {
        Python::attach(|py| {
            let error = ExperimentError::new_err(abridged(&text));
            match self.set_on(py, error.value(py)) {
                Ok(()) => error,
                Err(failure) => failure,
            }
        })
    }
}

/// Sets the attributes of the class `ExperimentError` to those of an error of which only the text is known.
pub fn set_defaults(py: Python<'_>) -> PyResult<()> {
    Parts::default().set_on(py, &py.get_type::<ExperimentError>())
}

/// Converts an error of the experiment to an exception.
pub fn wrong(error: &sim::ExperimentError) -> PyErr {
    let (position, coloured) = (error.position.as_ref(), error.render(true));
    let parts = Parts {
        message: &error.message,
        key: &error.key,
        file: (!error.file.is_empty()).then_some(&*error.file),
        line: position.map(|position| position.line as u64),
        column: position.map(|position| position.column as u64),
        allowed: &error.allowed,
        help: error.help.as_deref(),
        coloured: Some(&coloured),
    };
    parts.raise(error.to_string())
}

/// Returns the text of an error that Python finds, in the form of errors of experiment files: plain, and with terminal
/// escapes.
#[pyfunction]
#[pyo3(signature = (message, file = None, allowed = Vec::new(), help = None))]
pub fn error_text(
    message: String,
    file: Option<String>,
    allowed: Vec<String>,
    help: Option<String>,
) -> (String, String) {
    let (key, file) = (String::new(), file.unwrap_or_default());
    let diagnosis = sim::Diagnosis { message, key, file, position: None, allowed, help };
    (diagnosis.render(false), diagnosis.render(true))
}

/// Converts an error of building a topology to an exception. `key` is the key under `[topology]` at fault; empty if
/// unknown.
pub fn wrong_topology(key: &str, error: &dyn std::fmt::Display) -> PyErr {
    let (message, key) = (error.to_string(), format!("topology.{key}"));
    Parts { message: &message, key: key.trim_end_matches('.'), ..Parts::default() }
        .raise(format!("error: topology: {message}"))
}

/// Converts an error at a key to an exception.
pub fn wrong_key(error: &KeyError) -> PyErr {
    ExperimentError::new_err(abridged(&format!("error: {}: {error}", error.key)))
}

/// Converts the reason why a point has no result to an exception.
pub fn unfinished(error: &PointError) -> PyErr {
    match error {
        PointError::Experiment(error) => wrong(error),
        PointError::Run(sim::RunError::Cancelled) => Cancelled::new_err(error.to_string()),
        PointError::Run(_) | PointError::RunOf(..) => RunError::new_err(error.to_string()),
    }
}
