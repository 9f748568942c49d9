//! Bound on the offered load by credits, without simulation.
//!
//! A buffer of k packets lets at most k packets pass in the time for which a packet holds its credit, which is at least
//! `Plan::credit_round_trip` (Dally and Towles, section 13.3). Flows through a buffer are distinguished by channel and
//! class of virtual channels, and with a counter for each crosspoint also by the next channel. The bound is exact if
//! one path uses a buffer. If several do, packets that wait for one another hold their credits longer.

use std::collections::BTreeMap;

use routing::{ChannelLoads, TransitLoad, transit_loads};
use topology::{ChannelClass, ChannelSource, Endpoint};
use units::{ChannelId, KeyError, KeyResult, RouterId};

use crate::router_memory::entered;
use ::system::Job;
use ::system::System;

/// Largest product of nodes and routers for which packets are followed from channel to channel. In larger networks, and
/// with adaptive routing, all virtual channels of a channel count together, which gives a looser bound.
const FOLLOWED: u64 = 1 << 16;

/// Relative distance from the smallest bound within which other bounds bind too.
const BINDING: f64 = 1e-9;

/// Load that credits allow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CreditBound {
    /// Largest offered load.
    pub load: f64,
    /// Channels whose credits bind.
    pub channels: Vec<ChannelId>,
}

/// Returns the load that the credits of a system allow. None if all credits cover their channels' bandwidths.
///
/// # Errors
/// If the routing breaks its contract.
pub(crate) fn of(system: &System, loads: &ChannelLoads) -> Result<Option<CreditBound>, KeyError> {
    let rates = Rates::new(system);
    let mut classes = (0..system.network.topology.class_names().len() as u8).map(ChannelClass);
    let ejection = system.network.ejection();
    if system.network.plan.receive_round_trip(ejection).is_none() && classes.all(|class| rates.covers(class)) {
        return Ok(None);
    }
    let mut bounds = rates.of_receive_buffers(loads);
    // Transits are of packets with one destination: channels bound what routers copy and combine.
    bounds.extend(rates.by_channel(loads));
    bounds.extend(transits(system)?.map_or_else(Vec::new, |transits| rates.by_transit(&transits)));
    let least = bounds.iter().map(|&(_, bound)| bound).fold(f64::INFINITY, f64::min);
    let binds = |&(channel, bound): &(ChannelId, f64)| (bound <= least * (1.0 + BINDING)).then_some(channel);
    let mut channels: Vec<ChannelId> = bounds.iter().filter_map(binds).collect();
    channels.sort_unstable();
    channels.dedup();
    Ok(least.is_finite().then_some(CreditBound { load: least, channels }))
}

/// Whether packets are followed from channel to channel: not with adaptive routing, nor in large networks.
pub(crate) fn is_followed(system: &System) -> bool {
    system.network.ways.is_none() && !system.network.routing.adaptive() && is_small(system)
}

/// Whether a network is small enough that packets from each of its nodes to each of its routers are followed in
/// milliseconds.
pub(crate) fn is_small(system: &System) -> bool {
    let topology = &*system.network.topology;
    u64::from(topology.nodes()) * u64::from(topology.routers()) <= FOLLOWED
}

/// Returns the load between each pair of consecutive channels. None for adaptive routing and for large networks.
///
/// # Errors
/// If the routing breaks its contract.
pub(crate) fn transits(system: &System) -> Result<Option<Vec<TransitLoad>>, KeyError> {
    let (topology, routing) = (&*system.network.topology, &*system.network.routing);
    if !is_followed(system) {
        return Ok(None);
    }
    let traffic = |node| system.shares_from(node);
    let found = transit_loads(topology, routing, &traffic).at_key("routing")?;
    Ok(Some(found))
}

/// Packet rates that credits allow, as multiples of an injection link's bandwidth.
struct Rates<'a> {
    system: &'a System,
    /// Whether all packets have the largest size.
    one_size: bool,
}

impl<'a> Rates<'a> {
    fn new(system: &'a System) -> Self {
        let largest = system.network.packet;
        let equal = |job: &Job| {
            job.workload.packets().packet == largest && job.workload.partial_packets().into_iter().all(|rest| rest == 0)
        };
        Self { system, one_size: system.jobs.iter().all(equal) }
    }

    /// Returns the rate of a buffer of `depth` bytes behind a class of channels whose credits are held for `ticks` ticks.
    fn rate(&self, class: ChannelClass, depth: u32, ticks: u64) -> f64 {
        let (plan, packet) = (&self.system.network.plan, self.system.network.packet);
        // Packets of one size leave the rest of the buffer unused.
        let usable = if self.one_size { f64::from(depth / packet) } else { f64::from(depth) / f64::from(packet) };
        usable * plan.serialization(self.system.network.topology.injection_beside(class), packet) as f64
            / ticks.max(1) as f64
    }

    /// Whether one class of virtual channels of a class of channels covers the longest round trip, whatever router and
    /// channel are next.
    fn covers(&self, class: ChannelClass) -> bool {
        let plan = &self.system.network.plan;
        let topology = &*self.system.network.topology;
        let outs = (0..topology.class_names().len() as u8).map(ChannelClass).filter(|&out| {
            !topology.is_injection(out) && topology.network_of_class(out) == topology.network_of_class(class)
        });
        let longest = |set| outs.clone().map(|out| plan.credit_round_trip(class, set, out)).max();
        let full = plan.serialization(class, self.system.network.packet);
        let injection = self.system.network.topology.injection_beside(class);
        let bandwidth = plan.serialization(injection, self.system.network.packet) as f64 / full as f64;
        let mut sets = entered(self.system, class).into_iter();
        self.system.network.topology.is_ejection(class)
            || sets.all(|set| self.of_class((class, set), longest(set).unwrap_or(0)) >= bandwidth)
    }

