//! Worst permutation of a system's network, whatever the traffic of its jobs.

use std::sync::Arc;

use routing::{Routing, WorstPermutationError, channel_name, worst_permutation};
use serde::Serialize;
use units::{KeyError, NodeId};

use ::system::{Progress, System};

use crate::analysis::check_one_network;

/// Permutation of the nodes that loads a channel most, and the bound on its throughput.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorstCase {
    /// Kind of the routing whose paths are followed. For an adaptive routing that chooses between direct paths and
    /// detours, the routing of direct paths.
    pub routing: String,
    /// Whether the permutation is the worst. False for an adaptive routing, and for ports in turn: the shares of flows
    /// are then those of an even spread over the candidates of each hop.
    pub exact: bool,
    /// Largest offered load, at most 1, at which no channel is loaded above its bandwidth.
    pub throughput_bound: f64,
    /// Channel that is loaded most, relative to its bandwidth. Null if no packet leaves its router.
    pub channel: Option<String>,
    /// Class of the channel.
    pub class: Option<String>,
    /// Load of the channel at offered load 1, as a multiple of an injection link's bandwidth.
    pub load: f64,
    /// Number of nodes that send to another node.
    pub senders: u32,
    /// By node, the node to which it sends. A node that names itself does not send. Too long for the JSON.
    #[serde(skip)]
    pub to: Vec<NodeId>,
}

/// Returns the worst permutation of a system's network. Reports progress, and stops with an error if `progress` is
/// cancelled.
///
/// # Errors
/// If the network has no channels, if flows take too many paths, if the routing breaks its contract, and if cancelled.
pub fn worst_case(system: &System, progress: &Progress) -> Result<WorstCase, KeyError> {
    let network = &system.network;
    let routing = routing_of(system)?;
    let report = |part| progress.analyzed(part);
    let found = worst_permutation(&*network.topology, &*routing, None, &|channel| system.capacity(channel), &report);
    let found = found.map_err(|error: WorstPermutationError| KeyError::new("routing", error.to_string()))?;
    let names = network.topology.class_names();
    let numbering = network.plan.channels();
    let utilisation = found.channel.map_or(0.0, |channel| found.load / system.capacity(channel));
    Ok(WorstCase {
        routing: routing.kind().to_owned(),
        exact: !network.routing.adaptive() && !found.takes_turns,
        throughput_bound: 1.0 / utilisation.max(1.0),
        channel: found.channel.map(|channel| channel_name(&*network.topology, numbering, channel)),
        class: found.channel.map(|channel| names[usize::from(system.network.plan.class_of(channel).0)].to_owned()),
        load: found.load,
        senders: (0..).map(NodeId).zip(&found.to).filter(|(node, to)| node != *to).count() as u32,
        to: found.to,
    })
}

/// Returns the routing of a system whose paths are followed, whatever the traffic: for a routing that chooses by queues
/// between direct paths and detours, that of direct paths.
///
/// # Errors
/// If the network has no channels, or if there are several networks.
pub(crate) fn routing_of(system: &System) -> Result<Arc<dyn Routing>, KeyError> {
    check_one_network(system, "worst permutations and random pairs")?;
    let network = &system.network;
    Ok(Arc::clone(network.routing.options().first().unwrap_or(&network.routing)))
}
