//! DimWAR: dimension order with at most one deroute in each dimension (McDonald, Isaev, Flores, Davis and Kim,
//! "Practical and efficient incremental adaptive routing for HyperX networks", SC 2019).
//!
//! In the first open dimension, a router weighs the direct hop against a deroute to any other router of the line. A
//! packet that has been derouted takes the direct hop next. The cost of a port is the congestion that its router sees
//! there times the number of channels from this router to the destination's.
//!
//! Two classes of virtual channels: deroutes use class 1, direct hops class 0. In a dimension, class 1 leads to class 0
//! only, and class 0 leads to later dimensions only. So no cycle of waiting packets can form.
//!
//! Model choices: the congestion is that of UGAL (`detours`). Of ports with equal cost the shorter way is taken, and
//! one of these at random. A deroute costs `threshold` packets more, so that single packets do not cause deroutes.
//!
//! Channel loads: the mixture of dimension order and of a random router in each open dimension, as if every packet
//! chose one of both.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::views::Cliques;
use units::{NodeId, PortId, RouterId, VcClass};

use super::{CliqueOrder, Position, loads};
use crate::{Choice, Hop, OutputLoads, PathOption, Probe, Representative, Route, RouteState, RouterTraffic, Routing};

/// Default of `threshold`, in packets: that of UGAL.
pub(super) const THRESHOLD: u32 = 4;

/// HyperX: dimension order, with at most one deroute in each dimension, by congestion (DimWAR).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DimWarSpec {
    /// Cost advantage that a deroute must exceed, in packets of the largest size times channels.
    #[schemars(range(max = 1000000))]
    pub threshold: u32,
}

impl Default for DimWarSpec {
    fn default() -> Self {
        Self { threshold: THRESHOLD }
    }
}

impl DimWarSpec {
    /// Builds the routing on a grid of cliques.
    pub fn build(&self, cliques: &Cliques) -> impl Routing + 'static + use<> {
        DimWar { options: options(cliques), ..DimWar::new(cliques, Some(self.threshold)) }
    }
}

/// Returns dimension order, and the routing by way of a random router in each open dimension.
pub(super) fn options(cliques: &Cliques) -> Vec<Arc<dyn Routing>> {
    let order = (0..cliques.lines().len()).collect();
    vec![Arc::new(CliqueOrder::new(cliques, order)), Arc::new(DimWar::new(cliques, None))]
}

#[derive(Debug)]
struct DimWar {
    cliques: Cliques,
    /// Bias of deroutes. `None`: every packet takes a random port in each open dimension, whatever the congestion.
    bias: Option<u32>,
    options: Vec<Arc<dyn Routing>>,
}

/// Flag of a state that represents all packets at a router (`representatives`): all hops of the dimensions from one on,
/// and to nodes, or, with `DEROUTED`, all direct hops of this dimension.
const ALL: u32 = 1 << 31;
const DEROUTED: u32 = 1 << 8;

impl DimWar {
    fn new(cliques: &Cliques, bias: Option<u32>) -> Self {
        Self { cliques: cliques.clone(), bias, options: Vec::new() }
    }

    fn open_dim(position: &Position<'_>) -> Option<usize> {
        (0..position.cliques.lines().len()).find(|&dim| position.is_open(dim))
    }

    /// Returns the state of a packet that has been derouted in a dimension.
    fn derouted(dim: usize) -> RouteState {
        RouteState(dim as u32 + 1)
    }

    /// Returns the state behind a hop of a state that represents all packets. The number of a candidate is its port,
    /// plus the number of ports for a deroute.
    fn candidate_of_all(&self, state: RouteState, number: u16) -> Option<RouteState> {
        let ports = self.cliques.ports();
        let (deroutes, first) = (number >= ports, (state.0 & (DEROUTED - 1)) as usize);
        let Some(dim) = self.cliques.dim_of(PortId(number % ports)) else {
            return (!deroutes && state.0 & DEROUTED == 0).then_some(state);
        };
        match state.0 & DEROUTED != 0 {
            true if dim != first || deroutes => None,
            false if dim < first => None,
            // A line of two routers has no deroute.
            _ if deroutes && self.cliques.lines()[dim].size == 2 => None,
            _ if deroutes => Some(RouteState(ALL | DEROUTED | dim as u32)),
            _ => Some(RouteState(ALL | (dim as u32 + 1))),
        }
    }
}

