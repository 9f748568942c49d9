//! What is said of an application on its placement: its computation, and the figures of its mapping.

use std::sync::Arc;

use mapping::{Machine, MachineSpec, Mapping};
use serde::Serialize;
use units::{NodeId, TaskId};
use workload::tasks::TaskGraph;

use crate::experiment::{PlaceSpec, WorkloadSpec};
use crate::system::{Closed, System, Volumes};

/// What an application has besides, of one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplicationResult {
    /// Computation before the first phase: that of the node with most of it.
    pub compute_ns: f64,
    /// How far its bytes travel.
    #[serde(flatten)]
    pub mapping: Option<MappingFigures>,
}

/// The figures of a mapping. None where the machine has too many routers for a table of hops.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MappingFigures {
    /// Bytes times channels, summed over messages; of a multicast or reduction once for each member.
    pub hop_bytes: f64,
    /// Channels that a mean byte crosses.
    pub hops_per_byte: f64,
    /// Hop-bytes where a multicast reaches every node once, and a reduction leaves it once.
    pub multicast_hop_bytes: f64,
    /// Pairs of a multicast or reduction and a node other than its root's.
    pub proxies: u64,
    /// The largest load of a node over the mean of the job's nodes: all of the machine, or those of a placement file.
    pub imbalance: f64,
}

/// The application of a system, if it runs one.
pub(crate) fn graph(system: &System) -> Option<&Arc<TaskGraph>> {
    match &system.closed {
        Some(Closed::Volumes(Volumes::Application(graph))) => Some(graph),
        _ => None,
    }
}

/// Computation of the busiest node before the first phase, in picoseconds; 0 of what is no application.
pub(crate) fn computation(system: &System) -> f64 {
    let (Some(graph), WorkloadSpec::Application(spec)) = (graph(system), &system.spec.workload) else { return 0.0 };
    if spec.time_per_load.0 == 0 {
        return 0.0;
    }
    let tasks = |node: u32| system.placement.tasks(NodeId(node)).iter().filter(|&&task| task.0 < graph.tasks());
    let load = |node: u32| tasks(node).map(|&task| graph.loads[task.index()]).sum::<f64>();
    (0..system.topology.nodes()).map(load).fold(0.0, f64::max) * spec.time_per_load.0 as f64
}

/// The figures of an application's mapping.
pub(crate) fn figures(system: &System) -> Option<MappingFigures> {
    let graph = graph(system)?;
    let nodes = allocation(system);
    let machine = Machine::with_allocation(Arc::clone(&system.topology), MachineSpec::default(), nodes).ok()?;
    let mut place = vec![0; system.topology.nodes() as usize];
    (0..).zip(machine.nodes()).for_each(|(at, node)| place[node.index()] = at);
    let place_of = (0..graph.tasks()).map(|task| place[system.placement.node(TaskId(task)).index()]).collect();
    let measures = mapping::measure(graph, &machine, &Mapping { place_of });
    Some(MappingFigures {
        hop_bytes: measures.hop_bytes,
        hops_per_byte: measures.hops_per_byte,
        multicast_hop_bytes: measures.multicast_hop_bytes,
        proxies: measures.proxies,
        imbalance: measures.imbalance,
    })
}

/// The nodes of the job: all of the machine, or those that a placement file gives it.
fn allocation(system: &System) -> Vec<NodeId> {
    let all = || (0..system.topology.nodes()).map(NodeId);
    let PlaceSpec::File(file) = &system.spec.placement else { return all().collect() };
    let mut nodes: Vec<NodeId> = system.placement.used().collect();
    let idle = file.allocated_nodes.map_or(0, |count| (count as usize).saturating_sub(nodes.len()));
    // Which of the idle nodes they are is of no consequence: they only enter the mean load.
    nodes.extend(all().filter(|&node| system.placement.tasks(node).is_empty()).take(idle));
    nodes
}
