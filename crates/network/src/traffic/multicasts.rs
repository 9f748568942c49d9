//! Multicasts: messages for several nodes, whose destinations are fixed or drawn for each message.

use std::sync::Arc;

use engine::Stream;
use fabric::{Member, Target, TreePacket};
use routing::Routing;
use topology::Topology;
use traffic::multicast::{FixedSets, RandomSets};
use units::{NodeId, PlaneId};

use super::groups::GroupTrees;

/// Multicasts that nodes send in place of messages for one node.
#[derive(Clone, Debug)]
pub struct Multicasts {
    /// Distribution of the destination sets.
    pub sets: Arc<RandomSets>,
    /// Fixed destination set of each sender. None if a set is drawn for each message.
    pub fixed: Option<Arc<FixedSets>>,
    /// Whether routers make the copies. Otherwise the sender transmits a message to each destination in turn.
    pub by_routers: bool,
    /// Runs of nodes that one packet can be for. None if a packet can be for any set of nodes. Requires `by_routers`.
    pub runs: Option<Runs>,
}

/// Runs of destinations: nodes with consecutive numbers at equal distance from the sender. A router that copies to
/// consecutive ports only, as in Quadrics QsNet, can reach such a run with one packet.
///
/// Model choice: with nodes at different distances a run would part on its way up a fat-tree, into one port up and some
/// down. QsNet goes up to the common ancestor first. Here, the nodes nearer to the sender have a packet for themselves,
/// and the sender's own place ends a run.
#[derive(Clone, Debug)]
pub struct Runs {
    topology: Arc<dyn Topology>,
}

impl Runs {
    /// Creates the runs of a topology.
    pub fn new(topology: Arc<dyn Topology>) -> Self {
        Self { topology }
    }

    /// Whether `one` and `next`, both destinations of `from`, are in one run. Requires `one` < `next`.
    pub fn joins(&self, from: NodeId, [one, next]: [NodeId; 2]) -> bool {
        let far = |node| self.topology.routers_between(from, node);
        next.0 == one.0 + 1 && far(one) == far(next)
    }

    /// Returns the length of the first run in `nodes`, the destinations of `from` in ascending order.
    fn first(&self, from: NodeId, nodes: &[NodeId]) -> usize {
        let joined = nodes.windows(2).take_while(|pair| self.joins(from, [pair[0], pair[1]]));
        joined.count() + usize::from(!nodes.is_empty())
    }
}

impl Multicasts {
    /// Returns the mean number of destinations of a message.
    pub fn fanout(&self) -> f64 {
        self.fixed.as_ref().map_or_else(|| self.sets.fanout().mean(), |fixed| fixed.mean())
    }

    /// Returns the mean number of destinations of a packet of `node`. None if each packet is for a run of nodes.
    pub fn deliveries(&self, node: NodeId) -> Option<f64> {
        match &self.fixed {
            _ if self.runs.is_some() => None,
            _ if !self.by_routers => Some(1.0),
            Some(fixed) => Some(fixed.of(node).map_or(0.0, |(_, nodes)| nodes.len() as f64)),
            None => Some(self.sets.fanout().mean()),
        }
    }

    /// Returns the fixed sets if routers copy messages along the trees of groups. None otherwise.
    pub fn by_trees(&self) -> Option<&Arc<FixedSets>> {
        self.fixed.as_ref().filter(|_| self.by_routers)
    }
}

/// Multicasts of a partition's sources. All packets of a source use its plane.
#[derive(Debug)]
pub(super) struct MulticastSources {
    spec: Multicasts,
    /// Trees of the senders' groups. None unless routers copy along trees.
    trees: Option<GroupTrees>,
    /// Destinations of each source's current message, by source.
    destinations: Vec<Destinations>,
    /// Number of planes of all networks together.
    planes: u32,
}
units::state!(MulticastSources { destinations; rebuilt spec, trees, planes });

