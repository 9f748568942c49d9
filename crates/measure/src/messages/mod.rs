//! Latencies and slowdowns of messages, by size.
//!
//! The latency of a message runs from its generation to the arrival of its last byte. A message that is alone in the
//! network takes its *idle time* ([`idle`]). The ratio of the two is its *slowdown*, called normalised flow completion
//! time in the literature on datacentre transport (Alizadeh et al., pFabric, SIGCOMM 2013, section 5). All counts are
//! whole numbers: sums and histograms do not depend on the order in which messages are recorded.

mod idle;

use std::collections::BTreeMap;

use engine::statistics::Histogram;
use units::NodeId;

use crate::results::{Distribution, LoggedMessage, MessageFigures, MessageResult, MessageSize};
use idle::IdleTimes;
use network::Network;

pub use idle::direct_routing;

/// Unit in which slowdowns are counted.
const SLOWDOWN_UNIT: f64 = 1e-6;

/// Largest number of distinct sizes. If there are more, sizes are grouped by powers of two.
const MOST_SIZES: usize = 16;

/// Quantiles of the distributions, in thousandths of a percent.
const PARTS: [u32; 25] = [
    0, 1000, 2000, 5000, 10_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000, 60_000, 70_000, 75_000, 80_000,
    85_000, 90_000, 95_000, 98_000, 99_000, 99_500, 99_800, 99_900, 99_990, 100_000,
];

/// Latencies and slowdowns of messages of similar size.
#[derive(Clone, Debug, Default)]
struct OfSize {
    /// Smallest and largest size, in bytes.
    smallest: u64,
    largest: u64,
    /// Latencies, in the unit of generation times.
    latency: Histogram,
    /// Slowdowns, in millionths.
    slowdown: Histogram,
}
units::record!(OfSize { smallest, largest, latency, slowdown });

impl OfSize {
    fn merge(&mut self, other: &Self) {
        if other.latency.count() == 0 {
            return;
        }
        let is_first = self.latency.count() == 0;
        self.smallest = if is_first { other.smallest } else { self.smallest.min(other.smallest) };
        self.largest = self.largest.max(other.largest);
        self.latency.merge(&other.latency);
        self.slowdown.merge(&other.slowdown);
    }
}

/// Message that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Source.
    pub from: NodeId,
    /// Destination.
    pub to: NodeId,
    /// Size, in bytes.
    pub bytes: u64,
    /// Latency, in the unit of generation times.
    pub latency: u64,
    /// Time of arrival, in the unit of generation times.
    pub at: u64,
}

/// Latencies and slowdowns of a job's messages.
#[derive(Debug)]
pub struct MessageTimes {
    idle: IdleTimes,
    /// Size of a packet, in bytes.
    packet: u32,
    /// Size above which messages are striped over all planes, in bytes. None if no message is.
    striped_above: Option<u64>,
    units_per_tick: u64,
    /// Messages by the largest size of their class, in bytes.
    sizes: BTreeMap<u64, OfSize>,
    /// Whether sizes are grouped by powers of two.
    by_powers: bool,
    /// Each message, if messages are logged.
    log: Option<Vec<LoggedMessage>>,
}
units::state!(MessageTimes { sizes, by_powers, log; rebuilt idle, packet, striped_above, units_per_tick });

impl MessageTimes {
    /// Creates an empty record of messages that are cut into packets of `packet` bytes.
    pub fn new(network: &Network, packet: u32) -> Self {
        Self {
            idle: IdleTimes::new(network),
            packet,
            striped_above: None,
            units_per_tick: network.plan.units_per_tick(),
            sizes: BTreeMap::new(),
            by_powers: false,
            log: None,
        }
    }

    /// Sets whether each message is logged.
    #[must_use]
    pub fn logged(self, is_logged: bool) -> Self {
        Self { log: is_logged.then(Vec::new), ..self }
    }

    /// Sets the size above which messages are striped over all planes, in bytes.
    #[must_use]
    pub fn striped_above(self, limit: Option<u64>) -> Self {
        Self { striped_above: limit.filter(|_| self.idle.network.planes() > 1), ..self }
    }

