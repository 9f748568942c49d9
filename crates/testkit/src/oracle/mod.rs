//! A naive network simulator, written from the documentation alone (`docs/concepts`), to which the fabric is held.
//!
//! It shares with the fabric what other oracles check, the topology and the routing, and nothing else: one ordered map
//! of events, one double-ended queue for each queue of a router, times in picoseconds. It is slow and meant to be read.

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
    /// Bits in a second.
    pub bandwidth: u64,
    /// Picoseconds from a head at one end to the head at the other, and of a credit on its way back.
    pub delay: u64,
}

/// Which of the packets that wait for an output goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbitration {
    /// The first one after the one that was served last.
    RoundRobin,
    /// The one that was generated first.
    OldestFirst,
}

/// What a credit of an output-queued router stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credits {
    /// Room in a row of crosspoints, as deep as one of them.
    RowCounter,
    /// Room in every crosspoint of a row.
    RowMinimum,
    /// Room in one crosspoint.
    PerCrosspoint,
}

/// The architecture of the routers.
#[derive(Clone, Copy, Debug)]
pub enum Architecture {
    /// A crosspoint buffer for each input, virtual channel and output.
    OutputQueued(Credits, Arbitration),
    /// A FIFO for each input and virtual channel.
    InputQueued(Arbitration),
    /// A queue for each input, virtual channel and output; iSLIP with so many rounds, or as many as find a match.
    VirtualOutputQueued(Option<u8>),
    /// A FIFO for each input and virtual channel, a crossbar, a buffer for each output and virtual channel.
    InputOutputQueued {
        /// Who crosses, and who leaves.
        arbitration: Arbitration,
        /// The crossbar's bandwidth over the link's.
        speedup: u64,
        /// Bytes of an output's buffer.
        output_buffer: u64,
    },
    /// Queues at the inputs, then a buffer for each input, virtual channel and output.
    InputCrosspointQueued {
        /// Who crosses, and who leaves.
        arbitration: Arbitration,
        /// Whether an input has one queue for each virtual channel, and not one for each output too.
        fifo: bool,
        /// Bytes of a crosspoint.
        crosspoint: u64,
    },
    /// A queue for each output and class of virtual channels in one memory, besides a buffer for each input and virtual
    /// channel.
    SharedBuffer {
        /// Which class leaves.
        arbitration: Arbitration,
        /// Bytes that the outputs share.
        memory: u64,
        /// A queue may have so many times the memory that is free.
        alpha: f64,
    },
}

/// The buffer at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// Bytes.
    pub depth: u64,
    /// Bits drained in a second.
    pub drain: u64,
}

/// A network, its times in picoseconds and its sizes in bytes.
#[derive(Clone, Debug)]
pub struct Network<'a> {
    /// The shape.
    pub topology: &'a dyn Topology,
    /// The routing: one path for each pair of nodes.
    pub routing: &'a dyn Routing,
    /// By class of channels.
    pub links: Vec<Link>,
    /// The inside of a router.
    pub architecture: Architecture,
    /// Virtual channels of a link; without it, one for each class of the routing.
    pub vcs: Option<u8>,
    /// By class of channels, the bytes that a credit counter starts with.
    pub buffers: Vec<u64>,
    /// From a head at an input to the head ready to leave.
    pub delay: u64,
    /// Whether a packet frees its buffer as its tail leaves, and not as its head leaves.
    pub frees_at_tail: bool,
    /// Bytes of the largest packet.
    pub packet: u64,
    /// The buffer of every node; without it nodes take whatever comes.
    pub receive_buffer: Option<ReceiveBuffer>,
}

/// What a node sends another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The receiver.
    pub dst: NodeId,
    /// Its bytes.
    pub bytes: u64,
}

/// What happened until the network was empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// By node, when the tail of the last packet for it arrived; 0 if there was none.
    pub arrivals: Vec<u64>,
    /// Bytes by channel.
    pub channel_bytes: Vec<u64>,
    /// Packets delivered.
    pub packets: u64,
    /// Routers traversed, summed over these.
    pub hops: u64,
}

