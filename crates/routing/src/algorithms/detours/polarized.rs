//! Polarized routing (Camarero, Martinez and Beivide, "Polarized routing: an efficient and versatile algorithm for
//! large direct networks", HOTI 2021).
//!
//! Let s and t be the routers of source and destination, D the distance, and mu(c) = D(s, c) - D(c, t), which rises
//! from -D(s, t) to D(s, t) on the way. A packet at router c may go to a neighbour n unless mu falls. If mu stays, the
//! hop leads away from both ends, D(s, c) < D(c, t), or nearer to both, D(s, c) >= D(c, t). A hop that changes neither
//! distance is not allowed.
//!
//! Paths end: while D(s, c) < D(c, t), D(s, c) never falls, and each hop that keeps it raises mu. After that, mu >= 0,
//! D(c, t) never rises, and each hop that keeps it raises mu. With the diameter d, each half has at most d hops of the
//! first kind, and both have at most 2 d of the second.
//!
//! The cost of a hop is the congestion of its channel, plus `bias` for each unit that mu rises by less than 2: shortest
//! paths alone raise it by 2 each hop. One of the cheapest is taken at random.
//!
//! Classes of virtual channels by hops: hop i of a packet uses class i. So their number is that of the longest path.
//!
//! Model choices:
//! - A packet takes at most `max_hops` hops, twice the diameter by default: a hop to n is not allowed if the shortest
//!   path from n would lead beyond. (On HyperX, Slim Fly and PolarFly no path is longer.)
//! - Networks without symmetry have routers where no hop is allowed. From there, the packet takes shortest paths.
//! - The longest path is computed exactly if that takes few steps (`STEPS`), otherwise it is `max_hops`.
//!
//! Channel loads: the mixture of shortest paths and of Valiant routing, as if every packet chose one of both. It is an
//! estimate. If Valiant routing needs more than 64 classes, the loads are those of shortest paths.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::{Endpoint, Topology};
use units::{Draw, KeyError, NodeId, PortId, RouterId, VcClass};

use super::RouterDetours;
use super::paths::DirectPaths;
use super::valiant::{Valiant, ValiantNodeSpec};
use crate::algorithms::dragonfly::Rule;
use crate::algorithms::shortest_path::MAX_CLASSES;
use crate::algorithms::tables::{Neighbours, search};
use crate::{Choice, Hop, PathOption, Probe, Representative, Route, RouteState, Routing};

/// All topologies but trees: hops that lead away from the source or nearer to the destination, by congestion
/// (Polarized).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PolarizedSpec {
    /// Cost of a hop for each unit by which it gains less than a hop on a shortest path, in packets of the largest
    /// size.
    #[schemars(range(max = 1000000))]
    pub bias: u32,
    /// Maximum number of channels between routers on a path, and so of classes of virtual channels. Default: twice the
    /// diameter.
    #[schemars(range(min = 1, max = 64))]
    pub max_hops: Option<u32>,
}

impl Default for PolarizedSpec {
    fn default() -> Self {
        Self { bias: BIAS, max_hops: None }
    }
}

/// Default of `bias`. With less, uniform traffic takes more hops than it needs: a dragonfly of 1,056 nodes accepts a
/// load of 0.50 at 0, 0.76 at 2 and 0.92 at 8, and equal loads of adversarial traffic at each.
const BIAS: u32 = 8;

/// Largest number of steps by which the longest path is computed: some tenths of a second.
const STEPS: u64 = 1 << 25;

/// Fields of a packet's state: number of hops, whether the packet takes shortest paths, and target of its source.
const DIRECT: u32 = 1 << 7;
const SOURCE_AT: u32 = 8;
/// Source of a state that represents all packets with a number of hops (`representatives`): it has every port.
const ALL: u32 = u32::MAX >> SOURCE_AT;

/// Returns the number of hops that a packet has made.
#[inline]
fn hops(state: RouteState) -> u32 {
    state.0 & (DIRECT - 1)
}

#[derive(Debug)]
struct Polarized {
    paths: Arc<DirectPaths>,
    /// Distances by target and router. `u8::MAX`: 255 or more, or there is no path.
    distances: Vec<u8>,
    routers: usize,
    bias: u32,
    max_hops: u32,
    /// Number of channels of the longest path.
    longest: u32,
    options: Vec<Arc<dyn Routing>>,
}

/// Packet at a router on its way between two targets.
#[derive(Clone, Copy)]
struct Stage {
    source: u32,
    target: u32,
    hops: u32,
    is_direct: bool,
}

