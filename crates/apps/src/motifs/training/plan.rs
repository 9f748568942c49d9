//! Messages and calculations of a training step, from the sizes of the model and of the groups.

use units::{KeyError, KeyResult, counted};

use super::spec::TrainingSpec;
use crate::motifs::planned;
use crate::motifs::program_context::ProgramContext;
use crate::motifs::ranks::{Grouping, Groups};
use mpi::collectives::{
    Collective, CollectiveBackend, CollectiveError, Fastest, GroupNumbers, Operation, ProgramGroup, Selection, bound,
    bound_beside,
};
use mpi::program::{GroupCall, Measure, Messages};

/// Measured part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Whole step.
    Step,
    /// Calculations, except for combining.
    Compute,
    /// Operations of the tensor group.
    Tensor,
    /// Operations of the expert group.
    Expert,
    /// Waiting for another stage.
    Pipeline,
    /// Gradient reduction, from the start of the first bucket to the end of the last.
    Gradients,
}

impl Kind {
    pub(super) const ALL: [Self; 6] =
        [Self::Step, Self::Compute, Self::Tensor, Self::Expert, Self::Pipeline, Self::Gradients];

    const fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Compute => "compute",
            Self::Tensor => "tensor-allreduce",
            Self::Expert => "expert-alltoall",
            Self::Pipeline => "pipeline-wait",
            Self::Gradients => "gradient-allreduce",
        }
    }
}

/// Communicator numbers.
pub(super) const TENSOR: u32 = 1;
pub(super) const DATA: u32 = 2;
pub(super) const EXPERT: u32 = 3;
pub(super) const REPLICAS: u32 = 4;

/// Bucket of gradients that are combined together, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    /// Layers of the stage that must have passed backwards, counted from the last.
    pub layers: u32,
    /// Bytes of the parameters that the whole data group shares.
    pub shared: u64,
    /// Bytes of the experts' parameters. They are combined by the ranks that hold the same experts.
    pub expert: u64,
}

/// Plan of a training step.
#[derive(Debug)]
pub(super) struct Plan {
    pub ranks: u32,
    /// Ranks of a pipeline stage, and number of stages.
    pub stage_ranks: u32,
    pub stages: u32,
    /// Layers of a stage.
    pub layers: u32,
    pub micro_batches: u32,
    pub steps: u32,
    pub overlap: bool,
    /// Calculation times per layer, in picoseconds.
    pub forward: u64,
    pub backward: u64,
    /// Bytes of a micro-batch's activations, sent to the next stage.
    pub activations: u64,
    /// Whether no two stages share a node.
    stages_apart: bool,
    pub buckets: Vec<Bucket>,
    pub tensor: Groups,
    pub data: Groups,
    pub expert: Groups,
    pub replicas: Groups,
    /// Operation of a tensor group, and of an expert group. `None` for groups of a single rank.
    pub combine: Option<Collective>,
    pub exchange: Option<Collective>,
    /// Reduction of gradients. Its size is replaced by that of a bucket.
    gradients: Collective,
    /// Rules by which `auto` chooses an algorithm.
    selection: Selection,
    backend: Option<CollectiveBackend>,
}

/// Returns the sizes of the groups: tensor, data, pipeline.
fn sizes(spec: &TrainingSpec, ranks: u32) -> Result<(u32, u32, u32), KeyError> {
    let TrainingSpec { tensor, pipeline, expert, .. } = *spec;
    let each = u64::from(tensor) * u64::from(pipeline);
    if each == 0 || !u64::from(ranks).is_multiple_of(each) {
        let stages = counted(pipeline.into(), ["stage", "stages"]);
        let message = format!("{ranks} ranks cannot be divided into {stages} of groups of {tensor}");
        return Err(KeyError::new(if tensor > 1 { "tensor" } else { "pipeline" }, message));
    }
    let room = (u64::from(ranks) / each) as u32;
    let data = spec.data.unwrap_or(room);
    if data != room {
        let message =
            format!("{data} times {tensor} times {pipeline} is not the number of ranks, {ranks}: {room} is allowed");
        return Err(KeyError::new("data", message));
    }
    if expert == 0 || !data.is_multiple_of(expert) {
        let message = format!("{data} data-parallel ranks cannot be divided into groups of {expert}");
        return Err(KeyError::new("expert", message));
    }
    if !spec.layers.is_multiple_of(pipeline) {
        let message = format!("{} layers cannot be divided equally over {pipeline} stages", spec.layers);
        return Err(KeyError::new("layers", message));
    }
    if !spec.hidden.is_multiple_of(tensor) {
        let message = format!("{} elements cannot be divided equally over {tensor} ranks", spec.hidden);
        return Err(KeyError::new("hidden", message));
    }
    Ok((tensor, data, pipeline))
}

