//! Equal-cost multi-path (ECMP): a hash of a packet's flow chooses among the shortest paths, on any topology.
//!
//! A flow is a source, a destination and one of `flows` flow numbers (queue pairs, say). Each packet draws its number.
//! Hashes are 64-bit mixes (the finalizer of splitmix64: Steele, Lea and Flood, OOPSLA 2014) of `seed` and the flow, so
//! that two runs with one seed have equal paths. All packets of a flow take one path. They stay in order if each class
//! has one virtual channel. IETF RFC 2992 has the analysis of hash-based choices; it leaves the hash to the router, and
//! so do makers. The model of each `hash`:
//!
//! - `path`: the hash names one of all shortest paths (parallel wires count apart), each equally likely. The routing
//!   state is the number of the path among those from the current router, of which there are `Counts::of` many: each
//!   next router takes a range of numbers as long as its own count. Beyond 2^31 - 1 paths, numbers name that many of
//!   them, spread over all.
//! - `salted`: each router mixes the flow's hash with its number, so that choices of different routers are independent.
//! - `polarized`: all routers use one hash: the choice among n ports is the hash's n-quantile. The second router of a
//!   path with as many ports makes the choice of the first, which leaves its other ports unused (hash polarization).
//!
//! Choices are among the ports of `shortest-path`, on its classes of virtual channels. The deadlock check follows that
//! routing with all its ports (`Routing::covering`), so that the proof holds for every `seed`.
//!
//! Cost: a look-up a hop; for `path` a second table of 4-byte counts, and a look-up for each port up to the chosen one
//! where ports differ in their counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{Endpoint, Topology};
use units::{Draw, KeyError, NodeId, PortId, RouterId};

use super::shortest_path::{ShortestPathSpec, TieRule, VcRule};
use super::tables::{Neighbours, RouteTable, TableRouting, UNREACHED, search};
use crate::{Hop, Route, RouteState, Routing};

/// Largest number of flows of a pair of nodes.
const MAX_FLOWS: u32 = 65536;

/// Any topology: equal-cost multi-path. A hash of the flow chooses among the shortest paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EcmpSpec {
    /// Choice that the hash of a flow makes.
    pub hash: HashRule,
    /// Number of flow numbers of each pair of nodes (queue pairs). Each packet draws a flow number at its source. Packets
    /// of one flow take one path, and stay in order if each class has one virtual channel.
    #[schemars(range(min = 1, max = 65536))]
    pub flows: u32,
    /// Seed of the hash. Another seed gives other paths.
    pub seed: u64,
    /// Rule by which packets use classes of virtual channels.
    pub vc_rule: VcRule,
}

impl Default for EcmpSpec {
    fn default() -> Self {
        Self { hash: HashRule::default(), flows: 1, seed: 0, vc_rule: VcRule::default() }
    }
}

/// Choice that the hash of a flow makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HashRule {
    /// One of all shortest paths at the source, each with equal probability.
    #[default]
    Path,
    /// One of the next ports at each router, by the hash mixed with the router's number.
    Salted,
    /// One of the next ports at each router, by the same hash at all routers: routers choose alike, and paths stay
    /// unused.
    Polarized,
}

impl EcmpSpec {
    /// Builds the routing on a topology.
    ///
    /// # Errors
    /// If `flows` is out of its range, if routers cannot reach one another, if `vc_rule = "hops"` needs more than 64
    /// classes, or if a table would be larger than 1 GiB.
    pub fn build(&self, topology: &dyn Topology) -> Result<impl Routing + 'static, KeyError> {
        if !(1..=MAX_FLOWS).contains(&self.flows) {
            return Err(KeyError::new("flows", format!("`flows` is {}; 1 to {MAX_FLOWS} are allowed", self.flows)));
        }
        let spec = ShortestPathSpec { ties: TieRule::Random, vc_rule: self.vc_rule };
        let paths = spec.make(topology, "ecmp")?;
        let counts = (self.hash == HashRule::Path).then(|| Counts::new(topology, &paths.table));
        Ok(Ecmp { paths: Arc::new(paths), counts, spec: *self })
    }
}

