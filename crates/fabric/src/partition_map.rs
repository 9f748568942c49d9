//! Which partition owns which router, and how a partition numbers what it owns.

use topology::{Channels, Endpoint, Topology};
use units::{NodeId, PortId, RouterId};

/// The division of a network: each router, with its nodes, belongs to one partition.
#[derive(Debug)]
pub struct PartitionMap {
    /// The routers of each partition, in ascending order of their locality.
    routers: Vec<Vec<u32>>,
    /// The nodes of each partition, in the order of their routers.
    nodes: Vec<Vec<u32>>,
    /// For each router: its partition, and its first port in that partition's numbering.
    home: Vec<(u16, u32)>,
    /// For each node: its partition, and its number there.
    node_home: Vec<(u16, u32)>,
    /// The number of ports of each partition.
    ports: Vec<u32>,
}

/// The partition that a channel leads to, or that feeds it, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub partition: u16,
    pub index: u32,
}

impl PartitionMap {
    /// Divides a network into so many parts (fewer if it has fewer routers), of nearly equal numbers of ports, keeping
    /// together what the topology says is near.
    pub fn new(topology: &dyn Topology, parts: usize) -> Self {
        let channels = Channels::new(topology);
        let total = u64::from(channels.ports());
        let parts = parts.clamp(1, topology.routers().clamp(1, 1 << 10) as usize);
        let mut order: Vec<u32> = (0..topology.routers()).collect();
        order.sort_by_key(|&router| topology.locality(RouterId(router)));
        let mut map = Self {
            routers: vec![Vec::new(); parts],
            nodes: vec![Vec::new(); parts],
            home: vec![(0, 0); order.len()],
            node_home: vec![(0, 0); topology.nodes() as usize],
            ports: vec![0; parts],
        };
        let mut before = 0;
        for router in order {
            let part = (before * parts as u64 / total.max(1)).min(parts as u64 - 1) as usize;
            map.adopt(topology, RouterId(router), part);
            before += u64::from(topology.ports(RouterId(router)));
        }
        map
    }

    fn adopt(&mut self, topology: &dyn Topology, router: RouterId, part: usize) {
        self.routers[part].push(router.0);
        self.home[router.index()] = (part as u16, self.ports[part]);
        self.ports[part] += u32::from(topology.ports(router));
        for port in 0..topology.ports(router) {
            if let Endpoint::Node(node) = topology.endpoint(router, PortId(port)) {
                self.node_home[node.index()] = (part as u16, self.nodes[part].len() as u32);
                self.nodes[part].push(node.0);
            }
        }
    }

    /// The number of partitions.
    pub fn parts(&self) -> usize {
        self.routers.len()
    }

    /// The routers of a partition.
    pub fn routers(&self, part: usize) -> &[u32] {
        &self.routers[part]
    }

    /// The nodes of a partition.
    pub fn nodes(&self, part: usize) -> &[u32] {
        &self.nodes[part]
    }

    /// A port: both its input and its output channel have this number in its partition.
    pub(crate) fn port(&self, router: RouterId, port: PortId) -> Place {
        let (partition, first) = self.home[router.index()];
        Place { partition, index: first + u32::from(port.0) }
    }

    /// A node's injection channel: after all ports of its partition.
    pub(crate) fn injection(&self, node: NodeId) -> Place {
        let (partition, number) = self.node_home[node.index()];
        Place { partition, index: self.ports[partition as usize] + number }
    }
}