impl Plan {
    /// Plans the training of ranks on a context.
    pub fn new(spec: &TrainingSpec, context: &ProgramContext<'_>) -> Result<Self, KeyError> {
        let &ProgramContext { node_of, base, backend, interconnect, .. } = context;
        let ranks = node_of.len() as u32;
        let (tensor, data, stages) = sizes(spec, ranks)?;
        let selection = match &spec.selection {
            Some(file) => Selection::given(base, file).at_key("selection")?,
            None => Selection::built_in(),
        };
        let groups = |size, stride, number| {
            let grouping = Grouping::new(ranks, size, stride).at_key("data")?;
            Ok(Groups::new(grouping, number, (node_of, interconnect)))
        };
        let element = spec.element_size.0;
        let tokens = u64::from(spec.micro_batch_size) * u64::from(spec.sequence) * u64::from(spec.hidden);
        let of_expert = (tokens * u64::from(spec.top_k)).div_ceil(u64::from(spec.expert) * u64::from(tensor));
        let call = |operation, algorithm, communicator, elements: u64| Collective {
            communicator,
            element: element as u32,
            time_per_byte: spec.reduction_time.0,
            copy_time: spec.copy_time.0,
            ..Collective::new(operation, algorithm, elements * element)
        };
        let mut plan = Self {
            ranks,
            stage_ranks: tensor * data,
            stages,
            layers: spec.layers / stages,
            micro_batches: spec.micro_batches,
            steps: spec.steps,
            overlap: spec.overlap,
            forward: spec.forward_time.0,
            backward: spec.backward().0,
            activations: tokens.div_ceil(u64::from(tensor)) * element,
            stages_apart: {
                let nodes = node_of.iter().zip(&node_of[(tensor * data) as usize..]);
                nodes.into_iter().all(|(one, next)| one != next)
            },
            buckets: buckets(spec, stages),
            tensor: groups(tensor, 1, TENSOR)?,
            data: groups(data, tensor, DATA)?,
            expert: groups(spec.expert, tensor, EXPERT)?,
            replicas: groups(data / spec.expert, tensor * spec.expert, REPLICAS)?,
            combine: (tensor > 1).then(|| call(Operation::Allreduce, spec.allreduce, TENSOR, tokens)),
            exchange: (spec.expert > 1).then(|| call(Operation::Alltoall, spec.alltoall, EXPERT, of_expert)),
            gradients: call(Operation::Allreduce, spec.allreduce, DATA, 0),
            selection,
            backend,
        };
        plan.check_carrier()?;
        plan.combine = plan.combine.map(|call| plan.chosen(call, plan.tensor.size()));
        plan.exchange = plan.exchange.map(|call| plan.chosen(call, plan.expert.size()));
        plan.check()?;
        Ok(plan)
    }

    /// Refuses algorithms that the backend of collective operations does not have.
    fn check_carrier(&self) -> Result<(), KeyError> {
        let of_buckets = self.buckets.iter().flat_map(|bucket| self.of_bucket(bucket));
        let of_layers = [(self.combine, &self.tensor, "allreduce"), (self.exchange, &self.expert, "alltoall")];
        let of_layers = of_layers.into_iter().filter_map(|(call, groups, key)| Some((call?, groups, key)));
        for (call, groups, key) in of_buckets.map(|(call, groups)| (call, groups, "allreduce")).chain(of_layers) {
            call.carried_by(self.backend, &self.selection, groups.size()).map_err(|error| {
                let key = match error {
                    CollectiveError::CombinedOnNic => "reduction_time",
                    CollectiveError::WorkOnNic { key } => key,
                    _ => key,
                };
                KeyError::new(key, error.to_string())
            })?;
        }
        Ok(())
    }

