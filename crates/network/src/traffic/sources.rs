//! Sources: the channels of nodes into planes, as partitions number them (`fabric::PartitionMap::sources`).

use engine::Owner;
use units::NodeId;

/// Returns the owner of a source's stream. A node has a separate stream for each plane.
pub(super) fn owner(node: NodeId, plane: u32) -> Owner {
    Owner::Node(number(node, plane))
}

/// Returns a number of a source that no other source has.
pub(super) fn number(node: NodeId, plane: u32) -> u32 {
    // Nodes have fewer bits (`topology::MAX_NODES`).
    node.0 | plane << 24
}

/// Returns the sources of some nodes: each node on each of the planes.
pub(super) fn sources(nodes: &[u32], planes: u32) -> impl Iterator<Item = (NodeId, u32)> {
    nodes.iter().flat_map(move |&node| (0..planes).map(move |plane| (NodeId(node), plane)))
}
