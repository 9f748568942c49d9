//! Network that workloads run on: topology, routing and timing. It knows no workload.

use std::ops::Range;
use std::sync::Arc;

use fabric::Plan;
use host::GroupParams;
use routing::trees::Trees;
use routing::{RouteState, Routing};
use topology::{ChannelClass, Endpoint, Topology};
use units::{Bytes, Draw, NodeId, PlaneId, PortId, RouterId, Time};

use crate::feature::Feature;
use crate::ways::NetworkWays;

/// Division of a message into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// Size of a message, in bytes.
    pub message: u64,
    /// Size of every packet of a message but the last, in bytes.
    pub packet: u32,
}

impl Packets {
    /// Returns the number of packets of a message.
    pub fn count(self) -> u64 {
        self.message.div_ceil(u64::from(self.packet))
    }
}

/// Network, ready to run. Clones share it.
#[derive(Clone, Debug)]
pub struct Network {
    /// Features of the network model.
    pub features: &'static [Feature],
    /// Topology.
    pub topology: Arc<dyn Topology>,
    /// Routing.
    pub routing: Arc<dyn Routing>,
    /// Default routing of the topology, for the idle times of messages. None unless messages are measured and its paths
    /// may be longer than the distance.
    pub direct: Option<Arc<dyn Routing>>,
    /// Times, buffers and credits.
    pub plan: Arc<Plan>,
    /// Size of the largest packet, in bytes.
    pub packet: u32,
    /// Parameters by which members of groups send operations that routers combine.
    pub group: GroupParams,
    /// Number of the network, among several, that a job uses if its messages do not choose networks.
    pub part: usize,
    /// Ways of messages that choose networks. None if there is one network.
    pub ways: Option<Arc<NetworkWays>>,
}

impl Network {
    /// Returns the trees of groups. None without trees.
    pub fn trees(&self) -> Option<&Arc<Trees>> {
        self.plan.groups().map(|groups| &groups.trees)
    }

    /// Converts ticks to picoseconds.
    pub fn picoseconds(&self, ticks: u64) -> u64 {
        ticks.saturating_mul(self.plan.tick().0)
    }

