//! Destinations of packets: a node, or several nodes between which routers split the packet.

use routing::RouteState;
use units::{NodeId, Record};

/// Destination of a packet. A packet for one node is never split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// One node (unicast).
    Node(NodeId),
    /// Nodes that the packet names in its header, given by `Traffic::members` of the sending node: a multicast. Routers
    /// split it where the paths of its members part, each routed like a unicast packet for its node.
    Members,
    /// Members of a group, by a tree. `Traffic::tree_packet` of the sending node gives the operation.
    Tree,
}
units::record!(match Target {
    0 => Node { 0: node },
    1 => Members {},
    2 => Tree {},
});

impl Target {
    /// Returns the destination node of a unicast packet.
    pub fn node(self) -> Option<NodeId> {
        match self {
            Self::Node(node) => Some(node),
            Self::Members | Self::Tree => None,
        }
    }
}

/// Tag of a packet that follows a tree ("hardware-collectives", section 2.1). Multicasts and reductions use the same
/// tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreePacket {
    /// Number of the tree.
    pub tree: u32,
    /// Number of the segment in its tree. Packets of one segment are combined with one another.
    pub segment: u32,
    /// Operation on the packet.
    pub work: TreeWork,
    /// Whether the packet crosses the owner's link too: the sender of a multicast gets a copy, and the member that
    /// alone gets a result contributes to it.
    pub owners: bool,
    /// Number of members that have contributed to the packet. 1 when a member sends it.
    pub contributions: u32,
    /// Stand-in for the content: the sum of the members' contributions, modulo 2^64.
    pub value: u64,
    /// One element of the content, if elements are carried ([`crate::Elements`]). Otherwise 0.
    pub element: u64,
}

units::record!(TreePacket { tree, segment, work, owners, contributions, value, element });

/// Operation of routers on a packet that follows a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TreeWork {
    /// Copy the packet to all members. The sender gets none, unless `TreePacket::owners`.
    Multicast,
    /// Combine the packet with the packets of all other members. The result goes to all members.
    CombineForAll,
    /// Combine the packet with the packets of all members but one, for that one. With `TreePacket::owners`, that one
    /// contributes too.
    CombineFor(NodeId),
}

impl Record for TreeWork {
    fn put(&self, to: &mut Vec<u8>) {
        match *self {
            Self::Multicast => 0_u8.put(to),
            Self::CombineForAll => 1_u8.put(to),
            Self::CombineFor(node) => (2_u8, node).put(to),
        }
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(Self::Multicast),
            1 => Some(Self::CombineForAll),
            2 => Some(Self::CombineFor(NodeId::take(from)?)),
            _ => None,
        }
    }
}

/// Destination of a multicast packet, with the packet's routing state for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Destination node.
    pub node: NodeId,
    /// State that a unicast packet for this node would have.
    pub state: RouteState,
}

units::record!(Member { node, state });
