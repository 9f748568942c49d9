//! The keys of a training step.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

use crate::PatternError;
use crate::collectives::Algorithm;
use crate::motifs::limits::{check_reduction, check_time};

/// A step of training.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingSpec {
    /// Ranks of a tensor-parallel group, numbered one after the other.
    #[schemars(range(min = 1))]
    pub tensor: u32,
    /// Pipeline stages.
    #[schemars(range(min = 1))]
    pub pipeline: u32,
    /// Ranks of a data-parallel group; without it, as many as there are ranks for.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<u32>,
    /// Ranks of an expert-parallel group, a part of a data-parallel one; 1 for a model without experts.
    #[schemars(range(min = 1))]
    pub expert: u32,
    /// Layers of the model, divided equally over the stages.
    #[schemars(range(min = 1, max = 100_000))]
    pub layers: u32,
    /// Elements of a token between layers.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hidden: u32,
    /// Tokens of a sequence.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub sequence: u32,
    /// Sequences of a micro-batch.
    #[schemars(range(min = 1, max = 65_536))]
    pub micro_batch_size: u32,
    /// Micro-batches of a step, of each data-parallel replica.
    #[schemars(range(min = 1, max = 65_536))]
    pub micro_batches: u32,
    /// Experts that a token goes to.
    #[schemars(range(min = 1, max = 1024))]
    pub top_k: u32,
    /// Bytes of an element, of activations and of gradients.
    #[schemars(extend("minimum" = 1))]
    pub element_size: Bytes,
    /// Time that a rank calculates for a layer of a micro-batch, forwards.
    pub forward_time: Time,
    /// The same backwards; without it, twice the time forwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backward_time: Option<Time>,
    /// Gradients of a rank that are combined at once, in whole layers: at least so many bytes, but for the last.
    #[schemars(extend("minimum" = 1))]
    pub bucket_size: Bytes,
    /// Whether gradients are combined while the rank goes on backwards.
    pub overlap: bool,
    /// How gradients and tensors are combined.
    pub allreduce: Algorithm,
    /// How tokens are exchanged.
    pub alltoall: Algorithm,
    /// Time that a rank calculates for each byte that it combines with another.
    pub reduction_time: Time,
    /// A table of rules that `auto` chooses by, relative to the experiment file; without it, the built-in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<PathBuf>,
    /// Steps, one after the other.
    #[schemars(range(min = 1, max = 10_000))]
    pub steps: u32,
}

impl Default for TrainingSpec {
    fn default() -> Self {
        Self {
            tensor: 1,
            pipeline: 1,
            data: None,
            expert: 1,
            layers: 24,
            hidden: 1024,
            sequence: 1024,
            micro_batch_size: 1,
            micro_batches: 4,
            top_k: 2,
            element_size: Bytes(2),
            forward_time: Time(100_000_000),
            backward_time: None,
            bucket_size: Bytes(25 << 20),
            overlap: true,
            allreduce: Algorithm::Auto,
            alltoall: Algorithm::Auto,
            reduction_time: Time(0),
            selection: None,
            steps: 1,
        }
    }
}

impl TrainingSpec {
    /// The time of a layer of a micro-batch, backwards.
    pub fn backward(&self) -> Time {
        self.backward_time.unwrap_or(Time(self.forward_time.0.saturating_mul(2)))
    }

    /// Refuses what does not depend on the number of ranks.
    pub(super) fn check(&self) -> Result<(), PatternError> {
        check_time("forward_time", self.forward_time)?;
        check_time("backward_time", self.backward())?;
        check_reduction(self.reduction_time)?;
        if !(1..=16).contains(&self.element_size.0) {
            let message = format!("{} is out of range: 1 B to 16 B are allowed", self.element_size);
            return Err(PatternError::new("element_size", message));
        }
        if self.bucket_size.0 == 0 {
            return Err(PatternError::new("bucket_size", "0 B holds no gradients: 1 B or more is allowed"));
        }
        if self.selection.is_some() && self.allreduce != Algorithm::Auto && self.alltoall != Algorithm::Auto {
            let message = "it is for `auto`, and both `allreduce` and `alltoall` are given";
            return Err(PatternError::new("selection", message));
        }
        Ok(())
    }
}
