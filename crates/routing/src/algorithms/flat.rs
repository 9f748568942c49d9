//! The routing of the flat network: none. A packet at a router is at its destination's.

use topology::Topology;
use units::{PortId, RouterId, VcClass};

use crate::{Hop, Route, Routing};

/// No routes.
#[derive(Clone, Copy, Debug)]
pub struct NoRouting;

impl Routing for NoRouting {
    fn kind(&self) -> &'static str {
        "none"
    }

    fn classes(&self) -> u8 {
        1
    }

    fn adaptive(&self) -> bool {
        false
    }

    fn route(&self, _at: RouterId, _hop: &mut Hop) -> Route {
        Route::only(PortId(0), VcClass(0))
    }

    fn minimal(&self) -> bool {
        true
    }

    fn max_routers(&self) -> u32 {
        1
    }
}

/// Whether a topology is the flat network.
pub fn is_flat(topology: &dyn Topology) -> bool {
    topology.as_any().is::<topology::families::flat::Flat>()
}
