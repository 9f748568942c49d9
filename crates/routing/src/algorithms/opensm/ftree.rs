//! `ftree`: OpenSM's engine for fat-trees (Zahavi, Johnson, Kerbyson and Lang, "Optimized InfiniBand fat-tree routing
//! for shift all-to-all communication patterns", Concurrency and Computation 22, 2010).
//!
//! Levels are the distances from the leaves, which are the routers with nodes. Leaf by leaf and node by node, the
//! engine climbs from the leaf by the parent, and by its wire, that has been taken by the fewest nodes: this is the way
//! down to the node. From each router of the climb it sets the way of all other routers below it, up by the wires that
//! fewest nodes have taken upward. Parents beside the climb get a way down too, by the first of their least used wires,
//! which is not counted.
//!
//! OpenSM refuses trees whose routers of one level have different numbers of parents, children or wires to one of them,
//! and trees of fewer than 2 or more than 8 levels. Wires within a level are refused here, too.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use units::{KeyError, NodeId, RouterId};

use super::Subnet;
use crate::Routing;
use crate::algorithms::table::{Forwarding, NO_PORT};

/// Trees: OpenSM's `ftree`, which counts the nodes that each wire up and down has been given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtreeSpec {}

impl FtreeSpec {
    /// Builds the routing on a topology.
    ///
    /// # Errors
    /// If the topology is no fat-tree of 2 to 8 levels, if routers cannot reach one another, or if the table would have
    /// more than 2^28 entries.
    pub fn build(&self, topology: &dyn Topology) -> Result<impl Routing + use<>, KeyError> {
        let subnet = Subnet::new(topology, "ftree")?;
        subnet.check_connected()?;
        let mut tree = Tree::new(&subnet)?;
        for leaf in subnet.routers() {
            for &node in &subnet.nodes[leaf.index()] {
                tree.climb(leaf, node, true);
            }
        }
        Forwarding { ports: tree.ports, lanes: Vec::new() }.build("ftree", topology)
    }
}

/// Wires from a router to one neighbour on the next level.
struct Group {
    end: RouterId,
    /// Each wire, and its number at the other end.
    wires: Vec<(usize, usize)>,
}

/// Tree whose ways are being set.
struct Tree<'a> {
    subnet: &'a Subnet<'a>,
    /// Groups to parents, by router.
    up: Vec<Vec<Group>>,
    /// Groups to children, by router.
    down: Vec<Vec<Group>>,
    /// By wire from a child: the nodes whose way down it is.
    downward: Vec<u32>,
    /// By wire from a parent: the nodes whose way up it is.
    upward: Vec<u32>,
    /// Output by router and node.
    ports: Vec<u16>,
}

/// Largest number of levels.
const MAX_LEVELS: u32 = 8;

impl<'a> Tree<'a> {
    fn new(subnet: &'a Subnet<'a>) -> Result<Self, KeyError> {
        let leaves: Vec<RouterId> = subnet.routers().filter(|at| !subnet.nodes[at.index()].is_empty()).collect();
        let levels = subnet.distances(&leaves);
        let top = levels.iter().copied().max().unwrap_or(0);
        if !(1..MAX_LEVELS).contains(&top) || leaves.len() < 2 {
            return Err(no_tree(&format!(
                "it has {} levels and {} routers with nodes, and needs 2 to {MAX_LEVELS} levels and at least 2 routers \
                 with nodes",
                top + 1,
                leaves.len()
            )));
        }
        let other_ends = subnet.other_ends();
        let groups = |router: RouterId, up: bool| {
            let mut groups: BTreeMap<RouterId, Vec<(usize, usize)>> = BTreeMap::new();
            for wire in subnet.wires.range(router) {
                let end = subnet.wires.at(wire).1;
                if (levels[end.index()] > levels[router.index()]) == up {
                    groups.entry(end).or_default().push((wire, other_ends[wire]));
                }
            }
            groups.into_iter().map(|(end, wires)| Group { end, wires }).collect::<Vec<_>>()
        };
        let (up, down) = subnet.routers().map(|at| (groups(at, true), groups(at, false))).unzip();
        let wires = subnet.wires.len();
        let ports = vec![NO_PORT; subnet.nodes.len() * subnet.homes.len()];
        let made = Self { subnet, up, down, downward: vec![0; wires], upward: vec![0; wires], ports };
        made.check_levels(&levels)?;
        Ok(made)
    }

