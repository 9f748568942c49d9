//! Islands: the equal copies of which networks consist, as analyses follow them.

use std::ops::Range;
use std::sync::Arc;

use topology::families::networks::{Networks, Part};
use topology::{Channels, Topology};
use units::{ChannelId, NodeId, PlaneId, PortId, RouterId};

use crate::Routing;
use crate::traffic::{Demand, Demands};

/// Returns the number of networks.
pub fn networks(topology: &dyn Topology) -> usize {
    topology.views().networks.map_or(1, |networks| networks.parts().len())
}

/// Returns the routing of an island of a network, given the routing of all.
pub fn routing_of(routing: &Arc<dyn Routing>, network: usize) -> &Arc<dyn Routing> {
    routing.parts().get(network).unwrap_or(routing)
}

/// One island of a network, in all planes of the network.
#[derive(Clone, Copy, Debug)]
pub struct Island<'a> {
    /// Topology of the island.
    pub topology: &'a dyn Topology,
    /// Routing in it.
    pub routing: &'a dyn Routing,
    /// Networks of which it is part: the number of its network and its number there. `None`: it is the whole topology.
    of: Option<(&'a Networks, usize, u32)>,
}

impl<'a> Island<'a> {
    /// Returns the islands of a network, given the routing in one of them.
    pub fn all(topology: &'a dyn Topology, (network, routing): (usize, &'a dyn Routing)) -> Vec<Self> {
        match topology.views().networks {
            None => vec![Self { topology, routing, of: None }],
            Some(all) => {
                let part = &all.parts()[network];
                let island = |number| Self { topology: &*part.island, routing, of: Some((all, network, number)) };
                (0..part.places.islands()).map(island).collect()
            }
        }
    }

    /// Returns the first island of each network.
    pub fn first(topology: &'a dyn Topology, routing: &'a dyn Routing) -> Vec<Self> {
        let of = |network| {
            let own = routing.parts().get(network).map_or(routing, |own: &'a Arc<dyn Routing>| &**own);
            Self::all(topology, (network, own)).into_iter().next()
        };
        (0..networks(topology)).filter_map(of).collect()
    }

    fn part(&self) -> Option<&'a Part> {
        self.of.map(|(all, network, _)| &all.parts()[network])
    }

    /// Returns the name of its network. Empty if there is one.
    pub fn name(&self) -> &'a str {
        self.part().map_or("", |part| &part.name)
    }

    /// Returns whether all nodes of the whole topology are nodes of this island, under the same numbers.
    fn is_whole(&self) -> bool {
        self.part().is_none_or(|part| part.name.is_empty())
    }

    /// Returns the number of a node in the whole topology. `None`: the node is left free.
    pub fn node(&self, own: NodeId) -> Option<NodeId> {
        match self.of {
            None => Some(own),
            Some((all, network, island)) => all.parts()[network].places.node(island, own),
        }
    }

    /// Returns the number of a node in the island. `None`: it is not in it.
    pub fn own(&self, node: NodeId) -> Option<NodeId> {
        let Some((all, network, island)) = self.of else { return Some(node) };
        all.parts()[network].places.place(node).filter(|&(own, _)| own == island).map(|(_, own)| own)
    }

    /// Returns the traffic of a node of the island to the others, given that of the nodes of the whole topology.
    pub fn demand(&self, own: NodeId, demands: &Demands<'_>) -> Demand {
        if self.is_whole() {
            return demands(own);
        }
        let Some(node) = self.node(own) else { return Demand::default() };
        let Demand { everyone, besides } = demands(node);
        let nodes = (0..if everyone == 0.0 { 0 } else { self.topology.nodes() }).map(NodeId);
        let even = nodes.filter(|&to| self.node(to).is_some()).map(|to| (to, everyone));
        let besides = besides.into_iter().filter_map(|(to, share)| Some((self.own(to)?, share)));
        Demand { everyone: 0.0, besides: even.chain(besides).collect() }
    }

    /// Returns the first router of each island of its network, in every plane, as the whole topology numbers them.
    pub fn first_routers(&self) -> Vec<u32> {
        let Some((all, network, _)) = self.of else { return vec![0] };
        let islands = all.parts()[network].places.islands();
        let of_plane = |plane| (0..islands).map(move |island| all.first_router(PlaneId(plane), island));
        self.planes().flat_map(of_plane).collect()
    }

    /// Returns the planes of its network.
    fn planes(&self) -> Range<u8> {
        let Some((all, network, _)) = self.of else { return 0..1 };
        let first = all.first_plane(network).0;
        first..first + all.parts()[network].planes as u8
    }

    /// Calls a function with the number of a channel of the island in each plane of the whole topology. Channels of nodes
    /// that are left free have no number. `own` and `all` number the channels of the island and of the whole.
    pub fn copies(&self, (own, all): (&Channels, &Channels), channel: ChannelId, mut call: impl FnMut(ChannelId)) {
        for plane in self.planes().map(PlaneId) {
            let copy = match channel.0.checked_sub(own.ports()) {
                None => {
                    let first = self.of.map_or(0, |(networks, _, island)| networks.first_router(plane, island));
                    Some(ChannelId(all.output(RouterId(first), PortId(0)).0 + channel.0))
                }
                Some(node) => self.node(NodeId(node)).map(|node| all.injection_on(node, plane)),
            };
            copy.into_iter().for_each(&mut call);
        }
    }

    /// Adds loads of the island's channels to those of the whole topology, in every plane.
    pub fn add(&self, all: &Channels, own: &[f64], load: &mut [f64]) {
        let channels = Channels::new(self.topology);
        for (channel, &own) in (0..).map(ChannelId).zip(own) {
            self.copies((&channels, all), channel, |copy| load[copy.index()] += own);
        }
    }
}
