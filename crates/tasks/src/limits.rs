//! Limits of graphs, which prevent overflows of memory and sums.

use super::{MAX_ARCS, Phase, TaskGraph};
use units::LocatedError;

/// Largest number of bytes of a graph's step, so that sums over hops and weights stay exact.
pub(super) const MAX_TOTAL: u64 = 1 << 50;

/// Returns the graph if its bytes can be summed and its messages numbered.
///
/// # Errors
/// If the bytes exceed `MAX_TOTAL`, or the messages of all phases `MAX_ARCS`.
pub(super) fn summable(graph: TaskGraph) -> Result<TaskGraph, LocatedError> {
    let members = |phase: &Phase| phase.groups.iter().map(|group| group.members.len()).sum::<usize>();
    let messages: usize = graph.phases.iter().map(|phase| phase.arcs.len() + members(phase)).sum();
    if messages > MAX_ARCS {
        let message = format!("a step has {messages} messages in all; {MAX_ARCS} (2^30) are the most supported");
        return Err(LocatedError::new(message));
    }
    let arcs = graph.phases.iter().flat_map(|phase| phase.arcs.bytes()).map(|&bytes| u128::from(bytes));
    let groups = graph.phases.iter().flat_map(|phase| &phase.groups);
    let groups = groups.map(|group| u128::from(group.bytes) * group.members.len() as u128);
    let total = arcs.chain(groups).sum::<u128>();
    if total > u128::from(MAX_TOTAL) {
        let message = format!("a step sends {total} bytes in all; {MAX_TOTAL} (2^50) are the most supported");
        return Err(LocatedError::new(message));
    }
    Ok(graph)
}

/// Refuses a product of factors that exceeds the number of arcs or members supported, before anything is allocated.
///
/// # Errors
/// If the product is too large. The error is at `key`.
pub(super) fn arcs_fit(factors: &[u64], key: &'static str) -> Result<(), LocatedError> {
    let product = factors.iter().fold(1_u64, |product, &factor| product.saturating_mul(factor));
    if product > MAX_ARCS as u64 {
        return Err(LocatedError::key(key, format!("`{key}` makes more than {MAX_ARCS} messages, the most supported")));
    }
    Ok(())
}

/// Refuses a size of 0.
///
/// # Errors
/// If the size is 0. The error is at `key`.
pub(super) fn positive(value: u64, key: &'static str) -> Result<(), LocatedError> {
    if value == 0 {
        return Err(LocatedError::key(key, format!("`{key}` is 0; it is at least 1")));
    }
    Ok(())
}
