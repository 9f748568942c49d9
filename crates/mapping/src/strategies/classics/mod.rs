//! Classic strategies named in the paper's section 2, for comparison: the first strategies of topology-aware mapping,
//! and slow.

pub(super) mod contraction;
pub(super) mod genetic;
pub(super) mod pairwise;
