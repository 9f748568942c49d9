//! Traffic between nodes, as input of the exact analyses.

use topology::{Channels, Topology};
use units::{NodeId, PortId, RouterId};

/// Destinations of a node with the amount for each: fractions of its injection link's bandwidth at offered load 1.0.
/// They sum to at most 1 (to less if a node sends less than others). A node that sends to itself loads its injection
/// and its ejection channel.
pub type Traffic<'a> = dyn Fn(NodeId) -> Vec<(NodeId, f64)> + 'a;

/// Demand of a node: a share for every node, itself included, and additions for some, which may be negative. Uniform
/// traffic has one entry a node, while `Traffic` has one for each pair.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    /// Share of each node.
    pub everyone: f64,
    /// Additions to the share. Several for one node are summed.
    pub besides: Vec<(NodeId, f64)>,
}

/// Demand of each node.
pub type Demands<'a> = dyn Fn(NodeId) -> Demand + 'a;

impl Demand {
    /// Returns the shares of all nodes with a non-zero share, in order.
    pub fn by_node(mut self, nodes: u32) -> Vec<(NodeId, f64)> {
        if self.everyone != 0.0 {
            self.besides.extend((0..nodes).map(|node| (NodeId(node), self.everyone)));
        }
        self.besides.sort_by_key(|&(node, _)| node);
        self.besides.dedup_by(|next, sum| {
            let same = next.0 == sum.0;
            if same {
                sum.1 += next.1;
            }
            same
        });
        self.besides.retain(|&(_, share)| share > 0.0);
        self.besides
    }
}

/// Returns the amount that every node sends to each of the others, if all send alike.
pub(crate) fn alike(nodes: u32, demands: &Demands<'_>) -> Option<f64> {
    let own = |node: NodeId| {
        let Demand { everyone, besides } = demands(node);
        let alone = besides.iter().all(|&(dst, _)| dst == node);
        alone.then(|| (everyone, besides.iter().map(|&(_, share)| share).sum::<f64>()))
    };
    let first = own(NodeId(0))?;
    (1..nodes).all(|node| own(NodeId(node)) == Some(first)).then_some(first.0).filter(|&each| each > 0.0)
}

/// Traffic, router by router.
#[derive(Clone, Debug)]
pub struct RouterTraffic {
    /// By router of the sources: the routers of the destinations, in ascending order, with the amounts.
    pub rows: Vec<Vec<(RouterId, f64)>>,
    /// By node, the amounts that it sends and receives.
    nodes: Vec<(f64, f64)>,
}

impl RouterTraffic {
    /// Sums the traffic from the nodes of each router to the nodes of each other.
    pub(crate) fn gather(topology: &dyn Topology, demands: &Demands<'_>) -> Self {
        let routers = topology.routers() as usize;
        let home: Vec<RouterId> = (0..topology.nodes()).map(|node| topology.attachment(NodeId(node)).0).collect();
        let mut of_router: Vec<Vec<NodeId>> = vec![Vec::new(); routers];
        for (node, router) in (0..).map(NodeId).zip(&home) {
            of_router[router.index()].push(node);
        }
        let mut nodes = vec![(0.0, 0.0); home.len()];
        let mut sums = vec![0.0; routers];
        let mut to_everyone = 0.0;
        let mut row = |sources: &Vec<NodeId>| {
            let mut touched: Vec<RouterId> = Vec::new();
            let mut even = 0.0;
            for &node in sources {
                let Demand { everyone, besides } = demands(node);
                nodes[node.index()].0 += everyone * home.len() as f64;
                even += everyone;
                for (dst, weight) in besides {
                    nodes[node.index()].0 += weight;
                    nodes[dst.index()].1 += weight;
                    let router = home[dst.index()];
                    if sums[router.index()] == 0.0 {
                        touched.push(router);
                    }
                    sums[router.index()] += weight;
                }
            }
            if even > 0.0 {
                to_everyone += even;
                touched.clear();
                for (router, own) in (0..).map(RouterId).zip(&of_router).filter(|(_, own)| !own.is_empty()) {
                    sums[router.index()] += even * own.len() as f64;
                    touched.push(router);
                }
            }
            touched.sort_unstable();
            touched.dedup();
            touched.into_iter().map(|router| (router, std::mem::take(&mut sums[router.index()]))).collect()
        };
        let rows = of_router.iter().map(&mut row).collect();
        nodes.iter_mut().for_each(|(_, received)| *received += to_everyone);
        Self { rows, nodes }
    }

    /// Returns the loads of all channels, by a routing's own method.
    pub(crate) fn loads(&self, topology: &dyn Topology, method: &dyn OutputLoads) -> Vec<f64> {
        let channels = Channels::new(topology);
        let mut load = method.output_loads(self);
        load.resize(channels.count() as usize, 0.0);
        for (node, &(sent, received)) in (0..).map(NodeId).zip(&self.nodes) {
            let (router, port) = topology.attachment(node);
            load[channels.injection(node).index()] = sent;
            load[channels.output(router, port).index()] = received;
        }
        load
    }
}

/// Flows that represent all flows if every node sends equally to each of the others.
///
/// The promise: a router's output channels to routers are divided into orbits, all channels of an orbit carry equal
/// loads, and their sum is the sum of the loads of the flow sets on the orbit, each times its `copies`. It holds if a
/// group of automorphisms of topology and routing maps any destination to one of a set, and the orbits are the orbits
/// of the group. `worst_permutation` relies on the orbits alone: all channels of an orbit have equal bandwidths, and
/// permutations of the sources and of the destinations map the flows across one to the flows across another.
pub struct Symmetry<'a> {
    /// Flows to follow.
    pub flows: Vec<FlowSet>,
    /// Number of the orbit of an output channel. Numbers are small.
    pub orbit: Box<dyn Fn(RouterId, PortId) -> u32 + 'a>,
}

/// Flows from all nodes of some routers to all nodes of others.
#[derive(Clone, Debug)]
pub struct FlowSet {
    /// Sending routers. `None`: all routers.
    pub from: Option<Vec<RouterId>>,
    /// Receiving routers.
    pub to: Vec<RouterId>,
    /// Multiplicity of the flows.
    pub copies: f64,
}

/// A routing's own method for its exact loads, faster than following every packet.
pub trait OutputLoads {
    /// Returns the loads of the output channels of all routers, by channel. Channels to nodes may be left 0.
    fn output_loads(&self, traffic: &RouterTraffic) -> Vec<f64>;
}
