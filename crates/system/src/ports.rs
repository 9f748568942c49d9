//! Connected ports of routers, and the check of `router.ports`.

use topology::{Endpoint, Topology};
use units::{KeyError, PortId, RouterId};

/// Returns the ports of a router that have a wire.
pub fn connected_ports(topology: &dyn Topology, router: RouterId) -> impl Iterator<Item = PortId> {
    let ports = (0..topology.ports(router)).map(PortId);
    ports.filter(move |&port| topology.endpoint(router, port) != Endpoint::Unconnected)
}

/// Refuses switches with too few ports for a topology. `ports` is the number of ports of a switch.
pub(crate) fn check(topology: &dyn Topology, ports: Option<u16>) -> Result<(), KeyError> {
    let Some(ports) = ports else { return Ok(()) };
    let need = |router| connected_ports(topology, router).count();
    let routers = (0..topology.routers()).map(RouterId).map(|router| (need(router), std::cmp::Reverse(router)));
    let Some((most, router)) = routers.max().filter(|&(most, _)| most > usize::from(ports)) else { return Ok(()) };
    let message = format!(
        "router {} of this {} has {most} wires, and a switch {ports} ports: give at least {most} ports, or choose a topology with \
         fewer wires a router",
        router.0.0,
        topology.kind(),
    );
    Err(KeyError::new("router.ports", message))
}
