//! Results of open traffic, and of operations that begin at a rate.

use schemars::JsonSchema;
use serde::Serialize;

use super::collective::CollectiveResult;

/// Results of workloads without an end: open traffic, and operations that begin at a rate. Several jobs together have
/// them too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct OpenResult {
    /// Load that every source offers, as a share of the bandwidth of its injection channel. For several jobs: the
    /// largest of their loads.
    pub offered_load: f64,
    /// Delivered load, as a share of the bandwidth of an injection channel: mean over the sources that send, by weight.
    /// For multicasts: the traffic received by all destinations over their mean number. Not a number (null in JSON) if
    /// nothing could have arrived, because the measured interval was shorter than the longest path.
    #[schemars(with = "Option<f64>")]
    pub accepted_load: f64,
    /// Half-width of the confidence interval of `accepted_load`.
    pub accepted_load_ci: Option<f64>,
    /// Delivered load of the source that is served worst.
    pub accepted_load_min: Option<f64>,
    /// Half-width of the confidence interval of `latency_mean_ns`, in nanoseconds.
    pub latency_ci_ns: Option<f64>,
    /// Whether some source's accepted load is below 0.97 of its offered load, by more than the confidence interval. For a
    /// job that ends in its warm-up: whether the mean accepted load in the later half of its time is.
    pub saturated: bool,
    /// Whether the end of the transient was found, the precision was reached, and all measured packets arrived.
    pub steady: bool,
    /// Whether the precision `measure.precision` was reached.
    pub converged: bool,
    /// Whether all measured packets arrived.
    pub drained: bool,
    /// Simulated time before the measured interval, in nanoseconds.
    pub warm_up_ns: f64,
    /// Load at which the network saturates: the accepted load of the worst-served source, at the largest offered load
    /// that the network carries. Searches only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturation_load: Option<f64>,
    /// Bracket of the saturation load: the largest offered load that the network carried, and the smallest that it did
    /// not. Searches only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturation_bracket: Option<(f64, f64)>,
    /// Results of collective traffic.
    #[serde(flatten)]
    pub collective: Option<CollectiveResult>,
}
