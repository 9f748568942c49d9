//! Upgrades: by how much the bound on the throughput rises if cables are doubled.
//!
//! Doubling a cable doubles the bandwidths of its two channels. Routes are unchanged, so that the load of each channel
//! is unchanged too: the bound is the smallest ratio of bandwidth to load, with the new bandwidths. It is at most 1,
//! since a node cannot send more than its injection link carries. The unit of load stays the bandwidth of that link
//! before the upgrade. Credits are not considered.
//!
//! Cost: one pass over all channels for each class, and one for single cables.

use std::collections::BTreeMap;

use routing::{ChannelLoads, channel_name};
use serde::Serialize;
use topology::{ChannelClass, ChannelSource, Endpoint};
use units::ChannelId;

use crate::design::class_name;
use ::system::System;

/// Largest relative difference of bounds that count as equal.
const EQUAL: f64 = 1e-9;

/// Effect of doubling all cables of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassUpgrade {
    /// Classes of the two directions of the cables, as in `design.cables_by_class`.
    pub class: String,
    /// Number of cables that are added.
    pub cables: u64,
    /// Bound on the offered load by bandwidths, after the upgrade.
    pub bandwidth_bound: f64,
    /// Rise of the bound.
    pub gain: f64,
}

/// Effect of doubling one cable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CableUpgrade {
    /// Channel of the cable that is loaded most.
    pub channel: String,
    /// Classes of the two directions of the cable.
    pub class: String,
    /// Bound on the offered load by bandwidths, after the upgrade.
    pub bandwidth_bound: f64,
    /// Rise of the bound.
    pub gain: f64,
}

/// Best upgrades of a network for its traffic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Upgrades {
    /// Classes of cables. The class that raises the bound most is first.
    pub classes: Vec<ClassUpgrade>,
    /// Single cable whose doubling raises the bound most. Null if none does: several cables are equally full, or nodes
    /// are the limit.
    pub cable: Option<CableUpgrade>,
    /// Number of cables that are full first. 0 if nodes are the limit: no cable is full below a load of 1.
    pub full_cables: u64,
}

/// Cable as its fuller channel.
struct Cable {
    channel: ChannelId,
    /// Classes of the two directions.
    classes: (ChannelClass, ChannelClass),
    /// Load of the fuller channel, relative to its bandwidth.
    utilisation: f64,
}

/// Returns the effects of doubling cables, given the loads of a system's channels.
pub(crate) fn of(system: &System, loads: &ChannelLoads) -> Upgrades {
    let cables = cables(system, loads);
    let bound = |most: f64| 1.0 / most.max(1.0);
    let most = cables.iter().map(|cable| cable.utilisation).fold(0.0, f64::max);
    let before = bound(most);
    // Nodes are the limit at load 1.
    let is_full = |cable: &&Cable| most > 1.0 + EQUAL && cable.utilisation * (1.0 + EQUAL) >= most;
    let full_cables = cables.iter().filter(is_full).count() as u64;
    let names = system.network.topology.class_names();
    let mut counts: BTreeMap<(ChannelClass, ChannelClass), u64> = BTreeMap::new();
    cables.iter().for_each(|cable| *counts.entry(cable.classes).or_insert(0) += 1);
    let class = |(&classes, &count): (&(ChannelClass, ChannelClass), &u64)| {
        let doubled = |cable: &Cable| cable.utilisation / if cable.classes == classes { 2.0 } else { 1.0 };
        let after = bound(cables.iter().map(doubled).fold(0.0, f64::max));
        let class = class_name(classes, &names);
        ClassUpgrade { class, cables: count, bandwidth_bound: after, gain: after - before }
    };
    let mut classes: Vec<ClassUpgrade> = counts.iter().map(class).collect();
    classes.sort_by(|one, other| other.gain.total_cmp(&one.gain).then(one.cables.cmp(&other.cables)));
    Upgrades { classes, cable: best_cable(system, &cables, before), full_cables }
}

/// Returns the cable whose doubling raises the bound most: the fullest one, if no other is as full.
fn best_cable(system: &System, cables: &[Cable], before: f64) -> Option<CableUpgrade> {
    let fullest = cables.iter().max_by(|one, other| one.utilisation.total_cmp(&other.utilisation))?;
    let other = cables.iter().filter(|cable| cable.channel != fullest.channel);
    let second = other.map(|cable| cable.utilisation).fold(0.0, f64::max);
    let after = 1.0 / second.max(fullest.utilisation / 2.0).max(1.0);
    let topology = &*system.network.topology;
    (after > before * (1.0 + EQUAL)).then(|| CableUpgrade {
        channel: channel_name(topology, system.network.plan.channels(), fullest.channel),
        class: class_name(fullest.classes, &topology.class_names()),
        bandwidth_bound: after,
        gain: after - before,
    })
}

/// Returns the cables of all planes. An injection link counts as full at load 1 only: its bandwidth is the unit.
fn cables(system: &System, loads: &ChannelLoads) -> Vec<Cable> {
    let (topology, channels) = (&*system.network.topology, system.network.plan.channels());
    let utilisation = |channel: ChannelId| {
        let load = loads.load[channel.index()];
        if load > 0.0 { load / system.capacity(channel) } else { 0.0 }
    };
    let of = |channel: ChannelId| {
        let ChannelSource::Router(router, port) = channels.source(channel) else { return None };
        let (back, is_lower) = match topology.endpoint(router, port) {
            Endpoint::Unconnected => return None,
            Endpoint::Node(_) => (None, true),
            Endpoint::Router(far, far_port) => (Some(channels.output(far, far_port)), (router, port) < (far, far_port)),
        };
        if !is_lower {
            return None;
        }
        let own = system.network.plan.class_of(channel);
        let Some(back) = back else {
            let plane = topology.plane_of(router);
            let classes = (topology.injection_class(plane), topology.ejection_class(plane));
            return Some(Cable { channel, classes, utilisation: utilisation(channel) });
        };
        let far = system.network.plan.class_of(back);
        let fuller = if utilisation(back) > utilisation(channel) { back } else { channel };
        let classes = (own.min(far), own.max(far));
        Some(Cable { channel: fuller, classes, utilisation: utilisation(fuller) })
    };
    (0..loads.load.len() as u32).map(ChannelId).filter_map(of).collect()
}