/// Destinations of a source's current message.
#[derive(Clone, Debug, Default)]
struct Destinations {
    nodes: Vec<NodeId>,
    /// Number of leading nodes that the whole message has been sent to. Counts where the sender makes the copies, or
    /// sends a packet for each run.
    done: usize,
    /// Number of nodes after these that the message is being sent to. Counts where routers make the copies.
    run: usize,
    /// Nodes of the current run, with the routing state that the last packet carries for each.
    members: Vec<Member>,
    /// Number of packets sent along trees.
    sent: u32,
}
units::record!(Destinations { nodes, done, run, members, sent });

/// Current message of a source.
pub(super) struct Current<'a> {
    spec: &'a Multicasts,
    to: &'a mut Destinations,
}

impl MulticastSources {
    /// Creates the state of `sources` sources that have sent nothing, of which each node has `planes`.
    pub fn new(spec: &Multicasts, trees: Option<GroupTrees>, (sources, planes): (usize, u32)) -> Self {
        let trees = trees.filter(|_| spec.by_trees().is_some());
        Self { spec: spec.clone(), trees, destinations: vec![Destinations::default(); sources], planes }
    }

    /// Returns the content of the last packet given to `source` if it goes along a tree. `source` is an index in the
    /// partition, and `node` its node.
    pub fn tree_packet(&self, source: usize, node: NodeId) -> Option<TreePacket> {
        let plane = PlaneId((source as u32 % self.planes) as u8);
        let (group, _) = self.spec.by_trees()?.of(node)?;
        let segment = self.destinations[source].sent.wrapping_sub(1);
        self.trees.as_ref()?.multicast((node, plane), group, segment)
    }

    /// Returns the current message of `source`, an index in the partition.
    pub fn current(&mut self, source: usize) -> Current<'_> {
        Current { spec: &self.spec, to: &mut self.destinations[source] }
    }

    /// Returns the destinations of the last packet given to `source`.
    pub fn members(&self, source: usize) -> &[Member] {
        &self.destinations[source].members
    }
}

impl Current<'_> {
    /// Whether routers make the copies.
    pub fn is_by_routers(&self) -> bool {
        self.spec.by_routers
    }

    /// Determines the destinations of the next message of `node`, fixed or drawn. Returns the first destination.
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

    /// Determines the nodes that the next packets of the message are for. Requires copies by routers.
    fn begin_run(&mut self, from: NodeId) {
        let left = &self.to.nodes[self.to.done..];
        self.to.run = self.spec.runs.as_ref().map_or(left.len(), |runs| runs.first(from, left));
    }

    /// Advances to the next destinations after the whole message has been sent to the current ones. Returns the first
    /// of them. None if all nodes have the message.
    pub fn next(&mut self, from: NodeId) -> Option<NodeId> {
        self.to.done += if self.spec.by_routers { self.to.run } else { 1 };
        let next = self.to.nodes.get(self.to.done).copied()?;
        self.begin_run(from);
        Some(next)
    }

    /// Draws the routing state that the next packet carries for each node. Returns the packet's target.
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

    /// Returns the ports to which each router copies a packet for `nodes`, in the order of nodes.
    fn ports(topology: &dyn Topology, routing: &dyn Routing, from: NodeId, nodes: &[NodeId]) -> Vec<Vec<u16>> {
        let (router, in_port) = topology.attachment(from);
        let members: Vec<Hop> = nodes
            .iter()
            .map(|&dst| Hop { dst, state: routing::RouteState::default(), in_port, vc_class: VcClass(0) })
            .collect();
        let (mut found, mut at) = (Vec::new(), vec![(router, members)]);
        while let Some((router, mut members)) = at.pop() {
            // A member that is offered several ports takes the first: all members that are offered these ports share
            // one.
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
        // Would catch a run that parts on its way up, or that includes nodes nearer to the sender: every sender and
        // every run of a tree with three levels.
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
