//! Keys of a training step.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError, Time};

use crate::motifs::limits::{check_byte_times, check_time};
use mpi::collectives::Algorithm;

/// Training of a transformer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingSpec {
    /// Ranks per tensor-parallel group. They are numbered consecutively.
    #[schemars(range(min = 1))]
    pub tensor: u32,
    /// Number of pipeline stages.
    #[schemars(range(min = 1))]
    pub pipeline: u32,
    /// Ranks per data-parallel group. Must equal the number of ranks / (`tensor` * `pipeline`), the default.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<u32>,
    /// Ranks per expert-parallel group, a part of a data-parallel group. 1 is a model without experts.
    #[schemars(range(min = 1))]
    pub expert: u32,
    /// Layers of the model, divided equally among the stages.
    #[schemars(range(min = 1, max = 100_000))]
    pub layers: u32,
    /// Hidden size: elements per token between layers.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hidden: u32,
    /// Tokens per sequence.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub sequence: u32,
    /// Sequences per micro-batch.
    #[schemars(range(min = 1, max = 65_536))]
    pub micro_batch_size: u32,
    /// Micro-batches per step and data-parallel replica.
    #[schemars(range(min = 1, max = 65_536))]
    pub micro_batches: u32,
    /// Experts that each token is routed to.
    #[schemars(range(min = 1, max = 1024))]
    pub top_k: u32,
    /// Bytes per element of activations and of gradients.
    #[schemars(extend("minimum" = 1))]
    pub element_size: Bytes,
    /// Forward calculation time of a rank per layer and micro-batch.
    pub forward_time: Time,
    /// Backward calculation time of a rank per layer and micro-batch. Default: 2 * `forward_time`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backward_time: Option<Time>,
    /// Smallest size in bytes of a bucket: the gradients of a rank that are combined together, in whole layers. The
    /// last bucket may be smaller.
    #[schemars(extend("minimum" = 1))]
    pub bucket_size: Bytes,
    /// Overlap the reduction of gradients with the backward pass.
    pub overlap: bool,
    /// Algorithm of the allreduces of gradients and tensors.
    pub allreduce: Algorithm,
    /// Algorithm of the token exchange.
    pub alltoall: Algorithm,
    /// Calculation time per byte that a rank combines with another.
    pub reduction_time: Time,
    /// Time per byte that a rank copies in its memory to bring parts of a buffer into another order (`bruck`,
    /// `bine-permute`, `bine-datatype`, and `bine` of an alltoall).
    pub copy_time: Time,
    /// Selection table by which `auto` chooses algorithms: `open-mpi-4.1`, `mpich-4`, or a file of rules, relative to the
    /// experiment file. Default: `mpich-4`.
    #[schemars(extend("x-example" = "\"open-mpi-4.1\""))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<PathBuf>,
    /// Number of consecutive steps.
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
            copy_time: Time(0),
            selection: None,
            steps: 1,
        }
    }
}

impl TrainingSpec {
    /// Returns the backward calculation time per layer and micro-batch.
    pub fn backward(&self) -> Time {
        self.backward_time.unwrap_or(Time(self.forward_time.0.saturating_mul(2)))
    }

    /// Refuses values that are invalid for any number of ranks.
    pub(super) fn check(&self) -> Result<(), KeyError> {
        check_time("forward_time", self.forward_time)?;
        check_time("backward_time", self.backward())?;
        check_byte_times(self.reduction_time, self.copy_time)?;
        if !(1..=16).contains(&self.element_size.0) {
            let message = format!("{} is out of range: 1 B to 16 B are allowed", self.element_size);
            return Err(KeyError::new("element_size", message));
        }
        if self.bucket_size.0 == 0 {
            return Err(KeyError::new("bucket_size", "0 B holds no gradients: 1 B or more is allowed"));
        }
        if self.selection.is_some() && self.allreduce != Algorithm::Auto && self.alltoall != Algorithm::Auto {
            let message = "it is for `auto`, and both `allreduce` and `alltoall` are given";
            return Err(KeyError::new("selection", message));
        }
        Ok(())
    }
}
