//! Python interface of mapping: graphs, machines, and searches for mappings.

mod graph;
mod machine;
mod solve;

pub use graph::TaskGraph;
pub use machine::{Machine, hosts_of_list, hosts_of_machine};
pub use solve::{MapProgress, default_budget, map_tasks, mapping_catalogue, measure_mapping};

use pyo3::prelude::*;
use units::LocatedError;

use crate::errors::Parts;

/// Converts whole numbers to bytes in the machine's order.
pub fn numbers<'py, const N: usize, T>(
    py: Python<'py>,
    values: impl Iterator<Item = T>,
    to_bytes: impl Fn(T) -> [u8; N],
) -> Bound<'py, pyo3::types::PyBytes> {
    let bytes: Vec<u8> = values.flat_map(to_bytes).collect();
    pyo3::types::PyBytes::new(py, &bytes)
}

/// Converts an error without a key to an exception.
fn wrong(message: &dyn std::fmt::Display) -> PyErr {
    wrong_at(None, message)
}

/// Converts an error to an exception whose text begins with the option at fault.
fn wrong_at(key: Option<&'static str>, message: &dyn std::fmt::Display) -> PyErr {
    let message = message.to_string();
    let parts = Parts { message: &message, key: key.unwrap_or_default(), ..Parts::default() };
    parts.raise(text_of(key, &message))
}

/// Converts an error of a file, or of an option if no file is at fault, to an exception.
fn wrong_input(error: &LocatedError) -> PyErr {
    let key = error.key.as_deref();
    let parts = Parts {
        message: &error.message,
        key: key.unwrap_or_default(),
        file: error.file.as_deref(),
        line: error.line,
        ..Parts::default()
    };
    parts.raise(text_of(key.filter(|_| error.file.is_none()), &error.to_string()))
}

/// Returns the text of an error, preceded by the option at fault.
fn text_of(key: Option<&str>, message: &str) -> String {
    key.map_or_else(|| format!("error: {message}"), |key| format!("error: {}: {message}", key.replace('_', "-")))
}
