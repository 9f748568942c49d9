//! Memory of the state of a network, computed from its sizes alone, so that it can be checked before anything is built.
//!
//! Each part of the state computes the bytes of its arrays beside their allocation: `Fabric::bytes` for the state that
//! all architectures share, and each architecture for its queues.

use engine::Event;
use topology::{Endpoint, Topology};
use units::{PortId, RouterId};

use crate::defaults::max_ports;
use crate::link::LinkParameters;
use crate::packet::Packet;
use crate::plan::{FabricSpec, Plan};
use crate::router_classes::RouterSets;

/// Sizes of a network that its state depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkSize {
    /// Number of routers.
    pub routers: u64,
    /// Number of injection channels: nodes times planes.
    pub nodes: u64,
    /// Number of ports of all routers together.
    pub ports: u64,
    /// Largest number of ports of a router.
    pub max_ports: u64,
    /// Virtual channels of every link.
    pub vcs: u8,
    /// Number of packets of the largest size that the channels between routers, with the pipelines behind them, hold
    /// together. Each holds as many as its delay and the router's are times of a packet.
    pub under_way: u64,
    /// Longest delay of a channel between routers. In the unit of `shortest_packet`.
    pub longest_delay: u64,
    /// Shortest time of the largest packet on any channel. In the unit of `longest_delay`.
    pub shortest_packet: u64,
}

impl NetworkSize {
    /// Returns the sizes of a network that may be built.
    pub fn of_spec(spec: &FabricSpec) -> Self {
        // Times that are zero or infinite are refused later.
        let time =
            |link: &LinkParameters| link.bandwidth.serialization(spec.packet).map_or(1, |(time, _)| time.0.max(1));
        let links: Vec<_> = spec.links.iter().map(|link| (link.delay.0, time(link))).collect();
        let (sets, max_ports) = (RouterSets::new(&spec.router, &*spec.topology), max_ports(&*spec.topology));
        let delays: Vec<u64> = sets.iter().map(|(_, keys)| spec.sizes(keys, max_ports).delay.0).collect();
        Self::new(&*spec.topology, spec.vcs(), |router| delays[sets.number(router)], &links)
    }

    /// Returns the sizes of a planned network.
    pub fn of_plan(plan: &Plan) -> Self {
        let links: Vec<_> = plan.links.iter().map(|link| (link.delay, link.full.max(1))).collect();
        Self::new(plan.topology(), plan.vcs, |router| plan.router_delay(router), &links)
    }

    /// Returns the sizes of a topology whose links have `vcs` virtual channels, and whose routers have the pipeline
    /// delays that `router_delay` returns. `links` has the delay and the largest packet's time by class of channels.
    fn new(topology: &dyn Topology, vcs: u8, router_delay: impl Fn(RouterId) -> u64, links: &[(u64, u64)]) -> Self {
        let ports = || (0..topology.routers()).map(|router| u64::from(topology.ports(RouterId(router))));
        let mut size = Self {
            routers: u64::from(topology.routers()),
            nodes: u64::from(topology.nodes()) * u64::from(topology.planes()),
            ports: ports().sum(),
            max_ports: ports().max().unwrap_or(0),
            vcs,
            under_way: 0,
            longest_delay: 0,
            shortest_packet: links.iter().map(|&(_, packet)| packet).min().unwrap_or(1),
        };
        for router in (0..topology.routers()).map(RouterId) {
            for port in (0..topology.ports(router)).map(PortId) {
                if let Endpoint::Router(next, _) = topology.endpoint(router, port)
                    && let Some(&(delay, packet)) = links.get(usize::from(topology.class(router, port).0))
                {
                    size.under_way = size.under_way.saturating_add((delay + router_delay(next)).div_ceil(packet));
                    size.longest_delay = size.longest_delay.max(delay);
                }
            }
        }
        size
    }

    /// Returns the number of bits of a virtual channel in a number of (port, virtual channel).
    pub fn vc_shift(&self) -> u32 {
        u32::from(self.vcs).next_power_of_two().trailing_zeros()
    }

    /// Returns the number of inputs by (port, virtual channel).
    pub fn inputs(&self) -> u64 {
        self.ports << self.vc_shift()
    }

    /// Returns the words of a mask of a router's ports.
    pub fn port_words(&self) -> u64 {
        self.max_ports.div_ceil(64).max(1)
    }

    /// Returns the words of a mask of a router's inputs by (port, virtual channel).
    pub fn input_words(&self) -> u64 {
        (self.max_ports << self.vc_shift()).div_ceil(64).max(1)
    }

    /// Returns the bytes of `packets` packets in the network: their places in the pool, and an event or two for each.
    pub fn packet_bytes(packets: u64) -> u64 {
        // A growing list has room for half as much again, on average.
        let places = bytes_of::<Packet>(1) + bytes_of::<u32>(1);
        packets.saturating_mul(places * 3 / 2 + bytes_of::<[Event; 2]>(1))
    }
}

/// Returns the bytes of `count` values of a type.
pub(crate) fn bytes_of<T>(count: u64) -> u64 {
    count * size_of::<T>() as u64
}
