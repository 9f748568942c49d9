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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, NodeId, PortId, RouterId};

use crate::network::{Topology, Views};
use crate::shorthand::Settings;
use crate::views::Hierarchy;
use crate::wires::{ChannelClass, Endpoint, MAX_NODES, MAX_PORTS, MAX_ROUTERS, product};

/// Fat-tree of equal switches (k-ary n-tree).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatTreeSpec {
    /// Number of down ports of each switch, which equals that of its up ports: a switch has 2k ports.
    #[schemars(range(min = 2, max = 32767), extend("x-example" = "4"))]
    pub k: u64,
    /// Levels of switches. The tree has k^n nodes, at most 2^24, and n k^(n-1) switches, at most 2^24.
    #[schemars(range(min = 1, max = 20), extend("x-example" = "2"))]
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
pub type FatTree = Hierarchy;

impl FatTree {
    /// Builds the tree. Fails if k or n is out of range, or if the tree would have more than `MAX_NODES` nodes or
    /// `MAX_ROUTERS` routers.
    pub fn new(spec: &FatTreeSpec) -> Result<Self, KeyError> {
        let (k, levels) = check(spec)?;
        Ok(Self::of(k, levels))
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

    fn views(&self) -> Views<'_> {
        Views { hierarchy: Some(self), consecutive: true, ..Views::default() }
    }
}
