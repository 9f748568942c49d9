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

/// The destinations of a node's current message.
#[derive(Clone, Debug, Default)]
pub(super) struct Destinations {
    nodes: Vec<NodeId>,
    /// Those that the node has sent the whole message to, where it makes the copies.
    done: usize,
    /// The same nodes, with what the packet that was given last carries for each.
    members: Vec<Member>,
}

impl Destinations {
    /// Draws those of the next message of a node.
    pub fn draw(&mut self, multicasts: &Multicasts, node: NodeId, stream: &mut Stream) {
        self.nodes.clear();
        self.done = 0;
        multicasts.sets.draw(node, stream, &mut self.nodes);
    }

    /// The node that the message is sent to now, where the sender makes the copies.
    pub fn current(&self) -> NodeId {
        self.nodes.get(self.done).copied().unwrap_or_default()
    }

    /// The sender has sent the whole message to that node; returns whether others are left.
    pub fn next(&mut self) -> bool {
        self.done += 1;
        self.done < self.nodes.len()
    }

    /// Draws what the next packet carries for each of the nodes.
    pub fn start(&mut self, routing: &dyn Routing, from: NodeId, stream: &mut Stream) {
        self.members.clear();
        let start = |&node: &NodeId| Member { node, state: routing.start(from, node, stream) };
        self.members.extend(self.nodes.iter().map(start));
    }

    /// The nodes that the packet that was given last is for.
    pub fn members(&self) -> &[Member] {
        &self.members
    }
}
