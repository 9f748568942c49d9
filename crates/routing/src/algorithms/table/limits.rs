//! Limits of the size of tables, and the meaning of their columns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::KeyError;

/// Largest number of entries of a table: layers times routers times destinations.
pub(crate) const MAX_ENTRIES: u64 = 1 << 28;
/// Largest number of layers of a table.
pub(crate) const MAX_LAYERS: usize = 1 << 12;

/// Meaning of the numbers of destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DestinationKind {
    /// Routers: all nodes of a router share their routes.
    Routers,
    /// Nodes.
    Nodes,
}

/// Returns the error for a file with `entries` entries.
pub(super) fn too_large(name: &str, entries: u64) -> KeyError {
    let message = format!(
        "{name}: has {entries} entries (layers times routers times destinations); at most {MAX_ENTRIES} (2^28) are allowed"
    );
    KeyError::new("path", message)
}
