//! PolarFly: the Erdős-Rényi polarity graphs of diameter 2 as a network (Lakhotia, Besta, Monroe, Isham, Iff, Hoefler
//! and Petrini, "PolarFly: a cost-effective and flexible low-diameter topology", SC 2022; the graphs are those of Brown
//! and of Erdős, Rényi and Sós, 1966).
//!
//! The routers are the points of the projective plane over the field of q elements: vectors of three elements, of which
//! the first that is not 0 is 1. Two routers are wired if their scalar product is 0.
//!
//! - Router 0 is (0, 0, 1), router `1 + z` is (0, 1, z), and router `1 + q + y q + z` is (1, y, z): q^2 + q + 1 in all.
//! - A router has q + 1 wires, but q if its product with itself is 0: this is so for q + 1 routers. There are
//!   q (q + 1)^2 / 2 wires.
//! - Any two routers are at most 2 channels apart, and have exactly one path of two channels or fewer. No closed form
//!   of the bisection is known.
//!
//! Numbering: node x is attached to port `x mod n` of router `x / n`. The wires' ports follow, in ascending order of
//! the peer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, RouterId};

use crate::galois::Field;
use crate::shorthand::Settings;
use crate::wired::{Apart, MAX_SHORT_PORTS, Shape, WireList, Wired, nodes_on_each};
use crate::wires::ChannelClass;

/// Range of q.
const SIZES: std::ops::RangeInclusive<u64> = 2..=43;

/// PolarFly: routers of diameter 2, nearly as many as their ports allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolarFlySpec {
    /// Size of the field, a power of a prime. There are q^2 + q + 1 routers, each with q + 1 wires, or q.
    #[schemars(range(min = 2, max = 43), extend("x-example" = "3"))]
    pub q: u64,
    /// Number of nodes on each router. Default: half of q + 1, rounded up, with which the wires carry uniform traffic
    /// at a load of 0.87 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65532))]
    pub nodes_per_router: Option<u64>,
}

impl PolarFlySpec {
    /// Reads the shorthand `q=31` or `q=31,nodes_per_router=8`.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        let settings = Settings::read(text, &["q", "nodes_per_router"])?;
        Ok(Self { q: settings.number("q")?, nodes_per_router: settings.number_if_given("nodes_per_router")? })
    }
}

/// PolarFly.
pub type PolarFly = Wired<PolarFlyShape>;

/// Names of a PolarFly.
#[derive(Clone, Copy, Debug)]
pub struct PolarFlyShape {
    q: u32,
}

impl PolarFly {
    /// Builds a PolarFly. Fails if q is not a power of a prime from 2 to 43, or if routers have no node or too many
    /// ports.
    pub fn new(spec: &PolarFlySpec) -> Result<Self, KeyError> {
        let field = Field::checked("q", spec.q, SIZES)?;
        let q = field.size();
        let shape = PolarFlyShape { q };
        let routers = q * q + q + 1;
        let nodes = nodes_on_each(spec.nodes_per_router, (q + 1, routers), MAX_SHORT_PORTS)?;
        let mut list = WireList::with_nodes(routers, nodes);
        let points: Vec<[u32; 3]> = (0..routers).map(|router| shape.point(RouterId(router))).collect();
        for (one, point) in (0..).map(RouterId).zip(&points) {
            for (other, peer) in (0..).map(RouterId).zip(&points).skip(one.index() + 1) {
                let products = [0, 1, 2].map(|place| field.product(point[place], peer[place]));
                if field.sum(field.sum(products[0], products[1]), products[2]) == 0 {
                    list.wire([one, other], ChannelClass(2), 1);
                }
            }
        }
        list.build(shape, routers).map_err(Apart::error)
    }
}

impl PolarFlyShape {
    /// Returns the vector of a router.
    fn point(self, router: RouterId) -> [u32; 3] {
        match router.0 {
            0 => [0, 0, 1],
            number if number <= self.q => [0, 1, number - 1],
            number => [1, (number - 1 - self.q) / self.q, (number - 1 - self.q) % self.q],
        }
    }
}

impl Shape for PolarFlyShape {
    fn kind(&self) -> &'static str {
        "polarfly"
    }

    fn class_names(&self) -> Vec<&str> {
        vec!["injection", "ejection", "link"]
    }

    fn coordinate_names(&self) -> Vec<String> {
        vec!["x".into(), "y".into(), "z".into()]
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        self.point(router).to_vec()
    }
}
