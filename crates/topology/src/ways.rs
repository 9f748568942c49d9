//! Ways of messages over several networks: the network that a message takes, and the relays on its way.
//!
//! A message takes the first network that joins its ends and takes its size. If none takes its size, it takes the first
//! that joins its ends. If no network joins its ends, it is relayed: by an endpoint in the sender's island of the relay
//! network, by one in the receiver's island, or by both.

use units::{Bytes, NodeId};

use crate::families::networks::Networks;

/// Rule by which messages take networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WayRule {
    /// Sizes of messages that take each network: above the first, and up to the second.
    pub sizes: Vec<(Option<Bytes>, Option<Bytes>)>,
    /// Relays. `None`: there are none.
    pub relay: Option<RelayRule>,
}

/// Relays of messages that no network carries from end to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayRule {
    /// Number of the network by which messages reach relays or go on from them.
    pub network: usize,
    /// Whether the relay is near the source if either end has one.
    pub at_source: bool,
}

/// One network on the way of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Number of the network.
    pub network: usize,
    /// Endpoint at its end: the destination, or a relay.
    pub to: NodeId,
}

impl Networks {
    /// Returns the network that a message of `bytes` bytes takes between two endpoints without relays.
    pub fn direct(&self, from: NodeId, to: NodeId, bytes: u64) -> Option<usize> {
        let takes = |network: usize| {
            let (above, up_to) = self.rule().sizes.get(network).copied().unwrap_or_default();
            above.is_none_or(|limit| bytes > limit.0) && up_to.is_none_or(|limit| bytes <= limit.0)
        };
        let mut joining = (0..self.parts().len()).filter(|&network| self.joins(network, from, to));
        let first = joining.next()?;
        Some(std::iter::once(first).chain(joining).find(|&network| takes(network)).unwrap_or(first))
    }

    /// Returns the next leg of a message at an endpoint. `None`: no way leads to its destination.
    pub fn next(&self, at: NodeId, to: NodeId, bytes: u64) -> Option<Leg> {
        if let Some(network) = self.direct(at, to, bytes) {
            return Some(Leg { network, to });
        }
        let relay = self.rule().relay?;
        let (leave, enter) = if relay.at_source {
            self.over(at, &[to]).or_else(|| self.over(at, &self.neighbours(relay, to)))?
        } else {
            let behind = self.neighbours(relay, to);
            self.joined(at, &behind)
                .map(|enter| (at, enter))
                .or_else(|| self.over(at, &[to]))
                .or_else(|| self.over(at, &behind))?
        };
        if leave == at {
            return self.direct(at, enter, bytes).map(|network| Leg { network, to: enter });
        }
        Some(Leg { network: relay.network, to: leave })
    }

    /// Returns the legs of a message. `None`: no way leads to its destination.
    pub fn legs(&self, from: NodeId, to: NodeId, bytes: u64) -> Option<Vec<Leg>> {
        let (mut legs, mut at) = (Vec::new(), from);
        while at != to {
            let leg = self.next(at, to, bytes)?;
            legs.push(leg);
            at = leg.to;
        }
        Some(legs)
    }

    /// Returns whether a network joins two endpoints.
    pub fn joins(&self, network: usize, from: NodeId, to: NodeId) -> bool {
        self.parts()[network].places.joins(from, to)
    }

    /// Returns the endpoints of an endpoint's island of the relay network, the nearest in number first, with itself.
    fn neighbours(&self, relay: RelayRule, of: NodeId) -> Vec<NodeId> {
        let places = &self.parts()[relay.network].places;
        let Some((island, _)) = places.place(of) else { return vec![of] };
        let nodes = (0..places.island_nodes()).map(NodeId);
        let mut all: Vec<NodeId> = nodes.filter_map(|own| places.node(island, own)).collect();
        all.sort_by_key(|node| (node.0.abs_diff(of.0), node.0));
        all
    }

    /// Returns the first of some endpoints that a network other than the relay network joins to an endpoint.
    fn joined(&self, at: NodeId, others: &[NodeId]) -> Option<NodeId> {
        let relay = self.rule().relay.map(|relay| relay.network);
        let networks = || (0..self.parts().len()).filter(|&network| Some(network) != relay);
        others.iter().copied().find(|&other| other != at && networks().any(|network| self.joins(network, at, other)))
    }

    /// Returns the first endpoint of an endpoint's island that is joined to one of some endpoints, and that one.
    fn over(&self, at: NodeId, ends: &[NodeId]) -> Option<(NodeId, NodeId)> {
        let island = self.neighbours(self.rule().relay?, at);
        island.into_iter().find_map(|leave| Some((leave, self.joined(leave, ends)?)))
    }
}
