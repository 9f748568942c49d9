//! Packet of the naive simulator, with its routing state and times.

use routing::Hop;
use units::VcClass;

/// Packet at a router, on its way to a router, or at its source.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub bytes: u64,
    pub generated: u64,
    pub hop: Hop,
    pub hops: u64,
    /// Virtual channel of the input.
    pub vc: u8,
    /// Output by which the packet leaves the router; `class` is the class of virtual channels on it.
    pub out: u16,
    pub class: VcClass,
    /// Serialization time on the channel of arrival, in picoseconds.
    pub time_in: u64,
    /// Earliest time at which the tail is ready to leave, in picoseconds.
    pub tail: u64,
}
