//! Jobs of a point: workloads with their nodes and times.

use std::path::Path;
use std::sync::Arc;

use mpi::communicator::{Interconnect, OffloadLimits};
use routing::Routing;
use topology::Topology;
use units::{Bytes, KeyError, KeyResult, NodeId, Time};

use crate::allocation::Allocator;
use crate::build_cache::BuildCache;
use crate::groups::acknowledges;
use crate::model;
use crate::workloads::{self, BuildContext, Copies, Workload};
use ::experiment::{ExperimentSpec, JobSpec, WorkloadSpec};
use ::network::traffic::Span;
use ::network::{Feature, NetworkModel};
use ::traffic::pacers::PacerSpec;

/// Workload that shares the network with others.
#[derive(Clone, Debug)]
pub struct Job {
    /// Name of the job. Empty if it is the only one.
    pub name: String,
    /// Traffic of the job.
    pub workload: Arc<dyn Workload>,
    /// Period in which the job sends, in ticks.
    pub span: Span,
    /// Whether the job is in the background: a run ends without waiting for it.
    pub background: bool,
    /// Seed of the nodes' random streams.
    pub seed: u64,
    /// Pacer of the job's flows.
    pub pacer: PacerSpec,
    /// Whether some of the job's packets are acknowledgements, which have a packet class for themselves (`JobNumbers`).
    pub has_acks: bool,
    /// Index of the job's first group among the groups of all jobs that the network was built for.
    pub first_group: u32,
    /// Number of the network that the job uses if its messages do not choose networks.
    pub part: usize,
}

/// Unfinished job: its times are not yet in ticks.
pub(crate) struct JobBuilder {
    pub name: String,
    pub workload: Arc<dyn Workload>,
    pub start: Time,
    pub end: Option<Time>,
    pub background: bool,
    pub seed: u64,
    pub pacer: PacerSpec,
}

impl JobBuilder {
    /// Finishes the job for a network with the given tick. Start and end are multiples of the tick. `first_group` is
    /// the index of its first group, and `part` the number of its network.
    pub fn finish(self, tick: Time, first_group: u32, part: usize) -> Job {
        let Self { name, workload, start, end, background, seed, pacer } = self;
        let span = start.0 / tick.0..end.map_or(u64::MAX, |end| end.0 / tick.0);
        let has_acks = pacer.ack_size().is_some() || acknowledges(&*workload);
        Job { name, workload, span, background, seed, pacer, has_acks, first_group, part }
    }
}

/// Returns the island of each node in the first of several networks. Empty if there is one network.
fn islands_of(topology: &dyn Topology) -> Arc<[Option<u32>]> {
    let views = topology.views();
    let Some(first) = views.networks.and_then(|networks| networks.parts().first()).filter(|own| !own.name.is_empty())
    else {
        return Arc::default();
    };
    (0..topology.nodes()).map(|node| first.places.place(NodeId(node)).map(|(island, _)| island)).collect()
}

