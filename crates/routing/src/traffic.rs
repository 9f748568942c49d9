//! What nodes send to one another, as the exact analyses take it.

use topology::{Channels, Topology};
use units::{NodeId, RouterId};

/// Whom a node sends to, and how much to each: fractions of its injection link's bandwidth at offered load 1.0. They
/// sum to at most 1 (to less if a node sends less than others). A node that sends to itself loads its injection and its
/// ejection channel.
pub type Traffic<'a> = dyn Fn(NodeId) -> Vec<(NodeId, f64)> + 'a;

/// A traffic, router by router.
#[derive(Clone, Debug)]
pub struct RouterTraffic {
    /// By router of the sources: the routers of the destinations, in ascending order, and how much goes there.
    pub rows: Vec<Vec<(RouterId, f64)>>,
    /// By node, what it sends and what it receives.
    nodes: Vec<(f64, f64)>,
}

impl RouterTraffic {
    /// Adds up what the nodes of each router send to those of each other.
    pub(crate) fn gather(topology: &dyn Topology, traffic: &Traffic<'_>) -> Self {
        let routers = topology.routers() as usize;
        let home: Vec<RouterId> = (0..topology.nodes()).map(|node| topology.attachment(NodeId(node)).0).collect();
        let mut of_router: Vec<Vec<NodeId>> = vec![Vec::new(); routers];
        for (node, router) in (0..).map(NodeId).zip(&home) {
            of_router[router.index()].push(node);
        }
        let mut nodes = vec![(0.0, 0.0); home.len()];
        let mut sums = vec![0.0; routers];
        let mut row = |sources: &Vec<NodeId>| {
            let mut touched: Vec<RouterId> = Vec::new();
            for &node in sources {
                for (dst, weight) in traffic(node) {
                    nodes[node.index()].0 += weight;
                    nodes[dst.index()].1 += weight;
                    let router = home[dst.index()];
                    if sums[router.index()] == 0.0 {
                        touched.push(router);
                    }
                    sums[router.index()] += weight;
                }
            }
            touched.sort_unstable();
            touched.dedup();
            touched.into_iter().map(|router| (router, std::mem::take(&mut sums[router.index()]))).collect()
        };
        Self { rows: of_router.iter().map(&mut row).collect(), nodes }
    }

    /// The loads of all channels, by a routing's own method.
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

/// A routing's own method for the exact loads that it makes, faster than to follow every packet.
pub trait OutputLoads {
    /// The loads of the output channels of all routers, by channel; those of the channels to nodes may be left 0.
    fn output_loads(&self, traffic: &RouterTraffic) -> Vec<f64>;
}
