//! Jellyfish: a random regular graph of routers (Singla, Hong, Popa and Godfrey, "Jellyfish: networking data centers
//! randomly", NSDI 2012).
//!
//! Construction, as in the paper: two routers with free ports that are not wired to each other, drawn at random, are
//! wired, until no two are left. While routers then have free ports, a random wire is removed and its ends are wired to
//! the first two of these routers, or to the only one. (The paper has the second case alone.) A graph that is not
//! connected is drawn anew.
//!
//! Numbering: node x is attached to port `x mod n` of router `x / n`. The wires' ports follow, in ascending order of
//! the peer. No two wires are parallel. The graph depends on the keys only, and not on the seed of the experiment.
//!
//! The diameter is found by search. No closed form of the bisection is known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, KeyError, RouterId};

use crate::shorthand::Settings;
use crate::stream::Stream;
use crate::wired::{MAX_WIRED_PORTS, MAX_WIRED_ROUTERS, Shape, WireList, Wired, nodes_on_each};
use crate::wires::ChannelClass;

/// Number of graphs that are drawn before a construction is given up.
const ATTEMPTS: u32 = 100;

/// Jellyfish: routers that are wired to random others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JellyfishSpec {
    /// Number of routers.
    #[schemars(range(min = 4, max = 4096), extend("x-example" = "12"))]
    pub routers: u64,
    /// Number of wires of each router, below `routers`. The product of both is even.
    #[schemars(range(min = 3, max = 255), extend("x-example" = "4"))]
    pub degree: u64,
    /// Number of nodes on each router. Default: half of `degree`, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65532))]
    pub nodes_per_router: Option<u64>,
    /// Seed of the graph.
    #[serde(default)]
    pub seed: u64,
}

impl JellyfishSpec {
    /// Reads the shorthand `routers=512,degree=24` with further keys.
    pub(crate) fn from_shorthand(text: &str) -> Result<Self, KeyError> {
        let settings = Settings::read(text, &["routers", "degree", "nodes_per_router", "seed"])?;
        Ok(Self {
            routers: settings.number("routers")?,
            degree: settings.number("degree")?,
            nodes_per_router: settings.number_if_given("nodes_per_router")?,
            seed: settings.number_or("seed", 0)?,
        })
    }

    /// Returns the number of routers and the number of wires of each.
    fn sizes(&self) -> Result<(u32, u32), KeyError> {
        let most = u64::from(MAX_WIRED_ROUTERS);
        if !(4..=most).contains(&self.routers) {
            return Err(KeyError::new("routers", format!("`routers` is {}; 4 to {most} are allowed", self.routers)));
        }
        let most = (self.routers - 1).min(255);
        if !(3..=most).contains(&self.degree) {
            let message = format!(
                "`degree` is {}; 3 to {most} wires are allowed on each of {} routers",
                self.degree, self.routers
            );
            return Err(KeyError::new("degree", message));
        }
        if !(self.routers * self.degree).is_multiple_of(2) {
            let message = format!(
                "`degree` is {}; it must be even, since the number of routers is odd ({})",
                self.degree, self.routers
            );
            return Err(KeyError::new("degree", message));
        }
        Ok((self.routers as u32, self.degree as u32))
    }
}

/// Jellyfish.
pub type Jellyfish = Wired<JellyfishShape>;

/// Names of a Jellyfish.
#[derive(Clone, Copy, Debug)]
pub struct JellyfishShape;

impl Jellyfish {
    /// Builds a Jellyfish. Fails if a size is out of its range, or if no connected graph is found.
    pub fn new(spec: &JellyfishSpec) -> Result<Self, KeyError> {
        let (routers, degree) = spec.sizes()?;
        let nodes = nodes_on_each(spec.nodes_per_router, (degree, routers), MAX_WIRED_PORTS)?;
        let mut stream = Stream::new(spec.seed);
        for _ in 0..ATTEMPTS {
            let Some(graph) = Drawing::new(routers, degree).finish(&mut stream) else { continue };
            let mut list = WireList::with_nodes(routers, nodes);
            for (one, peers) in (0..).zip(&graph) {
                for &other in peers.iter().filter(|&&other| other > one) {
                    list.wire([RouterId(one), RouterId(other)], ChannelClass(2), 1);
                }
            }
            if let Ok(built) = list.build(JellyfishShape, routers) {
                return Ok(built);
            }
        }
        let message =
            format!("`seed` is {}; no connected graph was found in {ATTEMPTS} attempts, try another", spec.seed);
        Err(KeyError::new("seed", message))
    }
}