    /// Converts ticks to nanoseconds.
    pub fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 * self.plan.tick().0 as f64 / 1e3
    }

    /// Returns the slot: the serialization time of a message on injection links, in ticks.
    pub fn slot(&self, packets: Packets) -> u64 {
        let Packets { message, packet } = packets;
        let whole = message / u64::from(packet);
        let rest = (message % u64::from(packet)) as u32;
        let time = |bytes| self.plan.serialization(self.injection(), bytes);
        whole.saturating_mul(time(packet)).saturating_add(if rest > 0 { time(rest) } else { 0 })
    }

    /// Returns the serialization time in ticks of `bytes` bytes on a node's links of a class, in whole packets of
    /// `packet` bytes. Any division into packets takes at least this time. Without packets the bytes are one message.
    pub fn least_time(&self, class: ChannelClass, bytes: u64, packet: u32) -> u64 {
        if !self.has(Feature::Packets) {
            let time = self.plan.bandwidth(self.injection()).serialization(Bytes(bytes));
            return time.map_or(u64::MAX, |(time, _)| time.0);
        }
        let packets = bytes / u64::from(packet) / u64::from(self.planes());
        packets.saturating_mul(self.plan.serialization(class, packet))
    }

    /// Returns the number of injection links of a node into the job's network: one for each plane.
    pub fn planes(&self) -> u32 {
        self.own_planes().len() as u32
    }

    /// Returns the planes of the job's network, counted over all networks.
    pub fn own_planes(&self) -> Range<u32> {
        let Some(networks) = self.topology.views().networks else { return 0..1 };
        let first = u32::from(networks.first_plane(self.part).0);
        first..first + networks.parts()[self.part].planes
    }

    /// Returns the initial routing state of a packet that its source sends into a plane.
    pub fn start_on(&self, plane: u32, (from, to): (NodeId, NodeId), draw: &mut dyn Draw) -> RouteState {
        match self.topology.planes() {
            1 => self.routing.start(from, to, draw),
            _ => self.routing.start_on(PlaneId(plane as u8), (from, to), draw),
        }
    }

    /// Returns the class of the injection links of the job's network.
    pub fn injection(&self) -> ChannelClass {
        self.topology.injection_class(PlaneId(self.own_planes().start as u8))
    }

    /// Returns the class of the ejection links of the job's network.
    pub fn ejection(&self) -> ChannelClass {
        self.topology.ejection_class(PlaneId(self.own_planes().start as u8))
    }

    /// Returns the number of networks.
    pub fn networks(&self) -> usize {
        routing::islands::networks(&*self.topology)
    }

    /// Returns this network for a job that uses network `part` of several.
    #[must_use]
    pub fn on(&self, part: usize) -> Self {
        let routing = self.routing.in_network(part).filter(|_| self.ways.is_some());
        Self { part, routing: routing.unwrap_or_else(|| Arc::clone(&self.routing)), ..self.clone() }
    }

    /// Returns the classes of the channels of the job's network.
    fn classes(&self) -> impl Iterator<Item = ChannelClass> + Clone {
        let topology = Arc::clone(&self.topology);
        let all = (0..topology.class_names().len() as u8).map(ChannelClass);
        let own = self.topology.network_of_class(self.injection());
        all.filter(move |&class| topology.network_of_class(class) == own)
    }

    /// Whether the model has a feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// Returns the time limit of a run in ticks, given `measure.max_time`.
    pub fn time_limit(&self, max_time: Option<Time>) -> u64 {
        max_time.map_or(u64::MAX, |time| time.0 / self.plan.tick().0)
    }

    /// Returns the zero-load latency of a packet on a path through `routers` routers, in ticks: over the slowest channels
    /// and routers, if they differ.
    pub fn zero_load_latency(&self, routers: u32) -> u64 {
        if !self.has(Feature::Routers) {
            return self.plan.link_delay(ChannelClass::INJECTION) + self.slowest_channel(1);
        }
        let delay = |class| self.plan.link_delay(class);
        let between = self.classes().skip(2).map(delay).max().unwrap_or(0);
        delay(self.injection())
            + delay(self.ejection())
            + u64::from(routers.saturating_sub(1)) * between
            + u64::from(routers) * self.plan.longest_router_delay()
            + self.slowest_channel(routers)
    }

    /// Returns the least delay between two nodes, in ticks: that of a link, or of a router with its links to the nodes.
    pub fn least_delay(&self) -> u64 {
        match self.has(Feature::Routers) {
            true => least_path(&self.plan),
            false => self.plan.link_delay(ChannelClass::INJECTION),
        }
    }

    /// Returns the zero-load latency of a packet on the longest path, in ticks.
    pub fn longest_path(&self) -> u64 {
        let routes = self.has(Feature::Routes);
        self.zero_load_latency(if routes { self.routing.max_routers() } else { self.topology.diameter() + 1 })
    }

    /// Returns the longest time for which a combine unit works on a packet of each port, in ticks. 0 without units.
    pub fn longest_combining(&self) -> u64 {
        let Some(units) = self.plan.groups().and_then(|groups| groups.units) else { return 0 };
        let ports = (0..self.topology.routers()).map(|router| self.topology.ports(RouterId(router))).max();
        let cycles = units.cycles(self.packet).max(units.combining_cycles(self.packet));
        (u64::from(ports.unwrap_or(0)) * cycles).saturating_mul(units.cycle.0).div_ceil(self.plan.tick().0)
    }

    /// Returns the delay of the idle path between nodes of two routers ([`idle_path`]).
    pub fn idle_path(&self, from: RouterId, to: RouterId) -> u64 {
        idle_path(&self.plan, from, to)
    }

    /// Returns the serialization time in ticks of a packet on the slowest channel of a path through `routers` routers,
    /// which delays the packet's tail. A path with one router has only injection and ejection channels; longer paths
    /// may use all classes.
    fn slowest_channel(&self, routers: u32) -> u64 {
        let classes = if routers > 1 { usize::MAX } else { 2 };
        let time = |class| self.plan.serialization(class, self.packet);
        self.classes().take(classes).map(time).max().unwrap_or(0)
    }
}

