//! What an experiment says of a link.

use units::{Bandwidth, Time};

/// A link's bandwidth and delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkParameters {
    /// Bandwidth, of each direction.
    pub bandwidth: Bandwidth,
    /// From a packet's head at one end to its head at the other; that of a credit on its way back.
    pub delay: Time,
}
