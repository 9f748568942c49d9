//! Endpoints of a machine at the nodes of a network's islands.

use units::{KeyError, NodeId};

use crate::wires::MAX_NODES;

/// Order in which endpoints take the nodes of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// All endpoints of a node, node by node.
    #[default]
    ByNode,
    /// The first endpoint of each node, then the second of each, and so on, as on rails.
    ByRail,
}

/// Rule by which endpoints have ports in a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacesRule {
    /// Number of nodes of the machine.
    pub nodes: u32,
    /// Endpoints of a node.
    pub per_node: u32,
    /// Endpoints of each node that have a port, counted within the node, in ascending order. `None`: all.
    pub members: Option<Vec<u32>>,
    /// Order in which they take the nodes of the islands.
    pub order: Order,
    /// Number of neighbouring nodes whose endpoints come by rail, before those of the next nodes. `None`: all nodes.
    pub rail_nodes: Option<u32>,
    /// Number of nodes of an island's topology.
    pub island: u32,
}

/// Positions of endpoints in a network: the island and the island's node of each. Nodes of islands may be left free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Number of endpoints of the machine.
    endpoints: u32,
    /// Number of nodes of an island.
    island: u32,
    islands: u32,
    table: Option<Table>,
}

/// Places that do not follow from numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Table {
    /// Position of each endpoint, island by island. `NONE`: it has no port.
    position: Vec<u32>,
    /// Endpoint at each position.
    endpoint: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Places {
    /// Returns the places in a network of one island, with an endpoint at each node.
    pub fn all(endpoints: u32) -> Self {
        Self { endpoints, island: endpoints, islands: 1, table: None }
    }

    /// Returns the places by a rule.
    ///
    /// # Errors
    /// If the machine has no endpoints or too many, at `nodes`. If a member is not in the node, at `endpoints`.
    pub fn by_rule(rule: &PlacesRule) -> Result<Self, KeyError> {
        let refused = |key: &str, message: String| Err(KeyError::new(key, message));
        let endpoints = u64::from(rule.nodes) * u64::from(rule.per_node);
        if endpoints == 0 || endpoints > u64::from(MAX_NODES) {
            return refused("nodes", format!("the machine has {endpoints} endpoints; 1 to {MAX_NODES} are allowed"));
        }
        let members = rule.members.clone().unwrap_or_else(|| (0..rule.per_node).collect());
        if let Some(member) = members.iter().find(|&&member| member >= rule.per_node) {
            let last = rule.per_node - 1;
            return refused("endpoints", format!("a node has no endpoint {member}: it has endpoints 0 to {last}"));
        }
        let mut table = Table { position: vec![NONE; endpoints as usize], endpoint: Vec::new() };
        // By node, each node comes alone.
        let together = match rule.order {
            Order::ByNode => 1,
            Order::ByRail => rule.rail_nodes.unwrap_or(rule.nodes).clamp(1, rule.nodes),
        };
        let pairs = (0..rule.nodes).step_by(together as usize).flat_map(|first| {
            let nodes = first..(first + together).min(rule.nodes);
            members.iter().flat_map(move |&member| nodes.clone().map(move |node| (node, member)))
        });
        for (position, (node, member)) in (0..).zip(pairs) {
            let endpoint = node * rule.per_node + member;
            table.position[endpoint as usize] = position;
            table.endpoint.push(endpoint);
        }
        let islands = (table.endpoint.len() as u32).div_ceil(rule.island.max(1)).max(1);
        Ok(Self { endpoints: endpoints as u32, island: rule.island, islands, table: Some(table) })
    }

    /// Returns the number of endpoints of the machine, with or without a port.
    pub fn endpoints(&self) -> u32 {
        self.endpoints
    }

    /// Returns the number of endpoints that have a port.
    pub fn ports(&self) -> u32 {
        self.table.as_ref().map_or(self.endpoints, |table| table.endpoint.len() as u32)
    }

    /// Returns the number of nodes of an island.
    pub fn island_nodes(&self) -> u32 {
        self.island
    }

    /// Returns the number of islands.
    pub fn islands(&self) -> u32 {
        self.islands
    }

    /// Returns the island of an endpoint, and its node there. `None`: it has no port.
    #[inline]
    pub fn place(&self, endpoint: NodeId) -> Option<(u32, NodeId)> {
        let Some(table) = &self.table else { return Some((0, endpoint)) };
        let position = *table.position.get(endpoint.index())?;
        (position != NONE).then(|| (position / self.island, NodeId(position % self.island)))
    }

    /// Returns the endpoint at a node of an island. `None`: the node is left free.
    pub fn node(&self, island: u32, own: NodeId) -> Option<NodeId> {
        let Some(table) = &self.table else { return Some(own) };
        table.endpoint.get((island * self.island + own.0) as usize).copied().map(NodeId)
    }

    /// Returns whether a packet can go from one endpoint to another.
    pub fn joins(&self, from: NodeId, to: NodeId) -> bool {
        match (self.place(from), self.place(to)) {
            (Some((from, _)), Some((to, _))) => from == to,
            _ => false,
        }
    }
}
