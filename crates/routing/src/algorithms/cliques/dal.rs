//! DAL: dimensionally adaptive, load-balanced routing, with at most one deroute in each dimension, in any order of the
//! dimensions (Ahn, Binkert, Davis, McLaren and Schreiber, "HyperX: topology, routing, and packaging of efficient
//! large-scale networks", SC 2009).
//!
//! Every router weighs the direct hops of all open dimensions, and the deroutes of those open dimensions in which the
//! packet has not been derouted. The cost of a port is the congestion that its router sees there times the number of
//! channels from this router to the destination's.
//!
//! Classes of virtual channels by hops: hop i of a packet uses class i, two for each dimension of more than two routers
//! and one for each other. (The paper has an escape path in dimension order instead, which McDonald et al., SC 2019,
//! found impractical.)
//!
//! Model choices, and the channel loads, are those of `dim_war`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::views::Cliques;
use units::{NodeId, PortId, RouterId, VcClass};

use super::Position;
use super::dim_war::{THRESHOLD, longest, options};
use crate::{Choice, Hop, PathOption, Probe, Representative, Route, RouteState, Routing};

/// HyperX: any order of the dimensions, with at most one deroute in each, by congestion (DAL).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DalSpec {
    /// Cost advantage that a deroute must exceed, in packets of the largest size times channels.
    #[schemars(range(max = 1000000))]
    pub threshold: u32,
}

impl Default for DalSpec {
    fn default() -> Self {
        Self { threshold: THRESHOLD }
    }
}

impl DalSpec {
    /// Builds the routing on a grid of cliques.
    pub fn build(&self, cliques: &Cliques) -> impl Routing + 'static + use<> {
        Dal { cliques: cliques.clone(), bias: self.threshold, longest: longest(cliques), options: options(cliques) }
    }
}

#[derive(Debug)]
struct Dal {
    cliques: Cliques,
    bias: u32,
    /// Largest number of channels of a path.
    longest: u32,
    options: Vec<Arc<dyn Routing>>,
}

/// First bit of the dimensions in which a packet has been derouted, behind its number of hops.
const DEROUTED_AT: u32 = 8;
/// Flag of a state that represents all packets with a number of hops (`representatives`): it has every port.
const ALL: u32 = 1 << 31;

/// Returns the number of hops that a packet has made.
#[inline]
fn hops(state: RouteState) -> u32 {
    state.0 & ((1 << DEROUTED_AT) - 1)
}

impl Routing for Dal {
    fn kind(&self) -> &'static str {
        "dal"
    }

    fn classes(&self) -> u8 {
        self.longest as u8
    }

    fn adaptive(&self) -> bool {
        true
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let (home, port) = self.cliques.home(hop.dst);
        if at == home && hop.state.0 & ALL == 0 {
            hop.state = RouteState::default();
            return Route::only(port, VcClass(0));
        }
        Route::weighed(self.cliques.ports(), Choice::WeighedAny)
    }

    fn candidate(&self, at: RouterId, hop: &Hop, number: u16) -> Option<PathOption> {
        let (port, next) = (PortId(number), hop.state.0 + 1);
        if hop.state.0 & ALL != 0 {
            let exists = self.cliques.dim_of(port).is_none() || hops(hop.state) < self.longest;
            let option = PathOption { state: RouteState(next), channels: 0, bias: 0, probe: Probe::First };
            return exists.then_some(option);
        }
        let dim = self.cliques.dim_of(port)?;
        let position = Position::new(&self.cliques, at, hop.dst);
        let flag = 1 << (DEROUTED_AT + dim as u32);
        if !position.is_open(dim) {
            return None;
        }
        let (state, more, bias) = match position.is_direct(dim, port) {
            true => (next, 0, 0),
            false if hop.state.0 & flag == 0 => (next | flag, 1, self.bias),
            false => return None,
        };
        Some(PathOption { state: RouteState(state), channels: position.distance() + more, bias, probe: Probe::First })
    }

    fn take(&self, _at: RouterId, (number, state): (u16, RouteState), hop: &mut Hop) -> Route {
        hop.state = state;
        let is_end = self.cliques.dim_of(PortId(number)).is_none();
        Route::only(PortId(number), VcClass(if is_end { 0 } else { hops(state) as u8 - 1 }))
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        true
    }

    /// Classes by hops depend on nothing but the number of hops.
    fn representatives(&self, _at: RouterId) -> Option<Vec<Representative>> {
        let all = |hops| Representative::new(NodeId(0), RouteState(ALL | hops));
        Some((0..self.longest).map(all).collect())
    }

    fn options(&self) -> Vec<Arc<dyn Routing>> {
        self.options.clone()
    }

    fn minimal(&self) -> bool {
        self.longest as usize == self.cliques.lines().len()
    }

    fn max_routers(&self) -> u32 {
        self.longest + 1
    }
}