    /// Checks that routers of a level are alike.
    fn check_levels(&self, levels: &[u32]) -> Result<(), KeyError> {
        let mut first_of: BTreeMap<u32, RouterId> = BTreeMap::new();
        for router in self.subnet.routers() {
            let level = levels[router.index()];
            let within = |group: &&Group| levels[group.end.index()] == level;
            if let Some(group) = self.down[router.index()].iter().find(within) {
                return Err(no_tree(&format!("routers {router} and {} are wired within level {level}", group.end)));
            }
            let first = *first_of.entry(level).or_insert(router);
            for (groups, ends) in [(&self.up, "parents"), (&self.down, "children")] {
                let (one, other) = (&groups[first.index()], &groups[router.index()]);
                let wires = one.iter().chain(other).map(|group| group.wires.len());
                if one.len() != other.len() || wires.clone().min() != wires.max() {
                    return Err(no_tree(&format!(
                        "routers {first} and {router} of level {level} have different numbers of {ends}, or of wires to \
                         them"
                    )));
                }
            }
        }
        Ok(())
    }

    fn output(&mut self, at: RouterId, node: NodeId) -> &mut u16 {
        &mut self.ports[at.index() * self.subnet.homes.len() + node.index()]
    }

    fn port(&self, wire: usize) -> u16 {
        self.subnet.wires.at(wire).0.0
    }

    /// Sets the way down to a node at all routers above one that has it. `counted` is whether wires count the node.
    fn climb(&mut self, at: RouterId, node: NodeId, counted: bool) {
        let groups = &self.up[at.index()];
        let taken = |group: &Group| group.wires.iter().map(|&(wire, _)| self.downward[wire]).sum::<u32>();
        let Some(main) = (0..groups.len()).min_by_key(|&group| (taken(&groups[group]), group)) else { return };
        let others = (0..groups.len()).filter(|&group| group != main);
        for group in std::iter::once(main).chain(others) {
            let Group { end: parent, ref wires } = self.up[at.index()][group];
            let Some(&(wire, back)) = wires.iter().min_by_key(|&&(wire, _)| (self.downward[wire], wire)) else {
                continue;
            };
            let is_main = group == main;
            if *self.output(parent, node) != NO_PORT && !(is_main && counted) {
                continue;
            }
            *self.output(parent, node) = self.port(back);
            self.downward[wire] += u32::from(is_main && counted);
            self.descend((parent, at), node);
            self.climb(parent, node, is_main && counted);
        }
    }

    /// Sets the way up to a node at all routers below one that has a way down, except below the child `from`.
    fn descend(&mut self, (at, from): (RouterId, RouterId), node: NodeId) {
        for group in 0..self.down[at.index()].len() {
            let Group { end: child, ref wires } = self.down[at.index()][group];
            let least = wires.iter().min_by_key(|&&(wire, _)| (self.upward[wire], wire));
            let Some(&(wire, back)) = least.filter(|_| child != from) else { continue };
            if *self.output(child, node) == NO_PORT && self.subnet.homes[node.index()].0 != child {
                *self.output(child, node) = self.port(back);
                self.upward[wire] += 1;
                self.descend((child, at), node);
            }
        }
    }
}

fn no_tree(why: &str) -> KeyError {
    KeyError::new("kind", format!("ftree is for fat-trees, and this is none: {why} (OpenSM falls back to minhop)"))
}
