//! Minimal adaptive routing on tori and meshes, with an escape class (Duato, IEEE TPDS 4, 1993; the adaptive mode of
//! Blue Gene's torus: Adiga et al., IBM Journal of Research and Development 49, 2005).
//!
//! A packet may leave by any port that leads nearer to its destination, on the adaptive class, which is the last one,
//! or by the port of dimension order, on its classes, the escape classes. A router takes the least congested adaptive
//! port with room for the packet that is not reserved for another. If there is none, the packet takes the escape port
//! and waits there. So packets wait for escape channels only.
//!
//! Dimension order is connected and free of cycles wherever a packet enters it: its class is a function of the packet's
//! router and its destination (the dateline is ahead or not), and ties go to higher coordinates. That is Duato's
//! condition for cut-through (IEEE TPDS 7, 1996). There is no dependency from escape to escape channels by way of
//! adaptive channels, since a packet that has moved on holds only its present buffer.
//!
//! In a torus packets may go either way round to a router that is just opposite.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use topology::views::Grid;
use units::{KeyError, PortId, RouterId, VcClass};

use super::dimension_order::{DimensionOrder, DimensionOrderSpec, RingTies};
use crate::{Choice, FlowSet, Hop, Representative, Route, Routing, Symmetry};

/// Largest number of dimensions: the sets of ports are listed, up to 4^8.
const MOST_DIMENSIONS: usize = 8;

/// Tori and meshes: by any port that leads nearer, with dimension order as the escape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MinimalAdaptiveSpec {
    /// Order in which the escape channels travel the dimensions. Must name each dimension once. Default: ascending.
    pub order: Option<Vec<u32>>,
}

/// Ports that lead nearer in some directions: their begin in the list, and their number.
#[derive(Clone, Copy, Debug, Default)]
struct PortSet {
    list: u32,
    count: u16,
}

#[derive(Debug)]
struct MinimalAdaptive {
    escape: DimensionOrder,
    /// Adaptive class.
    class: VcClass,
    /// Port sets by the directions in each dimension, two bits each: plus and minus.
    sets: Vec<PortSet>,
    lists: Vec<PortId>,
}

impl MinimalAdaptiveSpec {
    /// Builds the routing on a torus or mesh.
    ///
    /// # Errors
    /// If `order` does not name each dimension once, or if there are more than 8 dimensions.
    pub fn build(&self, torus: &Grid) -> Result<impl Routing + 'static, KeyError> {
        let dims = torus.dims().len();
        if dims > MOST_DIMENSIONS {
            let message = format!(
                "minimal-adaptive is for up to {MOST_DIMENSIONS} dimensions; this {} has {dims}: use \
                 \"dimension-order\"",
                torus.kind()
            );
            return Err(KeyError::new("kind", message));
        }
        let spec = DimensionOrderSpec { order: self.order.clone(), ties: RingTies::Positive };
        let escape = spec.bind(torus)?;
        let (mut sets, mut lists) = (Vec::with_capacity(1 << (2 * dims)), Vec::new());
        for directions in 0..1_u32 << (2 * dims) {
            let list = lists.len() as u32;
            lists.extend((0..2 * dims).filter(|bit| directions >> bit & 1 != 0).map(|bit| PortId(bit as u16)));
            sets.push(PortSet { list, count: directions.count_ones() as u16 });
        }
        Ok(MinimalAdaptive { class: VcClass(escape.classes()), escape, sets, lists })
    }
}

impl Routing for MinimalAdaptive {
    fn kind(&self) -> &'static str {
        "minimal-adaptive"
    }

    fn classes(&self) -> u8 {
        self.class.0 + 1
    }

    fn adaptive(&self) -> bool {
        true
    }

    #[inline]
    fn route(&self, at: RouterId, hop: &mut Hop) -> Route {
        let directions = self.escape.directions(at, hop.dst);
        if directions == 0 {
            return self.escape.route(at, hop);
        }
        let PortSet { list, count } = self.sets[directions as usize];
        Route::listed(list, count, self.class, Choice::Escape)
    }

    #[inline]
    fn escape(&self, at: RouterId, hop: &Hop) -> (PortId, VcClass) {
        let route = self.escape.route(at, &mut hop.clone());
        (route.first(), route.vc_class)
    }

    fn adaptive_class(&self) -> Option<VcClass> {
        Some(self.class)
    }

    fn port_lists(&self) -> &[PortId] {
        &self.lists
    }

    fn uses_input_port(&self) -> bool {
        false
    }

    fn same_for_router(&self) -> bool {
        true
    }

    fn representatives(&self, at: RouterId) -> Option<Vec<Representative>> {
        self.escape.representatives(at)
    }

    /// In a torus all routers are equivalent, and so are their channels of a port. A mesh has borders.
    fn symmetry(&self) -> Option<Symmetry<'_>> {
        let torus = &self.escape.torus;
        let flows = FlowSet { from: None, to: vec![RouterId(0)], copies: f64::from(torus.routers()) };
        let orbit = |_, port: PortId| u32::from(port.0);
        torus.is_torus().then(|| Symmetry { flows: vec![flows], orbit: Box::new(orbit) })
    }

    fn minimal(&self) -> bool {
        true
    }

    fn max_routers(&self) -> u32 {
        self.escape.max_routers()
    }
}
