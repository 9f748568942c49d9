//! Ways of messages over several networks: the network that a message takes, and the relays on its way.
//!
//! A message takes the first network that joins its ends and takes its size. If none takes its size, it takes the first
//! that joins its ends. If no network joins its ends, it is relayed: by an endpoint in the sender's island of the relay
//! network, by one in the receiver's island, or by both.

use fabric::Plan;
use host::{RelayParams, Way, Ways};
use topology::families::networks::Networks;
use units::{Bytes, NodeId, PlaneId};

/// Rule by which messages take networks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WayRule {
    /// Whether a message above the limit of stripes is striped over all networks that join its ends, and the limit in
    /// bytes.
    pub striped_above: Option<u64>,
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
    /// Pieces in which relays pass messages on, and their room.
    pub params: RelayParams,
}

/// One network on the way of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Number of the network.
    pub network: usize,
    /// Endpoint at its end: the destination, or a relay.
    pub to: NodeId,
}

/// Ways of messages over some networks.
#[derive(Clone, Debug)]
pub struct NetworkWays {
    networks: Networks,
    rule: WayRule,
    /// By network, the time of the largest packet on a link of a node, in ticks, and the link's bandwidth in b/s.
    links: Vec<(u64, u64)>,
}

impl NetworkWays {
    /// Creates the ways over the networks of a plan by a rule. `packet` is the size of the largest packet, in bytes.
    pub fn new(networks: &Networks, rule: WayRule, (plan, packet): (&Plan, u32)) -> Self {
        let link = |network: usize| {
            let class = networks.first_class(network);
            (plan.serialization(class, packet), plan.bandwidth(class).0)
        };
        Self { networks: networks.clone(), rule, links: (0..networks.parts().len()).map(link).collect() }
    }

    /// Returns the network that a message of `bytes` bytes takes between two endpoints without relays.
    pub fn direct(&self, from: NodeId, to: NodeId, bytes: u64) -> Option<usize> {
        let takes = |network: usize| {
            let (above, up_to) = self.rule.sizes.get(network).copied().unwrap_or_default();
            above.is_none_or(|limit| bytes > limit.0) && up_to.is_none_or(|limit| bytes <= limit.0)
        };
        let mut joining = (0..self.networks.parts().len()).filter(|&network| self.joins(network, from, to));
        let first = joining.next()?;
        Some(std::iter::once(first).chain(joining).find(|&network| takes(network)).unwrap_or(first))
    }

    /// Returns the next leg of a message at an endpoint. `None`: no way leads to its destination.
    pub fn next(&self, at: NodeId, to: NodeId, bytes: u64) -> Option<Leg> {
        if let Some(network) = self.direct(at, to, bytes) {
            return Some(Leg { network, to });
        }
        let relay = self.rule.relay?;
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

    /// Returns the networks that a message of `bytes` bytes is striped over. Empty if it is not.
    fn striped(&self, from: NodeId, to: NodeId, bytes: u64) -> Vec<usize> {
        match self.rule.striped_above {
            Some(limit) if bytes > limit => {
                (0..self.links.len()).filter(|&network| self.joins(network, from, to)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn way(&self, leg: Leg, to: NodeId) -> Way {
        // A relay at the side of the destination has as much room as comes to it.
        let claims = leg.to != to && self.rule.relay.is_some_and(|relay| relay.network == leg.network);
        Way { rails: self.planes(leg.network), to: leg.to.0, claims, weight: self.links[leg.network].1 }
    }

    /// Returns the island of an endpoint in a network. `None`: it has no port.
    pub fn island(&self, network: usize, of: NodeId) -> Option<u32> {
        self.networks.parts()[network].places.place(of).map(|(island, _)| island)
    }

    /// Returns whether a network takes messages of all sizes.
    pub fn takes_all(&self, network: usize) -> bool {
        self.rule.sizes.get(network).is_none_or(|sizes| *sizes == (None, None))
    }

    /// Returns the size in bytes above which messages are striped over networks. `None`: none is.
    pub fn striped_above(&self) -> Option<u64> {
        self.rule.striped_above
    }

    /// Returns the pieces in which relays pass messages on, and their room.
    pub fn relays(&self) -> RelayParams {
        self.rule.relay.map_or_else(RelayParams::default, |relay| relay.params)
    }

    /// Returns the planes of a network.
    pub fn planes(&self, network: usize) -> std::ops::Range<u32> {
        let PlaneId(first) = self.networks.first_plane(network);
        u32::from(first)..u32::from(first) + self.networks.parts()[network].planes
    }

    fn joins(&self, network: usize, from: NodeId, to: NodeId) -> bool {
        self.networks.parts()[network].places.joins(from, to)
    }

    /// Returns the endpoints of an endpoint's island of the relay network, the nearest in number first, with itself.
    fn neighbours(&self, relay: RelayRule, of: NodeId) -> Vec<NodeId> {
        let places = &self.networks.parts()[relay.network].places;
        let Some((island, _)) = places.place(of) else { return vec![of] };
        let nodes = (0..places.island_nodes()).map(NodeId);
        let mut all: Vec<NodeId> = nodes.filter_map(|own| places.node(island, own)).collect();
        all.sort_by_key(|node| (node.0.abs_diff(of.0), node.0));
        all
    }

    /// Returns the first of some endpoints that a network other than the relay network joins to an endpoint.
    fn joined(&self, at: NodeId, others: &[NodeId]) -> Option<NodeId> {
        let relay = self.rule.relay.map(|relay| relay.network);
        let networks = || (0..self.networks.parts().len()).filter(|&network| Some(network) != relay);
        others.iter().copied().find(|&other| other != at && networks().any(|network| self.joins(network, at, other)))
    }

    /// Returns the first endpoint of an endpoint's island that is joined to one of some endpoints, and that one.
    fn over(&self, at: NodeId, ends: &[NodeId]) -> Option<(NodeId, NodeId)> {
        let island = self.neighbours(self.rule.relay?, at);
        island.into_iter().find_map(|leave| Some((leave, self.joined(leave, ends)?)))
    }
}

impl Ways for NetworkWays {
    fn find(&self, (from, to): (u32, u32), bytes: u64, ways: &mut Vec<Way>) {
        let (from, to) = (NodeId(from), NodeId(to));
        let striped = self.striped(from, to, bytes);
        match striped.is_empty() {
            true => ways.extend(self.next(from, to, bytes).map(|leg| self.way(leg, to))),
            false => ways.extend(striped.into_iter().map(|network| self.way(Leg { network, to }, to))),
        }
    }

    fn onward(&self, (at, to): (u32, u32)) -> Way {
        let (at, to) = (NodeId(at), NodeId(to));
        // Relays are chosen where the rest of the way is known.
        self.way(self.next(at, to, 0).unwrap_or(Leg { network: 0, to }), to)
    }

    fn pace(&self, rail: u32) -> u64 {
        self.links[self.networks.part_of(PlaneId(rail as u8))].0
    }
}
