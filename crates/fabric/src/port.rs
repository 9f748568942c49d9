//! The two ends of a channel, as every architecture has them. State of a port that only one architecture needs lies
//! with that architecture.

/// Number of sets of equal channels.
pub(crate) const MOST_LINK_CLASSES: usize = 256;

/// Set of equal channels (`Fabric::classes`): of one class, between equal routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkClass(pub u8);

/// Far end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FarEnd {
    /// Input of a router.
    Router {
        /// Partition of the router.
        partition: u16,
        /// Number of the port in its partition.
        port: u32,
    },
    /// Node that takes packets as fast as they come.
    Node,
    /// Station of this partition, which has a buffer, returns credits, and is not a router.
    Station(u32),
    /// Combine unit of this router, which takes packets one at a time.
    Unit,
    /// Unconnected: nothing may be sent.
    Unconnected,
}

/// Number of credit counters of a channel that lie with its port. Channels with more have all their counters elsewhere.
pub(crate) const NEAR_CREDITS: usize = 6;

/// Near end of a channel, at a router's output or at a node's injection: one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct OutputPort {
    /// Time from which the link is free, in ticks.
    pub free_at: u64,
    /// Bytes in this router that wait for this channel.
    pub queued: u64,
    /// Bytes sent since the counts were last cleared.
    pub sent: u64,
    /// Credits of each virtual channel in bytes, if there are enough counters here.
    pub credits: [i32; NEAR_CREDITS],
    pub far_end: FarEnd,
    /// Router in this partition's numbering, or the node of an injection channel.
    pub owner: u32,
    /// Number of the port in its router.
    pub port: u16,
    pub class: LinkClass,
    /// Flags: `LINK_EVENT_PENDING`, `WAITING_FOR_CREDIT`, `INJECTION` and `INTERNAL`.
    pub flags: u8,
}
units::state!(OutputPort { free_at, queued, sent, credits, flags; rebuilt far_end, owner, port, class });

impl OutputPort {
    /// A pending event marks this port when the link becomes free.
    pub const LINK_EVENT_PENDING: u8 = 1;
    /// Packets wait and none has credit: the next credit marks the port.
    pub const WAITING_FOR_CREDIT: u8 = 2;
    /// The channel starts at a node, or at a combine unit.
    pub const INJECTION: u8 = 4;
    /// The channel is inside a router: to or from a combine unit.
    pub const INTERNAL: u8 = 8;
}

/// Far end of a channel at a router's input: a quarter of a cache line. Other facts follow from its router.
#[derive(Clone, Debug)]
#[repr(align(16))]
pub(crate) struct InputPort {
    /// Router in this partition's numbering.
    pub router: u32,
    /// First of the upstream output's credit counters, in its partition.
    pub counters: CreditId,
    /// Packet that has arrived in this instant, if the router is marked for it.
    pub arrived: PacketSlot,
    /// Partition of the upstream output.
    pub partition: u16,
    pub class: LinkClass,
    /// Virtual channel of `arrived`.
    pub arrived_vc: u8,
}
units::state!(InputPort { arrived, arrived_vc; rebuilt router, counters, partition, class });

/// Partition of an unconnected input port.
pub(crate) const NO_PARTITION: u16 = u16::MAX;

const _: () = assert!(size_of::<OutputPort>() == 64 && size_of::<InputPort>() == 16);
use crate::index::{CreditId, PacketSlot};
