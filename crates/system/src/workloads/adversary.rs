//! Targets of the pattern `adversarial` on networks without a published one: the permutation of the job's nodes that
//! loads a channel most on shortest paths.
//!
//! The paths are those of `shortest-path` with random ties, whatever the routing of the experiment: routings are then
//! compared under one traffic. Bandwidths count as in the analyses.
//!
//! The permutation is of nodes, so that it is the worst under every placement.

use std::sync::Arc;

use routing::algorithms::shortest_path::{ShortestPathSpec, TieRule, VcRule};
use routing::{RoutingSpec, worst_permutation};
use topology::families::networks::{Networks, Part};
use topology::{ChannelClass, ChannelSource, Channels, Topology};
use traffic::Placement;
use traffic::patterns::adversarial::KIND;
use units::{Bytes, KeyError, NodeId, TaskId, counted};

use super::build_context::BuildContext;
use crate::capacity::Capacities;
use crate::networks::NOT_JOINED;
use ::network::Feature;

/// Largest number of nodes among which the worst permutation is searched.
const MOST_NODES: usize = 5_000;

/// Returns the target of each task. The tasks of a node send to those of one other node, in order.
///
/// # Errors
/// If tasks are on a single node or on more than `MOST_NODES` nodes, or if the search fails.
pub(super) fn targets(
    placement: &Placement,
    packet: u32,
    context: &BuildContext<'_>,
) -> Result<Arc<[TaskId]>, KeyError> {
    let nodes: Vec<NodeId> = placement.used().collect();
    let all = nodes.len();
    if all < 2 {
        let message =
            format!("`{KIND}` is traffic between nodes, and this job has {}", counted(all as u64, ["node", "nodes"]));
        return Err(refused(message));
    }
    let to = if context.model.has(Feature::Routers) {
        search(nodes, packet, context)?
    } else {
        // Without channels every permutation is as bad as another.
        let mut to: Vec<NodeId> = (0..placement.nodes()).map(NodeId).collect();
        (0..all).for_each(|at| to[nodes[at].index()] = nodes[(at + 1) % all]);
        to.into()
    };
    let target = |task: TaskId| {
        let node = placement.node(task);
        let (own, others) = (placement.tasks(node), placement.tasks(to[node.index()]));
        others[own.partition_point(|&other| other < task) % others.len()]
    };
    Ok((0..placement.len()).map(TaskId).map(target).collect())
}

/// Returns, by node, the partner in the worst permutation of some nodes.
fn search(nodes: Vec<NodeId>, packet: u32, context: &BuildContext<'_>) -> Result<Arc<[NodeId]>, KeyError> {
    let topology = &**context.topology;
    if nodes.len() > MOST_NODES {
        let message = format!(
            "`{KIND}` is the worst permutation here, which is searched among up to {MOST_NODES} nodes, and this job has {}: try \
             `analyze --worst`, whose file the pattern `matrix` reads, or take another pattern, such as `shift`",
            nodes.len()
        );
        return Err(refused(message));
    }
    let capacities = Capacities::new(context.link, topology, Bytes(u64::from(packet)));
    if let Some(networks) = topology.views().networks.filter(|networks| networks.only().is_none()) {
        return within_network(&nodes, networks, &capacities, context);
    }
    let some = Some(nodes).filter(|nodes| nodes.len() < topology.nodes() as usize);
    let key = (context.network.clone(), capacities, some);
    context.parts.worst(&key, || {
        let (_, capacities, nodes) = &key;
        Ok(worst((topology, nodes.as_deref()), &|class| capacities.of_class(class), context)?.into())
    })
}

/// Returns, by node, the partner in the worst permutation of nodes on an island of the first network that joins them.
/// Planes of the network are equal.
fn within_network(
    nodes: &[NodeId],
    networks: &Networks,
    capacities: &Capacities,
    context: &BuildContext<'_>,
) -> Result<Arc<[NodeId]>, KeyError> {
    let joins = |part: &Part| nodes.iter().all(|&node| part.places.joins(nodes[0], node));
    let Some(number) = networks.parts().iter().position(joins) else {
        return Err(refused(NOT_JOINED.to_owned()));
    };
    let part = &networks.parts()[number];
    let own: Vec<NodeId> = nodes.iter().filter_map(|&node| Some(part.places.place(node)?.1)).collect();
    let first = networks.first_class(number).0;
    let capacity = |class: ChannelClass| capacities.of_class(ChannelClass(first + class.0));
    let found = worst((&*part.island, Some(&own)), &capacity, context)?;
    let mut to: Vec<NodeId> = (0..context.topology.nodes()).map(NodeId).collect();
    let node_of = |wanted: NodeId| own.iter().position(|&own| own == wanted).map(|at| nodes[at]);
    for (&node, own) in nodes.iter().zip(&own) {
        to[node.index()] = node_of(found[own.index()]).unwrap_or(node);
    }
    Ok(to.into())
}

/// Returns, by node, the partner in the worst permutation of some nodes of a topology. `None`: of all nodes.
fn worst(
    (topology, nodes): (&dyn Topology, Option<&[NodeId]>),
    capacity: &dyn Fn(ChannelClass) -> f64,
    context: &BuildContext<'_>,
) -> Result<Vec<NodeId>, KeyError> {
    let paths = ShortestPathSpec { ties: TieRule::Random, vc_rule: VcRule::Single };
    let routing = RoutingSpec::ShortestPath(paths).build(topology).map_err(|error| refused(error.message))?;
    let channels = Channels::new(topology);
    let of_channel = |channel| match channels.source(channel) {
        ChannelSource::Router(router, port) => capacity(topology.class(router, port)),
        ChannelSource::Node(..) => 1.0,
    };
    let report = |part| context.parts.progress.built(part);
    let found = worst_permutation(topology, &*routing, nodes, &of_channel, &report);
    Ok(found.map_err(|error| refused(error.to_string()))?.to)
}

fn refused(message: String) -> KeyError {
    KeyError::new("kind", message)
}