impl PolarizedSpec {
    /// Builds the routing on a topology.
    ///
    /// # Errors
    /// If routers cannot reach one another, if a table would be larger than 1 GiB, if more than 64 classes of virtual
    /// channels were needed, or if `max_hops` is below the diameter.
    pub fn build(&self, topology: &dyn Topology) -> Result<Arc<dyn Routing>, KeyError> {
        let paths = Arc::new(DirectPaths::new(topology, "polarized")?);
        let diameter = paths.longest.max(1);
        let max_hops = self.max_hops.unwrap_or(2 * diameter);
        if max_hops > MAX_CLASSES || max_hops < diameter {
            let key = if self.max_hops.is_some() { "max_hops" } else { "kind" };
            let message = format!(
                "polarized needs a class of virtual channels for each of up to {max_hops} hops; `max_hops` of {diameter} \
                 (the diameter) to {MAX_CLASSES} are allowed on this {}",
                topology.kind()
            );
            return Err(KeyError::new(key, message));
        }
        let rule = Rule::from(&ValiantNodeSpec::default());
        let direct = RouterDetours::without_waypoints(Arc::clone(&paths), rule);
        let mut options: Vec<Arc<dyn Routing>> = vec![Arc::new(Valiant::new("shortest-path", direct))];
        // Valiant routing can need more classes than there are, where `max_hops` is small.
        if let Ok(detours) = RouterDetours::on(Arc::clone(&paths), topology, ("valiant-node", rule), false) {
            options.push(Arc::new(Valiant::new("valiant-node", detours)));
        }
        let (distances, routers) = (distances(topology, &paths), topology.routers() as usize);
        let mut made = Polarized { paths, distances, routers, bias: self.bias, max_hops, longest: max_hops, options };
        // In a symmetric network, one source stands for all.
        let views = topology.views();
        let is_symmetric = views.cliques.is_some() || views.grid.is_some_and(topology::views::Grid::is_torus);
        made.longest = made.longest_path(if is_symmetric { 1 } else { made.paths.targets() });
        Ok(Arc::new(made))
    }
}

/// Returns the distances to each target, by target and router.
fn distances(topology: &dyn Topology, paths: &DirectPaths) -> Vec<u8> {
    let (wires, targets) = (Neighbours::new(topology), paths.targets());
    let rows = workers::map(0..targets as usize, |target| {
        let from = paths.router(target as u32);
        let found = search(wires.routers(), from, |at| wires.of(at).iter().map(|&(_, next)| next));
        found.into_iter().map(|distance| u8::try_from(distance).unwrap_or(u8::MAX)).collect::<Vec<u8>>()
    });
    rows.concat()
}

impl Polarized {
    /// Returns the distance between a target and a router.
    #[inline]
    fn distance(&self, target: u32, router: RouterId) -> i32 {
        self.distances[target as usize * self.routers + router.index()].into()
    }

    #[inline]
    fn ends(&self, stage: Stage, router: RouterId) -> (i32, i32) {
        (self.distance(stage.source, router), self.distance(stage.target, router))
    }

    #[inline]
    fn ports(&self, at: RouterId) -> u16 {
        self.paths.wiring.ports[at.index()]
    }

    #[inline]
    fn end(&self, at: RouterId, port: PortId) -> Endpoint {
        let wiring = &self.paths.wiring;
        wiring.end(wiring.channels.output(at, port))
    }

    /// Returns the gain of mu by a hop of a polarized path. `None`: the hop is not allowed.
    #[inline]
    fn gain(&self, stage: Stage, at: RouterId, next: RouterId) -> Option<i32> {
        let (here, there) = (self.ends(stage, at), self.ends(stage, next));
        if stage.hops as i32 + 1 + there.1 > self.max_hops as i32 {
            return None;
        }
        let (from, to) = (there.0 - here.0, there.1 - here.1);
        match from - to {
            gain @ 1.. => Some(gain),
            0 if from == 1 && here.0 < here.1 => Some(0),
            0 if from == -1 && here.0 >= here.1 => Some(0),
            _ => None,
        }
    }

    /// Returns whether a packet has no hop of a polarized path.
    fn is_stuck(&self, stage: Stage, at: RouterId) -> bool {
        let mut nexts = (0..self.ports(at)).filter_map(|port| self.paths.next(at, PortId(port)));
        !nexts.any(|next| self.gain(stage, at, next).is_some())
    }

    /// Returns what a hop gains less than 2, and whether only shortest paths follow. `None`: the hop is not allowed.
    fn hop(&self, stage: Stage, at: RouterId, next: RouterId) -> Option<(u32, bool)> {
        if !stage.is_direct
            && let Some(gain) = self.gain(stage, at, next)
        {
            return Some(((2 - gain) as u32, false));
        }
        let is_nearer = self.distance(stage.target, next) < self.distance(stage.target, at);
        (is_nearer && (stage.is_direct || self.is_stuck(stage, at))).then_some((0, true))
    }

