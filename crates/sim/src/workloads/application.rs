//! Steps of applications: after every node has computed its tasks' loads, the phases of a task graph follow one another.
//! What tasks of one node send one another stays there; a multicast sends one copy to each node that has members, and a
//! reduction one from each.

use std::collections::BTreeSet;
use std::sync::Arc;

use mapping::{Machine, MachineSpec, Mapping};
use topology::Topology;
use units::{NodeId, TaskId, Time};
use workload::Placement;
use workload::tasks::{GroupKind, Phase, TaskGraph};

use super::site::Site;
use crate::experiment::PlaceSpec;
use crate::results::MappingFigures;
use crate::traffic::Flow;

/// What each node sends others in a phase.
pub(crate) fn application_flows(phase: &Phase, placement: &Placement) -> Vec<Vec<Flow>> {
    let mut flows: Vec<Vec<Flow>> = vec![Vec::new(); placement.nodes() as usize];
    let mut send = |from: NodeId, dst: NodeId, left: u64| {
        if from != dst && left > 0 {
            flows[from.index()].push(Flow { dst, left });
        }
    };
    for (from, to, bytes, _) in phase.arcs.iter() {
        send(placement.node(TaskId(from)), placement.node(TaskId(to)), bytes);
    }
    for group in &phase.groups {
        let root = placement.node(TaskId(group.root));
        let members: BTreeSet<NodeId> = group.members.iter().map(|&member| placement.node(TaskId(member))).collect();
        for node in members {
            match group.kind {
                GroupKind::Multicast => send(root, node, group.bytes),
                GroupKind::Reduction => send(node, root, group.bytes),
            }
        }
    }
    flows
}

/// Computation of the busiest node before the first phase, in picoseconds, rounded up.
pub(crate) fn computation(graph: &TaskGraph, placement: &Placement, time_per_load: Time) -> u64 {
    if time_per_load.0 == 0 {
        return 0;
    }
    let tasks = |node: u32| placement.tasks(NodeId(node)).iter().filter(|&&task| task.0 < graph.tasks());
    let load = |node: u32| tasks(node).map(|&task| graph.loads[task.index()]).sum::<f64>();
    ((0..placement.nodes()).map(load).fold(0.0, f64::max) * time_per_load.0 as f64).ceil() as u64
}

/// The figures of an application's mapping on the nodes of its job.
pub(crate) fn figures(
    graph: &TaskGraph,
    placement: &Placement,
    (topology, nodes): (&Arc<dyn Topology>, &[NodeId]),
) -> Option<MappingFigures> {
    let machine = Machine::with_allocation(Arc::clone(topology), MachineSpec::default(), nodes.to_vec()).ok()?;
    let mut place = vec![0; topology.nodes() as usize];
    (0..).zip(machine.nodes()).for_each(|(at, node)| place[node.index()] = at);
    let place_of = (0..graph.tasks()).map(|task| place[placement.node(TaskId(task)).index()]).collect();
    let measures = mapping::measure(graph, &machine, &Mapping { place_of });
    Some(MappingFigures {
        hop_bytes: measures.hop_bytes,
        hops_per_byte: measures.hops_per_byte,
        multicast_hop_bytes: measures.multicast_hop_bytes,
        proxies: measures.proxies,
        imbalance: measures.imbalance,
    })
}

/// The nodes of an application's job: those that it is given, or that a placement file gives it, or all of the machine.
pub(crate) fn allocation(site: &Site<'_>, placement: &Placement) -> Vec<NodeId> {
    let all = || (0..site.topology.nodes()).map(NodeId);
    if let Some(nodes) = site.nodes {
        return nodes.iter().map(|&node| NodeId(node)).collect();
    }
    let PlaceSpec::File(file) = site.place else { return all().collect() };
    let mut nodes: Vec<NodeId> = placement.used().collect();
    let idle = file.allocated_nodes.map_or(0, |count| (count as usize).saturating_sub(nodes.len()));
    // Which of the idle nodes they are does not matter: they only enter the mean load.
    nodes.extend(all().filter(|&node| placement.tasks(node).is_empty()).take(idle));
    nodes
}
