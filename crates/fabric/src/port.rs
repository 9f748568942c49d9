//! The two ends of a channel, as every architecture has them. What only one architecture needs of a port lies with it.

use topology::ChannelClass;

/// Where a channel leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FarEnd {
    /// To a router's input: its partition and the number of the port there.
    Router {
        /// The partition.
        partition: u16,
        /// The port's number in it.
        port: u32,
    },
    /// To a node that takes packets as fast as they come.
    Node,
    /// To a station of this partition: it has a buffer and returns credits, and is no router.
    Station(u32),
    /// To a combine unit of this router: it takes packets one after the other.
    Unit,
    /// Nowhere: nothing may be sent.
    Unconnected,
}

/// Credit counters of a channel that lie with its port. The counters of wider channels lie apart.
pub(crate) const NEAR_CREDITS: usize = 6;

/// The near end of a channel, at a router's output or at a node's injection: one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct OutputPort {
    /// The link is free from this time on, in ticks.
    pub free_at: u64,
    /// Bytes in this router that wait for this channel.
    pub queued: u64,
    /// Bytes sent since the counts were last cleared.
    pub sent: u64,
    /// Credits of each virtual channel in bytes, where these are enough counters.
    pub credits: [i32; NEAR_CREDITS],
    pub far_end: FarEnd,
    /// The router in this partition's numbering; of an injection channel, the node.
    pub owner: u32,
    /// The number of the port in its router.
    pub port: u16,
    pub class: ChannelClass,
    /// What is under way or missing: `WAKING` and `BLOCKED`.
    pub flags: u8,
}

impl OutputPort {
    /// An event that marks this port as the link falls free is under way.
    pub const WAKING: u8 = 1;
    /// Packets wait and none has credit: the next credit marks the port.
    pub const BLOCKED: u8 = 2;
    /// The channel starts at a node, or at a combine unit.
    pub const INJECTION: u8 = 4;
    /// The channel is inside a router: to or from a combine unit.
    pub const INTERNAL: u8 = 8;
}

/// The far end of a channel at a router's input: a quarter of a cache line. The rest is known by its router.
#[derive(Clone, Debug)]
#[repr(align(16))]
pub(crate) struct InputPort {
    /// The router in this partition's numbering.
    pub router: u32,
    /// The first of the upstream output's credit counters, in its partition.
    pub counters: u32,
    /// The packet that has arrived in this instant, if the router is marked for it.
    pub arrived: u32,
    /// The partition of the upstream output.
    pub partition: u16,
    pub class: ChannelClass,
    /// The virtual channel of `arrived`.
    pub arrived_vc: u8,
}

/// The partition of an input port that nothing is connected to.
pub(crate) const NO_PARTITION: u16 = u16::MAX;

const _: () = assert!(size_of::<OutputPort>() == 64 && size_of::<InputPort>() == 16);
