//! Extended generalised fat-trees (Öhring, Ibel, Das and Kumar, "On generalized fat trees", IPPS 1995) with parallel
//! wires (parallel ports generalised fat-trees, PGFT: Zahavi, "Fat-tree routing and node ordering providing contention
//! free traffic for MPI global collectives", JPDC 2012).
//!
//! XGFT(h; m_1 ... m_h; w_1 ... w_h) has h levels of switches. A switch of level l (0 is the leaf level) has m_(l+1)
//! children, each by p_(l+1) parallel wires, and w_(l+2) parents, each by p_(l+2) wires. A node has one port:
//! w_1 = p_1 = 1. There are m_1 ... m_h places for nodes, and level l has w_2 ... w_(l+1) m_(l+2) ... m_h switches.
//! Numbering:
//!
//! - Switches are numbered level by level. The number of a switch within level l has the digits d_0 (lowest) to
//!   d_(h-2). Digit d_i has the radix w_(i+2) for i < l, and m_(i+2) from i = l on.
//! - Ports `0..m p` of a switch lead down, by child, then by wire. The up ports follow, by parent, then by wire.
//! - Node x is attached to port `x mod m_1` of leaf switch `x / m_1`.
//! - A way up from level l replaces digit l, which is the number of the child, by the number of the parent.
//!
//! A switch of level l is thus an ancestor of the nodes x with `x / (m_1 ... m_(l+1))` equal to its digits from place l
//! on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::KeyError;

use crate::shorthand::Settings;
use crate::views::{Hierarchy, TreeShape};

/// Maximum number of levels of switches.
const MAX_LEVELS: usize = 20;

/// Tree of switches whose levels differ in their numbers of children, parents and wires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct XgftSpec {
    /// Number of children of a switch, for each level from the leaves up. The first is the number of nodes of a leaf
    /// switch.
    #[schemars(length(min = 1, max = 20), inner(range(min = 1, max = 65535)), extend("x-example" = "[8, 4]"))]
    pub m: Vec<u64>,
    /// Number of parents of a node (1), and of a switch of each level below the top. The tree is tapered where it is
    /// smaller than the previous number of `m`.
    #[schemars(length(min = 1, max = 20), inner(range(min = 1, max = 65534)), extend("x-example" = "[1, 4]"))]
    pub w: Vec<u64>,
    /// Number of parallel wires from a node (1), and from a switch of each level below the top, to each parent.
    /// Default: 1 on all levels.
    #[schemars(length(min = 1, max = 20), inner(range(min = 1, max = 65534)), extend("x-example" = "[1, 1]"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<Vec<u64>>,
    /// Number of nodes, which fill the tree from the first leaf switch on. The ports of further nodes are unconnected.
    /// Default: m_1 m_2 ... nodes, on all ports.
    #[schemars(range(min = 1, max = 16_777_216))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<u64>,
}

impl XgftSpec {
    /// Reads the shorthand `m=16x8x4,w=1x8x4`, with `p` and `hosts` if given.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        let settings = Settings::read(text, &["m", "w", "p", "hosts"])?;
        let p = settings.text("p").map(|_| settings.numbers("p")).transpose()?;
        let hosts = settings.number_if_given("hosts")?;
        Ok(Self { m: settings.numbers("m")?, w: settings.numbers("w")?, p, hosts })
    }

    /// Returns the shape of the tree. Fails at the key whose numbers are out of range.
    fn shape(&self) -> Result<TreeShape, KeyError> {
        let levels = self.m.len();
        if !(1..=MAX_LEVELS).contains(&levels) {
            let message = format!("`m` has {levels} numbers; 1 to {MAX_LEVELS} levels are allowed");
            return Err(KeyError::new("m", message));
        }
        let ones = vec![1; levels];
        let p = self.p.as_ref().unwrap_or(&ones);
        for (key, numbers) in [("m", &self.m), ("w", &self.w), ("p", p)] {
            if numbers.len() != levels {
                let message = format!("`{key}` has {} numbers for {levels} in `m`", numbers.len());
                return Err(KeyError::new(key, message));
            }
            numbers.iter().try_for_each(|&number| TreeShape::check_number(key, number))?;
            if key != "m" && numbers[0] != 1 {
                let message =
                    format!("`{key}` begins with {}; a node has 1 port, so that only 1 is allowed", numbers[0]);
                return Err(KeyError::new(key, message));
            }
        }
        let shape = |w: &[u64], p: &[u64]| TreeShape { m: self.m.clone(), w: w.to_vec(), p: p.to_vec() };
        shape(&ones, &ones).check("m")?;
        shape(&self.w, &ones).check("w")?;
        let shape = shape(&self.w, p);
        shape.check("p")?;
        Ok(shape)
    }
}

/// Tree of switches in levels.
pub type Xgft = Hierarchy;

impl Xgft {
    /// Builds the tree. Fails if a number is 0, if `w`, `p` or `hosts` do not fit `m`, or if the tree would have more
    /// than `MAX_NODES` nodes, `MAX_ROUTERS` routers, `MAX_PORTS` ports on a router or `MAX_ALL_PORTS` ports.
    pub fn xgft(spec: &XgftSpec) -> Result<Self, KeyError> {
        let shape = spec.shape()?;
        let places = shape.m.iter().product();
        let hosts = spec.hosts.unwrap_or(places);
        if !(1..=places).contains(&hosts) {
            let message = format!("`hosts` is {hosts}; this tree has places for 1 to {places} nodes");
            return Err(KeyError::new("hosts", message));
        }
        Ok(Self::of("xgft", &shape, hosts as u32, 0))
    }
}
