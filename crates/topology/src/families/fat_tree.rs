//! k-ary n-trees (Petrini & Vanneschi, "k-ary n-trees: high performance networks for massively parallel architectures",
//! IPPS 1997): fat-trees of equal switches with full bisection.
//!
//! A k-ary n-tree has k^n nodes and n levels of k^(n-1) switches of 2k ports. Numbering:
//!
//! - Level 0 is the leaf level. Router `l * k^(n-1) + w` is switch w of level l; the digits of w in base k are w_0
//!   (lowest) to w_(n-2).
//! - Ports `0..k` of a switch lead down, ports `k..2k` up. The up ports of the top level are unconnected.
//! - Node x is attached to port `x mod k` of leaf switch `x / k`.
//! - Up port `k + j` of switch w of level l leads to the switch of level l + 1 whose number is w with digit l replaced
//!   by j; it arrives there at the down port `w_l`.
//!
//! A switch of level l is thus an ancestor of node x if `w / k^l = x / k^(l+1)`, and its down port towards x is digit l
//! of x. The bisection separates the nodes into halves: a k-ary n-tree is rearrangeable, so that no cut between halves
//! has fewer channels in one direction than the smaller half has nodes, and the top level's wires are one such cut if k
//! is even.

use std::any::Any;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, NodeId, PortId, RouterId};

use crate::divisor::Divisor;
use crate::network::{ChannelClass, Endpoint, MAX_NODES, MAX_PORTS, MAX_ROUTERS, Topology, product};
use crate::shorthand::Settings;

/// Fat-tree of equal switches (k-ary n-tree).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTreeSpec {
    /// Number of down ports of each switch, which equals that of its up ports: a switch has 2k ports.
    #[schemars(range(min = 2, max = 32767))]
    pub k: u64,
    /// Levels of switches. The tree has k^n nodes, at most 2^24, and n k^(n-1) switches, at most 2^24.
    #[schemars(range(min = 1, max = 20))]
    pub n: u64,
}

impl FatTreeSpec {
    /// Reads the shorthand `k=4,n=4`.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        let settings = Settings::read(text, &["k", "n"])?;
        Ok(Self { k: settings.number("k")?, n: settings.number("n")? })
    }
}

/// k-ary n-tree.
#[derive(Clone, Debug)]
pub struct FatTree {
    k: u16,
    nodes: u32,
    /// Number of switches of one level: k^(n-1).
    width: u32,
    by_k: Divisor,
    by_width: Divisor,
    /// Division by k^i, for i in `0..n`.
    by_power: Vec<Divisor>,
    /// k^i, for i in `0..n`.
    powers: Vec<u32>,
    /// Nodes below each router. Read by routing at every hop.
    subtrees: Vec<Subtree>,
}

/// Nodes below a switch: those whose number divided by k^(level + 1) is `number`.
#[derive(Clone, Copy, Debug)]
struct Subtree {
    number: u32,
    level: u8,
}

impl FatTree {
    /// Class of the channels towards the top.
    pub const UP: ChannelClass = ChannelClass(2);
    /// Class of the channels between switches towards the leaves.
    pub const DOWN: ChannelClass = ChannelClass(3);

    /// Builds the tree. Fails if k or n is out of range, or if the tree would have more than `MAX_NODES` nodes or
    /// `MAX_ROUTERS` routers.
    pub fn new(spec: &FatTreeSpec) -> Result<Self, KeyError> {
        let (k, levels) = check(spec)?;
        let powers: Vec<u32> = (0..u32::from(levels)).map(|exponent| u32::from(k).pow(exponent)).collect();
        let width = powers[powers.len() - 1];
        let mut tree = Self {
            k,
            nodes: width * u32::from(k),
            width,
            by_k: Divisor::new(u32::from(k)),
            by_width: Divisor::new(width),
            by_power: powers.iter().map(|&power| Divisor::new(power)).collect(),
            powers,
            subtrees: Vec::with_capacity(width as usize * usize::from(levels)),
        };
        for level in 0..levels {
            let below = tree.by_power[usize::from(level)];
            tree.subtrees.extend((0..width).map(|index| Subtree { number: below.quotient(index), level }));
        }
        Ok(tree)
    }

    /// Returns the number of down ports of a switch, which equals that of its up ports. Up ports are `k..2k`.
    #[inline]
    pub fn k(&self) -> u16 {
        self.k
    }

    /// Returns the number of levels, n.
    #[inline]
    pub fn levels(&self) -> u8 {
        self.powers.len() as u8
    }

    /// Returns the level of a switch; 0 is the leaf level.
    #[inline]
    pub fn level(&self, router: RouterId) -> u8 {
        self.subtrees[router.index()].level
    }

    /// Returns whether a node is below a switch, so that only down ports lead to it.
    #[inline]
    pub fn is_ancestor(&self, router: RouterId, node: NodeId) -> bool {
        self.down_port(router, node).is_some()
    }

    /// Returns the down port of a switch that leads towards a node; `None` if the node is not below the switch.
    #[inline]
    pub fn down_port(&self, router: RouterId, node: NodeId) -> Option<PortId> {
        let Subtree { number, level } = self.subtrees[router.index()];
        let (subtree, digit) = self.by_k.split(self.by_power[usize::from(level)].quotient(node.0));
        (subtree == number).then_some(PortId(digit as u16))
    }

    /// Returns a digit of a node's number in base k. Place 0 is the lowest; digits at places from n on are 0.
    ///
    /// Destination-based routing (D-mod-K) goes up from level l by port `k + digit(destination, l)`.
    #[inline]
    pub fn digit(&self, node: NodeId, place: u8) -> u16 {
        self.by_k.remainder(self.by_power[usize::from(place)].quotient(node.0)) as u16
    }

