//! Routings as tables, for users who start their routing from a built-in one.

use std::path::Path;

use routing::{RoutingSpec, RoutingTable};
use topology::Topology;
use units::{KeyError, KeyResult};

/// Returns the table of a routing on a topology. `routing` is the section `[routing]` as JSON, or empty for the
/// topology's default.
///
/// # Errors
/// If the topology does not support the routing, or if it cannot be written as a table.
pub fn routing_table(topology: &dyn Topology, routing: &str, base: &Path) -> Result<RoutingTable, KeyError> {
    let spec = match routing {
        "" => RoutingSpec::default_for(topology),
        text => serde_json::from_str(text).at_key("routing")?,
    };
    let table = spec.build_in(topology, base).and_then(|routing| RoutingTable::of(topology, &*routing));
    table.under("routing")
}
