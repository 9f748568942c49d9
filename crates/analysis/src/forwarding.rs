//! Routing of a system's network as forwarding tables.

use routing::ForwardingFiles;
use units::{KeyError, KeyResult};

use ::network::Feature;
use ::system::{System, model};

/// Returns the forwarding tables of a system's network.
///
/// # Errors
/// If the network has no channels, if there are several networks, or if forwarding tables cannot express the routing.
pub fn forwarding_files(system: &System) -> Result<ForwardingFiles, KeyError> {
    let network = &system.network;
    if !network.has(Feature::Routes) {
        let key = if network.has(Feature::Routers) { "simulation.model" } else { "topology.kind" };
        return Err(KeyError::new(key, model::NO_CHANNELS));
    }
    if network.ways.is_some() {
        return Err(KeyError::new(
            "network",
            "each network has separate forwarding tables: export a file that has one",
        ));
    }
    ForwardingFiles::of(&*network.topology, &*network.routing).under("routing")
}
