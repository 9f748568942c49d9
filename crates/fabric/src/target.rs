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
}

impl Target {
    /// The node that it is, if it is one.
    pub fn node(self) -> Option<NodeId> {
        match self {
            Self::Node(node) => Some(node),
            Self::Members => None,
        }
    }
}

/// One of the nodes that a packet is for, and what the packet carries for its routing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The node.
    pub node: NodeId,
    /// What a packet for this node alone would carry.
    pub state: RouteState,
}
