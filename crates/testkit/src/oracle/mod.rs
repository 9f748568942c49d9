//! Naive network simulator, written from the documentation alone (`docs/concepts`), as an oracle of the fabric.
//!
//! It shares with the fabric only the topology and the routing, which other oracles check. It has one ordered map of
//! events, one double-ended queue for each queue of a router, and times in picoseconds. It is slow and meant to be
//! read.

mod crosspoints;
mod events;
mod packet;
mod routers;
mod shared;

use std::collections::{BTreeMap, VecDeque};

use routing::{Hop, Routing};
use topology::{ChannelClass, Channels, Endpoint, Topology};
use units::{Draw, NodeId, PortId, RouterId, VcClass};

use events::{Event, Events};
use packet::Packet;
use routers::Router;

/// Bandwidth and delay of a class of channels.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Bandwidth in bits per second.
    pub bandwidth: u64,
    /// Delay in picoseconds: from a head at one end to the head at the other, and of a credit on its way back.
    pub delay: u64,
}

/// Order in which the packets that wait for an output are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbitration {
    /// The candidate after the one served last.
    RoundRobin,
    /// The packet that was generated first.
    OldestFirst,
}

/// Buffer space that a credit of an output-queued router stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credits {
    /// Room in a row of crosspoints, as deep as one of them.
    RowCounter,
    /// Room in every crosspoint of a row.
    RowMinimum,
    /// Room in one crosspoint.
    PerCrosspoint,
}

/// Architecture of the routers.
#[derive(Clone, Copy, Debug)]
pub enum Architecture {
    /// A crosspoint buffer for each input, virtual channel and output.
    OutputQueued(Credits, Arbitration),
    /// A FIFO for each input and virtual channel.
    InputQueued(Arbitration),
    /// A queue for each input, virtual channel and output; iSLIP with this number of rounds, or until no more matches
    /// are found.
    VirtualOutputQueued(Option<u8>),
    /// A FIFO for each input and virtual channel, a crossbar, a buffer for each output and virtual channel.
    InputOutputQueued {
        /// Arbitration of crossing and leaving packets.
        arbitration: Arbitration,
        /// Ratio of the crossbar's bandwidth to the link's.
        speedup: u64,
        /// Depth of an output's buffer in bytes.
        output_buffer: u64,
    },
    /// Queues at the inputs, then a buffer for each input, virtual channel and output.
    InputCrosspointQueued {
        /// Arbitration of crossing and leaving packets.
        arbitration: Arbitration,
        /// Whether an input has one queue for each virtual channel, rather than one for each virtual channel and
        /// output.
        fifo: bool,
        /// Depth of a crosspoint in bytes.
        crosspoint: u64,
    },
    /// A queue for each output and class of virtual channels in one shared memory, besides a buffer for each input and
    /// virtual channel.
    SharedBuffer {
        /// Arbitration between the classes of an output.
        arbitration: Arbitration,
        /// Shared memory of the outputs in bytes.
        memory: u64,
        /// Dynamic threshold: maximum ratio of a queue's length to the free memory.
        alpha: f64,
    },
}

/// Receive buffer of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// Depth in bytes.
    pub depth: u64,
    /// Drain rate in bits per second.
    pub drain: u64,
}

/// Network to be simulated. Times are in picoseconds and sizes in bytes.
#[derive(Clone, Debug)]
pub struct Network<'a> {
    /// The topology.
    pub topology: &'a dyn Topology,
    /// The routing: one path for each pair of nodes.
    pub routing: &'a dyn Routing,
    /// Links by class of channels.
    pub links: Vec<Link>,
    /// Architecture of the routers.
    pub architecture: Architecture,
    /// Number of virtual channels of a link. `None`: one for each class of the routing.
    pub vcs: Option<u8>,
    /// Initial credit by class of channels, in bytes.
    pub buffers: Vec<u64>,
    /// Router delay in picoseconds, from a head at an input to the head ready to leave.
    pub delay: u64,
    /// Whether a packet frees its buffer as its tail leaves, rather than as its head leaves.
    pub frees_at_tail: bool,
    /// Size of the largest packet in bytes.
    pub packet: u64,
    /// Receive buffer of every node. `None`: nodes take any packet at once.
    pub receive_buffer: Option<ReceiveBuffer>,
}

