//! Worst permutation of a system's network, whatever the traffic of its jobs.

use routing::{WorstPermutationError, channel_name, worst_permutation};
use serde::Serialize;
use units::{ChannelId, KeyError, NodeId};

use ::system::{Progress, System};

use crate::one_network::OneNetwork;

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
    /// By node, the node to which it sends. A node that names itself does not send. Each island of a network has the same
    /// permutation. Too long for the JSON.
    #[serde(skip)]
    pub to: Vec<NodeId>,
}

/// Returns the worst permutation of a system's network. `network` names one of several networks, whose nodes are those
/// of an island. Reports progress, and stops with an error if `progress` is cancelled.
///
/// # Errors
/// If the network has no channels, if there is no such network, if several are there and none is named, if flows take
/// too many paths, if the routing breaks its contract, and if cancelled.
pub fn worst_case(system: &System, network: Option<&str>, progress: &Progress) -> Result<WorstCase, KeyError> {
    let network = OneNetwork::of(system, network)?;
    let (routing, nodes) = (network.direct(), network.nodes());
    let capacities = network.capacities();
    let report = |part| progress.analyzed(part);
    let capacity = |channel: ChannelId| capacities[channel.index()];
    let found = worst_permutation(network.topology(), &*routing, nodes.as_deref(), &capacity, &report);
    let found = found.map_err(|error: WorstPermutationError| network.at("routing", error))?;
    let (topology, plan) = (&*system.network.topology, &system.network.plan);
    let names = topology.class_names();
    let utilisation = found.channel.map_or(0.0, |channel| found.load / capacity(channel));
    let channel = found.channel.and_then(|channel| network.in_system(channel));
    let to = network.on_islands(&found.to);
    Ok(WorstCase {
        routing: routing.kind().to_owned(),
        exact: !network.routing.adaptive() && !found.takes_turns,
        throughput_bound: 1.0 / utilisation.max(1.0),
        channel: channel.map(|channel| channel_name(topology, plan.channels(), channel)),
        class: channel.map(|channel| names[usize::from(plan.class_of(channel).0)].to_owned()),
        load: found.load,
        senders: (0..).map(NodeId).zip(&to).filter(|(node, to)| node != *to).count() as u32,
        to,
    })
}
