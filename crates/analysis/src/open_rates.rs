//! Rates of open traffic before a run, from the exact loads of the channels: packet-hops in a tick, and the share of
//! the offered load that channels and buffers carry past saturation. For networks whose loads are computed in
//! milliseconds.
//!
//! Model: past saturation, all sources of a job are held back equally by the fullest channel that the job uses. Under
//! uniform traffic backpressure reaches every source. For other patterns the result is a lower bound.

use fabric::catalogue::HeadOfLine;
use routing::ChannelLoads;
use topology::ChannelSource;
use units::{ChannelId, NodeId};

use crate::credit_bound;
use crate::loads::loads_of;
use ::network::Feature;
use ::system::Job;
use ::system::Progress;
use ::system::SATURATED_BELOW;
use ::system::System;
use ::traffic::InjectionSpec;

/// Throughput of a port whose input is one FIFO under uniform traffic, as a share of its bandwidth: 2 - sqrt 2 (Karol,
/// Hluchyj and Morgan 1987).
const FIFO_THROUGHPUT: f64 = 0.586;

/// Rates of one open job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OpenRates {
    /// Transmissions by routers (packet-hops) in a tick at the offered load.
    pub packet_hops: f64,
    /// Share of the offered load that is accepted, at most 1.
    pub carried: f64,
    /// Load that saturates the network, relative to the offered load. Infinite for backlogged sources: they generate a
    /// message when they can send it, so that no load saturates them.
    pub margin: f64,
}

/// Largest margin at which a run does not converge: queues grow as at saturation.
const NEAR: f64 = 1.02;

impl OpenRates {
    /// Whether the offered load is the load of saturation, so that a run takes all batches that it may take.
    pub(crate) fn is_near(&self) -> bool {
        (SATURATED_BELOW..NEAR).contains(&self.margin)
    }
}

/// Returns the rates of each job, in the order of the system's jobs. None for a job that ends by itself or that carries
/// out operations of groups. None at all if the network is too large or has no routers.
pub(crate) fn of(system: &System) -> Option<Vec<Option<OpenRates>>> {
    let is_traffic = |job: &Job| {
        let own = &job.workload;
        own.is_open() && own.programs().is_none() && own.demand().operations().is_none()
    };
    if !system.network.has(Feature::Routes) || !credit_bound::is_small(system) || !system.jobs.iter().any(is_traffic) {
        return None;
    }
    let own = |job: usize| {
        let alone = system.alone(job);
        let (loads, _) = loads_of(&alone, &Progress::new()).ok()?;
        let credits = credit_bound::of(&alone, &loads).ok()?.map_or(f64::INFINITY, |found| found.load);
        Some((loads, credits))
    };
    let loads: Vec<(ChannelLoads, f64)> = (0..system.jobs.len()).map(own).collect::<Option<_>>()?;
    let demands = demands(system, &loads);
    let of = |(number, (job, (loads, credits))): (usize, (&Job, &(ChannelLoads, f64)))| {
        is_traffic(job).then(|| {
            let fullest = demands.iter().zip(&loads.load).filter(|&(_, &own)| own > 0.0);
            let fullest = fullest.map(|(&demand, _)| demand).fold(0.0, f64::max);
            let most = (heads(system, job) / fullest).min(credits / job.workload.demand().load);
            let margin = if is_backlogged(system, number) { f64::INFINITY } else { most };
            OpenRates { packet_hops: packet_hops(system, job, loads), carried: most.min(1.0), margin }
        })
    };
    Some(system.jobs.iter().zip(&loads).enumerate().map(of).collect())
}

/// Whether the sources of a job always have a message.
fn is_backlogged(system: &System, job: usize) -> bool {
    let of_job = system.spec.jobs.get(job).map(|own| &own.workload);
    let workload = of_job.or(system.spec.workload.as_ref());
    workload.and_then(|own| own.injection()).is_some_and(|(injection, _)| injection == InjectionSpec::Backlogged)
}

/// Returns the demand of all jobs on each channel, as a share of the channel's bandwidth.
fn demands(system: &System, loads: &[(ChannelLoads, f64)]) -> Vec<f64> {
    let channels = loads.first().map_or(0, |(own, _)| own.load.len());
    let of = |channel: usize| {
        let own = system.jobs.iter().zip(loads).map(|(job, (own, _))| job.workload.demand().load * own.load[channel]);
        let all: f64 = own.sum();
        if all > 0.0 { all / system.capacity(ChannelId(channel as u32)) } else { 0.0 }
    };
    (0..channels).map(of).collect()
}

/// Returns the packet-hops of a job in a tick at its offered load.
fn packet_hops(system: &System, job: &Job, loads: &ChannelLoads) -> f64 {
    let channels = system.network.plan.channels();
    let is_router = |channel: &usize| matches!(channels.source(ChannelId(*channel as u32)), ChannelSource::Router(..));
    let sum: f64 = (0..loads.load.len()).filter(is_router).map(|channel| loads.load[channel]).sum();
    let packets = job.workload.packets();
    sum * job.workload.demand().load * packets.count() as f64 / system.network.slot(packets).max(1) as f64
}

/// Returns the share of a full channel's bandwidth that FIFOs leave a job. It is less than 1 with head-of-line
/// blocking, if a node has several destinations.
fn heads(system: &System, job: &Job) -> f64 {
    let demand = job.workload.demand();
    let nodes = (0..system.network.topology.nodes()).map(NodeId);
    let mut senders = nodes.filter(|&node| demand.weight(node) > 0.0);
    let mixes = senders.next().is_some_and(|node| demand.pattern.distribution(node).len() > 1);
    if mixes && system.head_of_line() == Some(HeadOfLine::Input) { FIFO_THROUGHPUT } else { 1.0 }
}
