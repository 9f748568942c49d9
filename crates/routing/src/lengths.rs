//! How many channels packets cross from router to router.

use std::sync::Arc;

use topology::Topology;
use units::RouterId;

use crate::{Routing, RoutingError, RoutingSpec};

/// The lengths of the paths that a topology's default routing takes. They differ from `Topology::distance` where that
/// routing does not take shortest paths: a dragonfly's crosses one global channel even where two are shorter.
#[derive(Debug)]
pub struct PathLengths<'a> {
    topology: &'a dyn Topology,
    /// The default routing, where its paths may be longer than the distance.
    routing: Option<Arc<dyn Routing>>,
}

impl<'a> PathLengths<'a> {
    /// The paths of a topology.
    ///
    /// # Errors
    /// If the default routing cannot be built on this topology.
    pub fn new(topology: &'a dyn Topology) -> Result<Self, RoutingError> {
        let spec = RoutingSpec::default_for(topology);
        let routing = if spec.takes_shortest_paths() { None } else { Some(spec.build(topology)?) };
        Ok(Self { topology, routing })
    }

    /// Channels between two routers; the fewest, where the routing chooses among paths of several lengths.
    pub fn channels(&self, from: RouterId, to: RouterId) -> u32 {
        let own = self.routing.as_ref().and_then(|routing| routing.path_channels(from, to));
        own.unwrap_or_else(|| self.topology.distance(from, to))
    }
}
