//! Multicasts: messages for several nodes, drawn anew for each.

use std::sync::Arc;

use engine::Stream;
use fabric::Member;
use routing::Routing;
use units::NodeId;
use workload::multicast::RandomSets;

/// The multicasts that nodes send instead of messages for one node.
#[derive(Clone, Debug)]
pub struct Multicasts {
    /// To whom.
    pub sets: Arc<RandomSets>,
    /// Routers make the copies; else the node that sends does, one after the other.
    pub by_routers: bool,
}

/// The multicasts of the nodes of a partition.
#[derive(Debug)]
pub(super) struct MulticastSources {
    spec: Multicasts,
    /// By node, whom its current message is for.
    destinations: Vec<Destinations>,
}

/// The destinations of a node's current message.
#[derive(Clone, Debug, Default)]
struct Destinations {
    nodes: Vec<NodeId>,
    /// Those that the node has sent the whole message to, where it makes the copies.
    done: usize,
    /// The same nodes, with what the packet that was given last carries for each.
    members: Vec<Member>,
}

/// A node's current message.
pub(super) struct Current<'a> {
    spec: &'a Multicasts,
    to: &'a mut Destinations,
}

impl MulticastSources {
    /// Nothing sent yet, of so many nodes.
    pub fn new(spec: &Multicasts, nodes: usize) -> Self {
        Self { spec: spec.clone(), destinations: vec![Destinations::default(); nodes] }
    }

    /// The current message of a node, by its number in the partition.
    pub fn current(&mut self, node: usize) -> Current<'_> {
        Current { spec: &self.spec, to: &mut self.destinations[node] }
    }

    /// The nodes that the packet is for that a node was given last.
    pub fn members(&self, node: usize) -> &[Member] {
        &self.destinations[node].members
    }
}

impl Current<'_> {
    /// Whether routers make the copies.
    pub fn is_by_routers(&self) -> bool {
        self.spec.by_routers
    }

    /// Draws the destinations of the next message of a node; returns the first.
    pub fn draw(&mut self, node: NodeId, stream: &mut Stream) -> NodeId {
        self.to.nodes.clear();
        self.to.done = 0;
        self.spec.sets.draw(node, stream, &mut self.to.nodes);
        self.to.nodes.first().copied().unwrap_or_default()
    }

    /// The node that the message goes to next, after it has been sent as a whole: none if routers make the copies, or all have it.
    pub fn next(&mut self) -> Option<NodeId> {
        if self.spec.by_routers {
            return None;
        }
        self.to.done += 1;
        self.to.nodes.get(self.to.done).copied()
    }

    /// Draws what the next packet carries for each of the nodes.
    pub fn start(&mut self, routing: &dyn Routing, from: NodeId, stream: &mut Stream) {
        self.to.members.clear();
        let start = |&node: &NodeId| Member { node, state: routing.start(from, node, stream) };
        self.to.members.extend(self.to.nodes.iter().map(start));
    }
}
