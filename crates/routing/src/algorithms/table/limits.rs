//! How large tables may be, and what their columns are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RoutingError;

/// The most entries of a table: layers times routers times destinations.
pub(crate) const MAX_ENTRIES: u64 = 1 << 28;
/// The most layers of a table.
pub(crate) const MAX_LAYERS: usize = 1 << 12;

/// What numbers of destinations are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DestinationKind {
    /// Routers: all nodes of a router are reached alike.
    Routers,
    /// Nodes.
    Nodes,
}

/// An error of a file with so many entries.
pub(super) fn too_large(name: &str, entries: u64) -> RoutingError {
    let message = format!(
        "{name}: has {entries} entries (layers times routers times destinations); at most {MAX_ENTRIES} (2^28) are allowed"
    );
    RoutingError::new("path", message)
}
