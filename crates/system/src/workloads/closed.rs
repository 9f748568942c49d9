//! Common parts of closed workloads.

use engine::statistics::Histogram;
use fabric::{Batch, ChannelUse};
use topology::ChannelSource;

use super::RunContext;
use ::network::{Feature, Network, Packets};
use measure::MessageTimes;
use measure::Series;
use measure::{ClosedResult, KindResult, Latencies, PointResult, channels};

/// Smallest number of slots between two polls of a closed workload.
const POLL_INTERVAL: u64 = 256;

/// Delays between two polls of a network without packets: several times the messages of a program's step.
const POLL_DELAYS: u64 = 64;

/// Returns the time between two polls, in ticks. It is at least the longest path of the network.
pub(super) fn poll_interval(network: &Network, packets: Packets) -> u64 {
    if !network.has(Feature::Packets) {
        return POLL_DELAYS * network.longest_path();
    }
    (POLL_INTERVAL * network.slot(packets).max(1)).max(network.longest_path())
}

/// Counts of a closed workload over its run.
#[derive(Debug)]
pub(super) struct ClosedCounts {
    pub counts: Batch,
    pub latency: Histogram,
    pub channels: Vec<(ChannelSource, ChannelUse)>,
    /// Bytes of `counts` that have not reached their nodes: parts of packets under way at the end of the run.
    pub under_way: u64,
    /// Bytes of `counts` that have reached relays, which have passed them on.
    pub relayed: u64,
    /// Latencies of messages. None unless messages are measured.
    pub messages: Option<MessageTimes>,
    pub series: Series,
}
units::state!(ClosedCounts { counts, latency, channels, under_way, relayed, series; each messages });

impl ClosedCounts {
    /// Creates empty counts. `packet` is the size of packets in bytes. Messages of more than `striped_above` bytes are
    /// striped over all planes.
    pub fn new(context: &RunContext, packet: u32, striped_above: Option<u64>) -> Self {
        let messages =
            || MessageTimes::new(&context.network, packet).striped_above(striped_above).logged(context.logs_messages);
        Self {
            counts: Batch::default(),
            latency: Histogram::new(),
            channels: Vec::new(),
            under_way: 0,
            relayed: 0,
            messages: context.measure.messages.then(messages),
            series: Series::default(),
        }
    }

    /// Returns the bytes delivered per second. None if the run ended before anything arrived.
    pub fn bandwidth(&self, time_ns: f64, finished: bool) -> Option<f64> {
        let bandwidth = if time_ns > 0.0 { self.arrived() as f64 / time_ns * 1e9 } else { 0.0 };
        (finished || self.counts.bytes > 0).then_some(bandwidth)
    }

    /// Returns the bytes that have reached their destinations.
    fn arrived(&self) -> u64 {
        (self.counts.bytes - self.under_way).saturating_sub(self.relayed)
    }
}

/// End of a closed workload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    /// Time from the start to the end, in picoseconds.
    pub time: u64,
    /// Whether the workload is complete.
    pub finished: bool,
    /// Capacity of a sender's links, in bytes per tick.
    pub rate: f64,
    /// Traffic that arrives at all nodes, relative to the traffic of the node that sends most.
    pub offered: f64,
    /// Number of nodes that send.
    pub senders: usize,
    /// Transmissions of the workload's packets by routers (packet-hops).
    pub packet_hops: u64,
    /// Wall-clock time of the simulation, in seconds.
    pub wall_s: f64,
}

/// Returns the result of a closed workload, with its throughput.
pub(super) fn result(
    context: &RunContext,
    counted: &ClosedCounts,
    ending: &Ending,
    closed: ClosedResult,
) -> PointResult {
    let network = &context.network;
    let ClosedCounts { counts, latency, channels, messages, series, .. } = counted;
    let ticks = ending.time as f64 / network.plan.tick().0 as f64;
    let capacity = ticks * ending.rate * ending.offered;
    let latency = Latencies::of(latency, network);
    let used = channels::utilization(network, channels, ticks.max(f64::MIN_POSITIVE));
    let ns = ending.time as f64 / 1e3;
    let throughput = if capacity > 0.0 { counted.arrived() as f64 / capacity } else { 0.0 };
    let is_measured = ending.finished || counts.bytes > 0;
    PointResult {
        kind: KindResult::Closed(Box::new(ClosedResult { throughput: is_measured.then_some(throughput), ..closed })),
        latency_mean_ns: latency.mean,
        latency_p50_ns: latency.p50,
        latency_p99_ns: latency.p99,
        latency_max_ns: latency.max,
        nic_overhead_ns: context.nic_overhead_ns,
        // Whole messages are not counted at the routers that they pass.
        hops_mean: (counts.packets > 0 && network.has(Feature::Routes) == network.has(Feature::Routers))
            .then(|| counts.hops as f64 / counts.packets as f64),
        packets: counts.packets,
        packet_hops: ending.packet_hops,
        measured_ns: ns,
        sim_time_ns: ns,
        wall_s: ending.wall_s,
        messages: messages.as_ref().map(|messages| messages.result(ending.finished)),
        series: series.result(network, ending.rate * ending.offered, ending.senders),
        ..PointResult::of_channels(network, used)
    }
}
