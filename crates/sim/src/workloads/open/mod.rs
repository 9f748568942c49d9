//! Open traffic: nodes generate messages at a rate, whatever the network does with them.
//!
//! Time is cut into batches of a fixed length. A run warms up until MSER-5 finds the end of the transient in the batches'
//! latencies and accepted loads (or for as long as the experiment says), then measures until the confidence interval of
//! the mean latency is narrow enough, then lets the packets that were generated in the measured interval arrive, with the
//! load kept up behind them.
//!
//! *Saturated*: the accepted load of some source is below 0.97 of what it has offered in the same time, by more than its
//! confidence interval at a level shared among all sources (Bonferroni). Past saturation source queues grow without end;
//! the latency is then that of the packets delivered in the interval, and the run ends when the accepted load is known.

mod course;
mod operations;
mod synthetic;

use std::sync::Arc;

use workload::{InjectionSpec, PlacedPattern, Placement};

use crate::network::Packets;
use crate::traffic::Multicasts;
pub(super) use synthetic::{batch_length, extent};

/// Synthetic traffic of a pattern, or multicasts.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// The offered load of a node of weight 1.
    pub load: f64,
    pub injection: InjectionSpec,
    pub packets: Packets,
    /// Who sends to whom; of multicasts, whom each of its destinations may be.
    pub pattern: Arc<PlacedPattern>,
    pub placement: Arc<Placement>,
    /// If messages are for several nodes each.
    pub multicasts: Option<Multicasts>,
}

impl Open {
    /// Nodes that a message is for, on average.
    fn fanout(&self) -> f64 {
        self.multicasts.as_ref().map_or(1.0, Multicasts::fanout)
    }
}