impl Routing for DimWar {
    fn kind(&self) -> &'static str {
        "dim-war"
    }

    fn classes(&self) -> u8 {
        if self.cliques.lines().iter().any(|line| line.size > 2) { 2 } else { 1 }
    }

    fn adaptive(&self) -> bool {
        self.bias.is_some()
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        if hop.state.0 & ALL != 0 {
            return Route::weighed(2 * self.cliques.ports(), Choice::WeighedAny);
        }
        let position = Position::new(&self.cliques, at, hop.dst);
        let Some(dim) = Self::open_dim(&position) else {
            hop.state = RouteState::default();
            return Route::only(self.cliques.home(hop.dst).1, VcClass(0));
        };
        let (line, (own, wanted)) = (self.cliques.lines()[dim], position.coordinates(dim));
        if hop.state == Self::derouted(dim) || line.size == 2 {
            hop.state = RouteState::default();
            let choice = if self.adaptive() { Choice::LeastLoaded } else { Choice::Random };
            return Route::range(line.port_to(own, wanted), line.wires, VcClass(0), choice);
        }
        if self.adaptive() {
            return Route::weighed(line.ports(), Choice::WeighedAny);
        }
        hop.state = Self::derouted(dim);
        Route::range(PortId(line.first_port), line.ports(), VcClass(1), Choice::Random)
    }

    fn candidate(&self, at: RouterId, hop: &Hop, number: u16) -> Option<PathOption> {
        if hop.state.0 & ALL != 0 {
            let state = self.candidate_of_all(hop.state, number)?;
            return Some(PathOption { state, channels: 0, bias: 0, probe: Probe::First });
        }
        let position = Position::new(&self.cliques, at, hop.dst);
        let dim = Self::open_dim(&position)?;
        let port = PortId(self.cliques.lines()[dim].first_port + number);
        let (state, more, bias) = match position.is_direct(dim, port) {
            true => (RouteState::default(), 0, 0),
            false => (Self::derouted(dim), 1, self.bias.unwrap_or(0)),
        };
        Some(PathOption { state, channels: position.distance() + more, bias, probe: Probe::First })
    }

    fn take(&self, at: RouterId, (number, state): (u16, RouteState), hop: &mut Hop) -> Route {
        let before = hop.state;
        hop.state = state;
        if before.0 & ALL != 0 {
            let (port, deroutes) = (number % self.cliques.ports(), number / self.cliques.ports());
            return Route::only(PortId(port), VcClass(deroutes as u8));
        }
        let dim = Self::open_dim(&Position::new(&self.cliques, at, hop.dst)).unwrap_or(0);
        let port = PortId(self.cliques.lines()[dim].first_port + number);
        Route::only(port, VcClass(u8::from(state != RouteState::default())))
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        true
    }

    fn representatives(&self, _at: RouterId) -> Option<Vec<Representative>> {
        // Candidates have numbers up to twice the ports.
        self.cliques.ports().checked_mul(2)?;
        let all = |state| Representative::new(NodeId(0), RouteState(state));
        let derouted = (0..self.cliques.lines().len() as u32).map(|dim| all(ALL | DEROUTED | dim));
        Some(derouted.chain([all(ALL)]).collect())
    }

    fn options(&self) -> Vec<Arc<dyn Routing>> {
        self.options.clone()
    }

    fn output_loads(&self) -> Option<&dyn OutputLoads> {
        if self.adaptive() { None } else { Some(self) }
    }

    fn minimal(&self) -> bool {
        self.classes() == 1
    }

    fn max_routers(&self) -> u32 {
        longest(&self.cliques) + 1
    }
}

/// Returns the largest number of channels with one deroute in each dimension. A line of two routers has none.
pub(super) fn longest(cliques: &Cliques) -> u32 {
    cliques.lines().iter().map(|line| if line.size > 2 { 2 } else { 1 }).sum()
}

impl OutputLoads for DimWar {
    fn output_loads(&self, traffic: &RouterTraffic) -> Vec<f64> {
        let order: Vec<usize> = (0..self.cliques.lines().len()).collect();
        loads::output_loads(&self.cliques, &order, loads::Crossing::Derouted, traffic)
    }
}
