//! The classics that the paper's section 2 names, for comparison: the first strategies of topology-aware mapping, and
//! slow.

pub(super) mod contraction;
pub(super) mod genetic;
pub(super) mod pairwise;
