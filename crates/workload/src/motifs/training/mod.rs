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

use super::site::ProgramSite;
use crate::PatternError;
use crate::collectives::{Fastest, ProgramGroup};
use crate::program::{GroupCall, Measure, Messages, Programs, RankProgram, ScriptedRank};
use plan::Plan;
use rank::TrainingRank;
use spec::TrainingSpec;

/// The training of so many ranks.
#[derive(Debug)]
pub(super) struct Training {
    plan: Arc<Plan>,
    messages: u64,
    /// What ranks post to the switches.
    in_switch: u64,
}

impl Training {
    /// The training of ranks on a site.
    ///
    /// # Errors
    /// Groups that the ranks cannot be divided into, a model that cannot be divided so, or a file that cannot be read.
    pub fn new(spec: &TrainingSpec, site: &ProgramSite<'_>) -> Result<Self, PatternError> {
        spec.check()?;
        let mut training = Self { plan: Arc::new(Plan::new(spec, site)?), messages: 0, in_switch: 0 };
        let mut messages = 0_u64;
        training.each_message(&mut |of_shape| messages = messages.saturating_add(of_shape.count));
        training.messages = messages;
        training.in_switch = training.plan.in_switch_operations();
        Ok(training)
    }
}

impl Programs for Training {
    fn may_probe(&self) -> bool {
        false
    }

    fn ranks(&self) -> u32 {
        self.plan.ranks
    }

    fn rank(self: Arc<Self>, rank: u32) -> Box<dyn RankProgram> {
        Box::new(ScriptedRank::new(TrainingRank::new(Arc::clone(&self.plan), rank), rank, self.plan.ranks))
    }

    fn operations(&self) -> u64 {
        self.messages.saturating_mul(2).saturating_add(self.in_switch)
    }

    fn messages_of(&self, rank: u32, visit: &mut dyn FnMut(Messages)) {
        self.plan.each_message(rank, visit);
    }

    fn groups(&self) -> Vec<ProgramGroup> {
        self.plan.in_switch()
    }

    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        self.plan.each_group_call(visit);
    }

    fn measures(&self, fastest: &Fastest) -> Vec<Measure> {
        self.plan.measures(fastest)
    }
}
