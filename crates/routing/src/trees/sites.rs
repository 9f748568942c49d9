//! Sites of trees: the island of a network in whose planes the trees of a group are built.

use std::ops::Range;
use std::sync::Arc;

use topology::Topology;
use topology::families::networks::Networks;
use units::{NodeId, PlaneId};

/// Island of a network that has all members of a group, or the whole topology if it is one plane of one network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a> {
    /// Number of the network.
    pub network: usize,
    /// Number of the island in its network.
    pub island: u32,
    /// Topology of the island.
    pub topology: &'a Arc<dyn Topology>,
    networks: Option<&'a Networks>,
}

impl<'a> Site<'a> {
    /// Returns the site of a group. `None`: no network joins all of its members.
    pub fn of(topology: &'a Arc<dyn Topology>, members: &[NodeId]) -> Option<Self> {
        let Some(networks) = topology.views().networks else {
            return Some(Self { network: 0, island: 0, topology, networks: None });
        };
        let (network, island) = joining(networks, members)?;
        let topology = &networks.parts()[network].island;
        Some(Self { network, island, topology, networks: Some(networks) })
    }

    /// Returns the planes of the network.
    pub fn planes(&self) -> Range<u8> {
        let Some(networks) = self.networks else { return 0..1 };
        let first = networks.first_plane(self.network).0;
        first..first + networks.parts()[self.network].planes as u8
    }

    /// Returns the first router of the island in a plane, as the whole topology numbers it.
    pub fn first_router(&self, plane: PlaneId) -> u32 {
        self.networks.map_or(0, |networks| networks.first_router(plane, self.island))
    }

    /// Returns a node as the island numbers it.
    pub fn own(&self, node: NodeId) -> NodeId {
        let place = |networks: &Networks| networks.parts()[self.network].places.place(node);
        self.networks.and_then(place).map_or(node, |(_, own)| own)
    }
}

/// Returns the first network of which one island has all of some nodes, and the island.
fn joining(networks: &Networks, members: &[NodeId]) -> Option<(usize, u32)> {
    let island = |number: usize| {
        let places = &networks.parts()[number].places;
        let mut islands = members.iter().map(|&node| places.place(node).map(|(island, _)| island));
        let first = islands.next()??;
        islands.all(|other| other == Some(first)).then_some((number, first))
    };
    (0..networks.parts().len()).find_map(island)
}

/// Returns the number of the first network of which one island has all members of a group: its trees are built there.
///
/// # Errors
/// If there is no such network. The first members that no network joins: two if two are not joined, else more.
pub fn network_of_group(topology: &dyn Topology, members: &[NodeId]) -> Result<usize, Vec<NodeId>> {
    let Some(networks) = topology.views().networks else { return Ok(0) };
    if let Some((network, _)) = joining(networks, members) {
        return Ok(network);
    }
    let apart = |nodes: &[NodeId]| joining(networks, nodes).is_none();
    let Some(&first) = members.first() else { return Ok(0) };
    if let Some(other) = members.iter().copied().find(|&other| apart(&[first, other])) {
        return Err(vec![first, other]);
    }
    let count = (1..=members.len()).find(|&count| apart(&members[..count]));
    Err(members[..count.unwrap_or(members.len())].to_vec())
}
