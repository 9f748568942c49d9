//! A step of training a transformer, as Megatron-LM divides it (Narayanan et al., "Efficient large-scale language model training on GPU
//! clusters using Megatron-LM", SC 2021): tensor, pipeline, data and expert parallelism.
//!
//! Rank t + T (d + D p) has tensor number t of T, data number d of D and pipeline stage p. A stage has an equal part of the layers. For
//! each micro-batch, a rank receives the activations of the stage before, and of each layer calculates and combines what its tensor
//! group has, twice forwards and twice backwards; with experts, its expert group exchanges tokens by an all-to-all before and after
//! the experts, in both directions. Micro-batches follow the schedule of one forward, one backward (1F1B). While the last micro-batch
//! goes backwards, gradients are combined by the data group, a bucket of layers at a time, overlapped or at the end.
//!
//! A layer has 12 h^2 parameters of which 8 h^2 are the experts', if there are any; each expert group holds one of these a member. The
//! first and the last layer of a model, the optimizer, attention's own memory and interleaved stages are left out.

mod plan;
mod rank;
pub(super) mod spec;

use std::sync::Arc;

use super::planned::Planned;
use super::site::ProgramSite;
use crate::PatternError;
use crate::program::Programs;
use plan::Plan;
use rank::TrainingRank;
use spec::TrainingSpec;

/// The training of ranks on a site.
///
/// # Errors
/// Groups that the ranks cannot be divided into, a model that cannot be divided so, or a file that cannot be read.
pub(super) fn build(spec: &TrainingSpec, site: &ProgramSite<'_>) -> Result<Arc<dyn Programs>, PatternError> {
    spec.check()?;
    Ok(Arc::new(Planned::new(Plan::new(spec, site)?, TrainingRank::new)))
}
