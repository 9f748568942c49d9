//! Routers in levels: the ports and subtrees of k-ary n-trees.

use units::{NodeId, PortId, RouterId};

use crate::divisor::Divisor;
use crate::wires::ChannelClass;

/// Equal switches in levels, of which each reaches the nodes below it by one down port: a k-ary n-tree.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    pub(crate) k: u16,
    pub(crate) nodes: u32,
    /// Number of switches of one level: k^(n-1).
    width: u32,
    pub(crate) by_k: Divisor,
    by_width: Divisor,
    /// Division by k^i, for i in `0..n`.
    by_power: Vec<Divisor>,
    /// k^i, for i in `0..n`.
    powers: Vec<u32>,
    /// Nodes below each router. Read by routing at every hop.
    pub(crate) subtrees: Vec<Subtree>,
}

/// Nodes below a switch: those whose number divided by k^(level + 1) is `number`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subtree {
    number: u32,
    level: u8,
}

impl Hierarchy {
    /// Class of the channels towards the top.
    pub const UP: ChannelClass = ChannelClass(2);
    /// Class of the channels between switches towards the leaves.
    pub const DOWN: ChannelClass = ChannelClass(3);

    /// Creates a tree of checked sizes.
    pub(crate) fn of(k: u16, levels: u8) -> Self {
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
        tree
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
    pub(crate) fn index(&self, router: RouterId) -> u32 {
        self.by_width.remainder(router.0)
    }

    pub(crate) fn router(&self, level: u8, index: u32) -> RouterId {
        RouterId(u32::from(level) * self.width + index)
    }

    /// Returns a digit of a switch's number within its level.
    pub(crate) fn index_digit(&self, index: u32, place: u8) -> u32 {
        self.by_k.remainder(self.by_power[usize::from(place)].quotient(index))
    }

    /// Returns the number with the digit at `place` replaced.
    pub(crate) fn replaced(&self, index: u32, place: u8, digit: u32) -> u32 {
        index - self.index_digit(index, place) * self.powers[usize::from(place)]
            + digit * self.powers[usize::from(place)]
    }

    /// Returns the lowest and the highest level that a path between two switches must touch to change the digits in
    /// which their numbers differ; `None` if the numbers are equal.
    pub(crate) fn span(&self, one: u32, other: u32) -> Option<(u32, u32)> {
        let differ = |&place: &u8| self.index_digit(one, place) != self.index_digit(other, place);
        let places = 0..self.levels() - 1;
        let (lowest, highest) = (places.clone().find(differ)?, places.rev().find(differ)?);
        Some((u32::from(lowest), u32::from(highest) + 1))
    }
}
