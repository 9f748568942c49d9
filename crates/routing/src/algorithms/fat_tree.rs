//! Routings of trees: up to a nearest common ancestor, and down.
//!
//! A packet goes up until its switch is an ancestor of the destination, then down by the one sequence of switches that
//! leads there. The routings differ in the choice of the up port, and of one of several wires down. No packet
//! that has gone down goes up again, so that one class of virtual channels is free of deadlock.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use topology::views::{Hierarchy, Passage};
use units::{NodeId, RouterId, VcClass};

use crate::{Choice, FlowSet, Hop, Representative, Route, RouteState, Routing, Symmetry};

/// Fat-trees: up by the least congested port, and down by the least congested wire of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveUpDownSpec {}

/// Fat-trees: up by a random port and down by a random wire of several, drawn anew at every switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RandomUpDownSpec {}

/// Fat-trees: up by the ports in turn, packet by packet, and down by the wires in turn. Each switch has one counter for
/// all destinations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoundRobinUpDownSpec {}

/// Fat-trees: the destination's number names the up port, and one of several wires down. In a k-ary n-tree packets
/// leave level l by up port `(dst / k^l) mod k`. `Hierarchy::destination_port` has the rule of other trees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DModKSpec {}

impl AdaptiveUpDownSpec {
    /// Builds the routing on a fat-tree.
    pub fn build(&self, tree: &Hierarchy) -> impl Routing + 'static {
        AnyUpPort { tree: tree.clone(), choice: Choice::LeastLoaded }
    }
}

impl RandomUpDownSpec {
    /// Builds the routing on a fat-tree.
    pub fn build(&self, tree: &Hierarchy) -> impl Routing + 'static {
        AnyUpPort { tree: tree.clone(), choice: Choice::Random }
    }
}

impl RoundRobinUpDownSpec {
    /// Builds the routing on a fat-tree.
    pub fn build(&self, tree: &Hierarchy) -> impl Routing + 'static {
        AnyUpPort { tree: tree.clone(), choice: Choice::RoundRobin }
    }
}

impl DModKSpec {
    /// Builds the routing on a fat-tree.
    pub fn build(&self, tree: &Hierarchy) -> impl Routing + 'static {
        DModK { tree: tree.clone() }
    }
}

/// Routing in which all up ports are candidates, and all wires to a child.
#[derive(Debug)]
struct AnyUpPort {
    tree: Hierarchy,
    choice: Choice,
}

impl Routing for AnyUpPort {
    fn kind(&self) -> &'static str {
        match self.choice {
            Choice::LeastLoaded => "adaptive-up-down",
            Choice::RoundRobin => "round-robin-up-down",
            _ => "random-up-down",
        }
    }

    fn classes(&self) -> u8 {
        1
    }

    fn adaptive(&self) -> bool {
        self.choice == Choice::LeastLoaded
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let Passage { first, count, .. } = self.tree.passage(at, hop.dst);
        // As of `Route::only`, so that routes by one port are equal.
        let choice = if count == 1 { Choice::Random } else { self.choice };
        Route::range(first, count, VcClass(0), choice)
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        true
    }

    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        Some(representatives(&self.tree, at))
    }

    fn symmetry(&self) -> Option<Symmetry<'_>> {
        self.tree.is_full().then(|| symmetry(&self.tree))
    }

    fn minimal(&self) -> bool {
        true
    }

    fn max_routers(&self) -> u32 {
        self.tree.diameter() + 1
    }
}

/// Routing in which the destination decides the port.
///
/// All packets for a node meet at the same ancestors. In a k-ary n-tree no others use the channels down from there,
/// which carry no more than the node receives.
#[derive(Debug)]
struct DModK {
    tree: Hierarchy,
}

impl Routing for DModK {
    fn kind(&self) -> &'static str {
        "d-mod-k"
    }

    fn classes(&self) -> u8 {
        1
    }

    fn adaptive(&self) -> bool {
        false
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        Route::only(self.tree.destination_port(at, hop.dst), VcClass(0))
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        Some(fixed_representatives(&self.tree, at))
    }

    /// Permuting the values of a digit of nodes, and of the parents that it names, is an automorphism if every parent
    /// and wire is named by one digit of the node.
    fn symmetry(&self) -> Option<Symmetry<'_>> {
        let tree = &self.tree;
        let follows = |level: u8| {
            let up_ports = tree.parents(level) * u32::from(tree.wires(level + 1));
            let by_digit = tree.children(level).is_multiple_of(up_ports);
            by_digit && tree.peers(level) * tree.children(level) == tree.nodes_below(level)
        };
        (tree.is_full() && (0..tree.levels() - 1).all(follows)).then(|| symmetry(tree))
    }

    fn minimal(&self) -> bool {
        true
    }

    fn max_routers(&self) -> u32 {
        self.tree.diameter() + 1
    }
}

