//! Number of channels that packets cross from router to router.

use std::sync::Arc;

use topology::Topology;
use units::{KeyError, RouterId};

use crate::{Routing, RoutingSpec};

/// Lengths of the paths of a topology's default routing. They differ from `Topology::distance` if that routing does not
/// take shortest paths: a dragonfly's crosses one global channel even if two are shorter.
#[derive(Debug)]
pub struct PathLengths<'a> {
    topology: &'a dyn Topology,
    /// Default routing, if its paths may be longer than the distance.
    routing: Option<Arc<dyn Routing>>,
}

impl<'a> PathLengths<'a> {
    /// Creates the path lengths of a topology.
    ///
    /// # Errors
    /// If the default routing cannot be built on this topology.
    pub fn new(topology: &'a dyn Topology) -> Result<Self, KeyError> {
        let spec = RoutingSpec::default_for(topology);
        let routing = if spec.takes_shortest_paths(topology) { None } else { Some(spec.build(topology)?) };
        Ok(Self { topology, routing })
    }

    /// Returns the number of channels between two routers. If the routing chooses among paths of several lengths it is
    /// the fewest.
    pub fn channels(&self, from: RouterId, to: RouterId) -> u32 {
        let own = self.routing.as_ref().and_then(|routing| routing.path_channels(from, to));
        own.unwrap_or_else(|| self.topology.distance(from, to))
    }
}
