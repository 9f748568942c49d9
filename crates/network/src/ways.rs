//! Ways of messages over several networks, with their rails, stripes and relays. `topology::WayRule` is the rule by
//! which messages take networks.

use fabric::Plan;
use host::{PartParams, RailParts, RelayParams, Way, Ways};
use topology::Leg;
use topology::families::networks::Networks;
use units::{NodeId, PlaneId};

/// Rule by which messages are striped over networks, and passed on by relays and interfaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferRule {
    /// Whether a message above the limit of stripes is striped over all networks that join its ends, and the limit in
    /// bytes.
    pub striped_above: Option<u64>,
    /// Pieces in which relays pass messages on, and their room.
    pub relays: RelayParams,
    /// By network, the parts of interfaces, if they are not those of all networks.
    pub parts: Vec<Option<PartParams>>,
}

/// Ways of messages over some networks.
#[derive(Clone, Debug)]
pub struct NetworkWays {
    networks: Networks,
    rule: TransferRule,
    /// By network, the time of the largest packet on a link of a node, in ticks, and the link's bandwidth in b/s.
    links: Vec<(u64, u64)>,
}

impl NetworkWays {
    /// Creates the ways over the networks of a plan by a rule. `packet` is the size of the largest packet, in bytes.
    pub fn new(networks: &Networks, rule: TransferRule, (plan, packet): (&Plan, u32)) -> Self {
        let link = |network: usize| {
            let class = networks.first_class(network);
            (plan.serialization(class, packet), plan.bandwidth(class).0)
        };
        Self { networks: networks.clone(), rule, links: (0..networks.parts().len()).map(link).collect() }
    }

    /// Returns the networks, with the rule by which messages take them.
    pub fn networks(&self) -> &Networks {
        &self.networks
    }

    /// Returns the networks that a message of `bytes` bytes is striped over. Empty if it is not.
    fn striped(&self, from: NodeId, to: NodeId, bytes: u64) -> Vec<usize> {
        match self.rule.striped_above {
            Some(limit) if bytes > limit => {
                (0..self.links.len()).filter(|&network| self.networks.joins(network, from, to)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn way(&self, leg: Leg, to: NodeId) -> Way {
        // A relay at the side of the destination has as much room as comes to it.
        let claims = leg.to != to && self.networks.rule().relay.is_some_and(|relay| relay.network == leg.network);
        Way { rails: self.planes(leg.network), to: leg.to.0, claims, weight: self.links[leg.network].1 }
    }

    /// Returns the island of an endpoint in a network. `None`: it has no port.
    pub fn island(&self, network: usize, of: NodeId) -> Option<u32> {
        self.networks.parts()[network].places.place(of).map(|(island, _)| island)
    }

    /// Returns whether a network takes messages of all sizes.
    pub fn takes_all(&self, network: usize) -> bool {
        self.networks.rule().sizes.get(network).is_none_or(|sizes| *sizes == (None, None))
    }

    /// Returns the size in bytes above which messages are striped over networks. `None`: none is.
    pub fn striped_above(&self) -> Option<u64> {
        self.rule.striped_above
    }

    /// Returns the pieces in which relays pass messages on, and their room.
    pub fn relays(&self) -> RelayParams {
        self.rule.relays
    }

    /// Returns the planes of a network.
    pub fn planes(&self, network: usize) -> std::ops::Range<u32> {
        let PlaneId(first) = self.networks.first_plane(network);
        u32::from(first)..u32::from(first) + self.networks.parts()[network].planes
    }
}

impl Ways for NetworkWays {
    fn find(&self, (from, to): (u32, u32), bytes: u64, ways: &mut Vec<Way>) {
        let (from, to) = (NodeId(from), NodeId(to));
        let striped = self.striped(from, to, bytes);
        match striped.is_empty() {
            true => ways.extend(self.networks.next(from, to, bytes).map(|leg| self.way(leg, to))),
            false => ways.extend(striped.into_iter().map(|network| self.way(Leg { network, to }, to))),
        }
    }

    fn onward(&self, (at, to): (u32, u32)) -> Way {
        let (at, to) = (NodeId(at), NodeId(to));
        // Relays are chosen where the rest of the way is known.
        self.way(self.networks.next(at, to, 0).unwrap_or(Leg { network: 0, to }), to)
    }

    fn pace(&self, rail: u32) -> u64 {
        self.links[self.networks.part_of(PlaneId(rail as u8))].0
    }

    fn parts(&self, rail: u32) -> Option<RailParts> {
        let network = self.networks.part_of(PlaneId(rail as u8));
        let parts = self.rule.parts.get(network).copied().flatten()?;
        Some(RailParts { parts, first: self.planes(network).start })
    }
}
