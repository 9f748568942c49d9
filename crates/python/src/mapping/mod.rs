//! Mapping as Python asks for it: graphs, machines, and which task runs where.

mod graph;
mod machine;
mod solve;

pub use graph::TaskGraph;
pub use machine::Machine;
pub use solve::{MapProgress, default_budget, map_tasks, mapping_catalogue, measure_mapping};

use pyo3::prelude::*;

use crate::errors::ExperimentError;

/// Whole numbers as bytes in the machine's order.
fn numbers<'py, const N: usize, T>(
    py: Python<'py>,
    values: impl Iterator<Item = T>,
    to_bytes: impl Fn(T) -> [u8; N],
) -> Bound<'py, pyo3::types::PyBytes> {
    let bytes: Vec<u8> = values.flat_map(to_bytes).collect();
    pyo3::types::PyBytes::new(py, &bytes)
}

/// 32-bit numbers from bytes in the machine's order.
fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect()
}

fn wrong(message: &dyn std::fmt::Display) -> PyErr {
    ExperimentError::new_err(format!("error: {message}"))
}

/// An error with the option that is at fault before it.
fn wrong_at(key: Option<&'static str>, message: &dyn std::fmt::Display) -> PyErr {
    match key {
        Some(key) => ExperimentError::new_err(format!("error: {}: {message}", key.replace('_', "-"))),
        None => wrong(message),
    }
}
