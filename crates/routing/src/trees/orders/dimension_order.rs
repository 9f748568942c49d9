//! Tori and meshes: toward the root in dimension order, from it by the reverse paths. The classes toward the root are
//! the classes of `dimension-order` routing, two on a torus (datelines), one on a mesh. Paths are shortest ones, with
//! one path for each switch and root.

use topology::views::Grid;
use topology::{ChannelClass, Endpoint, Topology};
use units::{KeyError, NodeId, PortId, RouterId, VcClass};

use super::{Order, TreeRule, Way};
use crate::algorithms::dimension_order::{DimensionOrderSpec, RingTies};
use crate::algorithms::tables::UNREACHED;
use crate::trees::load::TreeLoad;
use crate::trees::tree::Step;
use crate::{Hop, RouteState, Routing};

/// Paths in dimension order.
#[derive(Debug)]
pub(in crate::trees) struct DimensionOrder {
    torus: Grid,
    routing: Box<dyn Routing>,
}

impl DimensionOrder {
    /// Creates the order on a torus or mesh.
    pub fn new(torus: &Grid) -> Result<Self, KeyError> {
        let routing = DimensionOrderSpec { order: None, ties: RingTies::Positive }.build(torus)?;
        Ok(Self { torus: torus.clone(), routing: Box::new(routing) })
    }

    /// Returns the next step toward a root that is another switch, unless its wire is taken.
    fn step(&self, load: &TreeLoad, at: RouterId, root: RouterId) -> Option<(RouterId, Step)> {
        // Packets for all nodes of the root take one path.
        let dst = NodeId(root.0 * u32::from(self.torus.nodes_per_router()));
        let mut hop = Hop { dst, state: RouteState::default(), in_port: PortId(0), vc_class: VcClass(0) };
        let route = self.routing.route(at, &mut hop);
        match self.torus.endpoint(at, route.first()) {
            Endpoint::Router(next, _) if !load.is_taken(at, route.first()) => {
                Some((next, Step { router: at, port: route.first(), level: route.vc_class.0 }))
            }
            _ => None,
        }
    }

    /// Returns the number of channels from a switch to a root.
    fn hops(&self, load: &TreeLoad, from: RouterId, root: RouterId) -> u32 {
        let (mut at, mut hops) = (from, 0);
        while at != root {
            let Some((next, _)) = self.step(load, at, root) else { return UNREACHED };
            (at, hops) = (next, hops + 1);
        }
        hops
    }
}

impl Order for DimensionOrder {
    fn levels_on(&self, class: ChannelClass) -> u8 {
        if class <= ChannelClass::EJECTION { 0 } else { self.routing.classes() }
    }

    fn reach(&self, load: &TreeLoad, from: RouterId) -> Vec<u32> {
        (0..self.torus.routers()).map(|root| self.hops(load, from, RouterId(root))).collect()
    }

    fn way(&self, load: &TreeLoad, root: RouterId, _switches: &[RouterId], _rule: TreeRule) -> Way {
        let hops = (0..self.torus.routers()).map(|from| self.hops(load, RouterId(from), root));
        Way { root, hops: hops.collect(), gates: Vec::new() }
    }

    fn steps(&self, load: &TreeLoad, way: &Way, at: RouterId) -> Vec<(RouterId, Step)> {
        self.step(load, at, way.root).into_iter().collect()
    }
}