/// Flow: data that a node sends to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The receiver.
    pub dst: NodeId,
    /// Size in bytes.
    pub bytes: u64,
}

/// Result of a simulation that ran until the network was empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Arrival time of the last tail by node, in picoseconds; 0 if no packet arrived.
    pub arrivals: Vec<u64>,
    /// Bytes sent by channel.
    pub channel_bytes: Vec<u64>,
    /// Number of packets delivered.
    pub packets: u64,
    /// Number of routers traversed, summed over the delivered packets.
    pub hops: u64,
}

/// Sending end of a channel, at a router's output or a node.
#[derive(Debug)]
struct Sender {
    class: ChannelClass,
    to: Endpoint,
    free_at: u64,
    /// Whether packets wait that lack only credit: the next credit makes the channel's owner try again.
    starved: bool,
    /// Credits by crosspoint (0 if credits are not per crosspoint) and virtual channel. A missing entry is full.
    credits: BTreeMap<(u16, u8), u64>,
    bytes: u64,
}

/// Flows of a node, served in turn, and its next packet.
#[derive(Debug, Default)]
struct Source {
    flows: VecDeque<Flow>,
    generated: u64,
    next: Option<Packet>,
}

struct Simulator<'a> {
    network: &'a Network<'a>,
    channels: Channels,
    events: Events,
    senders: Vec<Sender>,
    routers: Vec<Router>,
    sources: Vec<Source>,
    /// Time by node at which its receive buffer has been drained of all packets sent so far, in picoseconds.
    drained_at: Vec<u64>,
    outcome: Outcome,
}

/// Returns whether all packets from one node to another take one path.
pub fn has_one_path(topology: &dyn Topology, routing: &dyn Routing, src: NodeId, dst: NodeId) -> bool {
    routing.initial_distribution(src, dst).len() == 1 && crate::routing::paths(topology, routing, src, dst).len() == 1
}

/// Sends the flows of every node through an empty network until it is empty again. Returns `None` if packets remain in
/// it.
pub fn simulate(network: &Network<'_>, flows: &[Vec<Flow>]) -> Option<Outcome> {
    let mut simulator = Simulator::new(network, flows);
    let packets: u64 = flows.iter().flatten().map(|flow| flow.bytes.div_ceil(network.packet)).sum();
    for node in 0..flows.len() {
        simulator.events.visit_node(0, node);
    }
    while let Some((now, event)) = simulator.events.pop() {
        simulator.handle(now, event);
    }
    let bytes = simulator.senders.iter().map(|sender| sender.bytes).collect();
    let outcome = Outcome { channel_bytes: bytes, ..simulator.outcome };
    (outcome.packets == packets).then_some(outcome)
}

impl<'a> Simulator<'a> {
    fn new(network: &'a Network<'a>, flows: &[Vec<Flow>]) -> Self {
        let topology = network.topology;
        let channels = Channels::new(topology);
        let sender = |class, to| Sender { class, to, free_at: 0, starved: false, credits: BTreeMap::new(), bytes: 0 };
        let routers = || (0..topology.routers()).map(RouterId);
        let mut senders = Vec::new();
        for router in routers() {
            for port in (0..topology.ports(router)).map(PortId) {
                senders.push(sender(topology.class(router, port), topology.endpoint(router, port)));
            }
        }
        for node in (0..topology.nodes()).map(NodeId) {
            let (router, port) = topology.attachment(node);
            senders.push(sender(ChannelClass::INJECTION, Endpoint::Router(router, port)));
        }
        let source = |flows: &Vec<Flow>| Source { flows: flows.iter().copied().collect(), ..Source::default() };
        Self {
            network,
            channels,
            events: Events::default(),
            senders,
            routers: routers().map(|router| Router::new(usize::from(topology.ports(router)))).collect(),
            sources: flows.iter().map(source).collect(),
            drained_at: vec![0; flows.len()],
            outcome: Outcome { arrivals: vec![0; flows.len()], channel_bytes: Vec::new(), packets: 0, hops: 0 },
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
            Event::Router(router) => self.arbitrate(now, router),
            Event::Node(node) => self.inject(now, node),
        }
    }

