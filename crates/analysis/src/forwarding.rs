//! Routing of a system's network as forwarding tables.

use routing::ForwardingFiles;
use units::{KeyError, KeyResult};

use ::system::System;

use crate::analysis::check_one_network;

/// Returns the forwarding tables of a system's network.
///
/// # Errors
/// If the network has no channels, if there are several networks, or if forwarding tables cannot express the routing.
pub fn forwarding_files(system: &System) -> Result<ForwardingFiles, KeyError> {
    check_one_network(system, "forwarding tables")?;
    let network = &system.network;
    ForwardingFiles::of(&*network.topology, &*network.routing).under("routing")
}