/// Builds the unfinished jobs of a point. `limits` holds, for each job, the groups that routers have no room
/// for.
pub fn job_builders(
    spec: &ExperimentSpec,
    (topology, network_model): (&Arc<dyn Topology>, &dyn NetworkModel),
    (base, parts): (&Path, &BuildCache),
    limits: &[OffloadLimits],
) -> Result<Vec<JobBuilder>, KeyError> {
    let islands = islands_of(&**topology);
    let of_job = |job: usize| {
        let limits = limits.get(job).cloned().unwrap_or_default();
        Interconnect { limits, islands: Arc::clone(&islands) }
    };
    let packet = match network_model.has(Feature::Packets) {
        true => fabric::packet_size(spec.link.of_class("injection").0),
        false => Bytes(model::WHOLE),
    };
    let whole = BuildContext {
        topology,
        network: &spec.topology,
        link: &spec.link,
        model: network_model,
        place: &spec.placement,
        nodes: None,
        nic: &spec.nic,
        networks: &spec.networks,
        node: &spec.node,
        packet,
        seed: spec.seed,
        base,
        parts,
        interconnect: &of_job(0),
        overflow: spec.in_switch.overflow,
    };
    if let Some(workload) = &spec.workload {
        let built = workloads::build(workload, &whole)?;
        let (pacer, workload) = (pacer_of(workload, &*built)?, built);
        let (name, seed) = (String::new(), spec.seed);
        return Ok(vec![JobBuilder { name, workload, start: Time(0), end: None, background: false, seed, pacer }]);
    }
    if spec.jobs.is_empty() {
        return Err(KeyError::new("workload", "there is no workload: write [workload], or [[job]] tables"));
    }
    let mut allocator = Allocator::new(topology, spec.seed, base);
    let draft = |(number, job): (usize, &JobSpec)| {
        // Errors of the whole machine do not belong to a job.
        let at = |error: KeyError| match error.key.split('.').next() {
            Some("workload" | "placement" | "nodes" | "node_count") => error.under(&format!("job.{}", job.name)),
            _ => error,
        };
        let (nodes, place) = allocator.next(job).map_err(at)?;
        // Each job has separate streams at a node. The first job has those of a single workload.
        let seed = spec.seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (nodes, interconnect) = (nodes.as_deref(), of_job(number));
        let context = BuildContext { place: &place, nodes, seed, interconnect: &interconnect, ..whole };
        let workload = workloads::build(&job.workload, &context).map_err(at)?;
        let pacer = pacer_of(&job.workload, &*workload).map_err(at)?;
        let JobSpec { name, start, end, background, .. } = job.clone();
        Ok(JobBuilder { name, workload, start, end, background, seed, pacer })
    };
    spec.jobs.iter().enumerate().map(draft).collect()
}

/// Refuses pacers for jobs whose operations routers carry out, or whose packets they copy.
pub fn check_pacers(jobs: &[JobBuilder]) -> Result<(), KeyError> {
    let by_routers = |job: &JobBuilder| {
        !job.workload.groups().is_empty() || matches!(job.workload.demand().copies, Copies::Volumes(_))
    };
    let Some(JobBuilder { name, .. }) = jobs.iter().find(|job| !job.pacer.is_none() && by_routers(job)) else {
        return Ok(());
    };
    let message = "a pacer holds back the packets of flows from node to node: in-switch operations have windows of their own, and what \
                   routers copy is for several nodes";
    let error = KeyError::new("workload.pacer", message);
    Err(if name.is_empty() { error } else { error.under(&format!("job.{name}")) })
}

/// Refuses a routing that parts consecutive nodes on the way up a fat-tree, if packets are for consecutive nodes.
pub fn check_runs(jobs: &[JobBuilder], (topology, routing): (&dyn Topology, &dyn Routing)) -> Result<(), KeyError> {
    let has_runs = |job: &JobBuilder| matches!(job.workload.demand().copies, Copies::Drawn(own) if own.runs.is_some());
    let keeps_together = ["adaptive-up-down", "random-up-down", "round-robin-up-down"].contains(&routing.kind());
    if keeps_together || topology.views().hierarchy.is_none() || !jobs.iter().any(has_runs) {
        return Ok(());
    }
    let message = format!(
        "\"{}\" may part consecutive nodes on the way up, which `packet_for = \"consecutive\"` does not allow: \"adaptive-up-down\", \
             \"random-up-down\" and \"round-robin-up-down\" keep them together",
        routing.kind()
    );
    Err(KeyError::new("routing.kind", message))
}

/// Returns the pacer of a workload.
fn pacer_of(spec: &WorkloadSpec, workload: &dyn Workload) -> Result<PacerSpec, KeyError> {
    let pacer = spec.pacer();
    let checked = pacer.check(workload.packets().packet);
    checked.under("workload.pacer")?;
    Ok(pacer.clone())
}
