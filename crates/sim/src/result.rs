//! What a point measures, with units in the names.

use engine::statistics::{Estimate, Histogram};
use fabric::Batch;
use serde::Serialize;
use topology::{ChannelClass, ChannelSource, Endpoint};
use units::ChannelId;

use crate::closed::ClosedResult;
use crate::system::System;

/// What a run has counted, in ticks and bytes.
pub(crate) struct Measured {
    pub accepted: Estimate,
    pub accepted_min: Option<f64>,
    pub latency_interval: Estimate,
    /// All that was delivered in the measured interval.
    pub delivered: Batch,
    pub latency: Histogram,
    pub hops: u64,
    pub packet_hops: u64,
    pub span: (u64, u64),
    pub end: u64,
    pub channel_bytes: Vec<(ChannelSource, u64)>,
    pub measured_to: u64,
    pub saturated: bool,
    pub settled: bool,
    pub converged: bool,
    pub drained: bool,
}

/// The result of one point. Latencies run from generation to the tail's delivery, source queue included and network
/// interfaces apart; a value that nothing was measured for is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointResult {
    /// Load that every source offers, as a share of its injection link's bandwidth.
    pub offered_load: f64,
    /// Load delivered, as a mean over the sources that send (each for its weight).
    pub accepted_load: f64,
    /// Half-width of its confidence interval.
    pub accepted_load_ci: Option<f64>,
    /// Load delivered of the source that is served worst.
    pub accepted_load_min: Option<f64>,
    /// Mean latency of the packets born in the measured interval; past saturation, where many of them do not arrive, of
    /// those delivered in it, and the longer the run the higher.
    pub latency_mean_ns: Option<f64>,
    /// Half-width of the confidence interval of the mean latency.
    pub latency_ci_ns: Option<f64>,
    /// Median latency; null, as the other percentiles, if not all measured packets arrived.
    pub latency_p50_ns: Option<f64>,
    /// 99th percentile of the latency.
    pub latency_p99_ns: Option<f64>,
    /// Largest latency.
    pub latency_max_ns: Option<f64>,
    /// Latency that the network interfaces add to every message; not part of the latencies.
    pub nic_overhead_ns: f64,
    /// Routers that a packet traverses, on average.
    pub hops_mean: Option<f64>,
    /// Some source's accepted load is below 0.97 of what it offers, beyond its confidence interval.
    pub saturated: bool,
    /// The end of the transient was found, the precision was reached, and all measured packets arrived.
    pub steady: bool,
    /// The precision that was asked for was reached.
    pub converged: bool,
    /// All measured packets arrived.
    pub drained: bool,
    /// Packets measured: those born in the measured interval, or if not all of them arrived those delivered in it.
    pub packets: u64,
    /// Packet-hops simulated: packets delivered times the routers that they traversed, in the whole run.
    pub packet_hops: u64,
    /// Simulated time before the measured interval.
    pub warm_up_ns: f64,
    /// Length of the measured interval.
    pub measured_ns: f64,
    /// Simulated time of the whole run.
    pub sim_time_ns: f64,
    /// Time of the simulation alone, without set-up.
    pub wall_s: f64,
    /// Utilisation of the channels by class, since the measured interval began.
    pub class_utilization: Vec<ClassUtilization>,
    /// The most used channels.
    pub hottest_channels: Vec<ChannelUtilization>,
    /// The share of time in which each channel sends, since the measured interval began; by `ChannelId`, 0 of what is
    /// not connected. Too long for the JSON of a point.
    #[serde(skip)]
    pub channel_utilization: Vec<f64>,
    /// Load at which the network saturates: the least accepted load at the largest load that it carries. Only of a
    /// search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturation_load: Option<f64>,
    /// What a closed workload has besides.
    #[serde(flatten)]
    pub closed: Option<ClosedResult>,
    /// The largest offered load that was carried, and the smallest that was not. Only of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturation_bracket: Option<(f64, f64)>,
}

/// How much the channels of a class are used, as a share of their bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassUtilization {
    /// The class's name.
    pub class: String,
    /// The number of channels.
    pub channels: u32,
    /// The mean over channels.
    pub mean: f64,
    /// The most used channel.
    pub max: f64,
}

/// How much a channel is used, as a share of its bandwidth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChannelUtilization {
    /// Its number in the table of channels.
    pub id: u32,
    /// Where it leads from and to.
    pub channel: String,
    /// Its class.
    pub class: String,
    /// The share of time in which it sends.
    pub utilization: f64,
}

/// How many of the most used channels are listed.
const HOTTEST: usize = 10;

