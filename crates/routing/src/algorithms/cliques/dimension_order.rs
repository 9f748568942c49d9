//! Dimension-order routing on cliques: one direct hop in each open dimension, over any of the parallel wires. One class
//! of virtual channels, since the order of the dimensions orders the channels.

use topology::views::Cliques;
use units::{NodeId, RouterId, VcClass};

use super::{Position, loads};
use crate::{Choice, Hop, OutputLoads, Representative, Route, RouteState, RouterTraffic, Routing};

/// Dimension-order routing.
#[derive(Debug)]
pub(in crate::algorithms) struct CliqueOrder {
    cliques: Cliques,
    /// Dimensions in the order of travel.
    order: Vec<usize>,
}

impl CliqueOrder {
    /// Creates the routing. `order` names each dimension once.
    pub fn new(cliques: &Cliques, order: Vec<usize>) -> Self {
        Self { cliques: cliques.clone(), order }
    }
}

impl Routing for CliqueOrder {
    fn kind(&self) -> &'static str {
        "dimension-order"
    }

    fn classes(&self) -> u8 {
        1
    }

    fn adaptive(&self) -> bool {
        false
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let position = Position::new(&self.cliques, at, hop.dst);
        for &dim in &self.order {
            let (own, wanted) = position.coordinates(dim);
            if own != wanted {
                let line = self.cliques.lines()[dim];
                return Route::range(line.port_to(own, wanted), line.wires, VcClass(0), Choice::Random);
            }
        }
        Route::only(self.cliques.home(hop.dst).1, VcClass(0))
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        true
    }

    /// Two hops depend on the destination's coordinates in the first two open dimensions.
    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        let cliques = &self.cliques;
        let others = |dim: usize| {
            let (line, own) = (cliques.lines()[dim], cliques.coordinate(at, dim));
            (0..line.size).filter(move |&other| other != own).map(move |other| (other * line.stride, own * line.stride))
        };
        let mut packets = Vec::new();
        let mut list = |router: u32| {
            let dst = NodeId(router * u32::from(cliques.nodes_per_router()));
            packets.push(Representative::new(dst, RouteState::default()));
        };
        for (number, &dim) in self.order.iter().enumerate() {
            for (there, here) in others(dim) {
                let target = at.0 - here + there;
                list(target);
                for &later in &self.order[number + 1..] {
                    others(later).for_each(|(there, here)| list(target - here + there));
                }
            }
        }
        Some(packets)
    }

    fn output_loads(&self) -> Option<&dyn OutputLoads> {
        Some(self)
    }

    fn minimal(&self) -> bool {
        true
    }

    fn max_routers(&self) -> u32 {
        self.order.len() as u32 + 1
    }
}

impl OutputLoads for CliqueOrder {
    fn output_loads(&self, traffic: &RouterTraffic) -> Vec<f64> {
        loads::output_loads(&self.cliques, &self.order, loads::Crossing::Direct, traffic)
    }
}
