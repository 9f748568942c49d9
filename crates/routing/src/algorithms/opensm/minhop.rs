//! `minhop`: OpenSM's default engine. Fewest hops, and of equally good ports the one with the fewest nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use topology::Topology;
use units::{KeyError, RouterId};

use super::{Subnet, balance};
use crate::Routing;

/// Any topology: OpenSM's `minhop`, shortest paths that are balanced over ports by the number of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MinhopSpec {}

impl MinhopSpec {
    /// Builds the routing on a topology.
    ///
    /// # Errors
    /// If routers cannot reach one another, or if the table would have more than 2^28 entries.
    pub fn build(&self, topology: &dyn Topology) -> Result<impl Routing + use<>, KeyError> {
        let subnet = Subnet::new(topology, "minhop")?;
        subnet.check_connected()?;
        let nearer = |target: RouterId| {
            let hops = subnet.distances(&[target]);
            let wires =
                subnet.routers().flat_map(|router| subnet.wires.of(router).iter().map(move |wire| (router, wire)));
            wires.map(|(router, (_, next))| hops[next.index()] < hops[router.index()]).collect()
        };
        balance::by_nodes(&subnet, nearer).build("minhop", topology)
    }
}
