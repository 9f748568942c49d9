//! Multicasts: messages for several nodes, drawn anew for each.

use std::sync::Arc;

use engine::Stream;
use fabric::{Member, Target, TreePacket};
use routing::Routing;
use units::NodeId;
use workload::multicast::{FixedSets, RandomSets};

use super::groups::GroupTrees;

/// The multicasts that nodes send instead of messages for one node.
#[derive(Clone, Debug)]
pub struct Multicasts {
    /// To whom.
    pub sets: Arc<RandomSets>,
    /// To whom, if each sender has always the same; else drawn anew for each message.
    pub fixed: Option<Arc<FixedSets>>,
    /// Routers make the copies; else the node that sends does, one after the other.
    pub by_routers: bool,
}

impl Multicasts {
    /// Nodes that a message is for, on average.
    pub fn fanout(&self) -> f64 {
        self.fixed.as_ref().map_or_else(|| self.sets.fanout().mean(), |fixed| fixed.mean())
    }

    /// Whether routers copy messages by the trees of groups.
    pub fn by_trees(&self) -> Option<&Arc<FixedSets>> {
        self.fixed.as_ref().filter(|_| self.by_routers)
    }
}

/// The multicasts of the sources of a partition: each goes by the plane of its source, to all of its nodes.
#[derive(Debug)]
pub(super) struct MulticastSources {
    spec: Multicasts,
    /// The trees of the senders' groups, if routers copy by trees.
    trees: Option<GroupTrees>,
    /// By source, whom its current message is for.
    destinations: Vec<Destinations>,
}

/// The destinations of a source's current message.
#[derive(Clone, Debug, Default)]
struct Destinations {
    nodes: Vec<NodeId>,
    /// Those that the source has sent the whole message to, where it makes the copies.
    done: usize,
    /// The same nodes, with what the packet that was given last carries for each.
    members: Vec<Member>,
    /// Packets that have been sent by trees.
    sent: u32,
}

/// A source's current message.
pub(super) struct Current<'a> {
    spec: &'a Multicasts,
    to: &'a mut Destinations,
}

impl MulticastSources {
    /// Nothing sent yet, of so many sources.
    pub fn new(spec: &Multicasts, trees: Option<GroupTrees>, sources: usize) -> Self {
        let trees = trees.filter(|_| spec.by_trees().is_some());
        Self { spec: spec.clone(), trees, destinations: vec![Destinations::default(); sources] }
    }

    /// What the packet is for that a source, by its number in the partition, of a node was given last, if it goes by a tree.
    pub fn tree_packet(&self, source: usize, node: NodeId) -> Option<TreePacket> {
        let (group, _) = self.spec.by_trees()?.of(node)?;
        let segment = self.destinations[source].sent.wrapping_sub(1);
        Some(self.trees.as_ref()?.multicast(node, group, segment))
    }

    /// The current message of a source, by its number in the partition.
    pub fn current(&mut self, source: usize) -> Current<'_> {
        Current { spec: &self.spec, to: &mut self.destinations[source] }
    }

    /// The nodes that the packet is for that a source was given last.
    pub fn members(&self, source: usize) -> &[Member] {
        &self.destinations[source].members
    }
}

impl Current<'_> {
    /// Whether routers make the copies.
    pub fn is_by_routers(&self) -> bool {
        self.spec.by_routers
    }

    /// Draws the destinations of the next message of a node, or knows them; returns the first.
    pub fn draw(&mut self, node: NodeId, stream: &mut Stream) -> NodeId {
        self.to.done = 0;
        match self.spec.fixed.as_ref().and_then(|fixed| fixed.of(node)) {
            Some((_, set)) if self.to.nodes.is_empty() => self.to.nodes.extend_from_slice(set),
            Some(_) => {}
            None => {
                self.to.nodes.clear();
                self.spec.sets.draw(node, stream, &mut self.to.nodes);
            }
        }
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

    /// Draws what the next packet carries for each of the nodes; returns what it is for.
    pub fn start(&mut self, routing: &dyn Routing, from: NodeId, stream: &mut Stream) -> Target {
        if self.spec.fixed.is_some() {
            self.to.sent = self.to.sent.wrapping_add(1);
            return Target::Tree;
        }
        self.to.members.clear();
        let start = |&node: &NodeId| Member { node, state: routing.start(from, node, stream) };
        self.to.members.extend(self.to.nodes.iter().map(start));
        Target::Members
    }
}