impl PointResult {
    pub(crate) fn new(system: &System, measured: Measured, wall_s: f64) -> Self {
        let ns = |ticks: f64| ticks * system.plan.tick().0 as f64 / 1e3;
        let latency = &measured.latency;
        let (packets, hops) = match measured.drained {
            true => (latency.count(), measured.hops),
            false => (measured.delivered.packets, measured.delivered.hops),
        };
        // Packets that have not arrived would be missing in the tail: then only the mean of those delivered is told.
        let whole = |value: Option<f64>| value.filter(|_| measured.drained).map(ns);
        let mean = if measured.drained { latency.mean() } else { finite(measured.latency_interval.mean) };
        let channels = utilization(system, &measured);
        Self {
            offered_load: system.traffic.load,
            accepted_load: measured.accepted.mean,
            accepted_load_ci: finite(measured.accepted.half_width),
            accepted_load_min: measured.accepted_min,
            latency_mean_ns: mean.map(ns),
            latency_ci_ns: finite(ns(measured.latency_interval.half_width)),
            latency_p50_ns: whole(latency.quantile(0.5)),
            latency_p99_ns: whole(latency.quantile(0.99)),
            latency_max_ns: whole(latency.max().map(|ticks| ticks as f64)),
            nic_overhead_ns: system.nic_overhead_ns(),
            hops_mean: (packets > 0).then(|| hops as f64 / packets as f64),
            saturated: measured.saturated,
            steady: measured.settled && measured.converged && measured.drained,
            converged: measured.converged,
            drained: measured.drained,
            packets,
            packet_hops: measured.packet_hops,
            warm_up_ns: ns(measured.span.0 as f64),
            measured_ns: ns((measured.span.1 - measured.span.0) as f64),
            sim_time_ns: ns(measured.end as f64),
            wall_s,
            class_utilization: by_class(system, &channels),
            hottest_channels: hottest(system, &channels),
            channel_utilization: channels,
            closed: None,
            saturation_load: None,
            saturation_bracket: None,
        }
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// By channel, the share of time in which it sends.
fn utilization(system: &System, measured: &Measured) -> Vec<f64> {
    let span = (measured.measured_to - measured.span.0) as f64;
    let packet = system.packets().packet;
    let numbering = system.plan.channels();
    let mut shares = vec![0.0; numbering.count() as usize];
    for &(source, bytes) in &measured.channel_bytes {
        let Some(class) = class_of(system, source) else { continue };
        let channel = match source {
            ChannelSource::Router(router, port) => numbering.output(router, port),
            ChannelSource::Node(node) => numbering.injection(node),
        };
        let time = bytes as f64 / f64::from(packet) * system.plan.serialization(class, packet) as f64;
        shares[channel.index()] += time / span;
    }
    shares
}

/// The class of a channel; none if it is not connected.
fn class_of(system: &System, source: ChannelSource) -> Option<ChannelClass> {
    let topology = &*system.topology;
    match source {
        ChannelSource::Node(_) => Some(ChannelClass::INJECTION),
        ChannelSource::Router(router, port) => {
            (topology.endpoint(router, port) != Endpoint::Unconnected).then(|| topology.class(router, port))
        }
    }
}

/// Each connected channel, its class and its utilisation, in the order of channels.
fn connected<'a>(system: &'a System, shares: &'a [f64]) -> impl Iterator<Item = (ChannelId, ChannelClass, f64)> + 'a {
    let numbering = system.plan.channels();
    let channel = |(id, &share): (ChannelId, &f64)| Some((id, class_of(system, numbering.source(id))?, share));
    (0..).map(ChannelId).zip(shares).filter_map(channel)
}

fn by_class(system: &System, shares: &[f64]) -> Vec<ClassUtilization> {
    let names = system.topology.class_names();
    let mut classes: Vec<ClassUtilization> = names
        .into_iter()
        .map(|name| ClassUtilization { class: name.into(), channels: 0, mean: 0.0, max: 0.0 })
        .collect();
    for (_, class, share) in connected(system, shares) {
        let class = &mut classes[usize::from(class.0)];
        class.channels += 1;
        class.mean += share;
        class.max = class.max.max(share);
    }
    classes.retain(|class| class.channels > 0);
    for class in &mut classes {
        class.mean /= f64::from(class.channels);
    }
    classes
}

fn hottest(system: &System, shares: &[f64]) -> Vec<ChannelUtilization> {
    let mut channels: Vec<_> = connected(system, shares).collect();
    channels.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    channels.truncate(HOTTEST);
    let names = system.topology.class_names();
    let describe = |(id, class, share): (ChannelId, ChannelClass, f64)| ChannelUtilization {
        id: id.0,
        channel: routing::channel_name(&*system.topology, system.plan.channels(), id),
        class: names[usize::from(class.0)].into(),
        utilization: share,
    };
    channels.into_iter().map(describe).collect()
}
