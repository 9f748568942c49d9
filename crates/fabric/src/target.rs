//! What packets are for: a node, or several nodes that routers split it for.

use routing::RouteState;
use units::NodeId;

/// What a packet is for. A packet for one node is never split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// A node.
    Node(NodeId),
    /// The nodes that it names in its header, `Traffic::members` of the node that sends it: a multicast. Routers split it where the
    /// paths of its members part, each by the routing of a packet for that node alone.
    Members,
    /// The members of a group, by a tree: `Traffic::tree_packet` of the node that sends it says what is done with it.
    Tree,
}

impl Target {
    /// The node that it is, if it is one.
    pub fn node(self) -> Option<NodeId> {
        match self {
            Self::Node(node) => Some(node),
            Self::Members | Self::Tree => None,
        }
    }
}

/// What a packet that goes by a tree is for ("hardware-collectives", section 2.1): its tag. Multicasts and reductions use the same tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreePacket {
    /// The number of the tree.
    pub tree: u32,
    /// The number of the segment in its tree: packets of one segment are combined with one another.
    pub segment: u32,
    /// What is done with it.
    pub work: TreeWork,
    /// How many members have contributed to it: 1 as a member sends it.
    pub contributions: u32,
    /// Stands for its content: the sum of what the contributors have given, modulo 2^64.
    pub value: u64,
    /// An element of its content, where elements are carried ([`crate::Elements`]); else 0.
    pub element: u64,
}

/// What routers do with a packet that goes by a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TreeWork {
    /// They copy it to all members but the one that has sent it.
    Multicast,
    /// They combine it with the packets of all other members; the result goes to all members.
    CombineForAll,
    /// They combine it with the packets of all members but one; the result goes to that one.
    CombineFor(NodeId),
}

/// One of the nodes that a packet is for, and what the packet carries for its routing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The node.
    pub node: NodeId,
    /// What a packet for this node alone would carry.
    pub state: RouteState,
}