    /// Returns the number of a router within its level.
    fn index(&self, router: RouterId) -> u32 {
        self.by_width.remainder(router.0)
    }

    fn router(&self, level: u8, index: u32) -> RouterId {
        RouterId(u32::from(level) * self.width + index)
    }

    /// Returns a digit of a switch's number within its level.
    fn index_digit(&self, index: u32, place: u8) -> u32 {
        self.by_k.remainder(self.by_power[usize::from(place)].quotient(index))
    }

    /// Returns the number with the digit at `place` replaced.
    fn replaced(&self, index: u32, place: u8, digit: u32) -> u32 {
        index - self.index_digit(index, place) * self.powers[usize::from(place)]
            + digit * self.powers[usize::from(place)]
    }

    /// Returns the lowest and the highest level that a path between two switches must touch to change the digits in
    /// which their numbers differ; `None` if the numbers are equal.
    fn span(&self, one: u32, other: u32) -> Option<(u32, u32)> {
        let differ = |&place: &u8| self.index_digit(one, place) != self.index_digit(other, place);
        let places = 0..self.levels() - 1;
        let (lowest, highest) = (places.clone().find(differ)?, places.rev().find(differ)?);
        Some((u32::from(lowest), u32::from(highest) + 1))
    }
}

fn check(spec: &FatTreeSpec) -> Result<(u16, u8), KeyError> {
    let most = u64::from(MAX_PORTS / 2);
    if !(2..=most).contains(&spec.k) {
        let message = format!("`k` is {}; a k-ary n-tree has switches of 2k ports, k from 2 to {most}", spec.k);
        return Err(KeyError::new("k", message));
    }
    if spec.n == 0 {
        return Err(KeyError::new("n", "`n` is 0; a k-ary n-tree has at least 1 level"));
    }
    // More than 64 factors of at least 2 exceed any limit, and are not multiplied.
    let factors = |count: u64| std::iter::repeat_n(spec.k, count.min(65) as usize);
    if product(factors(spec.n), MAX_NODES).is_none() {
        let (k, n) = (spec.k, spec.n);
        let message = format!("`n` is {n}; {k}^{n} nodes are too many, at most {MAX_NODES} (2^24) are allowed");
        return Err(KeyError::new("n", message));
    }
    if product(factors(spec.n - 1).chain([spec.n]), MAX_ROUTERS).is_none() {
        let message =
            format!("`n` is {}; that makes too many switches, at most {MAX_ROUTERS} (2^24) are allowed", spec.n);
        return Err(KeyError::new("n", message));
    }
    Ok((spec.k as u16, spec.n as u8))
}

impl Topology for FatTree {
    fn kind(&self) -> &'static str {
        "fat-tree"
    }

    /// Sorts by index: switches of equal index are adjacent at any level; they share all digits but those that
    /// wires change.
    fn locality(&self, router: RouterId) -> u64 {
        let levels = u64::from(self.levels());
        let (level, a_level) = (u64::from(self.level(router)), u64::from(self.routers()) / levels);
        (u64::from(router.0) % a_level) * levels + level
    }

    fn routers(&self) -> u32 {
        self.subtrees.len() as u32
    }

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn ports(&self, _router: RouterId) -> u16 {
        2 * self.k
    }

    fn endpoint(&self, router: RouterId, port: PortId) -> Endpoint {
        let (level, index) = (self.level(router), self.index(router));
        if port.0 >= self.k {
            if level + 1 == self.levels() {
                return Endpoint::Unconnected;
            }
            let parent = self.replaced(index, level, u32::from(port.0 - self.k));
            let down = self.index_digit(index, level);
            return Endpoint::Router(self.router(level + 1, parent), PortId(down as u16));
        }
        if level == 0 {
            return Endpoint::Node(NodeId(index * u32::from(self.k) + u32::from(port.0)));
        }
        let child = self.replaced(index, level - 1, u32::from(port.0));
        let up = self.index_digit(index, level - 1) as u16;
        Endpoint::Router(self.router(level - 1, child), PortId(self.k + up))
    }

    fn attachment(&self, node: NodeId) -> (RouterId, PortId) {
        let (leaf, port) = self.by_k.split(node.0);
        (RouterId(leaf), PortId(port as u16))
    }

    fn class_names(&self) -> Vec<&str> {
        vec!["injection", "ejection", "up", "down"]
    }

    fn class(&self, router: RouterId, port: PortId) -> ChannelClass {
        if port.0 >= self.k {
            Self::UP
        } else if self.level(router) == 0 {
            ChannelClass::EJECTION
        } else {
            Self::DOWN
        }
    }

    /// Returns the length of a walk over levels, from one end's to the other's, that covers every digit in which the
    /// two differ. A step between levels l and l + 1 may change digit l of the switch's number and no other.
    fn distance(&self, from: RouterId, to: RouterId) -> u32 {
        let (one, other) = (u32::from(self.level(from)), u32::from(self.level(to)));
        let (low, high) = (one.min(other), one.max(other));
        match self.span(self.index(from), self.index(to)) {
            None => high - low,
            Some((lowest, highest)) => {
                let (bottom, top) = (low.min(lowest), high.max(highest));
                (low - bottom) + (top - bottom) + (top - high)
            }
        }
    }

    fn diameter(&self) -> u32 {
        2 * (u32::from(self.levels()) - 1)
    }

    fn bisection_channels(&self) -> Option<u64> {
        Some(u64::from(self.nodes / 2))
    }

    fn coordinate_names(&self) -> Vec<String> {
        vec!["level".into(), "index".into()]
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        vec![u32::from(self.level(router)), self.index(router)]
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
