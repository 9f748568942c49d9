//! Idle time of a message: time from generation to the arrival of its last byte in an otherwise empty network.
//!
//! The packets of the message follow one another on one path. The first head incurs the delays of all channels and
//! routers. Behind it, the slowest channel of the path serializes all packets. With n whole packets and a remainder,
//!
//! ```text idle time = delays + n T(packet) + T(rest) ```
//!
//! where T is the serialization time on the slowest channel. This is exact for virtual cut-through if a channel is busy
//! with a packet until its tail has arrived: a packet holds each channel at least for its own serialization time,
//! packets keep their order, and the sum is largest if all are charged to the slowest channel. Assumes buffers that
//! cover the credit round trip.
//!
//! The path is that of the topology's default routing, whatever the routing of the experiment: a shortest path, and on
//! a dragonfly the direct one (local, global, local). Among ports that lead nearer, the one with the least delay is
//! taken, and among these the lowest. If channels differ in delay or bandwidth, a routing with longer paths may be
//! faster. So may the tree of a group on a dragonfly, which may use two global channels with no local one between them.

use std::sync::Arc;

use routing::algorithms::networks::NetworksRouting;
use routing::{Hop, RouteState, Routing};
use topology::{ChannelClass, Endpoint};
use units::{KeyError, NodeId, PortId, RouterId, VcClass};

use network::{Feature, Network};

/// Largest number of router pairs for which paths are kept. In larger networks each path is followed again.
const MOST_PAIRS: usize = 1 << 20;

/// Properties of a message's path in an idle network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdlePath {
    /// Sum of the delays of all channels and routers, in ticks.
    delay: u64,
    /// Class of the slowest channel.
    slowest: ChannelClass,
}

impl IdlePath {
    /// Returns the idle time in ticks of a message of `bytes` bytes, cut into packets of `packet` bytes.
    pub fn time(self, network: &Network, bytes: u64, packet: u32) -> u64 {
        let time = |bytes| network.plan.serialization(self.slowest, bytes);
        let (whole, rest) = (bytes / u64::from(packet), (bytes % u64::from(packet)) as u32);
        let rest = if rest > 0 { time(rest) } else { 0 };
        self.delay.saturating_add(whole.saturating_mul(time(packet))).saturating_add(rest)
    }

    /// Returns the path extended at its front by a channel of a class and by `router_delay`, the delay in ticks of the
    /// router behind it (0 without one).
    fn behind(self, network: &Network, class: ChannelClass, router_delay: u64) -> Self {
        let time = |class| network.plan.serialization(class, network.packet);
        let slowest = if time(class) > time(self.slowest) { class } else { self.slowest };
        Self { delay: self.delay + network.plan.link_delay(class) + router_delay, slowest }
    }
}

/// Idle paths of a network.
#[derive(Debug)]
pub(super) struct IdleTimes {
    pub network: Network,
    /// Number of routers of a plane. `usize::MAX`: there are several networks.
    routers: usize,
    /// Known paths by pair of routers. Empty in large networks.
    known: Vec<Option<IdlePath>>,
}

impl IdleTimes {
    pub fn new(network: &Network) -> Self {
        let routers = match network.topology.views().networks {
            Some(networks) => networks.only().map_or(usize::MAX, |part| part.island.routers() as usize),
            None => network.topology.routers() as usize,
        };
        let pairs = routers.checked_mul(routers).filter(|&pairs| pairs <= MOST_PAIRS).unwrap_or(0);
        Self { network: network.clone(), routers, known: vec![None; pairs] }
    }

    /// Returns the path between two nodes.
    pub fn between(&mut self, from: NodeId, to: NodeId) -> IdlePath {
        let topology = &self.network.topology;
        let pair = (!self.known.is_empty())
            .then(|| topology.attachment(from).0.index() * self.routers + topology.attachment(to).0.index());
        if let Some(&Some(known)) = pair.and_then(|pair| self.known.get(pair)) {
            return known;
        }
        let found = follow(&self.network, from, to);
        if let Some(known) = pair.and_then(|pair| self.known.get_mut(pair)) {
            *known = Some(found);
        }
        found
    }
}