/// The sending end of a channel: a router's output or a node's.
#[derive(Debug)]
struct Sender {
    class: ChannelClass,
    to: Endpoint,
    free_at: u64,
    /// Packets wait for it that lack nothing but credit: the next credit has its owner try again.
    starved: bool,
    /// By crosspoint (0 where credits are not for one) and virtual channel; what is missing is full.
    credits: BTreeMap<(u16, u8), u64>,
    bytes: u64,
}

/// A node's flows, served in turn, and its next packet.
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
    /// By node, when its receive buffer has been drained of all that has been sent to it.
    drained_at: Vec<u64>,
    outcome: Outcome,
}

/// Whether all packets from one node to another take the same path.
pub fn has_one_path(topology: &dyn Topology, routing: &dyn Routing, src: NodeId, dst: NodeId) -> bool {
    routing.initial_distribution(src, dst).len() == 1 && crate::routing::paths(topology, routing, src, dst).len() == 1
}

/// Sends the flows of every node through an empty network until it is empty again. None if packets remain in it.
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

    /// Visits whoever sends on a channel.
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

    /// Sends a node's next packet if its channel is free and has room for it.
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

    /// The next packet of a node: its flows in turn, generated one after the other as fast as the channel can take
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

    /// The time of bytes on a class of channels, rounded up to a picosecond.
    fn serialization(&self, class: ChannelClass, bytes: u64) -> u64 {
        time_at(self.network.links[class.0 as usize].bandwidth, bytes)
    }

    fn delay(&self, channel: usize) -> u64 {
        self.network.links[self.senders[channel].class.0 as usize].delay
    }

    /// The virtual channels of a class on a class of channels.
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

    /// The crosspoint for which a packet needs a credit, beyond a channel.
    fn crosspoint(&self, channel: usize, packet: &Packet) -> u16 {
        match (self.network.architecture, self.senders[channel].to) {
            (Architecture::OutputQueued(Credits::PerCrosspoint, _), Endpoint::Router(next, in_port)) => {
                let mut hop = Hop { in_port, vc_class: packet.class, ..packet.hop };
                self.network.routing.route(next, &mut hop).first().0
            }
            _ => 0,
        }
    }

    /// The virtual channel of a packet's class that has the most room, the lowest of equals; none if none has enough.
    fn vc_with_room(&mut self, channel: usize, packet: &Packet) -> Option<u8> {
        let vcs = self.vcs(self.senders[channel].class, packet.class);
        if let Endpoint::Node(_) = self.senders[channel].to {
            return (*self.room(channel, (0, 0)) >= packet.bytes).then_some(vcs.start);
        }
        let crosspoint = self.crosspoint(channel, packet);
        let room: Vec<(u64, u8)> = vcs.map(|vc| (*self.room(channel, (crosspoint, vc)), vc)).collect();
        most_room(&room, packet.bytes)
    }

    /// Sends a packet; the channel is busy until the packet's tail has left.
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

    /// A packet whose tail is there at a time takes room in a node's receive buffer until it has been drained.
    fn drain(&mut self, node: NodeId, channel: usize, (tail, bytes): (u64, u64)) {
        let Some(buffer) = self.network.receive_buffer else { return };
        *self.room(channel, (0, 0)) -= bytes;
        let drained_at = &mut self.drained_at[node.index()];
        *drained_at = tail.max(*drained_at) + time_at(buffer.drain, bytes);
        let back = *drained_at + self.delay(channel);
        self.events.credit(back, channel, (0, 0), bytes);
    }

    /// Gives a credit to whoever sends to an input.
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

/// The picoseconds that bytes take at a rate in bits a second, rounded up.
fn time_at(bandwidth: u64, bytes: u64) -> u64 {
    let bits = u128::from(bytes) * 8 * 1_000_000_000_000;
    bits.div_ceil(u128::from(bandwidth)) as u64
}

/// Of rooms and virtual channels in ascending order, the one with the most room, the lowest of equals.
fn most_room(room: &[(u64, u8)], bytes: u64) -> Option<u8> {
    let most = room.iter().map(|&(room, _)| room).max().filter(|&most| most >= bytes)?;
    room.iter().find(|&&(room, _)| room == most).map(|&(_, vc)| vc)
}

/// For routings that draw nothing.
struct NoDraw;

impl Draw for NoDraw {
    fn bits(&mut self) -> u64 {
        0
    }
}