    /// Schedules a visit of the router or node that sends on a channel.
    fn visit_owner(&mut self, at: u64, channel: usize) {
        let of_nodes = self.channels.ports() as usize;
        if channel >= of_nodes {
            return self.events.visit_node(at, channel - of_nodes);
        }
        match self.channels.source(units::ChannelId(channel as u32)) {
            topology::ChannelSource::Router(router, _) => self.events.visit_router(at, router.index()),
            topology::ChannelSource::Node(node, _) => self.events.visit_node(at, node.index()),
        }
    }

    // --- nodes ----------------------------------------------------------------------------------------------------

    /// Sends a node's next packet if its channel is free and has credit for it.
    fn inject(&mut self, now: u64, node: usize) {
        let channel = self.channels.injection(NodeId(node as u32)).index();
        let next = match self.sources[node].next.take() {
            Some(packet) => Some(packet),
            None => self.generate(node),
        };
        let Some(packet) = next else { return };
        let ready = packet.generated.max(self.senders[channel].free_at);
        if ready > now {
            self.events.visit_node(ready, node);
        } else if let Some(vc) = self.vc_with_room(channel, &packet) {
            let tail = self.transmit(now, channel, vc, Packet { tail: now, ..packet });
            return self.events.visit_node(tail, node);
        } else {
            self.senders[channel].starved = true;
        }
        self.sources[node].next = Some(packet);
    }

    /// Returns the next packet of a node. Its flows take turns; packets are generated as fast as the channel can take
    /// them.
    fn generate(&mut self, node: usize) -> Option<Packet> {
        let full = self.serialization(ChannelClass::INJECTION, self.network.packet);
        let source = &mut self.sources[node];
        let flow = source.flows.pop_front()?;
        let bytes = flow.bytes.min(self.network.packet);
        if flow.bytes > bytes {
            source.flows.push_back(Flow { bytes: flow.bytes - bytes, ..flow });
        }
        let generated = source.generated;
        source.generated += full * bytes / self.network.packet;
        let src = NodeId(node as u32);
        let (_, in_port) = self.network.topology.attachment(src);
        let state = self.network.routing.start(src, flow.dst, &mut NoDraw);
        let hop = Hop { dst: flow.dst, state, in_port, vc_class: VcClass(0) };
        Some(Packet { bytes, generated, hop, hops: 0, vc: 0, out: 0, class: VcClass(0), time_in: 0, tail: 0 })
    }

    // --- channels and credits -------------------------------------------------------------------------------------

    /// Returns the serialization time on a class of channels in picoseconds, rounded up.
    fn serialization(&self, class: ChannelClass, bytes: u64) -> u64 {
        time_at(self.network.links[class.0 as usize].bandwidth, bytes)
    }

    fn delay(&self, channel: usize) -> u64 {
        self.network.links[self.senders[channel].class.0 as usize].delay
    }

    /// Returns the virtual channels of a routing's class on a class of channels.
    fn vcs(&self, on: ChannelClass, class: VcClass) -> std::ops::Range<u8> {
        let each = self.network.vcs.map_or(1, |vcs| vcs / self.network.routing.classes_on(on));
        class.0 * each..(class.0 + 1) * each
    }

    fn room(&mut self, channel: usize, place: (u16, u8)) -> &mut u64 {
        let depth = match (self.senders[channel].to, self.network.receive_buffer) {
            (Endpoint::Node(_), Some(buffer)) => buffer.depth,
            (Endpoint::Node(_), None) => u64::MAX,
            _ => self.network.buffers[self.senders[channel].class.0 as usize],
        };
        self.senders[channel].credits.entry(place).or_insert(depth)
    }