/// Follows the path from one node to another.
fn follow(network: &Network, from: NodeId, to: NodeId) -> IdlePath {
    let topology = &*network.topology;
    let [(at, in_port), (end, _)] =
        topology.joined(from, to).unwrap_or_else(|| [topology.attachment(from), topology.attachment(to)]);
    let plane = topology.plane_of(at);
    if !network.has(Feature::Routes) {
        let slowest = ChannelClass::INJECTION;
        let delay = match network.has(Feature::Routers) {
            true => network.idle_path(at, end),
            false => network.plan.link_delay(slowest),
        };
        return IdlePath { delay, slowest };
    }
    let inside = match &network.direct {
        Some(routing) => {
            let hop = Hop { dst: to, state: RouteState::default(), in_port, vc_class: VcClass(0) };
            least(network, &**routing, (at, hop), routing.max_routers())
        }
        None => None,
    };
    let inside = inside.unwrap_or_else(|| nearer_and_nearer(network, at, end));
    inside.behind(network, topology.injection_class(plane), network.plan.router_delay(at))
}

/// Returns the path that consists of an ejection channel of a router.
fn last_channel(network: &Network, at: RouterId) -> IdlePath {
    let slowest = network.topology.ejection_class(network.topology.plane_of(at));
    IdlePath { delay: network.plan.link_delay(slowest), slowest }
}

/// Returns the path from a router to a node of another router, through ports that lead nearer.
fn nearer_and_nearer(network: &Network, from: RouterId, to: RouterId) -> IdlePath {
    let (topology, plan) = (&*network.topology, &network.plan);
    let (mut at, mut distance) = (from, topology.distance(from, to));
    let mut path = last_channel(network, from);
    while distance > 0 {
        let nearer = |port: PortId| match topology.endpoint(at, port) {
            Endpoint::Router(next, _) if topology.distance(next, to) < distance => Some((port, next)),
            _ => None,
        };
        let nearer = (0..topology.ports(at)).map(PortId).filter_map(nearer);
        let delay = |port, next| plan.link_delay(topology.class(at, port)) + plan.router_delay(next);
        let Some((port, next)) = nearer.min_by_key(|&(port, next)| delay(port, next)) else {
            break;
        };
        path = path.behind(network, topology.class(at, port), plan.router_delay(next));
        (at, distance) = (next, distance - 1);
    }
    path
}

/// Returns the path with the least delay that a routing may take from a router, through at most `routers` routers. None
/// if there is none.
fn least(network: &Network, routing: &dyn Routing, (at, mut hop): (RouterId, Hop), routers: u32) -> Option<IdlePath> {
    let topology = &*network.topology;
    let route = routing.route(at, &mut hop);
    let by = |port: PortId| match topology.endpoint(at, port) {
        Endpoint::Node(_) => Some(last_channel(network, at)),
        Endpoint::Router(next, in_port) if routers > 1 => {
            let hop = Hop { in_port, vc_class: route.vc_class, ..hop };
            let rest = least(network, routing, (next, hop), routers - 1)?;
            Some(rest.behind(network, topology.class(at, port), network.plan.router_delay(next)))
        }
        _ => None,
    };
    route.ports(routing.port_lists()).filter_map(by).min_by_key(|path| path.delay)
}

/// Returns the topology's default routing if its paths may be longer than the distance. Reuses `own` if it is of this
/// kind.
///
/// # Errors
/// If the routing cannot be built.
pub fn direct_routing(
    topology: &dyn topology::Topology,
    own: &Arc<dyn Routing>,
) -> Result<Option<Arc<dyn Routing>>, KeyError> {
    if let Some(networks) = topology.views().networks.filter(|networks| networks.only().is_none()) {
        let islands = networks.parts().iter().zip(own.parts()).map(|(part, own)| (&*part.island, own));
        let direct = islands.clone().map(|(island, own)| direct_routing(island, own)).collect::<Result<Vec<_>, _>>()?;
        if direct.iter().all(Option::is_none) {
            return Ok(None);
        }
        let parts = islands.zip(direct).map(|((_, own), direct)| direct.unwrap_or_else(|| Arc::clone(own)));
        return Ok(Some(Arc::new(NetworksRouting::new(networks, parts.collect())?)));
    }
    let spec = routing::RoutingSpec::default_for(topology);
    if spec.takes_shortest_paths(topology) {
        return Ok(None);
    }
    if own.kind() == spec.kind() { Ok(Some(Arc::clone(own))) } else { spec.build(topology).map(Some) }
}