/// Permuting the values of each digit of nodes and switches together is an automorphism of a full tree, and so is, of
/// trees in which all up ports are candidates, permuting the parents. So all leaf switches are equivalent, and so are
/// all channels of a level up, and all down.
fn symmetry(tree: &Hierarchy) -> Symmetry<'_> {
    let leaves = tree.nodes() / tree.nodes_below(0);
    let orbit = |router, port| 2 * u32::from(tree.level(router)) + u32::from(port >= tree.up_ports(router).0);
    Symmetry {
        flows: vec![FlowSet { from: None, to: vec![RouterId(0)], copies: f64::from(leaves) }],
        orbit: Box::new(orbit),
    }
}

/// Returns the representative packets at a switch of level l if all up ports are candidates. Going down, digits l and
/// l - 1 of the destination name the next two children. Going up, the next hops depend on whether the next switch is an
/// ancestor and on digit l + 1, its child.
fn representatives(tree: &Hierarchy, at: RouterId) -> Vec<Representative> {
    let mut found: Vec<u32> = parts_below(tree, at).map(|part| part.start).collect();
    if let Some(around) = around(tree, at) {
        found.extend(parts_above(tree, at, &around).map(|part| part.start));
        // Packets that are not below the next switch either.
        found.extend([around.end, around.start.wrapping_sub(1)]);
    }
    packets(tree, found)
}

/// Returns the representative packets at a switch of level l if the destination's number names all ports. In each part
/// of the tree that `representatives` distinguishes, the next two parents or wires are periodic in that number.
fn fixed_representatives(tree: &Hierarchy, at: RouterId) -> Vec<Representative> {
    let level = tree.level(at);
    let up_ports = |level| (tree.parents(level) * u32::from(tree.wires(level + 1))).max(1);
    // Wires to a child are named as those up from its level.
    let (child, grandchild) = (level.saturating_sub(1), level.saturating_sub(2));
    let (step, period) = match (tree.wires(level), tree.wires(child)) {
        (1, 1) => (1, 1),
        (_, 1) => (tree.peers(child), up_ports(child)),
        _ => (tree.peers(grandchild), up_ports(grandchild) * up_ports(child)),
    };
    let mut found: Vec<u32> = parts_below(tree, at).flat_map(|part| each(part, step, period)).collect();
    if let Some(around) = around(tree, at) {
        let step = tree.peers(level);
        found.extend(parts_above(tree, at, &around).flat_map(|part| each(part, step, up_ports(level))));
        let next = if level + 2 < tree.levels() { up_ports(level + 1) } else { 1 };
        let beside = [0..around.start, around.end..tree.nodes()];
        found.extend(beside.into_iter().flat_map(|part| each(part, step, up_ports(level) * next)));
    }
    packets(tree, found)
}

/// Returns the nodes below each grandchild of a switch; each node if there are none.
fn parts_below(tree: &Hierarchy, at: RouterId) -> impl Iterator<Item = Range<u32>> {
    let (level, first) = (tree.level(at), tree.first_below(at));
    let size = if level < 2 { 1 } else { tree.nodes_below(level - 2) };
    (first..first + tree.nodes_below(level)).step_by(size as usize).map(move |start| start..start + size)
}

/// Returns the nodes below the parents of a switch, which are equal for all of them. `None` at the top.
fn around(tree: &Hierarchy, at: RouterId) -> Option<Range<u32>> {
    let next = tree.level(at) + 1;
    let size = (next < tree.levels()).then(|| tree.nodes_below(next))?;
    let start = tree.first_below(at) / size * size;
    Some(start..start + size)
}

/// Returns the nodes below each other child of the parents of a switch.
fn parts_above(tree: &Hierarchy, at: RouterId, around: &Range<u32>) -> impl Iterator<Item = Range<u32>> {
    let (own, size) = (tree.first_below(at), tree.nodes_below(tree.level(at)));
    let starts = around.clone().step_by(size as usize).filter(move |&start| start != own);
    starts.map(move |start| start..start + size)
}

/// Returns numbers of a range, so that each remainder modulo `period` of the quotients by `step` of all numbers of the
/// range is that of one of them.
fn each(part: Range<u32>, step: u32, period: u32) -> impl Iterator<Item = u32> {
    let first = part.start / step;
    // Wide numbers, because a period may exceed the network.
    let last = (u64::from(first) + u64::from(period)).min(u64::from(part.end.div_ceil(step))) as u32;
    (first..last).map(move |quotient| part.start.max(quotient * step)).filter(move |number| *number < part.end)
}

/// Returns the packets for nodes, if the tree has them.
fn packets(tree: &Hierarchy, mut nodes: Vec<u32>) -> Vec<Representative> {
    nodes.retain(|&node| node < tree.nodes());
    nodes.sort_unstable();
    nodes.dedup();
    nodes.into_iter().map(|node| Representative::new(NodeId(node), RouteState::default())).collect()
}
