//! `ftree`: OpenSM's engine for fat-trees (Zahavi, Johnson, Kerbyson and Lang, "Optimized InfiniBand fat-tree routing
//! for shift all-to-all communication patterns", Concurrency and Computation 22, 2010).
//!
//! Levels are the distances from the leaves, which are the routers with nodes. Leaf by leaf and node by node, the
//! engine climbs from the leaf by the parent, and by its wire, that has been taken by the fewest nodes: this is the way
//! down to the node. From each router of the climb it sets the way of all other routers below it, up by the wires that
//! fewest nodes have taken upward. Parents beside the climb get a way down too, by the first of their least used wires,
//! which is not counted. Leaves and neighbours are taken in the order in which a search from the first leaf finds them,
//! port by port.
//!
//! Wires within a level are taken by the routers beside the climb, before those above and below, as a way to the climb.
//! A shorter way replaces a longer one. These ways can form cycles, which the check for deadlock finds. Of 60 random
//! trees with such wires, 44 have the entries of OpenSM. In the others OpenSM takes the nodes in another order. Nearly
//! all of these have several nodes on leaves that are wired to one another. Ways of more than `MAX_HOPS` hops are left
//! out. OpenSM may leave a leaf without any way to a node; such a network is refused here, with both leaves.
//!
//! OpenSM refuses trees whose routers of one level have different numbers of parents, children or wires to one of them,
//! and trees of fewer than 2 or more than 8 levels.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use units::{KeyError, NodeId, RouterId};

use super::Subnet;
use crate::Routing;
use crate::algorithms::table::{Forwarding, NO_PORT};
use crate::algorithms::tables::UNREACHED;

/// Trees: OpenSM's `ftree`, which counts the nodes that each wire up and down has been given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FtreeSpec {}

impl FtreeSpec {
    /// Builds the routing on a topology.
    ///
    /// # Errors
    /// If the topology is no fat-tree of 2 to 8 levels, if routers cannot reach one another, if a leaf has no way to a
    /// node, or if the table would have more than 2^28 entries.
    pub fn build(&self, topology: &dyn Topology) -> Result<impl Routing + use<>, KeyError> {
        let subnet = Subnet::new(topology, "ftree")?;
        subnet.check_connected()?;
        let mut tree = Tree::new(&subnet)?;
        let mut leaves: Vec<RouterId> = subnet.routers().filter(|at| !subnet.nodes[at.index()].is_empty()).collect();
        leaves.sort_by_key(|leaf| tree.order[leaf.index()]);
        for (leaf, node) in subnet.nodes_of(&leaves) {
            tree.hops.fill(UNREACHED);
            tree.hops[leaf.index()] = 0;
            tree.climb(leaf, node, true);
            if let Some(&cut) = leaves.iter().find(|&&from| from != leaf && *tree.output(from, node) == NO_PORT) {
                return Err(no_tree(&format!("router {cut} has no way up and down to the nodes of router {leaf}")));
            }
        }
        Forwarding { ports: tree.ports, lanes: Vec::new() }.build("ftree", topology)
    }
}

/// Wires from a router to one neighbour.
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
    /// Groups to routers of the same level, by router.
    beside: Vec<Vec<Group>>,
    /// Place of each router in the search from the first leaf.
    order: Vec<usize>,
    /// Hops from each router to the node that is being taken.
    hops: Vec<u32>,
    /// By wire from a child: the nodes whose way down it is.
    downward: Vec<u32>,
    /// By wire from a parent: the nodes whose way up it is.
    upward: Vec<u32>,
    /// Output by router and node.
    ports: Vec<u16>,
}

/// Largest number of levels.
const MAX_LEVELS: u32 = 8;

