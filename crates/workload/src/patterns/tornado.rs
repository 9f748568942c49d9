//! Tornado: ceil(k/2) - 1 places on in every dimension of size k (Dally & Towles, table 3.1).
//!
//! The worst case of minimal routing on a ring: all messages go the same way around, almost half of it. On a topology
//! without dimensions the numbering of the N tasks is the ring: task s sends to s + ceil(N/2) - 1 (modulo N). A
//! dimension of size 1 or 2 is not moved along; if none is longer the pattern is refused, since no task would send.

use super::{Permutation, grid};
use crate::{PatternError, Shape};

/// The name in the experiment file.
pub const KIND: &str = "tornado";

/// Builds the pattern for a machine.
///
/// # Errors
/// If no task would send.
pub fn build(shape: &Shape) -> Result<Permutation, PatternError> {
    grid::moved(KIND, shape, |size| size.div_ceil(2) - 1)
}
