//! Starvation: the share of the worst-served source of an oversubscribed channel.
//!
//! Round-robin arbitration is fair between the inputs of one router, not between sources. In a row of routers that all
//! send to its end, each source gets half of what the next one gets (the parking lot of Dally and Towles, section
//! 15.4). A full channel is divided among its inputs by water-filling. An input that gets less than its demand is
//! itself a full channel, if all of its packets go to this channel. If it carries other packets too, the mean share of
//! its sources bounds the least.

use std::collections::BTreeMap;

use routing::{TransitLoad, channel_name};
use topology::ChannelSource;
use units::{ChannelId, KeyError};

use crate::credit_bound::{is_followed, transits};
use crate::loads::loads;
use ::system::Job;
use ::system::System;

/// Part of an equal share below which a source starves.
const STARVED: f64 = 0.75;

/// Tolerance of sums of loads.
const ROUNDING: f64 = 1e-9;

/// Least share that a source is expected to get.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LeastShare {
    /// The full channel.
    pub channel: String,
    /// Demand on the channel, as a multiple of its bandwidth.
    pub demand: f64,
    /// Source with the least share.
    pub source: String,
    /// Upper bound of the share of its offered load that the source gets.
    pub share: f64,
    /// Share of each source in an equal division.
    pub equal: f64,
}

/// Returns the source that arbitration starves most, at the channel with the highest demand. None if no source starves,
/// if the routing is adaptive, or if the network is too large to follow every packet.
///
/// # Errors
/// If the routing breaks its contract.
pub(crate) fn least_share(system: &System) -> Result<Option<LeastShare>, KeyError> {
    let is_unicast = |job: &Job| {
        let own = &job.workload;
        own.is_open() && !own.demand().splits() && own.programs().is_none()
    };
    if !is_followed(system) || !system.jobs.iter().all(is_unicast) {
        return Ok(None);
    }
    let offered = system.load();
    let load = loads(system)?.load;
    let demand = |channel: ChannelId| load[channel.index()] * offered / system.capacity(channel);
    let channels = (0..load.len() as u32).map(ChannelId).filter(|channel| load[channel.index()] > 0.0);
    let Some(full) = channels.max_by(|&a, &b| demand(a).total_cmp(&demand(b)).then(b.cmp(&a))) else { return Ok(None) };
    let equal = 1.0 / demand(full);
    let followed = if equal < 1.0 { transits(system)? } else { None };
    let Some(transits) = followed else { return Ok(None) };
    let tree = Tree { load: &load, offered, into: into(&transits) };
    let (share, at) = tree.least(full, system.capacity(full));
    if share >= STARVED * equal {
        return Ok(None);
    }
    let name = |channel| channel_name(&*system.network.topology, system.network.plan.channels(), channel);
    let source = match system.network.plan.channels().source(at) {
        ChannelSource::Node(node, _) => format!("node {node}"),
        ChannelSource::Router(..) => format!("some source behind {}", name(at)),
    };
    Ok(Some(LeastShare { channel: name(full), demand: demand(full), source, share, equal }))
}

/// Returns the inputs of each channel: the preceding channel (one entry for each class of virtual channels) and its
/// load.
fn into(transits: &[TransitLoad]) -> BTreeMap<ChannelId, Vec<(ChannelId, f64)>> {
    let mut into: BTreeMap<ChannelId, Vec<(ChannelId, f64)>> = BTreeMap::new();
    for transit in transits {
        into.entry(transit.output).or_default().push((transit.input, transit.load));
    }
    into
}

/// Tree of the channels that feed a full channel.
struct Tree<'a> {
    load: &'a [f64],
    offered: f64,
    into: BTreeMap<ChannelId, Vec<(ChannelId, f64)>>,
}

impl Tree<'_> {
    /// Returns the least share of its demand that a source gets of a channel with bandwidth `rate`, and the channel at
    /// which the division ends.
    fn least(&self, channel: ChannelId, rate: f64) -> (f64, ChannelId) {
        let Some(inputs) = self.into.get(&channel) else {
            return (rate / (self.load[channel.index()] * self.offered), channel);
        };
        let demands: Vec<f64> = inputs.iter().map(|&(_, load)| load * self.offered).collect();
        let level = water_level(&demands, rate);
        // An input's virtual channels take separate turns in arbitration.
        let mut given: BTreeMap<ChannelId, (f64, f64)> = BTreeMap::new();
        for (&(input, _), &demand) in inputs.iter().zip(&demands) {
            let (rate, all) = given.entry(input).or_insert((0.0, 0.0));
            *rate += demand.min(level);
            *all += demand;
        }
        let of = |(input, (rate, demand)): (ChannelId, (f64, f64))| {
            let only = demand >= self.load[input.index()] * self.offered * (1.0 - ROUNDING);
            let short = rate < demand * (1.0 - ROUNDING);
            if only && short { self.least(input, rate) } else { (rate / demand, input) }
        };
        given.into_iter().map(of).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((1.0, channel))
    }
}

/// Returns the level up to which each demand is met so that all together take at most `rate`.
fn water_level(demands: &[f64], rate: f64) -> f64 {
    let mut sorted = demands.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (mut left, mut waiting) = (rate, sorted.len() as f64);
    for demand in sorted {
        if demand * waiting >= left {
            return left / waiting;
        }
        left -= demand;
        waiting -= 1.0;
    }
    f64::INFINITY
}
