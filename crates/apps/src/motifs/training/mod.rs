//! Training step of a transformer, divided as in Megatron-LM (Narayanan et al., "Efficient large-scale language model
//! training on GPU clusters using Megatron-LM", SC 2021): tensor, pipeline, data and expert parallelism.
//!
//! Rank t + T (d + D p) has tensor index t of T, data index d of D and pipeline stage p. Each stage has an equal number
//! of layers. For each micro-batch, a rank receives the activations of the previous stage. For each layer it
//! calculates, and its tensor group combines twice forwards and twice backwards. With experts, the expert group
//! exchanges tokens by an all-to-all before and after the experts, in both directions. Micro-batches follow the
//! one-forward-one-backward schedule (1F1B). While the last micro-batch goes backwards, the data group combines
//! gradients, one bucket of layers at a time: overlapped with the calculation, or at the end.
//!
//! A layer has 12 h^2 parameters. With experts, 8 h^2 of these belong to an expert, and each member of an expert group
//! holds one. Not modelled: the first and the last layer of the model, the optimizer, the memory accesses of attention,
//! and interleaved stages.

mod plan;
mod rank;
pub(super) mod spec;

use std::sync::Arc;

use units::KeyError;

use super::planned::Planned;
use super::program_context::ProgramContext;
use mpi::program::Programs;
use plan::Plan;
use rank::TrainingRank;
use spec::TrainingSpec;

/// Builds the training of ranks on a context.
///
/// # Errors
/// Ranks that cannot be divided into the groups, layers that cannot be divided into stages, or an unreadable file.
pub(super) fn build(spec: &TrainingSpec, context: &ProgramContext<'_>) -> Result<Arc<dyn Programs>, KeyError> {
    spec.check()?;
    Ok(Arc::new(Planned::new(Plan::new(spec, context)?, TrainingRank::new)))
}
