//! Naive network simulator, written from the documentation alone (`docs/concepts`), as an oracle of the fabric.
//!
//! It shares with the fabric only the topology and the routing, which other oracles check. It has one ordered map of
//! events, one double-ended queue for each queue of a router, and times in picoseconds. It is slow and meant to be
//! read. A `Mutant` makes it wrong on purpose, so that a test can show what a comparison finds.

mod arbitration;
mod combine;
mod copies;
mod crosspoints;
mod events;
mod islip;
mod jobs;
mod model;
mod mutant;
mod packet;
mod routers;
mod shared;
mod sources;

use std::collections::BTreeMap;

use routing::{Choice, Hop, Routing};
use topology::{ChannelClass, ChannelSource, Channels, Endpoint, Topology};
use units::{ChannelId, Draw, NodeId, PortId, RouterId, VcClass};

use arbitration::most_room;
use combine::Unit;
use copies::Shares;
use events::{Event, Events};
use jobs::Jobs;
use packet::Packet;
use routers::Router;
use sources::Source;

pub use model::{
    Arbitration, Architecture, CombineUnit, Credits, Flow, Groups, Job, Link, Network, Outcome, ReceiveBuffer,
    RouterModel, Window,
};
pub use mutant::Mutant;

/// Receiving end of a channel.
#[derive(Clone, Copy, Debug)]
enum FarEnd {
    Router(RouterId, PortId),
    Node(NodeId),
    /// Combine unit of a router.
    Unit(usize),
    Unconnected,
}

impl From<Endpoint> for FarEnd {
    fn from(end: Endpoint) -> Self {
        match end {
            Endpoint::Router(router, port) => Self::Router(router, port),
            Endpoint::Node(node) => Self::Node(node),
            Endpoint::Unconnected => Self::Unconnected,
        }
    }
}

/// Sending end of a channel, at a router's output or a node.
#[derive(Debug)]
struct Sender {
    class: ChannelClass,
    to: FarEnd,
    free_at: u64,
    /// Whether packets wait that lack only credit: the next credit makes the channel's owner try again.
    starved: bool,
    /// Credits by crosspoint (0 if credits are not per crosspoint) and virtual channel. A missing entry is full.
    credits: BTreeMap<(u16, u8), u64>,
}

struct Simulator<'a> {
    network: &'a Network<'a>,
    channels: Channels,
    events: Events,
    senders: Vec<Sender>,
    routers: Vec<Router>,
    /// Sources: the nodes' channels into the planes, plane by plane.
    sources: Vec<Source>,
    /// Combine units by router.
    units: Vec<Unit>,
    jobs: Jobs<'a>,
    shares: Shares,
    /// Time by channel to a node at which its receive buffer has been drained of all packets sent so far, in
    /// picoseconds.
    drained_at: BTreeMap<usize, u64>,
}

/// Returns whether the path of packets from one node to another depends on nothing but the turns of routers: nothing is
/// drawn, and no queues are compared.
pub fn draws_nothing(topology: &dyn Topology, routing: &dyn Routing, src: NodeId, dst: NodeId) -> bool {
    let [(state, _)] = routing.initial_distribution(src, dst)[..] else { return false };
    let (router, in_port) = topology.attachment(src);
    let mut to_follow = vec![(router, Hop { dst, state, in_port, vc_class: VcClass(0) })];
    while let Some((at, mut hop)) = to_follow.pop() {
        let route = routing.route(at, &mut hop);
        let is_known = route.choice == Choice::RoundRobin || (route.count == 1 && route.choice != Choice::Escape);
        if !is_known {
            return false;
        }
        for port in route.ports(routing.port_lists()) {
            if let Endpoint::Router(next, in_port) = topology.endpoint(at, port) {
                to_follow.push((next, Hop { in_port, vc_class: route.vc_class, ..hop }));
            }
        }
    }
    true
}

/// Runs jobs in an empty network until it is empty again, and returns what became of each. Returns `None` if packets
/// remain in it.
pub fn simulate(network: &Network<'_>, jobs: &[Job]) -> Option<Vec<Outcome>> {
    let mut simulator = Simulator::new(network, jobs);
    (0..jobs.len()).for_each(|job| simulator.begin_phase(0, job));
    while let Some((now, event)) = simulator.events.pop() {
        simulator.handle(now, event);
    }
    simulator.jobs.outcomes()
}

