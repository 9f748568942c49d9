//! What the simulator moves: a packet, with all that it needs to know of itself.

use routing::Hop;
use units::VcClass;

/// A packet at a router, on its way to one, or at its source.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub bytes: u64,
    pub generated: u64,
    pub hop: Hop,
    pub hops: u64,
    /// The input's virtual channel.
    pub vc: u8,
    /// The output by which it leaves the router, and the class of virtual channels on it.
    pub out: u16,
    pub class: VcClass,
    /// Its time on the channel by which it came.
    pub time_in: u64,
    /// When its tail is ready to leave, as early as it can.
    pub tail: u64,
}
