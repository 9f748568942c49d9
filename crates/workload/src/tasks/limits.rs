//! What a graph may hold, so that neither memory nor sums overflow.

use super::{GraphError, MAX_ARCS, Phase, TaskGraph};

/// The most bytes of a graph's step, so that sums over hops and weights stay exact.
pub(super) const MAX_TOTAL: u64 = 1 << 50;

/// The graph, if its bytes can be summed and its messages numbered.
///
/// # Errors
/// If they are more than `MAX_TOTAL`, or than `MAX_ARCS` of all phases.
pub(super) fn summable(graph: TaskGraph) -> Result<TaskGraph, GraphError> {
    let members = |phase: &Phase| phase.groups.iter().map(|group| group.members.len()).sum::<usize>();
    let messages: usize = graph.phases.iter().map(|phase| phase.arcs.len() + members(phase)).sum();
    if messages > MAX_ARCS {
        let message = format!("a step has {messages} messages in all; {MAX_ARCS} (2^30) are the most supported");
        return Err(GraphError::new(message));
    }
    let arcs = graph.phases.iter().flat_map(|phase| phase.arcs.bytes()).map(|&bytes| u128::from(bytes));
    let groups = graph.phases.iter().flat_map(|phase| &phase.groups);
    let groups = groups.map(|group| u128::from(group.bytes) * group.members.len() as u128);
    let total = arcs.chain(groups).sum::<u128>();
    if total > u128::from(MAX_TOTAL) {
        let message = format!("a step sends {total} bytes in all; {MAX_TOTAL} (2^50) are the most supported");
        return Err(GraphError::new(message));
    }
    Ok(graph)
}

/// Refuses, before anything is allocated, a product of factors that is more arcs or members than are supported.
///
/// # Errors
/// At `key`, if it is.
pub(super) fn arcs_fit(factors: &[u64], key: &'static str) -> Result<(), GraphError> {
    let product = factors.iter().fold(1_u64, |product, &factor| product.saturating_mul(factor));
    if product > MAX_ARCS as u64 {
        return Err(GraphError::key(key, format!("`{key}` makes more than {MAX_ARCS} messages, the most supported")));
    }
    Ok(())
}

/// Refuses a size of 0.
///
/// # Errors
/// At `key`, if it is.
pub(super) fn positive(value: u64, key: &'static str) -> Result<(), GraphError> {
    if value == 0 {
        return Err(GraphError::key(key, format!("`{key}` is 0; it is at least 1")));
    }
    Ok(())
}