impl<'a> Simulator<'a> {
    fn new(network: &'a Network<'a>, jobs: &'a [Job]) -> Self {
        let topology = network.topology;
        let channels = Channels::new(topology);
        let sender = |class, to| Sender { class, to, free_at: 0, starved: false, credits: BTreeMap::new() };
        let routers = || (0..topology.routers()).map(RouterId);
        let mut senders = Vec::new();
        for router in routers() {
            for port in (0..topology.ports(router)).map(PortId) {
                senders.push(sender(topology.class(router, port), topology.endpoint(router, port).into()));
            }
        }
        let mut sources = Vec::new();
        for plane in topology.all_planes() {
            for node in (0..topology.nodes()).map(NodeId) {
                // Nothing is sent where a node has no port.
                let (router, port) = topology.attachment_on(node, plane).unwrap_or((RouterId(0), PortId(0)));
                senders.push(sender(topology.injection_class(plane), FarEnd::Router(router, port)));
                sources.push(Source::new(node, plane, jobs.len()));
            }
        }
        let jobs = Jobs::new(jobs, topology.nodes() as usize, senders.len());
        let of_units = usize::from(network.groups.is_some());
        for router in routers().take(of_units * topology.routers() as usize) {
            let internal = ChannelClass(network.links.len() as u8);
            senders.push(sender(internal, FarEnd::Unit(router.index())));
            senders.push(sender(internal, FarEnd::Router(router, PortId(topology.ports(router)))));
        }
        Self {
            network,
            channels,
            events: Events::default(),
            routers: routers().map(|router| Router::new(usize::from(topology.ports(router)) + of_units)).collect(),
            sources,
            units: routers().map(|_| Unit::default()).collect(),
            jobs,
            senders,
            shares: Shares::default(),
            drained_at: BTreeMap::new(),
        }
    }

    fn handle(&mut self, now: u64, event: Event) {
        match event {
            Event::Credit { channel, place, bytes } => {
                *self.room(channel, place) += bytes;
                if std::mem::take(&mut self.senders[channel].starved) {
                    self.visit_owner(now, channel);
                }
            }
            Event::Arrival { router, packet } => self.arrive(now, router, *packet),
            Event::Freed { router, packet } => self.give_back(now, router, &packet),
            Event::OutputFreed { router, out, vc, bytes } => *self.output_room(router, out, vc) += bytes,
            Event::MemoryFreed { router, queue, bytes } => self.free_memory(now, router, queue, bytes),
            Event::CrosspointFreed { router, place, bytes } => self.free_crosspoint(now, router, place, bytes),
            Event::Acknowledged { source, job, dst, bytes } => self.acknowledged(now, source, (job, dst), bytes),
            Event::Delivered { source, packet } => self.delivered(now, source, &packet),
            Event::Combined { router, packet } => self.combine(now, router, *packet),
            Event::Unit(router) => self.send_result(now, router),
            Event::Router(router) => self.arbitrate(now, router),
            Event::Source(source) => self.inject(now, source),
        }
    }

    /// Schedules a visit of the router or source that sends on a channel.
    fn visit_owner(&mut self, at: u64, channel: usize) {
        if let Some(number) = channel.checked_sub(self.channels.count() as usize) {
            // Units always take packets, so that only units lack credit.
            return self.events.visit_unit(at, number / 2);
        }
        match self.channels.source(ChannelId(channel as u32)) {
            ChannelSource::Router(router, _) => self.events.visit_router(at, router.index()),
            ChannelSource::Node(..) => self.events.visit_source(at, channel - self.channels.ports() as usize),
        }
    }

    // --- channels and credits -------------------------------------------------------------------------------------

    /// Returns the link of a class of channels. Those of units are as fast as the fastest link and a cycle long.
    fn link(&self, class: ChannelClass) -> Link {
        let links = &self.network.links;
        links.get(class.0 as usize).copied().unwrap_or_else(|| Link {
            bandwidth: links.iter().map(|link| link.bandwidth).max().unwrap_or(0),
            delay: self.network.groups.map_or(0, |groups| groups.units.cycle),
        })
    }

    /// Returns the serialization time on a class of channels in picoseconds, rounded up.
    fn serialization(&self, class: ChannelClass, bytes: u64) -> u64 {
        time_at(self.link(class).bandwidth, bytes)
    }

    fn delay(&self, channel: usize) -> u64 {
        self.link(self.senders[channel].class).delay
    }

    /// Returns the virtual channels of a class of the routing or the trees on a class of channels.
    fn vcs(&self, on: ChannelClass, class: VcClass) -> std::ops::Range<u8> {
        if on == self.internal() {
            return 0..1;
        }
        let of_trees = self.network.groups.map_or(0, |groups| groups.trees.classes_on(on));
        let each = self.network.vcs.map_or(1, |vcs| vcs / (self.network.routing.classes_on(on) + of_trees));
        class.0 * each..(class.0 + 1) * each
    }

    fn room(&mut self, channel: usize, place: (u16, u8)) -> &mut u64 {
        let depth = match (self.senders[channel].to, self.network.receive_buffer) {
            (FarEnd::Node(_), Some(buffer)) => buffer.depth,
            (FarEnd::Node(_), None) | (FarEnd::Unit(_), _) => u64::MAX,
            (FarEnd::Unconnected, _) => 0,
            (FarEnd::Router(router, _), _) => {
                let buffers = &self.network.routers[router.index()].buffers;
                // The input of a unit is as deep as that of a node.
                buffers.get(self.senders[channel].class.0 as usize).copied().unwrap_or(buffers[0])
            }
        };
        self.senders[channel].credits.entry(place).or_insert(depth)
    }

