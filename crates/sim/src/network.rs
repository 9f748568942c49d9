//! The network that workloads run on: its shape, its routing and its times. Knows no workload.

use std::sync::Arc;

use fabric::Plan;
use host::{GroupParams, WireParams};
use routing::Routing;
use routing::algorithms::flat::is_flat;
use routing::trees::Trees;
use topology::{ChannelClass, Endpoint, Topology};
use units::{Bytes, PortId, RouterId};

/// How a message is cut into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// Size of a message, in bytes.
    pub message: u64,
    /// Size of every packet of it but the last, in bytes.
    pub packet: u32,
}

impl Packets {
    /// Packets of a message.
    pub fn count(self) -> u64 {
        self.message.div_ceil(u64::from(self.packet))
    }
}

/// A network that is built. Clones share it.
#[derive(Clone, Debug)]
pub struct Network {
    /// The shape.
    pub topology: Arc<dyn Topology>,
    /// The routing.
    pub routing: Arc<dyn Routing>,
    /// The topology's default routing, where messages are compared with themselves alone and its paths may be longer than the
    /// distance.
    pub direct: Option<Arc<dyn Routing>>,
    /// Times, buffers and credits.
    pub plan: Arc<Plan>,
    /// Bytes of the largest packet.
    pub packet: u32,
    /// How members of groups send what routers combine.
    pub group: GroupParams,
}

impl Network {
    /// The trees of groups, if it has any.
    pub fn trees(&self) -> Option<&Arc<Trees>> {
        self.plan.groups().map(|groups| &groups.trees)
    }

    /// Ticks in picoseconds.
    pub fn picoseconds(&self, ticks: u64) -> u64 {
        ticks.saturating_mul(self.plan.tick().0)
    }

    /// Ticks in nanoseconds.
    pub fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 * self.plan.tick().0 as f64 / 1e3
    }

    /// The time of a message at the injection links' bandwidth, in ticks: one slot.
    pub fn slot(&self, packets: Packets) -> u64 {
        let Packets { message, packet } = packets;
        let whole = message / u64::from(packet);
        let rest = (message % u64::from(packet)) as u32;
        let time = |bytes| self.plan.serialization(ChannelClass::INJECTION, bytes);
        whole.saturating_mul(time(packet)).saturating_add(if rest > 0 { time(rest) } else { 0 })
    }

    /// The time that so many bytes take the links of a class that a node has, in whole packets of a size and in ticks: no number of packets
    /// carries them sooner. On a flat network they are one message.
    pub fn least_time(&self, class: ChannelClass, bytes: u64, packet: u32) -> u64 {
        if self.is_flat() {
            let time = self.plan.bandwidth(ChannelClass::INJECTION).serialization(Bytes(bytes));
            return time.map_or(u64::MAX, |(time, _)| time.0);
        }
        let packets = bytes / u64::from(packet) / u64::from(self.planes());
        packets.saturating_mul(self.plan.serialization(class, packet))
    }

    /// The injection links of a node: one for every plane.
    pub fn planes(&self) -> u32 {
        self.topology.planes()
    }

    /// Whether it is a delay and a bandwidth, without routers: then messages are not cut into packets.
    pub fn is_flat(&self) -> bool {
        is_flat(&*self.topology)
    }

    /// The links of a flat network, whose ticks are picoseconds.
    pub fn wire(&self) -> WireParams {
        WireParams {
            delay: self.plan.link_delay(ChannelClass::INJECTION),
            bandwidth: self.plan.bandwidth(ChannelClass::INJECTION),
        }
    }

    /// Latency of a packet that meets no other, on a path through so many routers, in ticks.
    pub fn zero_load_latency(&self, routers: u32) -> u64 {
        if self.is_flat() {
            return self.plan.link_delay(ChannelClass::INJECTION) + self.slowest_channel(1);
        }
        let between = (2..self.topology.class_names().len() as u8)
            .map(|class| self.plan.link_delay(ChannelClass(class)))
            .max()
            .unwrap_or(0);
        self.plan.link_delay(ChannelClass::INJECTION)
            + self.plan.link_delay(ChannelClass::EJECTION)
            + u64::from(routers.saturating_sub(1)) * between
            + u64::from(routers) * self.plan.router_delay()
            + self.slowest_channel(routers)
    }

    /// How long a packet that meets no other is on its path at the most, in ticks.
    pub fn longest_path(&self) -> u64 {
        self.zero_load_latency(self.routing.max_routers())
    }

    /// The delay of the idle path from a node of a router to one of another, in ticks: what a packet's head takes that meets no other, by channels
    /// and routers, on a shortest path. Of several ports that lead nearer the lowest is taken. Nothing reaches another
    /// partition sooner: the path crosses a channel between the two.
    pub fn idle_path(&self, from: RouterId, to: RouterId) -> u64 {
        let topology = &*self.topology;
        let (mut at, mut distance) = (from, topology.distance(from, to));
        let ends = self.plan.link_delay(ChannelClass::INJECTION) + self.plan.link_delay(ChannelClass::EJECTION);
        let mut delay = ends + self.plan.router_delay();
        while distance > 0 {
            let nearer = |port: PortId| match topology.endpoint(at, port) {
                Endpoint::Router(next, _) if topology.distance(next, to) < distance => Some((port, next)),
                _ => None,
            };
            let Some((port, next)) = (0..topology.ports(at)).map(PortId).find_map(nearer) else { break };
            delay += self.plan.link_delay(topology.class(at, port)) + self.plan.router_delay();
            (at, distance) = (next, topology.distance(next, to));
        }
        delay
    }

    /// The time of a packet on the slowest channel of a path through so many routers, which holds it up to the end: of all
    /// classes of channels, if it has more than its ends.
    fn slowest_channel(&self, routers: u32) -> u64 {
        let classes = if routers > 1 { self.topology.class_names().len() as u8 } else { 2 };
        let time = |class| self.plan.serialization(ChannelClass(class), self.packet);
        (0..classes).map(time).max().unwrap_or(0)
    }
}
