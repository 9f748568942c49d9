//! Slim Fly: the graphs of diameter 2 of McKay, Miller and Širáň as a network (Besta & Hoefler, "Slim Fly: a cost
//! effective low-diameter network topology", SC 2014; the generators are those of Hafner, "Geometric realisation of the
//! graphs of McKay-Miller-Širáň", 2004).
//!
//! For a power of a prime q = 4 w + d with d of -1, 0 or 1, and a primitive element e of the field of q elements:
//!
//! - Router `(s q + x) q + y` is the router (s, x, y) of subgraph s, 0 or 1. There are 2 q^2 routers.
//! - (0, x, y) and (0, x, y') are wired if y - y' is in X, (1, m, c) and (1, m, c') if c - c' is in X'; these channels
//!   have the class `local`. (0, x, y) and (1, m, c) are wired if y = m x + c, with the class `global`.
//! - X and X' are the even and the odd powers of e up to the power q - 2 for d = 1. For d = 0 they have q / 2 powers
//!   each: 0, 2, 4, ... and 1, 3, 5, .... For d = -1, X has the even powers up to 2 w - 2 and the odd powers from
//!   2 w - 1 to 4 w - 3; X' has the odd powers up to 2 w - 1 and the even powers from 2 w to 4 w - 2.
//!
//! A router has (3 q - d) / 2 wires. Any two routers are at most 2 channels apart. No closed form of the bisection is
//! known.
//!
//! Numbering: node x is attached to port `x mod n` of router `x / n`. Of the wires, the ports of the local ones come
//! first, in ascending order of the peer, then the global ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, RouterId};

use crate::galois::Field;
use crate::shorthand::Settings;
use crate::wired::{Apart, MAX_SHORT_PORTS, Shape, WireList, Wired, nodes_on_each};
use crate::wires::ChannelClass;

/// Range of q.
const SIZES: std::ops::RangeInclusive<u64> = 3..=89;

/// Slim Fly: routers of diameter 2, near the largest number that their ports allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlimFlySpec {
    /// Size of the field, a power of a prime. There are 2 q^2 routers, each with (3q - d) / 2 wires, where d is -1, 0
    /// or 1 and q - d is a multiple of 4.
    #[schemars(range(min = 3, max = 89), extend("x-example" = "5"))]
    pub q: u64,
    /// Number of nodes on each router. Default: half of the number of its wires, rounded up, with which the wires carry
    /// uniform traffic at a load of 0.86 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65530))]
    pub nodes_per_router: Option<u64>,
}

impl SlimFlySpec {
    /// Reads the shorthand `q=19` or `q=19,nodes_per_router=15`.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        let settings = Settings::read(text, &["q", "nodes_per_router"])?;
        Ok(Self { q: settings.number("q")?, nodes_per_router: settings.number_if_given("nodes_per_router")? })
    }
}

/// Slim Fly.
pub type SlimFly = Wired<SlimFlyShape>;

/// Names of a Slim Fly.
#[derive(Clone, Copy, Debug)]
pub struct SlimFlyShape {
    q: u32,
}

impl SlimFly {
    const LOCAL: ChannelClass = ChannelClass(2);
    const GLOBAL: ChannelClass = ChannelClass(3);

    /// Builds a Slim Fly. Fails if q is not a power of a prime from 3 to 89, or if routers have no node or too many
    /// ports.
    pub fn new(spec: &SlimFlySpec) -> Result<Self, KeyError> {
        let field = Field::checked("q", spec.q, SIZES)?;
        let q = field.size();
        let generators = generators(&field);
        let wires = q + generators[0].len() as u32;
        let nodes = nodes_on_each(spec.nodes_per_router, (wires, 2 * q * q), MAX_SHORT_PORTS)?;
        let mut list = WireList::with_nodes(2 * q * q, nodes);
        let router = |subgraph: u32, x: u32, y: u32| RouterId((subgraph * q + x) * q + y);
        for (subgraph, differences) in (0..).zip(&generators) {
            for (x, y) in (0..q).flat_map(|x| (0..q).map(move |y| (x, y))) {
                let mut peers: Vec<u32> = differences.iter().map(|&by| field.sum(y, by)).filter(|&to| to > y).collect();
                peers.sort_unstable();
                for peer in peers {
                    list.wire([router(subgraph, x, y), router(subgraph, x, peer)], Self::LOCAL, 1);
                }
            }
        }
        for (x, m) in (0..q).flat_map(|x| (0..q).map(move |m| (x, m))) {
            for c in 0..q {
                let y = field.sum(field.product(m, x), c);
                list.wire([router(0, x, y), router(1, m, c)], Self::GLOBAL, 1);
            }
        }
        list.build(SlimFlyShape { q }, 2 * q * q).map_err(Apart::error)
    }
}

/// Returns the differences between wired routers of each subgraph: X and X'.
fn generators(field: &Field) -> [Vec<u32>; 2] {
    let q = field.size();
    let w = q.div_ceil(4);
    let exponents: [Vec<u32>; 2] = if q % 4 == 3 {
        [
            (0..w).map(|i| 2 * i).chain((w..2 * w).map(|i| 2 * i - 1)).collect(),
            (0..w).map(|i| 2 * i + 1).chain((w..2 * w).map(|i| 2 * i)).collect(),
        ]
    } else {
        [(0..q / 2).map(|i| 2 * i).collect(), (0..q / 2).map(|i| 2 * i + 1).collect()]
    };
    exponents.map(|exponents| exponents.into_iter().map(|exponent| field.power(exponent)).collect())
}

impl Shape for SlimFlyShape {
    fn kind(&self) -> &'static str {
        "slim-fly"
    }

    fn class_names(&self) -> Vec<&str> {
        vec!["injection", "ejection", "local", "global"]
    }

    fn coordinate_names(&self) -> Vec<String> {
        vec!["subgraph".into(), "x".into(), "y".into()]
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        let RouterId(number) = router;
        vec![number / (self.q * self.q), number / self.q % self.q, number % self.q]
    }
}
