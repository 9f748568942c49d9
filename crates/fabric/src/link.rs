//! Link parameters of an experiment.

use units::{Bandwidth, Time};

/// Bandwidth and delay of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkParameters {
    /// Bandwidth of each direction.
    pub bandwidth: Bandwidth,
    /// Time from a packet's head at one end to its head at the other. A credit takes as long back.
    pub delay: Time,
}
