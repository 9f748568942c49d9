//! The shape of a tree.

use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

/// A tree of switches: a root, and the step up from each of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// The top switch.
    pub root: RouterId,
    /// The steps up, one from each other switch.
    pub steps: Vec<Step>,
    /// Channels from the farthest member's switch to the root.
    pub depth: u32,
}

/// The step from a switch to the one above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The lower switch.
    pub router: RouterId,
    /// Its port up.
    pub port: PortId,
    /// The class of virtual channels among those toward the root; the channel back has the same among those from it.
    pub level: u8,
}

impl Step {
    /// The upper switch, and its port down.
    pub fn above(&self, topology: &dyn Topology) -> (RouterId, PortId) {
        match topology.endpoint(self.router, self.port) {
            Endpoint::Router(above, port) => (above, port),
            // A builder takes ports that lead to routers only; the contract suite checks it.
            Endpoint::Node(_) | Endpoint::Unconnected => (self.router, self.port),
        }
    }
}

/// What a builder is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    /// The members in ascending order, at least one.
    pub members: &'a [NodeId],
    /// The only one that sends, if the tree is directed.
    pub sender: Option<NodeId>,
    /// How many trees of the same group, edge-disjoint to this one, have been made: their wires are taken.
    pub number: u32,
}

impl Request<'_> {
    /// The switches of the members, in ascending order.
    pub fn switches(&self, topology: &dyn Topology) -> Vec<RouterId> {
        let mut switches: Vec<RouterId> = self.members.iter().map(|&node| topology.attachment(node).0).collect();
        switches.sort_unstable();
        switches.dedup();
        switches
    }
}