    /// Returns the number of channels of the longest path from the first `sources` targets: `max_hops` if that would
    /// take too many steps.
    fn longest_path(&self, sources: u32) -> u32 {
        let (targets, channels) = (self.paths.targets(), self.paths.wiring.channels.ports());
        if u64::from(sources) * u64::from(targets) * u64::from(channels) > STEPS {
            return self.max_hops;
        }
        let of = |source: usize| {
            let lengths = (0..targets).map(|target| self.longest_between(source as u32, target));
            lengths.max().unwrap_or(0)
        };
        workers::map(0..sources as usize, of).into_iter().max().unwrap_or(0)
    }

    /// Returns the number of channels of the longest path between two targets.
    fn longest_between(&self, source: u32, target: u32) -> u32 {
        let (paths, home) = (&self.paths, self.paths.router(target));
        let mut at = vec![(paths.router(source), false)];
        for hops in 0.. {
            let mut next = Vec::new();
            for &(router, is_direct) in at.iter().filter(|(router, _)| *router != home) {
                let stage = Stage { source, target, hops, is_direct };
                let ends = (0..self.ports(router)).filter_map(|port| paths.next(router, PortId(port)));
                next.extend(ends.filter_map(|end| Some((end, self.hop(stage, router, end)?.1))));
            }
            if next.is_empty() {
                return hops;
            }
            next.sort_unstable();
            next.dedup();
            at = next;
        }
        0
    }
}

impl Routing for Polarized {
    fn kind(&self) -> &'static str {
        "polarized"
    }

    fn classes(&self) -> u8 {
        self.longest.max(1) as u8
    }

    fn adaptive(&self) -> bool {
        true
    }

    fn start(&self, src: NodeId, _dst: NodeId, _draw: &mut dyn Draw) -> RouteState {
        RouteState(self.paths.home(src).0 << SOURCE_AT)
    }

    fn initial_distribution(&self, src: NodeId, _dst: NodeId) -> Vec<(RouteState, f64)> {
        vec![(RouteState(self.paths.home(src).0 << SOURCE_AT), 1.0)]
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        if self.paths.router(self.paths.home(hop.dst).0) == at && hop.state.0 >> SOURCE_AT != ALL {
            hop.state = RouteState::default();
            return Route::only(self.paths.home(hop.dst).1, VcClass(0));
        }
        Route::weighed(self.ports(at).max(2), Choice::WeighedAny)
    }

    fn candidate(&self, at: RouterId, hop: &Hop, number: u16) -> Option<PathOption> {
        if number >= self.ports(at) {
            return None;
        }
        let (source, hops) = (hop.state.0 >> SOURCE_AT, hops(hop.state));
        let (less, is_direct) = if source == ALL {
            let exists = match self.end(at, PortId(number)) {
                Endpoint::Router(..) => hops < self.longest,
                Endpoint::Node(_) => true,
                Endpoint::Unconnected => false,
            };
            exists.then_some((0, false))?
        } else {
            let (target, is_direct) = (self.paths.home(hop.dst).0, hop.state.0 & DIRECT != 0);
            let next = self.paths.next(at, PortId(number))?;
            self.hop(Stage { source, target, hops, is_direct }, at, next)?
        };
        let state = RouteState((source << SOURCE_AT) | if is_direct { DIRECT } else { 0 } | (hops + 1));
        // The congestion of the next channel counts once.
        Some(PathOption { state, channels: 1, bias: self.bias.saturating_mul(less), probe: Probe::First })
    }

    fn take(&self, at: RouterId, (number, state): (u16, RouteState), hop: &mut Hop) -> Route {
        hop.state = state;
        let is_router = matches!(self.end(at, PortId(number)), Endpoint::Router(..));
        Route::only(PortId(number), VcClass(if is_router { hops(state) as u8 - 1 } else { 0 }))
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        true
    }

    fn remembers_source(&self) -> bool {
        true
    }

    /// Classes by hops depend on nothing but the number of hops.
    fn representatives(&self, _at: RouterId) -> Option<Vec<Representative>> {
        let all = |hops| Representative::new(NodeId(0), RouteState(ALL << SOURCE_AT | hops));
        Some((0..self.longest).map(all).collect())
    }

    fn options(&self) -> Vec<Arc<dyn Routing>> {
        self.options.clone()
    }

    fn minimal(&self) -> bool {
        false
    }

    fn max_routers(&self) -> u32 {
        self.longest + 1
    }
}
