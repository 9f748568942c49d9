//! Routing of the flat network: none. A packet is always at its destination's router.

use units::{PortId, RouterId, VcClass};

use crate::{Hop, Route, Routing};

/// Routing without routes.
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