/// Graph under construction.
struct Drawing {
    degree: usize,
    /// Peers of each router, in ascending order.
    peers: Vec<Vec<u32>>,
    /// Routers with free ports.
    open: Vec<u32>,
}

impl Drawing {
    fn new(routers: u32, degree: u32) -> Self {
        Self { degree: degree as usize, peers: vec![Vec::new(); routers as usize], open: (0..routers).collect() }
    }

    /// Wires all ports, and returns the peers of each router. `None`: no wire was found that makes room.
    fn finish(mut self, stream: &mut Stream) -> Option<Vec<Vec<u32>>> {
        while let Some((one, other)) = self.draw_pair(stream) {
            self.wire(one, other);
        }
        while let Some(&one) = self.open.first() {
            // A router with two free ports, or two routers that are wired to each other.
            let other = self.open.get(1).copied().unwrap_or(one);
            let (near, far) = self.draw_wire((one, other), stream)?;
            self.peers[near as usize].retain(|&peer| peer != far);
            self.peers[far as usize].retain(|&peer| peer != near);
            self.wire(one, near);
            self.wire(other, far);
        }
        Some(self.peers)
    }

    /// Draws two routers with free ports that are not wired to each other. `None`: there are none.
    fn draw_pair(&self, stream: &mut Stream) -> Option<(u32, u32)> {
        let count = self.open.len() as u32;
        let free = |one: u32, other: u32| one != other && !self.are_wired(one, other);
        // All pairs are tried only if drawing fails: near the end few pairs are left.
        for _ in 0..if count > 1 { 64 } else { 0 } {
            let (one, other) = (self.open[stream.below(count) as usize], self.open[stream.below(count) as usize]);
            if free(one, other) {
                return Some((one, other));
            }
        }
        let pairs = || self.open.iter().flat_map(|&one| self.open.iter().map(move |&other| (one, other)));
        let left: Vec<(u32, u32)> = pairs().filter(|&(one, other)| one < other && free(one, other)).collect();
        (!left.is_empty()).then(|| left[stream.below(left.len() as u32) as usize])
    }

    /// Draws a wire (in one of its two directions) whose near end can be wired to one router and whose far end to
    /// another.
    fn draw_wire(&self, (one, other): (u32, u32), stream: &mut Stream) -> Option<(u32, u32)> {
        let wires = (0..).zip(&self.peers).flat_map(|(near, peers)| peers.iter().map(move |&far| (near, far)));
        let fits = |&(near, far): &(u32, u32)| {
            let ends_are_others = [near, far].iter().all(|&end| end != one && end != other);
            ends_are_others && !self.are_wired(one, near) && !self.are_wired(other, far)
        };
        let fitting: Vec<(u32, u32)> = wires.filter(fits).collect();
        (!fitting.is_empty()).then(|| fitting[stream.below(fitting.len() as u32) as usize])
    }

    fn are_wired(&self, one: u32, other: u32) -> bool {
        self.peers[one as usize].binary_search(&other).is_ok()
    }

    fn wire(&mut self, one: u32, other: u32) {
        for (router, peer) in [(one, other), (other, one)] {
            let peers = &mut self.peers[router as usize];
            let place = peers.partition_point(|&known| known < peer);
            peers.insert(place, peer);
            if peers.len() == self.degree {
                self.open.retain(|&open| open != router);
            }
        }
    }
}

impl Shape for JellyfishShape {
    fn kind(&self) -> &'static str {
        "jellyfish"
    }

    fn class_names(&self) -> Vec<&str> {
        vec!["injection", "ejection", "link"]
    }

    fn coordinate_names(&self) -> Vec<String> {
        vec!["router".into()]
    }

    fn coordinates(&self, router: RouterId) -> Vec<u32> {
        vec![router.0]
    }
}