#[derive(Debug)]
struct Ecmp {
    /// All shortest paths.
    paths: Arc<TableRouting>,
    /// Numbers of paths, for `HashRule::Path`.
    counts: Option<Counts>,
    spec: EcmpSpec,
}

impl Ecmp {
    /// Returns the routing state in which packets of a flow start.
    fn state_of(&self, src: NodeId, dst: NodeId, flow: u32) -> RouteState {
        let pair = u64::from(src.0) << 32 | u64::from(dst.0);
        let hash = mixed(mixed(mixed(self.spec.seed) ^ pair) ^ u64::from(flow));
        let Some(counts) = &self.counts else { return RouteState((hash >> 32) as u32) };
        let (from, to) = (self.paths.table.destination(src).router, self.paths.table.destination(dst).column);
        RouteState(quantile(hash, counts.of(from, to)) as u32)
    }
}

/// Returns a hash as one of `0..n`.
fn quantile(hash: u64, n: u32) -> u64 {
    ((u128::from(hash) * u128::from(n)) >> 64) as u64
}

/// Returns a hash of a number: the finalizer of splitmix64, a bijection.
pub(super) fn mixed(number: u64) -> u64 {
    let bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Numbers of shortest paths.
#[derive(Debug)]
struct Counts {
    /// By router and column, the number of shortest paths to the column's router, at most `MOST`, with the flag `EVEN`
    /// if all ports of the route have equal numbers.
    counts: Vec<u32>,
    /// Number of columns.
    columns: usize,
    /// First port of each router in `next`.
    first: Vec<u32>,
    /// Router at the far end, by port. A port without one has the port's router.
    next: Vec<RouterId>,
}

/// Largest number of paths.
const MOST: u32 = EVEN - 1;

/// Flag of a number of paths.
const EVEN: u32 = 1 << 31;

impl Counts {
    fn new(topology: &dyn Topology, table: &RouteTable) -> Self {
        let (routers, columns) = (topology.routers() as usize, table.targets().len());
        let (mut first, mut next) = (Vec::with_capacity(routers), Vec::new());
        for router in (0..topology.routers()).map(RouterId) {
            first.push(next.len() as u32);
            next.extend((0..topology.ports(router)).map(|port| match topology.endpoint(router, PortId(port)) {
                Endpoint::Router(next, _) => next,
                Endpoint::Node(_) | Endpoint::Unconnected => router,
            }));
        }
        let mut made = Self { counts: vec![0; routers * columns], columns, first, next };
        let wires = Neighbours::new(topology);
        let mut order: Vec<(u32, RouterId)> = Vec::new();
        for (column, &target) in (0..).zip(table.targets()) {
            let distances = search(wires.routers(), target, |at| wires.of(at).iter().map(|&(_, next)| next));
            order.clear();
            order.extend(distances.into_iter().zip((0..).map(RouterId)).filter(|&(distance, _)| distance != UNREACHED));
            order.sort_unstable();
            made.counts[target.index() * columns + column as usize] = 1;
            for &(_, router) in order.iter().filter(|&&(distance, _)| distance > 0) {
                let (route, lists) = (table.toward(router, column), table.port_lists());
                let behind = |port| made.behind(router, port, column);
                let (sum, first) = (made.sum(router, column, route, lists), behind(route.port(0, lists)));
                let even = sum <= u64::from(MOST) && route.ports(lists).all(|port| behind(port) == first);
                made.counts[router.index() * columns + column as usize] =
                    sum.min(u64::from(MOST)) as u32 | if even { EVEN } else { 0 };
            }
        }
        made
    }

    /// Returns the number of shortest paths between routers, at most `MOST`.
    #[inline]
    fn of(&self, router: RouterId, column: u32) -> u32 {
        self.entry(router, column) & MOST
    }

    #[inline]
    fn entry(&self, router: RouterId, column: u32) -> u32 {
        self.counts[router.index() * self.columns + column as usize]
    }

    /// Returns the number of shortest paths by a port.
    #[inline]
    fn behind(&self, router: RouterId, port: PortId, column: u32) -> u32 {
        self.of(self.next[self.first[router.index()] as usize + usize::from(port.0)], column)
    }

    /// Returns the number of shortest paths by all ports of a route.
    fn sum(&self, router: RouterId, column: u32, route: Route, lists: &[PortId]) -> u64 {
        route.ports(lists).map(|port| u64::from(self.behind(router, port, column))).sum()
    }

    /// Returns the port of a numbered path from a router, and the path's number at the next router.
    fn follow(&self, (router, column): (RouterId, u32), route: Route, lists: &[PortId], path: u32) -> (PortId, u32) {
        let entry = self.entry(router, column);
        if entry & EVEN != 0 {
            let each = (entry & MOST) / u32::from(route.count);
            return (route.port((path / each) as u16, lists), path % each);
        }
        let mut left = u64::from(path);
        if entry == MOST {
            // Numbers are spread over all paths, of which there may be more.
            let sum = self.sum(router, column, route, lists);
            left = ((u128::from(left) * u128::from(sum)) / u128::from(MOST)) as u64;
        }
        for port in route.ports(lists) {
            let own = u64::from(self.behind(router, port, column));
            if left < own {
                return (port, left as u32);
            }
            left -= own;
        }
        (route.port(0, lists), 0)
    }
}

impl Routing for Ecmp {
    fn kind(&self) -> &'static str {
        "ecmp"
    }

    fn classes(&self) -> u8 {
        self.paths.classes()
    }

    fn adaptive(&self) -> bool {
        false
    }

    fn start(&self, src: NodeId, dst: NodeId, draw: &mut dyn Draw) -> RouteState {
        let flow = if self.spec.flows > 1 { draw.below(self.spec.flows) } else { 0 };
        self.state_of(src, dst, flow)
    }

    fn initial_distribution(&self, src: NodeId, dst: NodeId) -> Vec<(RouteState, f64)> {
        if self.spec.flows == 1 {
            return vec![(self.state_of(src, dst, 0), 1.0)];
        }
        // Several flows may have one path.
        let mut states: BTreeMap<RouteState, u32> = BTreeMap::new();
        for flow in 0..self.spec.flows {
            *states.entry(self.state_of(src, dst, flow)).or_default() += 1;
        }
        let share = |count| f64::from(count) / f64::from(self.spec.flows);
        states.into_iter().map(|(state, count)| (state, share(count))).collect()
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let route = self.paths.route(at, hop);
        if route.count == 1 {
            return route;
        }
        let lists = self.paths.port_lists();
        let port = if let Some(counts) = &self.counts {
            let column = self.paths.table.destination(hop.dst).column;
            let (port, path) = counts.follow((at, column), route, lists, hop.state.0);
            hop.state = RouteState(path);
            port
        } else {
            let hash = u64::from(hop.state.0);
            let salted = match self.spec.hash {
                HashRule::Salted => mixed(hash << 32 | u64::from(at.0)),
                HashRule::Path | HashRule::Polarized => hash << 32,
            };
            route.port(quantile(salted, u32::from(route.count)) as u16, lists)
        };
        Route::only(port, route.vc_class)
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn fixed_by_flow(&self) -> bool {
        true
    }

    fn covering(&self) -> Option<Arc<dyn Routing>> {
        Some(Arc::clone(&self.paths) as Arc<dyn Routing>)
    }

    fn minimal(&self) -> bool {
        true
    }

    fn max_routers(&self) -> u32 {
        self.paths.max_routers()
    }
}