/// Returns the delays of the channels of two nodes on a plane, in ticks: from one of them, and to the other.
fn delays_of_nodes(plan: &Plan, plane: PlaneId) -> u64 {
    let topology = plan.topology();
    plan.link_delay(topology.injection_class(plane)) + plan.link_delay(topology.ejection_class(plane))
}

/// Returns the delay of the path between two nodes of one of the fastest routers, in ticks. Of several networks, the
/// channels are those of the fastest.
pub(crate) fn least_path(plan: &Plan) -> u64 {
    let ends = plan.topology().all_planes().map(|plane| delays_of_nodes(plan, plane)).min();
    ends.unwrap_or(0) + plan.router_delays().min().unwrap_or(0)
}

/// Returns the delays of the channels between routers, by class, in ticks.
fn delays_between(plan: &Plan) -> impl Iterator<Item = u64> {
    let topology = plan.topology();
    let classes = (0..topology.class_names().len() as u8).map(ChannelClass);
    let between = classes.filter(|&class| !topology.is_injection(class) && !topology.is_ejection(class));
    between.map(|class| plan.link_delay(class))
}

/// Returns the delay of a channel between routers and of the router behind it, in ticks. None if these channels or the
/// routers have different delays.
pub(crate) fn hop_delay(plan: &Plan) -> Option<u64> {
    let mut delays = delays_between(plan);
    let first = delays.next().unwrap_or(0);
    let router = plan.common_router_delay()?;
    delays.all(|delay| delay == first).then_some(first + router)
}

/// Returns the delay of the idle path between nodes of two routers, in ticks: the latency of a packet's head over the
/// channels and routers of a shortest path without contention. Among ports that lead nearer, the lowest is taken. The
/// path crosses a channel between the two partitions, so nothing reaches the other partition sooner.
pub(crate) fn idle_path(plan: &Plan, from: RouterId, to: RouterId) -> u64 {
    match hop_delay(plan).filter(|_| plan.topology().views().networks.is_none_or(|own| own.only().is_some())) {
        Some(hop) => path_of_equal_hops(plan, hop, (from, to)),
        None => path_by_ports(plan, (from, to)),
    }
}

/// Returns the delay of the idle path ([`idle_path`]) if each channel between routers, with the router behind it, takes
/// `hop` ticks.
#[inline]
pub(crate) fn path_of_equal_hops(plan: &Plan, hop: u64, (from, to): (RouterId, RouterId)) -> u64 {
    let hops = u64::from(plan.topology().distance(from, to));
    least_path(plan).saturating_add(hops.saturating_mul(hop))
}

/// Returns the delay of the idle path ([`idle_path`]), whose channels are found by a search among the ports of each
/// router.
pub(crate) fn path_by_ports(plan: &Plan, (from, to): (RouterId, RouterId)) -> u64 {
    let topology = plan.topology();
    let (mut at, mut distance) = (from, topology.distance(from, to));
    let mut delay = delays_of_nodes(plan, topology.plane_of(from)) + plan.router_delay(from);
    while distance > 0 {
        let nearer = |port: PortId| match topology.endpoint(at, port) {
            Endpoint::Router(next, _) if topology.distance(next, to) < distance => Some((port, next)),
            _ => None,
        };
        let Some((port, next)) = (0..topology.ports(at)).map(PortId).find_map(nearer) else { break };
        delay += plan.link_delay(topology.class(at, port)) + plan.router_delay(next);
        (at, distance) = (next, topology.distance(next, to));
    }
    delay
}