/// Largest number of hops of a way.
const MAX_HOPS: u32 = 64;

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
        let order = order(subnet, &levels, leaves[0]);
        let groups = |router: RouterId, side: Ordering| {
            let mut groups: BTreeMap<(usize, RouterId), Vec<(usize, usize)>> = BTreeMap::new();
            for wire in subnet.wires.range(router) {
                let end = subnet.wires.at(wire).1;
                if levels[end.index()].cmp(&levels[router.index()]) == side && end != router {
                    groups.entry((order[end.index()], end)).or_default().push((wire, other_ends[wire]));
                }
            }
            groups.into_iter().map(|((_, end), wires)| Group { end, wires }).collect::<Vec<_>>()
        };
        let [up, down, beside] = [Ordering::Greater, Ordering::Less, Ordering::Equal]
            .map(|side| subnet.routers().map(|at| groups(at, side)).collect::<Vec<_>>());
        let wires = subnet.wires.len();
        let ports = vec![NO_PORT; subnet.nodes.len() * subnet.homes.len()];
        let hops = vec![UNREACHED; subnet.nodes.len()];
        let (downward, upward) = (vec![0; wires], vec![0; wires]);
        let made = Self { subnet, up, down, beside, order, hops, downward, upward, ports };
        made.check_levels(&levels)?;
        Ok(made)
    }

    /// Checks that routers of a level are alike.
    fn check_levels(&self, levels: &[u32]) -> Result<(), KeyError> {
        let mut first_of: BTreeMap<u32, RouterId> = BTreeMap::new();
        for router in self.subnet.routers() {
            let level = levels[router.index()];
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
        self.join(at, None, node, |tree| &tree.beside);
        let groups = &self.up[at.index()];
        let taken = |group: &Group| group.wires.iter().map(|&(wire, _)| self.downward[wire]).sum::<u32>();
        let Some(main) = (0..groups.len()).min_by_key(|&group| (taken(&groups[group]), group)) else { return };
        let others = (0..groups.len()).filter(|&group| group != main);
        let hops = self.hops[at.index()] + 1;
        for group in std::iter::once(main).chain(others) {
            let Group { end: parent, ref wires } = self.up[at.index()][group];
            let Some(&(wire, back)) = wires.iter().min_by_key(|&&(wire, _)| (self.downward[wire], wire)) else {
                continue;
            };
            let is_counted = group == main && counted;
            if self.hops[parent.index()] <= hops && !is_counted {
                continue;
            }
            *self.output(parent, node) = self.port(back);
            self.hops[parent.index()] = hops;
            self.downward[wire] += u32::from(is_counted);
            self.descend((parent, at), node);
            self.climb(parent, node, is_counted);
        }
    }

    /// Sets the way to a node at all routers below and beside one that has a way, except by the neighbour `from`.
    fn descend(&mut self, (at, from): (RouterId, RouterId), node: NodeId) {
        self.join(at, Some(from), node, |tree| &tree.down);
        self.join(at, Some(from), node, |tree| &tree.beside);
    }

    /// Sets the way to a node at neighbours of a router by way of the router, and at those below and beside them.
    fn join(&mut self, at: RouterId, from: Option<RouterId>, node: NodeId, side: fn(&Self) -> &Vec<Vec<Group>>) {
        let hops = self.hops[at.index()] + 1;
        for group in 0..side(self)[at.index()].len() {
            let Group { end, ref wires } = side(self)[at.index()][group];
            let least = wires.iter().min_by_key(|&&(wire, _)| (self.upward[wire], wire));
            let Some(&(wire, back)) = least.filter(|_| Some(end) != from) else { continue };
            if hops < self.hops[end.index()] && hops <= MAX_HOPS {
                *self.output(end, node) = self.port(back);
                self.hops[end.index()] = hops;
                self.upward[wire] += 1;
                self.descend((end, at), node);
            }
        }
    }
}

/// Returns the place of each router in a search from a leaf over wires between levels, port by port.
fn order(subnet: &Subnet<'_>, levels: &[u32], leaf: RouterId) -> Vec<usize> {
    let mut order = vec![usize::MAX; levels.len()];
    order[leaf.index()] = 0;
    let mut found = vec![leaf];
    let mut next = 0;
    while let Some(&router) = found.get(next) {
        next += 1;
        for &(_, beyond) in subnet.wires.of(router) {
            if order[beyond.index()] == usize::MAX && levels[beyond.index()] != levels[router.index()] {
                order[beyond.index()] = found.len();
                found.push(beyond);
            }
        }
    }
    order
}

fn no_tree(why: &str) -> KeyError {
    KeyError::new("kind", format!("ftree is for fat-trees, and this is none: {why} (OpenSM falls back to minhop)"))
}
