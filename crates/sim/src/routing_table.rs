//! Routings as tables, for those who start an own routing from one of ours.

use std::path::Path;

use routing::{RoutingSpec, RoutingTable};
use topology::Topology;

use crate::error::SystemError;

/// The table of a routing on a topology; `routing` is the section `[routing]` as JSON, or empty for the topology's default.
///
/// # Errors
/// If there is no such routing on this topology, or if it cannot be written as a table.
pub fn routing_table(topology: &dyn Topology, routing: &str, base: &Path) -> Result<RoutingTable, SystemError> {
    let spec = match routing {
        "" => RoutingSpec::default_for(topology),
        text => serde_json::from_str(text).map_err(|error| SystemError::new("routing", error))?,
    };
    let table = spec.build_in(topology, base).and_then(|routing| RoutingTable::of(topology, &*routing));
    table.map_err(|error| SystemError::new(format!("routing.{}", error.key), error.message))
}
