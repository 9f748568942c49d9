//! The paper's strategies for its applications (section 3.3). They read the application's arrays from the graph.

pub(super) mod namd;
pub(super) mod openatom;

use tasks::{TaskArray, TaskGraph};

use crate::MappingError;

/// Returns an array that a strategy needs.
fn array<'a>(graph: &'a TaskGraph, name: &str, strategy: &str) -> Result<&'a TaskArray, MappingError> {
    graph.array(name).ok_or_else(|| {
        let known: Vec<&str> = graph.arrays.iter().map(|array| array.name.as_str()).collect();
        let has = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message =
            format!("`{strategy}` needs a graph with the array {name}; this one has {has} (`auto` is for any)");
        MappingError::unfit("strategy", message)
    })
}
