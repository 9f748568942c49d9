//! Tornado: cyclic shift by ceil(k/2) - 1 in every dimension of size k (Dally & Towles, table 3.1).
//!
//! The worst case of minimal routing on a ring: all messages travel in one direction, almost half way around. On a
//! topology without dimensions, the N tasks form a ring in order of their numbers: task s sends to s + ceil(N/2) - 1
//! (modulo N). Dimensions of size 1 or 2 are not shifted. If no dimension is longer, the pattern is refused, since no
//! task would send.

use super::{Permutation, grid};
use crate::Shape;
use units::KeyError;

/// Name in the experiment file.
pub const KIND: &str = "tornado";

/// Builds the pattern for a machine.
///
/// # Errors
/// If no task would send.
pub fn build(shape: &Shape) -> Result<Permutation, KeyError> {
    named(KIND, shape)
}

/// Builds the permutation of a pattern of another name.
///
/// # Errors
/// If no task would send.
pub(super) fn named(kind: &'static str, shape: &Shape) -> Result<Permutation, KeyError> {
    grid::moved(kind, shape, |size| size.div_ceil(2) - 1)
}
