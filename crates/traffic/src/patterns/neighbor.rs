//! Nearest neighbour: shift by 1 in every dimension, cyclically (Dally & Towles, table 3.1).
//!
//! On a mesh, the tasks of the upper edge send to the lower edge. On a topology without dimensions, task s sends to s +
//! 1 (modulo N).

use super::{Permutation, grid};
use crate::Shape;
use units::KeyError;

/// Name in the experiment file. `neighbour` is accepted too.
pub const KIND: &str = "neighbor";

/// Builds the pattern for a machine.
///
/// # Errors
/// If there is only one task.
pub fn build(shape: &Shape) -> Result<Permutation, KeyError> {
    grid::moved(KIND, shape, |_| 1)
}
