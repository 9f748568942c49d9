//! Shared code of the patterns that shift along dimensions.

use super::Permutation;
use crate::Shape;
use units::KeyError;

/// Returns the permutation that shifts every task cyclically by `step(k)` in each dimension of size k. Tasks of one
/// router keep their order. A topology without dimensions counts as a single dimension of all tasks.
///
/// # Errors
/// If no task would send.
pub(super) fn moved(kind: &'static str, shape: &Shape, step: impl Fn(u32) -> u32) -> Result<Permutation, KeyError> {
    let tasks = shape.tasks;
    let sizes = shape.grid.clone().unwrap_or_else(|| vec![tasks]);
    let routers: u32 = sizes.iter().product();
    let tasks_per_router = (tasks / routers.max(1)).max(1);
    Permutation::new(kind, tasks, |src| {
        let mut rest = src / tasks_per_router;
        let (mut router, mut stride) = (0, 1);
        for &size in &sizes {
            let place = (u64::from(rest % size) + u64::from(step(size))) % u64::from(size);
            router += place as u32 * stride;
            rest /= size;
            // The product of all sizes is the number of routers, which fits. The last stride is not used.
            stride = stride.wrapping_mul(size);
        }
        router * tasks_per_router + src % tasks_per_router
    })
}