    /// Refuses algorithms that do not support an operation, and messages that are too large.
    fn check(&self) -> Result<(), KeyError> {
        let own = [(&self.data, Some(self.gradients), "allreduce"), (&self.tensor, self.combine, "allreduce")];
        for (groups, call, key) in own.into_iter().chain([(&self.expert, self.exchange, "alltoall")]) {
            let Some(call) = call else { continue };
            call.check(&groups.communicator(0)).at_key(key)?;
        }
        let largest = [self.combine, self.exchange].into_iter().flatten().map(|call| call.bytes).max();
        let most = self.buckets.iter().map(|bucket| bucket.shared + bucket.expert).max().max(largest);
        if most > Some(1 << 40) {
            return Err(KeyError::new("hidden", "a message would be larger than 1 TiB".to_owned()));
        }
        Ok(())
    }

    /// Returns a call with the algorithm chosen for a group of `members` ranks.
    fn chosen(&self, call: Collective, members: u32) -> Collective {
        // Algorithms that the backend lacks have been refused already.
        call.carried_by(self.backend, &self.selection, members).unwrap_or(call)
    }

    /// Returns the calls that combine a bucket.
    pub fn gradients(&self, bucket: &Bucket) -> impl Iterator<Item = Collective> {
        self.of_bucket(bucket).map(|(call, groups)| self.chosen(call, groups.size()))
    }

    /// Returns the calls that combine a bucket, with their groups, before algorithms are chosen.
    fn of_bucket(&self, bucket: &Bucket) -> impl Iterator<Item = (Collective, &Groups)> {
        let parts = [(DATA, &self.data, bucket.shared), (REPLICAS, &self.replicas, bucket.expert)];
        let all = parts.into_iter().filter(|(_, groups, bytes)| groups.size() > 1 && *bytes > 0);
        all.map(|(communicator, groups, bytes)| (Collective { communicator, bytes, ..self.gradients }, groups))
    }

    /// Returns the groups of a communicator number.
    pub fn groups(&self, communicator: u32) -> &Groups {
        match communicator {
            TENSOR => &self.tensor,
            EXPERT => &self.expert,
            REPLICAS => &self.replicas,
            _ => &self.data,
        }
    }

    /// Returns the stage of a rank.
    pub const fn stage(&self, rank: u32) -> u32 {
        rank / self.stage_ranks
    }

    /// Returns the collective calls of a rank in a step, each with its number of repetitions.
    fn calls(&self) -> Vec<(Collective, u64)> {
        // Two per layer and micro-batch, both forwards and backwards.
        let often = 4 * u64::from(self.layers) * u64::from(self.micro_batches);
        let of_layers = [self.combine, self.exchange].into_iter().flatten().map(|call| (call, often));
        let of_buckets = self.buckets.iter().flat_map(|bucket| self.gradients(bucket)).map(|call| (call, 1));
        of_layers.chain(of_buckets).collect()
    }

    /// Visits the in-switch calls, each with the number of its group and of its repetitions. Returns the groups.
    fn each_in_switch(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) -> Vec<ProgramGroup> {
        let mut numbers = GroupNumbers::default();
        for (call, often) in self.calls() {
            let mut visit = |place: usize, call: &GroupCall| visit(place, call, often);
            self.groups(call.communicator).each_in_switch(&call, &mut numbers, &mut visit);
        }
        numbers.groups()
    }

    /// Returns the measured parts that occur.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        Kind::ALL.into_iter().filter(|kind| match kind {
            Kind::Step | Kind::Compute => true,
            Kind::Tensor => self.combine.is_some(),
            Kind::Expert => self.exchange.is_some(),
            Kind::Pipeline => self.stages > 1,
            Kind::Gradients => self.data.size() > 1,
        })
    }

    /// Returns a lower bound of the time of a step. `batches` is the time of a stage for all micro-batches, `behind`
    /// the time after the last one. The first micro-batch passes all stages before the last stage works, and the last
    /// one passes all stages back.
    fn step_bound(&self, batches: u64, behind: u64, fastest: &Fastest) -> u64 {
        let (filling, count) = (u64::from(self.stages - 1), u64::from(self.micro_batches));
        let through = (u128::from(batches) * u128::from(filling) / u128::from(count)) as u64;
        let message = if self.stages_apart { fastest.message(self.activations) } else { 0 };
        batches.saturating_add(through).saturating_add(2 * filling * message).saturating_add(behind)
    }
}

