//! Collective traffic whose operations involve all members of a group: reductions and barriers of persistent groups,
//! begun at a rate.
//!
//! The operations run as a program of ranks (`program`), so that routers or messages carry them out as in any program,
//! with the windows, limits and checks of programs. They are measured like open traffic (`steady`): warm up, measure
//! until the mean time of operations is precise, then wait for the operations that began in the measured interval,
//! under continued load.
//!
//! Model choices. An operation begins for all members at one time, or each member is late by a random time (`late`). A
//! member that has not finished earlier operations of a group still begins the next one, in order. The time of
//! an operation runs from its begin, at which the first member may start, to the end of the last member. It includes
//! the overheads of the interface, as in programs. These overheads occupy no processor (`nic.kind = "ideal"`):
//! processors only wait for the next begin.

mod counters;
mod described;
mod program;
mod sampler;

use std::sync::Arc;

use apps::pattern_of;
use host::MemorySpec;
use mpi::collectives::{Algorithm, Collective, CollectiveBackend, Operation, Selection};
use mpi::communicator::{Context, Group, NodeGroups};
use mpi::program::{Programs, Sizes};
use traffic::multicast::FixedSets;
use traffic::{PlacedPattern, Placement};
use units::{KeyError, KeyResult, NodeId, TaskId, Time};

use super::build_context::BuildContext;
use super::open::{batch_length, extent};
use super::ranks::{LimitedGroups, Measured, NodeProcessors, OperationVolumes, Ranks};
use super::steady::SteadyRun;
use super::{DemandModel, RunContext, RunLength, Workload, WorkloadRun};
use ::experiment::{CollectiveOperation, CollectiveTrafficSpec, Collectives, MeasureSpec};
use ::network::{Network, Packets};
use described::GroupOperations;
use program::{GroupSet, TimedGroup, TimedGroups};
use sampler::OperationsSampler;

/// Mean number of operations in a batch.
const OPERATIONS_A_BATCH: f64 = 64.0;

/// Parts common to all collective traffic.
pub(super) struct Common {
    pub placement: Arc<Placement>,
    pub packets: Packets,
    /// Groups: the destinations of each sender.
    pub sets: FixedSets,
}

