//! Effective bisection bandwidth: mean bandwidth of a node if all nodes exchange data in random pairs (Hoefler,
//! Schneider and Lumsdaine, "Multistage switches are not crossbars", CLUSTER 2008).
//!
//! A pairing divides the nodes into two random halves and joins each node of one with a random node of the other; the
//! two send to each other. With an odd number of nodes, one is left out. The bandwidth of a flow is that of its fullest
//! channel, divided evenly among the flows there: 1 / load, at most that of its injection link. This is the paper's
//! measure of congestion. Flows that other channels hold back thus keep their share, so that max-min fair shares would
//! be no smaller. A flow over several paths counts with its share on each channel.

use std::sync::atomic::{AtomicU32, Ordering};

use engine::statistics::{Batch, interval};
use engine::{Owner, Stream};
use routing::{PairPaths, PathFollower, RoutingContractError};
use serde::Serialize;
use units::{Draw, KeyError, NodeId, shuffle};

use crate::one_network::OneNetwork;
use ::system::{Progress, System};

/// Confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// Mean bandwidth of the flows of random pairings of the nodes, as shares of an injection link's bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectiveBisection {
    /// Kind of the routing whose paths are followed: see `WorstCase`.
    pub routing: String,
    /// Whether the routing does not depend on congestion. Otherwise, flows are spread evenly over the candidates.
    pub exact: bool,
    /// Number of pairings.
    pub pairings: u32,
    /// Mean over all flows of all pairings.
    pub mean: f64,
    /// Half of the 95 % confidence interval of the mean, over pairings. Null with one pairing.
    pub half_width: Option<f64>,
    /// Smallest mean of a pairing.
    pub least: f64,
    /// Smallest bandwidth of a flow.
    pub least_flow: f64,
}

/// Returns the effective bisection bandwidth of a system's network over a number of random pairings, which the seed of
/// the experiment draws. `network` names one of several networks, whose nodes are those of an island. Reports progress,
/// and stops with an error if `progress` is cancelled.
///
/// # Errors
/// If the network has no channels or fewer than two nodes, if there is no such network, if several are there and none
/// is named, if there is no pairing, if the routing breaks its contract, and if cancelled.
pub fn effective_bisection(
    system: &System,
    (network, pairings): (Option<&str>, u32),
    progress: &Progress,
) -> Result<EffectiveBisection, KeyError> {
    let network = OneNetwork::of(system, network)?;
    let (topology, routing) = (network.topology(), network.direct());
    let nodes = network.nodes().unwrap_or_else(|| (0..topology.nodes()).map(NodeId).collect());
    if pairings == 0 || nodes.len() < 2 {
        let message = "an effective bisection bandwidth needs at least one pairing, of at least two nodes";
        return Err(network.at("topology", message));
    }
    let paths = PairPaths::new(topology, &*routing);
    let capacities = network.capacities();
    let done = AtomicU32::new(0);
    let follow = |follower: &mut PathFollower<'_>, number: u32| {
        if !progress.analyzed(f64::from(done.load(Ordering::Relaxed)) / f64::from(pairings)) {
            return Err(RoutingContractError::Stopped);
        }
        let pairs = pairing(&nodes, &mut Stream::new(system.spec.seed, Owner::Pairing(number)));
        let found = bandwidths(&pairs, follower, &capacities);
        done.fetch_add(1, Ordering::Relaxed);
        found
    };
    let means = workers::map_with(0..pairings, 1, || paths.follower(), follow);
    let means: Result<Vec<(f64, f64)>, RoutingContractError> = means.into_iter().collect();
    let means = means.map_err(|error| network.at("routing", error))?;
    let batches: Vec<Batch> = means.iter().map(|&(mean, _)| Batch::of_mean(mean)).collect();
    let estimate = interval(&batches, CONFIDENCE);
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    Ok(EffectiveBisection {
        routing: routing.kind().to_owned(),
        exact: !network.routing.adaptive(),
        pairings,
        mean: estimate.mean,
        half_width: Some(estimate.half_width).filter(|width| width.is_finite()),
        least: least(&mut means.iter().map(|found| found.0)),
        least_flow: least(&mut means.iter().map(|found| found.1)),
    })
}

/// Draws a pairing: nodes in a random order, of which each even one is joined with the next.
fn pairing(nodes: &[NodeId], draw: &mut dyn Draw) -> Vec<[NodeId; 2]> {
    let mut order = nodes.to_vec();
    shuffle(&mut order, draw);
    order.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()
}

/// Returns the mean and the smallest bandwidth of the flows between pairs, in both directions.
fn bandwidths(
    pairs: &[[NodeId; 2]],
    follower: &mut PathFollower<'_>,
    capacities: &[f64],
) -> Result<(f64, f64), RoutingContractError> {
    let mut load = vec![0.0; capacities.len()];
    let mut flows: Vec<Vec<u32>> = Vec::with_capacity(2 * pairs.len());
    for [source, target] in pairs.iter().flat_map(|&[one, other]| [[one, other], [other, one]]) {
        follower.follow(&[source], target, &mut |_, shares| {
            for &(channel, share) in shares {
                load[channel.index()] += share;
            }
            flows.push(shares.iter().map(|(channel, _)| channel.0).collect());
        })?;
    }
    let (mut sum, mut least) = (0.0, 1.0_f64);
    for channels in &flows {
        let fullest = channels.iter().map(|&channel| load[channel as usize] / capacities[channel as usize]);
        let bandwidth = 1.0 / fullest.fold(1.0, f64::max);
        sum += bandwidth;
        least = least.min(bandwidth);
    }
    Ok((sum / flows.len() as f64, least))
}
