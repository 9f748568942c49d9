//! Demand of a workload: its traffic as analyses and plans model it.

use std::sync::Arc;

use traffic::PlacedPattern;
use traffic::multicast::FixedSets;
use units::NodeId;

use super::{OperationVolumes, SetLoads};
use ::network::traffic::Multicasts;

/// Traffic of a workload as analyses model it.
#[derive(Clone, Copy, Debug)]
pub struct DemandModel<'a> {
    /// Traffic pattern over nodes, with the placement of tasks applied.
    pub pattern: &'a Arc<PlacedPattern>,
    /// Offered load of a node of weight 1. Analyses model a closed workload as all of its phases together, with the
    /// node that sends most at full load and the others in proportion.
    pub load: f64,
    /// Mean number of destination nodes of a message.
    pub destinations: f64,
    /// Weights of the nodes.
    pub weights: Weights<'a>,
    /// Traffic that the pattern alone does not describe.
    pub copies: Copies<'a>,
}

/// Weights of nodes: each node's share of the offered load, relative to a node of weight 1.
#[derive(Clone, Copy, Debug)]
pub enum Weights<'a> {
    /// Those of the pattern.
    Pattern,
    /// 1 for each node that sends: a backlogged source has no rate to scale.
    Equal,
    /// Given by node.
    Given(&'a [f64]),
}

/// Packets for several nodes, and the way on which they are copied or combined.
#[derive(Clone, Copy, Debug)]
pub enum Copies<'a> {
    /// None: each packet is for one node of the pattern.
    None,
    /// Multicasts for drawn sets of nodes, which routers split by their routes.
    Drawn(&'a Multicasts),
    /// Multicasts for the fixed set of each sender.
    Sets {
        /// Sets of the senders.
        sets: &'a FixedSets,
        /// Whether routers copy the packets along trees. Otherwise the sender sends one to each node.
        by_routers: bool,
    },
    /// Volumes that are given beforehand. Routers split those for several nodes by their routes.
    Volumes(&'a SetLoads),
    /// Operations that routers carry out along the trees of groups.
    Groups(&'a OperationVolumes),
}

impl<'a> DemandModel<'a> {
    /// Creates the demand of packets for single nodes, with the pattern's weights and a load of 1.
    pub fn of(pattern: &'a Arc<PlacedPattern>) -> Self {
        Self { pattern, load: 1.0, destinations: 1.0, weights: Weights::Pattern, copies: Copies::None }
    }

    /// Returns the node's share of the offered load, relative to a node of weight 1.
    pub fn weight(&self, node: NodeId) -> f64 {
        match self.weights {
            Weights::Pattern => self.pattern.weight(node),
            Weights::Equal => f64::from(u8::from(self.pattern.weight(node) > 0.0)),
            Weights::Given(all) => all[node.index()],
        }
    }

    /// Returns the weights of all nodes of a machine.
    pub fn all_weights(&self, nodes: u32) -> Vec<f64> {
        (0..nodes).map(|node| self.weight(NodeId(node))).collect()
    }

    /// Returns whether routers split packets for several nodes by their routes.
    pub fn splits(&self) -> bool {
        matches!(self.copies, Copies::Drawn(_) | Copies::Volumes(_))
    }

    /// Returns the volumes along the trees of groups, if routers carry out operations.
    pub fn operations(&self) -> Option<&'a OperationVolumes> {
        if let Copies::Groups(volumes) = self.copies { Some(volumes) } else { None }
    }

    /// Returns the traffic delivered at all nodes while the node that sends most sends one unit, and the number of
    /// senders.
    pub(crate) fn offered(&self, nodes: u32) -> (f64, usize) {
        let senders = |sent: &[f64]| sent.iter().filter(|&&weight| weight > 0.0).count();
        if let Some(own) = self.operations() {
            return (own.delivered, senders(&own.sent));
        }
        let weights = self.all_weights(nodes);
        (weights.iter().sum::<f64>() * self.destinations, senders(&weights))
    }

    /// Returns the traffic sent by all nodes while the node that sends most sends one unit.
    pub(crate) fn sent(&self, nodes: u32) -> f64 {
        self.operations().map_or_else(|| self.all_weights(nodes).iter().sum(), |own| own.sent.iter().sum())
    }

    /// Returns the traffic of a node to other nodes, with weights multiplied by `share`. Packets that routers split or
    /// copy are excluded.
    pub(crate) fn unicasts(&self, node: NodeId, share: f64) -> routing::Demand {
        let weight = share * self.weight(node) * self.destinations;
        let weight = match self.copies {
            Copies::None => weight,
            Copies::Groups(own) => weight * own.messages,
            Copies::Drawn(_) => return routing::Demand::default(),
            Copies::Sets { sets, by_routers } => {
                let to = sets.of(node).filter(|_| !by_routers).map_or(&[][..], |(_, set)| set);
                let each = share * self.weight(node);
                return routing::Demand { besides: to.iter().map(|&dst| (dst, each)).collect(), ..Default::default() };
            }
            Copies::Volumes(own) => {
                let to = &own.unicasts[node.index()];
                let besides = to.iter().map(|&(dst, part)| (dst, share * part)).collect();
                return routing::Demand { besides, ..Default::default() };
            }
        };
        let traffic::Spread { everyone, besides } = self.pattern.spread(node);
        let besides = besides.into_iter().map(|(dst, part)| (dst, part * weight)).collect();
        routing::Demand { everyone: everyone * weight, besides }
    }
}
