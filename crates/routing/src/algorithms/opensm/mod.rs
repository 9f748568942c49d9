//! Routing engines of OpenSM, the subnet manager of InfiniBand, as makers of tables: one output for each router and
//! destination node, and for some engines a lane (a virtual lane by way of the service level) for each pair.
//!
//! `minhop`, `updn`, `ftree` and `lash` make the entries of OpenSM 3.3.23, for routers whose GUIDs are in the order of
//! their numbers, port p of a router being port p + 1 of the switch, and LMC 0 (one LID a port), except `ftree` where
//! wires join switches of one level. `dfsssp` and `nue` have a balance that is deliberately not OpenSM's. Tests compare
//! them with OpenSM itself (`tests/opensm/`).
//!
//! OpenSM falls back to `minhop` if an engine fails on a network; here the engine is refused, with the reason. Not
//! modelled: LMC above 0, guid files of compute and I/O nodes, port shifting and scattering, switches as destinations.

mod balance;
mod cycles;
pub mod dfsssp;
pub mod ftree;
mod lanes;
pub mod lash;
pub mod minhop;
pub mod nue;
pub mod updn;

use topology::{Endpoint, Topology};
use units::{KeyError, NodeId, PortId, RouterId};

use super::tables::{Neighbours, UNREACHED, in_parts, refuse_too_many};

/// Network as OpenSM sees it.
pub(super) struct Subnet<'a> {
    topology: &'a dyn Topology,
    /// Wires between routers, each counted at both ends.
    pub wires: Neighbours,
    /// Router and port of each node.
    pub homes: Vec<(RouterId, PortId)>,
    /// Nodes of each router, in the order of ports.
    pub nodes: Vec<Vec<NodeId>>,
}

impl<'a> Subnet<'a> {
    /// Creates the network of an engine.
    ///
    /// # Errors
    /// If a table of the network would have more than 2^28 entries.
    pub fn new(topology: &'a dyn Topology, kind: &str) -> Result<Self, KeyError> {
        refuse_too_many(topology, kind, (topology.nodes(), "node"))?;
        let homes: Vec<(RouterId, PortId)> =
            (0..topology.nodes()).map(|node| topology.attachment(NodeId(node))).collect();
        let mut nodes = vec![Vec::new(); topology.routers() as usize];
        for (node, (router, _)) in (0..).map(NodeId).zip(&homes) {
            nodes[router.index()].push(node);
        }
        for on_router in &mut nodes {
            on_router.sort_by_key(|node| homes[node.index()].1);
        }
        Ok(Self { topology, wires: Neighbours::new(topology), homes, nodes })
    }

    /// Iterates over all routers.
    pub fn routers(&self) -> impl Iterator<Item = RouterId> + use<> {
        (0..self.wires.routers()).map(RouterId)
    }

    /// Returns the routers with the most nodes first, in the order in which `minhop` and `updn` take destinations.
    pub fn by_load(&self) -> Vec<RouterId> {
        let mut routers: Vec<RouterId> = self.routers().collect();
        routers.sort_by_key(|router| std::cmp::Reverse(self.nodes[router.index()].len()));
        routers
    }

    /// Iterates over the nodes of some routers, each with its router.
    pub fn nodes_of<'b>(&'b self, routers: &'b [RouterId]) -> impl Iterator<Item = (RouterId, NodeId)> + 'b {
        routers.iter().flat_map(|&router| self.nodes[router.index()].iter().map(move |&node| (router, node)))
    }

    /// Returns the distance of each router from the nearest of some routers.
    pub fn distances(&self, from: &[RouterId]) -> Vec<u32> {
        let mut distances = vec![UNREACHED; self.nodes.len()];
        let mut reached = Vec::new();
        for &router in from {
            if std::mem::replace(&mut distances[router.index()], 0) == UNREACHED {
                reached.push(router);
            }
        }
        let mut next = 0;
        while let Some(&router) = reached.get(next) {
            next += 1;
            for &(_, beyond) in self.wires.of(router) {
                if distances[beyond.index()] == UNREACHED {
                    distances[beyond.index()] = distances[router.index()] + 1;
                    reached.push(beyond);
                }
            }
        }
        distances
    }

    /// Returns, by wire, the number of the wire's other end.
    pub fn other_ends(&self) -> Vec<usize> {
        let other = |(router, port)| match self.topology.endpoint(router, port) {
            Endpoint::Router(next, in_port) => {
                self.wires.range(next).start + self.wires.of(next).partition_point(|&(port, _)| port < in_port)
            }
            // No wire between routers ends there.
            Endpoint::Node(_) | Endpoint::Unconnected => 0,
        };
        self.routers()
            .flat_map(|router| self.wires.of(router).iter().map(move |&(port, _)| (router, port)))
            .map(other)
            .collect()
    }

    /// Returns an error unless all routers with nodes are connected.
    pub fn check_connected(&self) -> Result<(), KeyError> {
        let Some(&(first, _)) = self.homes.first() else { return Ok(()) };
        let distances = self.distances(&[first]);
        let lost = self.homes.iter().find(|(router, _)| distances[router.index()] == UNREACHED);
        lost.map_or(Ok(()), |&(router, _)| Err(in_parts(first, router)))
    }
}
