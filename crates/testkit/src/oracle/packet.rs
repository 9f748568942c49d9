//! Packet of the naive simulator, with its routing state and times.

use routing::RouteState;
use units::{NodeId, PortId, VcClass};

/// Content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Data,
    /// Acknowledgement of a packet of `bytes` bytes that has arrived.
    Acknowledgement {
        bytes: u64,
    },
}

/// Place of a packet of a group's operation on the group's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreePlace {
    /// Entry of the tree at the next router.
    pub entry: u32,
    pub segment: u64,
    /// Whether it is a result on its way down to the members, rather than a packet to be combined.
    pub is_result: bool,
}

/// Packet at a router, on its way to a router, or at its source.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub job: usize,
    pub src: NodeId,
    pub content: Content,
    pub bytes: u64,
    pub generated: u64,
    /// Destinations, each with its routing state.
    pub members: Vec<(NodeId, RouteState)>,
    /// `None` except of a packet of a group's operation, which has no other destinations.
    pub tree: Option<TreePlace>,
    /// Input, virtual channel and class at the router.
    pub in_port: PortId,
    pub vc: u8,
    pub vc_class: VcClass,
    /// Output by which the packet leaves the router; `class` is the class of virtual channels on it.
    pub out: u16,
    pub class: VcClass,
    /// Number that the copies of a packet have in common while they are at the head of a FIFO. Other packets have
    /// numbers of their own.
    pub run: u64,
    /// Space that the copies of a packet share at the router.
    pub share: Option<u64>,
    /// Serialization time on the channel of arrival, in picoseconds.
    pub time_in: u64,
    /// Earliest time at which the tail is ready to leave, in picoseconds.
    pub tail: u64,
}
