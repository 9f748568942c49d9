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
//! This is the tree XGFT(n; k ... k; 1, k ... k), except that all switches are equal: those of the top level have k
//! unconnected ports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::KeyError;

use crate::shorthand::Settings;
use crate::views::{Hierarchy, TreeShape};
use crate::wires::{MAX_NODES, MAX_PORTS, MAX_ROUTERS, product};

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
        check(spec)?;
        let numbers = vec![spec.k; spec.n as usize];
        let parents = [vec![1], numbers[1..].to_vec()].concat();
        let shape = TreeShape { p: vec![1; numbers.len()], m: numbers, w: parents };
        let nodes = shape.m.iter().product::<u64>() as u32;
        Ok(Self::of("fat-tree", &shape, nodes, spec.k as u16))
    }
}

fn check(spec: &FatTreeSpec) -> Result<(), KeyError> {
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
    Ok(())
}
