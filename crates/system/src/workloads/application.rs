//! Steps of applications: every node computes the loads of its tasks, then the phases of a task graph follow one
//! another. Messages between tasks of one node stay on the node. A multicast sends one copy to each node with members.
//! In hardware, it sends packets that list all of these nodes, and routers copy them. A reduction sends one message
//! from each node with members.

use std::collections::BTreeSet;
use std::sync::Arc;

use mapping::{Machine, MachineSpec, Mapping};
use tasks::{GroupKind, Phase, TaskGraph};
use topology::Topology;
use traffic::Placement;
use units::{NodeId, TaskId, Time};

use super::build_context::BuildContext;
use ::experiment::PlaceSpec;
use ::network::traffic::Flow;
use measure::MappingFigures;

/// Traffic model of an application whose multicasts routers copy, for analyses. Volumes are relative to the node that
/// sends most; a multicast counts once.
#[derive(Clone, Debug, PartialEq)]
pub struct SetLoads {
    /// Traffic sent by each node.
    pub sent: Vec<f64>,
    /// Traffic to single destinations, by sender.
    pub unicasts: Vec<Vec<(NodeId, f64)>>,
    /// Multicasts: sender, destinations and volume.
    pub multicasts: Vec<(NodeId, Arc<[NodeId]>, f64)>,
    /// Bytes delivered for each byte sent.
    pub fanout: f64,
}

impl SetLoads {
    /// Returns the loads of the flows of all phases, given by node. None if no flow has several destinations.
    pub(crate) fn of(phases: impl Iterator<Item = Vec<Vec<Flow>>>) -> Option<Self> {
        let (mut sent, mut unicasts, mut multicasts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut all, mut delivered) = (0.0, 0.0);
        for flows in phases {
            sent.resize(flows.len(), 0.0);
            unicasts.resize(flows.len(), Vec::new());
            for (node, flow) in
                flows.iter().enumerate().flat_map(|(node, own)| own.iter().map(move |flow| (node, flow)))
            {
                let bytes = flow.left as f64;
                (all, delivered) = (all + bytes, delivered + flow.delivered() as f64);
                sent[node] += bytes;
                match &flow.set {
                    None => unicasts[node].push((flow.dst, bytes)),
                    Some(set) => multicasts.push((NodeId(node as u32), Arc::clone(set), bytes)),
                }
            }
        }
        let most = sent.iter().copied().fold(0.0, f64::max);
        sent.iter_mut().for_each(|bytes| *bytes /= most);
        unicasts.iter_mut().flatten().for_each(|to| to.1 /= most);
        multicasts.iter_mut().for_each(|own| own.2 /= most);
        (!multicasts.is_empty()).then(|| Self { sent, unicasts, multicasts, fanout: delivered / all })
    }
}

/// Place at which multicasts are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyPlace {
    /// Routers copy packets.
    InRouters,
    /// The root sends a message to each member.
    AtRoot,
}

/// Returns the flows of each node in a phase.
pub(crate) fn application_flows(phase: &Phase, placement: &Placement, copies: CopyPlace) -> Vec<Vec<Flow>> {
    let mut flows: Vec<Vec<Flow>> = vec![Vec::new(); placement.nodes() as usize];
    let mut send = |from: NodeId, flow: Flow| {
        if flow.left > 0 && flow.dst != from {
            flows[from.index()].push(flow);
        }
    };
    for (from, to, bytes, _) in phase.arcs.iter() {
        send(placement.node(TaskId(from)), Flow::to(placement.node(TaskId(to)), bytes));
    }
    for group in &phase.groups {
        let root = placement.node(TaskId(group.root));
        let members: BTreeSet<NodeId> = group.members.iter().map(|&member| placement.node(TaskId(member))).collect();
        match group.kind {
            GroupKind::Multicast if copies == CopyPlace::InRouters => {
                let others: Vec<NodeId> = members.into_iter().filter(|&node| node != root).collect();
                Flow::to_each(&others, group.bytes).into_iter().for_each(|flow| send(root, flow));
            }
            GroupKind::Multicast => members.into_iter().for_each(|node| send(root, Flow::to(node, group.bytes))),
            GroupKind::Reduction => members.into_iter().for_each(|node| send(node, Flow::to(root, group.bytes))),
        }
    }
    flows
}

/// Returns the computation time of the busiest node before the first phase, in picoseconds, rounded up.
pub(crate) fn computation(graph: &TaskGraph, placement: &Placement, time_per_load: Time) -> u64 {
    if time_per_load.0 == 0 {
        return 0;
    }
    let tasks = |node: u32| placement.tasks(NodeId(node)).iter().filter(|&&task| task.0 < graph.tasks());
    let load = |node: u32| tasks(node).map(|&task| graph.loads[task.index()]).sum::<f64>();
    ((0..placement.nodes()).map(load).fold(0.0, f64::max) * time_per_load.0 as f64).ceil() as u64
}

/// Returns the figures of an application's mapping on the nodes of its job.
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

/// Returns the nodes of an application's job: its allocation, or the nodes of its placement file, or all nodes of the
/// machine.
pub(crate) fn allocation(context: &BuildContext<'_>, placement: &Placement) -> Vec<NodeId> {
    let all = || (0..context.topology.nodes()).map(NodeId);
    if let Some(nodes) = context.nodes {
        return nodes.iter().map(|&node| NodeId(node)).collect();
    }
    let PlaceSpec::File(file) = context.place else { return all().collect() };
    let mut nodes: Vec<NodeId> = placement.used().collect();
    let idle = file.allocated_nodes.map_or(0, |count| (count as usize).saturating_sub(nodes.len()));
    // Any idle nodes will do: they only enter the mean load.
    nodes.extend(all().filter(|&node| placement.tasks(node).is_empty()).take(idle));
    nodes
}
