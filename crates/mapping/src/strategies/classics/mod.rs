//! The classics that the paper's section 2 names, for comparison: they are what topology-aware mapping began with, and slow.

pub(super) mod contraction;
pub(super) mod genetic;
pub(super) mod pairwise;
