//! Sources: the channels of nodes into planes, as partitions number them (`fabric::PartitionMap::sources`).

use engine::Owner;
use units::NodeId;

/// Whose stream a source has: a node's, on each of its planes another.
pub(super) fn owner(node: NodeId, plane: u32) -> Owner {
    // Nodes have fewer bits (`topology::MAX_NODES`).
    Owner::Node(node.0 | plane << 24)
}

/// The sources of some nodes: each node, on each of its planes.
pub(super) fn sources(nodes: &[u32], planes: u32) -> impl Iterator<Item = (NodeId, u32)> {
    nodes.iter().flat_map(move |&node| (0..planes).map(move |plane| (NodeId(node), plane)))
}
