//! Structure of a tree.

use topology::{Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

/// Tree of switches: a root, and the step up from each other switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// Root switch.
    pub root: RouterId,
    /// Steps up, one from each other switch.
    pub steps: Vec<Step>,
    /// Number of channels from the farthest member's switch to the root.
    pub depth: u32,
}

impl Tree {
    /// Returns the tree with switches numbered from `first` on.
    pub fn moved(self, first: u32) -> Self {
        let moved = |router: RouterId| RouterId(router.0 + first);
        let steps = self.steps.into_iter().map(|step| Step { router: moved(step.router), ..step }).collect();
        Self { root: moved(self.root), steps, ..self }
    }
}

/// Step from a switch to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Lower switch.
    pub router: RouterId,
    /// Port of the lower switch that leads up.
    pub port: PortId,
    /// VC class among the classes toward the root. The channel back has the corresponding class among those from the
    /// root.
    pub level: u8,
}

impl Step {
    /// Returns the upper switch, and its port down.
    pub fn above(&self, topology: &dyn Topology) -> (RouterId, PortId) {
        match topology.endpoint(self.router, self.port) {
            Endpoint::Router(above, port) => (above, port),
            // A builder takes only ports that lead to routers; the contract suite checks it.
            Endpoint::Node(_) | Endpoint::Unconnected => (self.router, self.port),
        }
    }
}

/// Request to a builder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a> {
    /// Members in ascending order, at least one.
    pub members: &'a [NodeId],
    /// Only sender, if the tree is directed.
    pub sender: Option<NodeId>,
    /// Number of edge-disjoint trees of this group that have been made already: their wires are taken.
    pub number: u32,
}

impl Request<'_> {
    /// Returns the switches of the members, in ascending order.
    pub fn switches(&self, topology: &dyn Topology) -> Vec<RouterId> {
        let mut switches: Vec<RouterId> = self.members.iter().map(|&node| topology.attachment(node).0).collect();
        switches.sort_unstable();
        switches.dedup();
        switches
    }
}