    /// Returns the crosspoint beyond a channel for which a packet needs a credit.
    fn crosspoint(&self, channel: usize, packet: &Packet) -> u16 {
        match self.senders[channel].to {
            FarEnd::Router(next, in_port) if self.counts_crosspoints(next.index()) => {
                // Networks with these credits have no multicasts.
                let (dst, state) = packet.members[0];
                let mut hop = Hop { dst, state, in_port, vc_class: packet.class };
                self.network.routing.route(next, &mut hop).first().0
            }
            _ => 0,
        }
    }

    /// Returns whether credits stand for room in one crosspoint of a router.
    fn counts_crosspoints(&self, router: usize) -> bool {
        matches!(self.architecture(router), Architecture::OutputQueued(Credits::PerCrosspoint, _))
    }

    fn architecture(&self, router: usize) -> Architecture {
        self.network.routers[router].architecture
    }

    /// Returns the virtual channel of a packet's class that has the most room, the lowest of equals; `None` if none has
    /// enough.
    fn vc_with_room(&mut self, channel: usize, packet: &Packet) -> Option<u8> {
        let vcs = self.vcs(self.senders[channel].class, packet.class);
        if let FarEnd::Node(_) | FarEnd::Unit(_) = self.senders[channel].to {
            return (*self.room(channel, (0, 0)) >= packet.bytes).then_some(vcs.start);
        }
        let crosspoint = self.crosspoint(channel, packet);
        let room: Vec<(u64, u8)> = vcs.map(|vc| (*self.room(channel, (crosspoint, vc)), vc)).collect();
        most_room(&room, packet.bytes)
    }

    /// Sends a packet and returns the time at which its tail has left. The channel is busy until then.
    fn transmit(&mut self, now: u64, channel: usize, vc: u8, packet: Packet) -> u64 {
        let time = self.serialization(self.senders[channel].class, packet.bytes);
        let tail = match self.senders[channel].to {
            FarEnd::Unit(_) => packet.tail.max(now) + self.time_in_unit(packet.bytes),
            _ => packet.tail.max(now + time),
        };
        let delay = self.delay(channel);
        let crosspoint = self.crosspoint(channel, &packet);
        let sender = &mut self.senders[channel];
        sender.free_at = tail;
        let to = sender.to;
        let by_router = channel < self.channels.ports() as usize || matches!(to, FarEnd::Unit(_));
        self.jobs.count_transmission(packet.job, channel, packet.bytes, by_router);
        match to {
            FarEnd::Unit(router) => self.events.combine(tail, router, packet),
            FarEnd::Node(node) => {
                self.drain(channel, (tail + delay, packet.bytes));
                self.arrive_at_node(now, (node, channel), tail + delay, packet);
            }
            FarEnd::Router(router, in_port) => {
                *self.room(channel, (crosspoint, vc)) -= packet.bytes;
                let is_from_unit = channel >= self.channels.count() as usize;
                let delay = delay + if is_from_unit { 0 } else { self.network.routers[router.index()].delay };
                let vc_class = packet.class;
                let packet = Packet { in_port, vc_class, vc, time_in: time, tail: tail + delay, ..packet };
                self.events.arrive(now + delay, router.index(), packet);
            }
            FarEnd::Unconnected => {}
        }
        tail
    }

    /// Occupies the receive buffer behind a channel with a packet, from the arrival of its tail until it has been
    /// drained.
    fn drain(&mut self, channel: usize, (tail, bytes): (u64, u64)) {
        let Some(buffer) = self.network.receive_buffer else { return };
        *self.room(channel, (0, 0)) -= bytes;
        let drained_at = self.drained_at.entry(channel).or_insert(0);
        *drained_at = tail.max(*drained_at) + time_at(buffer.drain, bytes);
        let back = *drained_at + self.delay(channel);
        self.events.credit(back, channel, (0, 0), bytes);
    }

    /// Returns a credit to the sender of an input.
    fn give_credit(&mut self, now: u64, router: usize, in_port: PortId, place: (u16, u8), bytes: u64) {
        if in_port.0 == self.network.topology.ports(RouterId(router as u32)) {
            let channel = self.to_unit(router) + 1;
            return self.events.credit(now + self.delay(channel), channel, place, bytes);
        }
        let channel = match self.network.topology.endpoint(RouterId(router as u32), in_port) {
            Endpoint::Router(before, out) => self.channels.output(before, out).index(),
            Endpoint::Node(node) => {
                let plane = self.network.topology.plane_of(RouterId(router as u32));
                self.channels.injection_on(node, plane).index()
            }
            Endpoint::Unconnected => return,
        };
        let at = now + self.delay(channel);
        self.events.credit(at, channel, place, bytes);
    }
}

/// Returns the time of `bytes` at a rate of `bandwidth` bits per second, in picoseconds, rounded up.
fn time_at(bandwidth: u64, bytes: u64) -> u64 {
    let bits = u128::from(bytes) * 8 * 1_000_000_000_000;
    bits.div_ceil(u128::from(bandwidth)) as u64
}

/// Stream for routings that draw nothing.
struct NoDraw;

impl Draw for NoDraw {
    fn bits(&mut self) -> u64 {
        0
    }
}
