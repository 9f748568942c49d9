//! Pairs of a permutation, as far as they are chosen.

use units::{ChannelId, NodeId};

use super::Search;
use super::transportation::{Cell, Transportation, UNIT};
use crate::loads::RelativeCapacity;
use crate::walk::NONE;

/// Groups of sources and targets, with the number of pairs of their nodes.
pub(super) type Flows = Vec<(u32, u32, u32)>;

/// Matching that loads a channel most.
#[derive(Clone, Debug)]
pub(super) struct Matching {
    pub channel: ChannelId,
    pub load: f64,
    /// Load of the channel, divided by its bandwidth.
    pub utilisation: f64,
    pub flows: Flows,
}

/// Permutation that is made pair by pair.
#[derive(Debug)]
pub(super) struct Pairs {
    /// By node, its partner.
    to: Vec<Option<NodeId>>,
    /// Nodes without a partner to send to, by group of sources, the next one last.
    sources: Vec<Vec<NodeId>>,
    /// Nodes that do not receive, by target, the next one last.
    targets: Vec<Vec<NodeId>>,
    /// Numbers of these nodes.
    supplies: Vec<u32>,
    demands: Vec<u32>,
}

impl Pairs {
    pub fn new(search: &Search<'_>) -> Self {
        let list = |of_node: &[u32], groups: usize| {
            let mut lists = vec![Vec::new(); groups];
            for (node, &group) in (0..search.nodes).map(NodeId).zip(of_node).rev().filter(|(_, group)| **group != NONE)
            {
                lists[group as usize].push(node);
            }
            lists
        };
        let sources = list(&search.sources.of_node, search.sources.groups.len());
        let targets = list(&search.targets.of_node, search.targets.nodes.len());
        let count = |lists: &[Vec<NodeId>]| lists.iter().map(|list| list.len() as u32).collect();
        let (supplies, demands) = (count(&sources), count(&targets));
        Self { to: vec![None; search.nodes as usize], sources, targets, supplies, demands }
    }

    /// Returns the matching of nodes without a partner that loads a channel most. `None` if the load, divided by the
    /// channel's bandwidth, is at most `bar`, or if `goes_on` ends the search.
    pub fn matching(
        &self,
        (channel, cells): (ChannelId, &[Cell]),
        capacity: &RelativeCapacity<'_>,
        bar: f64,
        goes_on: &dyn Fn() -> bool,
    ) -> Option<Matching> {
        let mut problem = Transportation::new(cells, &self.supplies, &self.demands);
        let bandwidth = capacity(channel);
        let bar = (bar * bandwidth * UNIT) as i64;
        let load = problem.solve(bar, goes_on)? as f64 / UNIT;
        Some(Matching { channel, load, utilisation: load / bandwidth, flows: problem.flows().collect() })
    }

    /// Returns the part of the nodes that have a partner.
    pub fn matched(&self) -> f64 {
        1.0 - f64::from(self.supplies.iter().sum::<u32>()) / (self.to.len() as f64)
    }

    /// Chooses the pairs of a matching.
    pub fn add(&mut self, flows: &[(u32, u32, u32)]) {
        for &(from, to, amount) in flows {
            for _ in 0..amount {
                let pair = self.sources[from as usize].pop().zip(self.targets[to as usize].pop());
                let Some((source, target)) = pair else { continue };
                self.to[source.index()] = Some(target);
                self.supplies[from as usize] -= 1;
                self.demands[to as usize] -= 1;
            }
        }
    }

    /// Returns the permutation, in which the nodes that are left send in the order of their numbers. A node sends to
    /// itself only if it is the last.
    pub fn in_order(mut self) -> Vec<NodeId> {
        let in_order = |lists: Vec<Vec<NodeId>>| {
            let mut nodes: Vec<NodeId> = lists.into_iter().flatten().collect();
            nodes.sort_unstable();
            nodes
        };
        let (sources, mut targets) = (in_order(self.sources), in_order(self.targets));
        for at in 0..sources.len() {
            if sources[at] == targets[at] {
                targets.swap(at, (at + 1) % sources.len());
            }
        }
        for (source, target) in sources.into_iter().zip(targets) {
            self.to[source.index()] = Some(target);
        }
        (0..).map(NodeId).zip(self.to).map(|(node, to)| to.unwrap_or(node)).collect()
    }
}
