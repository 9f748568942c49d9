//! Open traffic: nodes generate messages at a rate, whatever the state of the network.
//!
//! Time is divided into batches of fixed length. A run warms up until MSER-5 finds the end of the transient in the
//! batches' latencies and accepted loads, or for the time that the experiment sets. Then it measures until the
//! confidence interval of the mean latency is narrow enough. Finally it waits for the packets that were generated in
//! the measured interval, under continued load.
//!
//! *Saturated*: the accepted load of some source is below 0.97 of its offered load in this time, by more than its
//! confidence interval at a level shared among all sources (Bonferroni). Past saturation source queues grow without
//! limit. The latency is then that of the packets delivered in the interval, and the run ends when the accepted load is
//! known.

mod operations;
mod sampler;
mod synthetic;

use std::sync::Arc;

use traffic::{InjectionSpec, PlacedPattern, Placement};
use units::NodeId;

use ::network::Packets;
use ::network::traffic::Multicasts;
pub(super) use synthetic::{batch_length, extent};

/// Synthetic traffic of a pattern, or multicasts.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// Offered load of a node of weight 1.
    pub load: f64,
    pub injection: InjectionSpec,
    pub packets: Packets,
    /// Pattern of destinations. For multicasts, the distribution of each destination.
    pub pattern: Arc<PlacedPattern>,
    pub placement: Arc<Placement>,
    /// Multicasts. None for messages with one destination.
    pub multicasts: Option<Multicasts>,
}

impl Open {
    /// Returns the mean number of destinations of a message.
    fn fanout(&self) -> f64 {
        self.multicasts.as_ref().map_or(1.0, Multicasts::fanout)
    }

    /// Returns the mean number of destinations of a packet of `node`. None if it depends on the destinations' places.
    fn deliveries(&self, node: NodeId) -> Option<f64> {
        self.multicasts.as_ref().map_or(Some(1.0), |multicasts| multicasts.deliveries(node))
    }
}