/// Builds operations that involve all members of a group.
///
/// # Errors
/// If the specification is invalid. The error names a key below that of the job.
pub(super) fn build(
    (spec, operation): (&CollectiveTrafficSpec, Operation),
    context: &BuildContext<'_>,
    common: Common,
) -> Result<Arc<dyn Workload>, KeyError> {
    let Common { placement, packets, sets } = common;
    let ranks = placement.len();
    let mut rank_at: Vec<(NodeId, u32)> = (0..ranks).map(|rank| (placement.node(TaskId(rank)), rank)).collect();
    rank_at.sort_unstable();
    let rank_of = |node: NodeId| rank_at.binary_search_by_key(&node, |own| own.0).map_or(0, |found| rank_at[found].1);
    let node_of: Vec<u32> = (0..ranks).map(|rank| placement.node(TaskId(rank)).0).collect();
    let call =
        Collective::new(operation, Algorithm::Auto, if operation == Operation::Barrier { 0 } else { packets.message });
    let backend = match spec.collectives {
        Collectives::Hardware => CollectiveBackend::Hardware,
        Collectives::Software => CollectiveBackend::Software,
    };
    let members = sets.mean().round() as u32 + 1;
    let call = match backend {
        // The messages of an operation depend on the size of each group.
        CollectiveBackend::Hardware => call.carried_by(Some(backend), &Selection::built_in(), members),
        _ => Ok(call),
    };
    let call = call.at_key("workload.collectives")?;
    let mut of_rank = vec![Vec::new(); ranks as usize];
    let mut groups = Vec::new();
    for (number, (sender, nodes)) in (0..).zip(sets.senders().zip(sets.groups())) {
        let own: Vec<u32> = nodes.into_iter().map(rank_of).collect();
        own.iter().for_each(|&rank| of_rank[rank as usize].push(number));
        let root = own.iter().position(|&rank| rank == rank_of(sender)).unwrap_or(0) as u32;
        let members = Group::list(own);
        let known = Context::new(number).unwrap_or(Context::WORLD);
        let nodes = Arc::new(NodeGroups::new(&members, &node_of).among(context.interconnect, known));
        groups.push(TimedGroup { sender, root, members, nodes });
    }
    let set = Arc::new(GroupSet { call, ranks, groups, of_rank });
    let programs: Arc<dyn Programs> = Arc::new(TimedGroups { set: Arc::clone(&set), timing: None });
    let pattern = pattern_of(&programs, ranks).at_key("workload.senders")?;
    let volumes = (context.nic.host().control().0, packets.message);
    let volumes = OperationVolumes::of_one(&*programs, &placement, volumes);
    let ranks = Ranks {
        operations: Some(Arc::new(volumes)),
        sizes: Arc::new(Sizes::of(&*programs)),
        programs,
        measured: Measured::Program,
        pattern: Arc::new(PlacedPattern::new(pattern, &placement, true)),
        placement,
        packet: packets.packet,
        nic: context.nic.clone(),
        volumes: None,
        memory: context.node.memory.as_ref().map(MemorySpec::params),
        processors: NodeProcessors::new(context)?,
        on_nic: false,
        interconnect: LimitedGroups::of(context.interconnect),
    };
    let (load, injection) = (spec.load, spec.injection);
    Ok(Arc::new(GroupOperations { load, injection, late: spec.late.clone(), packets, set, ranks }))
}

/// Returns the operation that combines. None for multicasts.
pub(super) fn combined(operation: CollectiveOperation) -> Option<Operation> {
    match operation {
        CollectiveOperation::Multicast => None,
        CollectiveOperation::Reduce => Some(Operation::Reduce),
        CollectiveOperation::Allreduce => Some(Operation::Allreduce),
        CollectiveOperation::Barrier => Some(Operation::Barrier),
    }
}

impl Workload for GroupOperations {
    fn demand(&self) -> DemandModel<'_> {
        DemandModel { load: self.load, ..self.ranks.demand() }
    }

    fn placement(&self) -> &Arc<Placement> {
        self.ranks.placement()
    }

    fn at_load(&self, load: f64) -> Result<Arc<dyn Workload>, String> {
        self.injection.check(load).map_err(|error| error.to_string())?;
        Ok(Arc::new(Self { load, ..self.clone() }))
    }

    fn packets(&self) -> Packets {
        self.packets
    }

    fn partial_packets(&self) -> Vec<u64> {
        self.ranks.partial_packets()
    }

    fn has_unknown_sizes(&self) -> bool {
        self.ranks.has_unknown_sizes()
    }

    fn host_times(&self) -> Vec<Time> {
        self.ranks.host_times()
    }

    fn is_open(&self) -> bool {
        true
    }

    fn batch(&self, network: &Network, measure: &MeasureSpec) -> u64 {
        let slot = network.slot(self.packets);
        let slots = (OPERATIONS_A_BATCH / (self.set.groups.len() as f64 * self.load)).ceil().max(4.0) as u64;
        batch_length(network, measure, (slot, slots))
    }

    fn run_length(&self, network: &Network, measure: &MeasureSpec, batch: u64) -> RunLength {
        extent(network, measure, batch)
    }

    fn start(&self, context: &RunContext) -> Box<dyn WorkloadRun> {
        Box::new(SteadyRun::new(OperationsSampler::new(self, context)))
    }

    fn groups(&self) -> Vec<Vec<NodeId>> {
        self.ranks.groups()
    }

    fn programs(&self) -> Option<&Arc<dyn Programs>> {
        self.ranks.programs()
    }
}