    /// Returns the crosspoint beyond a channel for which a packet needs a credit.
    fn crosspoint(&self, channel: usize, packet: &Packet) -> u16 {
        match (self.network.architecture, self.senders[channel].to) {
            (Architecture::OutputQueued(Credits::PerCrosspoint, _), Endpoint::Router(next, in_port)) => {
                let mut hop = Hop { in_port, vc_class: packet.class, ..packet.hop };
                self.network.routing.route(next, &mut hop).first().0
            }
            _ => 0,
        }
    }

    /// Returns the virtual channel of a packet's class that has the most room, the lowest of equals; `None` if none has
    /// enough.
    fn vc_with_room(&mut self, channel: usize, packet: &Packet) -> Option<u8> {
        let vcs = self.vcs(self.senders[channel].class, packet.class);
        if let Endpoint::Node(_) = self.senders[channel].to {
            return (*self.room(channel, (0, 0)) >= packet.bytes).then_some(vcs.start);
        }
        let crosspoint = self.crosspoint(channel, packet);
        let room: Vec<(u64, u8)> = vcs.map(|vc| (*self.room(channel, (crosspoint, vc)), vc)).collect();
        most_room(&room, packet.bytes)
    }

    /// Sends a packet and returns the time at which its tail has left. The channel is busy until then.
    fn transmit(&mut self, now: u64, channel: usize, vc: u8, packet: Packet) -> u64 {
        let time = self.serialization(self.senders[channel].class, packet.bytes);
        let tail = packet.tail.max(now + time);
        let delay = self.delay(channel);
        let crosspoint = self.crosspoint(channel, &packet);
        let sender = &mut self.senders[channel];
        sender.free_at = tail;
        sender.bytes += packet.bytes;
        match sender.to {
            Endpoint::Node(node) => {
                let arrival = &mut self.outcome.arrivals[node.index()];
                *arrival = (*arrival).max(tail + delay);
                self.outcome.packets += 1;
                self.outcome.hops += packet.hops;
                self.drain(node, channel, (tail + delay, packet.bytes));
            }
            Endpoint::Router(router, in_port) => {
                *self.room(channel, (crosspoint, vc)) -= packet.bytes;
                let delay = delay + self.network.delay;
                let hop = Hop { in_port, vc_class: packet.class, ..packet.hop };
                let packet = Packet { hop, vc, time_in: time, tail: tail + delay, ..packet };
                self.events.arrive(now + delay, router.index(), packet);
            }
            Endpoint::Unconnected => {}
        }
        tail
    }

    /// Occupies a node's receive buffer with a packet, from the arrival of its tail until it has been drained.
    fn drain(&mut self, node: NodeId, channel: usize, (tail, bytes): (u64, u64)) {
        let Some(buffer) = self.network.receive_buffer else { return };
        *self.room(channel, (0, 0)) -= bytes;
        let drained_at = &mut self.drained_at[node.index()];
        *drained_at = tail.max(*drained_at) + time_at(buffer.drain, bytes);
        let back = *drained_at + self.delay(channel);
        self.events.credit(back, channel, (0, 0), bytes);
    }

    /// Returns a credit to the sender of an input.
    fn give_credit(&mut self, now: u64, router: usize, in_port: PortId, place: (u16, u8), bytes: u64) {
        let channel = match self.network.topology.endpoint(RouterId(router as u32), in_port) {
            Endpoint::Router(before, out) => self.channels.output(before, out).index(),
            Endpoint::Node(node) => self.channels.injection(node).index(),
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

/// Returns the virtual channel with the most room, the lowest of equals, from pairs of room and virtual channel in
/// ascending order of virtual channels; `None` if none has room for `bytes`.
fn most_room(room: &[(u64, u8)], bytes: u64) -> Option<u8> {
    let most = room.iter().map(|&(room, _)| room).max().filter(|&most| most >= bytes)?;
    room.iter().find(|&&(room, _)| room == most).map(|&(_, vc)| vc)
}

/// Stream for routings that draw nothing.
struct NoDraw;

impl Draw for NoDraw {
    fn bits(&mut self) -> u64 {
        0
    }
}
