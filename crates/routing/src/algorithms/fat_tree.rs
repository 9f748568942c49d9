//! Fat-tree routings: up to a nearest common ancestor, and down.
//!
//! A packet goes up until its switch is an ancestor of the destination, then down by the one path that leads there. The
//! three routings differ in the up port. No packet that has gone down goes up again, so that one class of virtual
//! channels is free of deadlock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use topology::views::Hierarchy;
use units::{NodeId, PortId, RouterId, VcClass};

use crate::{Choice, FlowSet, Hop, Representative, Route, RouteState, Routing, Symmetry};

/// Fat-trees: up by the least congested port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveUpDownSpec {}

/// Fat-trees: up by a random port, drawn anew at every switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RandomUpDownSpec {}

/// Fat-trees: up from level l by the port of digit l of the destination, `(dst / k^l) mod k`.
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

impl DModKSpec {
    /// Builds the routing on a fat-tree.
    pub fn build(&self, tree: &Hierarchy) -> impl Routing + 'static {
        DModK { tree: tree.clone() }
    }
}

/// Routing in which all up ports are candidates.
#[derive(Debug)]
struct AnyUpPort {
    tree: Hierarchy,
    choice: Choice,
}

impl Routing for AnyUpPort {
    fn kind(&self) -> &'static str {
        if self.adaptive() { "adaptive-up-down" } else { "random-up-down" }
    }

    fn classes(&self) -> u8 {
        1
    }

    fn adaptive(&self) -> bool {
        self.choice == Choice::LeastLoaded
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let k = self.tree.k();
        match self.tree.down_port(at, hop.dst) {
            Some(down) => Route::only(down, VcClass(0)),
            None => Route::range(PortId(k), k, VcClass(0), self.choice),
        }
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        true
    }

    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        Some(representatives(&self.tree, at, false))
    }

    fn symmetry(&self) -> Option<Symmetry<'_>> {
        Some(symmetry(&self.tree))
    }

    fn minimal(&self) -> bool {
        true
    }

    fn max_routers(&self) -> u32 {
        self.tree.diameter() + 1
    }
}

/// Routing in which the destination decides the up port.
///
/// All packets for a node meet at the same ancestors, and no others use the channels down from there: these carry no
/// more than the node receives.
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
        let up = || PortId(self.tree.k() + self.tree.digit(hop.dst, self.tree.level(at)));
        Route::only(self.tree.down_port(at, hop.dst).unwrap_or_else(up), VcClass(0))
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        Some(representatives(&self.tree, at, true))
    }

    fn symmetry(&self) -> Option<Symmetry<'_>> {
        Some(symmetry(&self.tree))
    }

    fn minimal(&self) -> bool {
        true
    }

    fn max_routers(&self) -> u32 {
        self.tree.diameter() + 1
    }
}

/// Permuting the values of each digit of nodes and switches together is an automorphism. So all leaf switches are
/// equivalent, and so are all channels of a level up, and all down. Up ports of a digit are permuted with it.
fn symmetry(tree: &Hierarchy) -> Symmetry<'_> {
    let leaves = tree.routers() / u32::from(tree.levels());
    let orbit = |router, port: PortId| 2 * u32::from(tree.level(router)) + u32::from(port.0 >= tree.k());
    Symmetry {
        flows: vec![FlowSet { from: None, to: vec![RouterId(0)], copies: f64::from(leaves) }],
        orbit: Box::new(orbit),
    }
}

/// Returns the representative packets at a switch of level l. Going down, digits l and l - 1 of the destination name
/// the next two ports. Going up, the next hops depend on whether the next switch is an ancestor and on digit l + 1, its
/// down port. If up ports follow digits (`by_digit`), digit l, the port to the next switch, matters too.
fn representatives(tree: &Hierarchy, at: RouterId, by_digit: bool) -> Vec<Representative> {
    let (k, nodes) = (u64::from(tree.k()), u64::from(tree.nodes()));
    let level = u32::from(tree.level(at));
    // Nodes below a switch of this level, of one lower and of one higher.
    let (below, lower, higher) = (k.pow(level + 1), k.pow(level), k.pow(level + 2));
    let index = u64::from(tree.coordinates(at)[1]);
    let first = index / lower * below;
    let mut found: Vec<u64> = Vec::new();
    for digit in 0..k {
        // Packets at the leaf level have no digit l - 1.
        found.extend((0..k).map(|next| first + digit * lower + next * (lower / k)));
    }
    let ports = if by_digit { k } else { 1 };
    if below < nodes {
        let around = first / higher * higher;
        let up = (0..k).flat_map(|digit| (0..ports).map(move |port| digit * below + port * lower));
        found.extend(up.clone().map(|place| around + place).filter(|node| node / below != first / below));
        // Packets that are not below the next switch either.
        let beyond = (around + higher) % nodes;
        found.extend(up.map(|place| beyond + place).filter(|_| higher < nodes));
    }
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|node| Representative::new(NodeId(node as u32), RouteState::default())).collect()
}