    /// Returns the rate of one class of virtual channels of a class of channels into the routers of a set.
    fn of_class(&self, (class, set): (ChannelClass, usize), round_trip: u64) -> f64 {
        let plan = &self.system.network.plan;
        self.rate(class, plan.buffer_bytes(class, set), round_trip) * f64::from(plan.vcs_per_class_on(class))
    }

    /// Returns the least time in ticks for which a packet of any size holds its credit. `round_trip` is the time of the
    /// largest packet.
    fn of_any_size(&self, (class, set): (ChannelClass, usize), round_trip: u64) -> u64 {
        let plan = &self.system.network.plan;
        let delay = plan.router_delays().nth(set).unwrap_or(0);
        if self.one_size { round_trip } else { round_trip.min(2 * plan.link_delay(class) + delay) }
    }

    /// Returns the router that a channel leads to. `None`: a node.
    fn next(&self, channel: ChannelId) -> Option<RouterId> {
        let topology = &*self.system.network.topology;
        match self.system.network.plan.channels().source(channel) {
            ChannelSource::Node(node, plane) => topology.attachment_on(node, plane).map(|(router, _)| router),
            ChannelSource::Router(router, port) => match topology.endpoint(router, port) {
                Endpoint::Router(next, _) => Some(next),
                _ => None,
            },
        }
    }

    /// Returns the set of the router that a channel leads to. 0 for a channel to a node.
    fn set_behind(&self, channel: ChannelId) -> usize {
        self.next(channel).map_or(0, |router| self.system.network.plan.router_sets().number(router))
    }

    /// Returns the bounds of channels to nodes with receive buffers: by their credits and by their drain.
    fn of_receive_buffers(&self, loads: &ChannelLoads) -> Vec<(ChannelId, f64)> {
        let rate = |class| {
            let (round_trip, depth, drain) = self.system.network.plan.receive_round_trip(class)?;
            let drained = self.rate(class, self.system.network.packet, drain);
            let any_size = 2 * self.system.network.plan.link_delay(class);
            Some(self.rate(class, depth, if self.one_size { round_trip } else { any_size }).min(drained))
        };
        let topology = &*self.system.network.topology;
        let ejection = self.loaded(loads).filter(|&(_, class, _)| topology.is_ejection(class));
        ejection.filter_map(|(channel, class, load)| Some((channel, rate(class)? / load))).collect()
    }

    /// Returns the channels that carry traffic, with their classes and loads.
    fn loaded(&self, loads: &ChannelLoads) -> impl Iterator<Item = (ChannelId, ChannelClass, f64)> {
        let loaded = (0..).map(ChannelId).zip(loads.load.clone()).filter(|&(_, load)| load > 0.0);
        loaded.map(|(channel, load)| (channel, self.system.network.plan.class_of(channel), load))
    }

    /// Returns the bounds of channels between nodes and routers, with all virtual channels of a channel together.
    fn by_channel(&self, loads: &ChannelLoads) -> Vec<(ChannelId, f64)> {
        let (plan, topology) = (&self.system.network.plan, &*self.system.network.topology);
        let into_routers = self.loaded(loads).filter(|&(_, class, _)| !topology.is_ejection(class));
        let bound = |(channel, class, load): (ChannelId, ChannelClass, f64)| {
            let crosspoints = match plan.has_credits_by_crosspoint() {
                true => self.next(channel).map_or(1, |next| topology.ports(next)),
                false => 1,
            };
            let buffers =
                f64::from(plan.vcs_on(class)) / f64::from(plan.vcs_per_class_on(class).max(1)) * f64::from(crosspoints);
            let into = (class, self.set_behind(channel));
            let held = self.of_any_size(into, plan.least_credit_round_trip(class, into.1));
            (channel, self.of_class(into, held) * buffers / load)
        };
        into_routers.map(bound).collect()
    }

    /// Returns the bound of each buffer that packets pass: by channel and class of virtual channels, or by crosspoint.
    fn by_transit(&self, transits: &[TransitLoad]) -> Vec<(ChannelId, f64)> {
        let plan = &self.system.network.plan;
        let mut buffers: BTreeMap<(u32, u8, u32), (f64, u64, u32)> = BTreeMap::new();
        for transit in transits {
            let crosspoint = if plan.has_credits_by_crosspoint() { transit.output.0 } else { 0 };
            let [class, out] =
                [transit.input, transit.output].map(|channel| self.system.network.plan.class_of(channel));
            let held = plan.credit_round_trip(class, self.set_behind(transit.input), out);
            let key = (transit.input.0, transit.vc_class.0, crosspoint);
            let (load, round_trip, outputs) = buffers.entry(key).or_insert((0.0, u64::MAX, 0));
            *load += transit.load;
            *round_trip = held.min(*round_trip);
            *outputs += 1;
        }
        let bound = |((input, _, _), (load, round_trip, outputs)): ((u32, u8, u32), (f64, u64, u32))| {
            let into = (self.system.network.plan.class_of(ChannelId(input)), self.set_behind(ChannelId(input)));
            let early = outputs > 1 && plan.returns_credits_early();
            let held = if early { plan.least_credit_round_trip(into.0, into.1) } else { round_trip };
            (ChannelId(input), self.of_class(into, self.of_any_size(into, held)) / load)
        };
        buffers.into_iter().map(bound).collect()
    }
}