impl planned::Plan for Plan {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn each_message(&self, rank: u32, visit: &mut dyn FnMut(Messages)) {
        let steps = u64::from(self.steps);
        for (call, often) in self.calls() {
            let communicator = self.groups(call.communicator).communicator(rank);
            call.each_message(&communicator, &mut |to, bytes, count| {
                visit(Messages { from: rank, to, bytes, count: count * often * steps });
            });
        }
        let (stage, count) = (self.stage(rank), u64::from(self.micro_batches) * steps);
        let next = (stage + 1 < self.stages).then(|| rank + self.stage_ranks);
        let before = (stage > 0).then(|| rank - self.stage_ranks);
        for to in [next, before].into_iter().flatten() {
            visit(Messages { from: rank, to, bytes: self.activations, count });
        }
    }

    fn in_switch(&self) -> Vec<ProgramGroup> {
        self.each_in_switch(&mut |_, _, _| {})
    }

    fn each_group_call(&self, visit: &mut dyn FnMut(usize, &GroupCall, u64)) {
        let steps = u64::from(self.steps);
        self.each_in_switch(&mut |place, call, often| visit(place, call, often * steps));
    }

    fn measures(&self, fastest: &Fastest) -> Vec<Measure> {
        let least = |call: &Collective| {
            let groups = self.groups(call.communicator).firsts();
            groups.map(|own| bound(call, &own, fastest)).min().unwrap_or(0)
        };
        let beside = |call: &Collective| {
            let groups = self.groups(call.communicator).firsts();
            groups.map(|own| bound_beside(call, &own, fastest)).min().unwrap_or(0)
        };
        let often = 4 * u64::from(self.layers) * u64::from(self.micro_batches);
        let of_layers = |call: &Option<Collective>| call.as_ref().map_or(0, least).saturating_mul(often);
        let compute = (self.forward + self.backward).saturating_mul(often / 4);
        let (tensor, expert) = (of_layers(&self.combine), of_layers(&self.exchange));
        let gradients: Vec<u64> =
            self.buckets.iter().flat_map(|bucket| self.gradients(bucket)).map(|call| beside(&call)).collect();
        // Buckets share the links, and may overlap in the latency of the shortest message.
        let beyond = gradients.iter().map(|bound| bound.saturating_sub(fastest.latency)).sum::<u64>();
        let all_gradients = beyond + gradients.iter().copied().max().unwrap_or(0).min(fastest.latency);
        let behind = if self.overlap { gradients.last().copied().unwrap_or(0) } else { all_gradients };
        // The first bucket is full when the backward passes of the layers behind it are all that is left to compute.
        let first = self.buckets.first().map_or(self.layers, |bucket| bucket.layers);
        let left = self.backward.saturating_mul(u64::from(self.layers.saturating_sub(first)));
        let reduced = compute.saturating_sub(left).saturating_add(all_gradients);
        let step = self.step_bound(compute + tensor + expert, behind, fastest).max(reduced);
        let bound = |kind| match kind {
            Kind::Step => Some(step),
            Kind::Compute => Some(compute),
            Kind::Tensor => Some(tensor),
            Kind::Expert => Some(expert),
            Kind::Pipeline => None,
            Kind::Gradients => Some(all_gradients),
        };
        self.kinds().map(|kind| Measure { name: kind.name().to_owned(), bound: bound(kind) }).collect()
    }
}

/// Returns the buckets of a stage, in the order in which they become full.
fn buckets(spec: &TrainingSpec, stages: u32) -> Vec<Bucket> {
    let (hidden, element) = (u64::from(spec.hidden), spec.element_size.0);
    // Of the 12 h^2 parameters of a layer, 8 h^2 may belong to experts.
    let part = |count: u64| (count * hidden * hidden).div_ceil(u64::from(spec.tensor)) * element;
    let (shared, expert) = if spec.expert > 1 { (part(4), part(8)) } else { (part(12), 0) };
    let layers = spec.layers / stages;
    let each = spec.bucket_size.0.div_ceil(shared + expert).clamp(1, u64::from(layers)) as u32;
    let ends = (1..=layers.div_ceil(each)).map(|number| (number * each).min(layers));
    let mut before = 0;
    ends.map(|end| {
        let own = u64::from(end - before);
        before = end;
        Bucket { layers: end, shared: shared * own, expert: expert * own }
    })
    .collect()
}