    /// Returns the idle time of a message, in ticks. For a striped message, the idle time of its longest stripe.
    fn idle_time(&mut self, from: NodeId, to: NodeId, bytes: u64) -> u64 {
        let path = self.idle.between(from, to);
        let network = &self.idle.network;
        let time = |bytes| path.time(network, bytes, self.packet);
        match self.striped_above {
            Some(limit) if bytes > limit => {
                let stripes = host::stripes(bytes, self.packet, network.planes());
                stripes.map(|stripe| time(stripe.bytes)).max().unwrap_or(0)
            }
            _ => time(bytes),
        }
    }

    /// Records a message.
    pub fn record(&mut self, message: Arrived) {
        let Arrived { from, to, bytes, latency, at } = message;
        if let Some(log) = &mut self.log {
            let [latency, at] =
                [latency, at].map(|time| time.saturating_mul(self.idle.network.plan.generation_unit().0));
            log.push(LoggedMessage { from, to, bytes, latency, at });
        }
        let idle = self.idle_time(from, to, bytes);
        let idle = u128::from(idle.max(1)) * u128::from(self.units_per_tick);
        let slowdown = (u128::from(latency) * 1_000_000 + idle / 2) / idle;
        let class = if self.by_powers { bytes.next_power_of_two() } else { bytes };
        let known = self.sizes.entry(class).or_insert(OfSize { smallest: bytes, ..OfSize::default() });
        known.smallest = known.smallest.min(bytes);
        known.largest = known.largest.max(bytes);
        known.latency.record(latency);
        known.slowdown.record(u64::try_from(slowdown).unwrap_or(u64::MAX));
        if !self.by_powers && self.sizes.len() > MOST_SIZES {
            self.take_powers();
        }
    }

    /// Groups sizes by powers of two from now on.
    fn take_powers(&mut self) {
        self.by_powers = true;
        for (size, own) in std::mem::take(&mut self.sizes) {
            self.sizes.entry(size.next_power_of_two()).or_default().merge(&own);
        }
    }

    /// Returns the measurements. `complete` tells whether all messages to be measured have arrived. Missing messages
    /// would be the slowest, so the result is then limited to means over the messages that arrived.
    pub fn result(&self, complete: bool) -> MessageResult {
        let mut all = OfSize::default();
        self.sizes.values().for_each(|own| all.merge(own));
        let of_size = |own: &OfSize| MessageSize {
            smallest_bytes: own.smallest,
            largest_bytes: own.largest,
            figures: self.figures(own, complete),
        };
        MessageResult {
            figures: self.figures(&all, complete),
            sizes: self.sizes.values().map(of_size).collect(),
            distribution: (complete && all.latency.count() > 0).then(|| self.distribution(&all)),
            log: self.log.clone().unwrap_or_default(),
        }
    }

    /// Converts a latency to nanoseconds.
    fn ns(&self, latency: f64) -> f64 {
        latency * self.idle.network.plan.generation_unit().0 as f64 / 1e3
    }

    fn figures(&self, own: &OfSize, complete: bool) -> MessageFigures {
        let latency = |part: f64| own.latency.quantile(part).filter(|_| complete).map(|value| self.ns(value));
        let slowdown = |part: f64| own.slowdown.quantile(part).filter(|_| complete).map(|value| value * SLOWDOWN_UNIT);
        MessageFigures {
            count: own.latency.count(),
            latency_mean_ns: own.latency.mean().map(|value| self.ns(value)),
            latency_p50_ns: latency(0.5),
            latency_p90_ns: latency(0.9),
            latency_p99_ns: latency(0.99),
            latency_p999_ns: latency(0.999),
            latency_max_ns: latency(1.0),
            slowdown_mean: own.slowdown.mean().map(|value| value * SLOWDOWN_UNIT),
            slowdown_p50: slowdown(0.5),
            slowdown_p90: slowdown(0.9),
            slowdown_p99: slowdown(0.99),
            slowdown_p999: slowdown(0.999),
            slowdown_max: slowdown(1.0),
        }
    }

    fn distribution(&self, all: &OfSize) -> Distribution {
        let parts = || PARTS.iter().map(|&part| f64::from(part) / 1e5);
        let values = |histogram: &Histogram| parts().filter_map(|part| histogram.quantile(part)).collect::<Vec<f64>>();
        Distribution {
            part: parts().collect(),
            latency_ns: values(&all.latency).into_iter().map(|value| self.ns(value)).collect(),
            slowdown: values(&all.slowdown).into_iter().map(|value| value * SLOWDOWN_UNIT).collect(),
        }
    }
}
