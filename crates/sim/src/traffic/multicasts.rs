//! Multicasts: messages for several nodes, drawn anew for each.

use std::sync::Arc;

use engine::Stream;
use fabric::{Member, Target, TreePacket};
use routing::Routing;
use topology::Topology;
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
    /// If a packet that routers copy may not be for any nodes: which it may be for.
    pub runs: Option<Runs>,
}

/// Runs of nodes that are consecutive and equally far from the node that sends: those that a router can reach which copies to consecutive ports
/// only, as that of Quadrics QsNet.
///
/// Model choice: with nodes of another distance a run would part on its way up a fat-tree, into a port up and some down. QsNet goes up to the
/// common ancestor first; here the nodes nearer to the sender have a packet of their own, and the sender's own place ends a run.
#[derive(Clone, Debug)]
pub struct Runs {
    topology: Arc<dyn Topology>,
}

impl Runs {
    /// The runs of a topology.
    pub fn new(topology: Arc<dyn Topology>) -> Self {
        Self { topology }
    }

    /// Whether two nodes, the one with the larger number last, are in one run of what a node sends, if both are sent to.
    pub fn joins(&self, from: NodeId, [one, next]: [NodeId; 2]) -> bool {
        let far = |node| self.topology.routers_between(from, node);
        next.0 == one.0 + 1 && far(one) == far(next)
    }

    /// How many nodes the first run has of those that a node sends to, in ascending order.
    fn first(&self, from: NodeId, nodes: &[NodeId]) -> usize {
        let joined = nodes.windows(2).take_while(|pair| self.joins(from, [pair[0], pair[1]]));
        joined.count() + usize::from(!nodes.is_empty())
    }
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
    /// Those that the source has sent the whole message to, where it makes the copies or sends a packet for each run.
    done: usize,
    /// Those, after these, that it is being sent to, where routers make the copies.
    run: usize,
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
        self.draw_nodes(node, stream);
        self.begin_run(node);
        self.to.nodes.first().copied().unwrap_or_default()
    }

    fn draw_nodes(&mut self, node: NodeId, stream: &mut Stream) {
        match self.spec.fixed.as_ref().and_then(|fixed| fixed.of(node)) {
            Some((_, set)) if self.to.nodes.is_empty() => self.to.nodes.extend_from_slice(set),
            Some(_) => {}
            None => {
                self.to.nodes.clear();
                self.spec.sets.draw(node, stream, &mut self.to.nodes);
            }
        }
    }

    /// Finds the nodes that the message of a node goes to next at once, if routers make the copies.
    fn begin_run(&mut self, from: NodeId) {
        let left = &self.to.nodes[self.to.done..];
        self.to.run = self.spec.runs.as_ref().map_or(left.len(), |runs| runs.first(from, left));
    }

    /// The first of the nodes that the message of a node goes to next, after it has been sent as a whole: none if all have it.
    pub fn next(&mut self, from: NodeId) -> Option<NodeId> {
        self.to.done += if self.spec.by_routers { self.to.run } else { 1 };
        let next = self.to.nodes.get(self.to.done).copied()?;
        self.begin_run(from);
        Some(next)
    }

    /// Draws what the next packet carries for each of the nodes; returns what it is for.
    pub fn start(&mut self, routing: &dyn Routing, from: NodeId, stream: &mut Stream) -> Target {
        if self.spec.fixed.is_some() {
            self.to.sent = self.to.sent.wrapping_add(1);
            return Target::Tree;
        }
        self.to.members.clear();
        let start = |&node: &NodeId| Member { node, state: routing.start(from, node, stream) };
        self.to.members.extend(self.to.nodes[self.to.done..][..self.to.run].iter().map(start));
        Target::Members
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use routing::{Hop, RoutingSpec};
    use topology::{Endpoint, TopologySpec};
    use units::VcClass;

    use super::*;

    /// The ports to which a router copies a packet for some nodes, in the order of nodes.
    fn ports(topology: &dyn Topology, routing: &dyn Routing, from: NodeId, nodes: &[NodeId]) -> Vec<Vec<u16>> {
        let (router, in_port) = topology.attachment(from);
        let members: Vec<Hop> = nodes
            .iter()
            .map(|&dst| Hop { dst, state: routing::RouteState::default(), in_port, vc_class: VcClass(0) })
            .collect();
        let (mut found, mut at) = (Vec::new(), vec![(router, members)]);
        while let Some((router, mut members)) = at.pop() {
            // Of several ports that a member is offered, the first: all that are offered them share one.
            let outs: Vec<u16> = members.iter_mut().map(|hop| routing.route(router, hop).first().0).collect();
            for part in outs.iter().zip(&members).collect::<Vec<_>>().chunk_by(|a, b| a.0 == b.0) {
                if let Endpoint::Router(next, in_port) = topology.endpoint(router, units::PortId(*part[0].0)) {
                    at.push((next, part.iter().map(|&(_, hop)| Hop { in_port, ..*hop }).collect()));
                }
            }
            found.push(outs);
        }
        found
    }

    #[test]
    fn routers_copy_runs_to_consecutive_ports_only() {
        // Would catch a run that parts on its way up, or that goes round what lies nearer to the sender: every sender and every run of a
        // tree with three levels.
        let spec: TopologySpec = toml::from_str("kind = \"fat-tree\"\nk = 3\nn = 3").unwrap();
        let topology = spec.build(Path::new(".")).unwrap();
        let routing = RoutingSpec::default_for(&*topology).build(&*topology).unwrap();
        let runs = Runs::new(Arc::clone(&topology));
        let mut parted = 0;
        for from in (0..27).map(NodeId) {
            let all: Vec<NodeId> = (0..27).map(NodeId).filter(|&node| node != from).collect();
            let mut left = &all[..];
            while !left.is_empty() {
                let (run, rest) = left.split_at(runs.first(from, left));
                assert!(run.len() == 1 || run.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1));
                for ports in ports(&*topology, &*routing, from, run) {
                    assert!(ports.windows(2).all(|pair| pair[1] - pair[0] <= 1), "{from:?} {run:?}: {ports:?}");
                    parted += u32::from(ports.first() != ports.last());
                }
                left = rest;
            }
        }
        assert!(parted > 27, "no run parts anywhere");
    }
}
