//! Latencies from histograms.

use engine::statistics::Histogram;

use network::Network;

/// Latencies of packets, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latencies {
    /// Mean, in ns.
    pub mean: Option<f64>,
    /// Median, in ns.
    pub p50: Option<f64>,
    /// 99th percentile, in ns.
    pub p99: Option<f64>,
    /// Maximum, in ns.
    pub max: Option<f64>,
}

impl Latencies {
    /// Returns the latencies of a histogram whose values are in the unit of generation times.
    pub fn of(latency: &Histogram, network: &Network) -> Self {
        let ns = |units: f64| units * network.plan.generation_unit().0 as f64 / 1e3;
        Self {
            mean: latency.mean().map(ns),
            p50: latency.quantile(0.5).map(ns),
            p99: latency.quantile(0.99).map(ns),
            max: latency.max().map(|units| ns(units as f64)),
        }
    }
}
