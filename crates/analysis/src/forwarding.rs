//! Routing of a system's network as forwarding tables.

use routing::ForwardingFiles;
use units::KeyError;

use ::system::System;

use crate::one_network::OneNetwork;

/// Returns the forwarding tables of an island of a system's network. `network` names one of several networks.
///
/// # Errors
/// If the network has no channels, if there is no such network, if several are there and none is named, or if
/// forwarding tables cannot express the routing.
pub fn forwarding_files(system: &System, network: Option<&str>) -> Result<ForwardingFiles, KeyError> {
    let network = OneNetwork::of(system, network)?;
    let found = ForwardingFiles::of(network.topology(), &**network.routing);
    found.map_err(|error| error.under("routing")).map_err(|error| network.at(&error.key, error.message))
}
