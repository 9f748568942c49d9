//! Generators of task graphs: the applications of the paper, and other common graphs.

pub mod matmul;
pub mod mesh;
pub mod milc;
pub mod namd;
pub mod openatom;
pub mod random;
pub mod stencil;

use super::{ArcList, MAX_TASKS};
use units::{Boundary, Direction, LocatedError};

/// Returns the product of extents, as a number of tasks.
///
/// # Errors
/// If an extent is 0, or if there are more than `most` extents or too many tasks. The error is at `key`.
fn tasks_of(dims: &[u32], most: usize, key: &'static str) -> Result<u32, LocatedError> {
    if dims.is_empty() || dims.len() > most {
        return Err(LocatedError::key(key, format!("`{key}` has {} extents; 1 to {most} are allowed", dims.len())));
    }
    let product = dims.iter().try_fold(1_u32, |product, &size| product.checked_mul(size));
    product.filter(|&tasks| tasks > 0 && tasks <= MAX_TASKS).ok_or_else(|| {
        LocatedError::key(key, format!("`{key}` multiplies to 0 or to more than {MAX_TASKS} tasks, the most supported"))
    })
}

/// Adds a message from every task of a grid to each neighbour along its dimensions.
fn add_faces(arcs: &mut ArcList, dims: &[u32], boundary: Boundary, bytes: &dyn Fn(usize) -> u64) {
    let tasks: u32 = dims.iter().product();
    for task in 0..tasks {
        let mut stride = 1;
        for (dim, &size) in dims.iter().enumerate() {
            let at = task / stride % size;
            if let Some(next) = Direction::Plus.step(at, size, boundary).filter(|&next| next != at) {
                arcs.add_both(task, task - at * stride + next * stride, bytes(dim), 1);
            }
            stride *= size;
        }
    }
}
