//! Connected ports of routers, and the check of `router.ports`.

use std::cmp::Reverse;

use fabric::RouterSets;
use fabric::catalogue::RouterSpec;
use topology::{Endpoint, Topology};
use units::{KeyError, PortId, RouterId};

/// Returns the ports of a router that have a wire.
pub fn connected_ports(topology: &dyn Topology, router: RouterId) -> impl Iterator<Item = PortId> {
    let ports = (0..topology.ports(router)).map(PortId);
    ports.filter(move |&port| topology.endpoint(router, port) != Endpoint::Unconnected)
}

/// Refuses switches with too few ports for a topology. Of several the one with most wires is named.
pub(crate) fn check(topology: &dyn Topology, router: &RouterSpec) -> Result<(), KeyError> {
    let sets = RouterSets::new(router, topology);
    if sets.iter().all(|(_, keys)| keys.common().ports.is_none()) {
        return Ok(());
    }
    let lacking = |router: RouterId| {
        let (need, ports) = (connected_ports(topology, router).count(), sets.keys(router).common().ports?);
        (need > usize::from(ports)).then_some((need, Reverse(router), ports))
    };
    let routers = (0..topology.routers()).map(RouterId);
    let Some((most, Reverse(router), ports)) = routers.filter_map(lacking).max() else { return Ok(()) };
    let message = format!(
        "router {} of this {} has {most} wires, and a switch {ports} ports: give at least {most} ports, or choose a topology with \
         fewer wires a router",
        router.0,
        topology.kind(),
    );
    Err(KeyError::new(sets.path(router, "ports"), message))
}
