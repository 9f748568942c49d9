//! Traffic of given volumes: each node has flows, served in turn packet by packet, as fast as its link takes them; of several
//! links, one into each plane, every one takes a stripe of each flow. Packets of a flow for several nodes carry them in their headers.

use std::sync::Arc;

use engine::Stream;
use fabric::{Actions, Demand, Member, Target, Traffic};
use routing::{RouteState, Routing};
use units::NodeId;

use super::sources::owner;
use super::span::Span;

/// What a node still has to send to another, or to several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The node that it is for; of several the first.
    pub dst: NodeId,
    /// Bytes that are not yet in packets.
    pub left: u64,
    /// The nodes, if it is for several: routers make the copies.
    pub set: Option<Arc<[NodeId]>>,
}

impl Flow {
    /// So many bytes for a node.
    pub const fn to(dst: NodeId, left: u64) -> Self {
        Self { dst, left, set: None }
    }

    /// So many bytes for each of some nodes, of which routers make the copies; none without nodes.
    pub fn to_each(nodes: &[NodeId], left: u64) -> Option<Self> {
        let dst = *nodes.first()?;
        Some(Self { dst, left, set: (nodes.len() > 1).then(|| nodes.into()) })
    }

    /// The nodes that it is for.
    pub fn nodes(&self) -> &[NodeId] {
        self.set.as_deref().unwrap_or(std::slice::from_ref(&self.dst))
    }

    /// Bytes that arrive of it, all copies together.
    pub fn delivered(&self) -> u64 {
        self.left * self.nodes().len() as u64
    }
}

/// A node's flows, served in turn packet by packet.
#[derive(Debug)]
struct Sender {
    stream: Stream,
    node: NodeId,
    plane: u32,
    flows: Vec<Flow>,
    turn: usize,
    /// When the next packet is generated, in ticks: as fast as the link takes them, so that routers that serve the oldest
    /// packet first hold back whoever is ahead.
    generated_at: u64,
    /// The nodes that the packet is for that was given last, with what it carries for each, if it is for several.
    members: Vec<Member>,
}

impl Sender {
    /// What the next packet of a flow is for, and what it carries for its routing.
    fn address(&mut self, flow: usize, routing: &dyn Routing) -> (Target, RouteState) {
        let Self { stream, node, flows, members, .. } = self;
        let Flow { dst, set, .. } = &flows[flow];
        let Some(set) = set else { return (Target::Node(*dst), routing.start(*node, *dst, stream)) };
        members.clear();
        members.extend(set.iter().map(|&to| Member { node: to, state: routing.start(*node, to, stream) }));
        (Target::Members, RouteState::default())
    }
}

/// Nodes that send given volumes.
#[derive(Debug)]
pub struct VolumeTraffic {
    senders: Vec<Sender>,
    routing: Arc<dyn Routing>,
    seed: u64,
    planes: u32,
    packet: u32,
    slot: u64,
    /// Nothing is generated from this time on.
    end: u64,
}

impl VolumeTraffic {
    /// The flows of some nodes within a span of time, cut into packets of a size in bytes that take a slot, in ticks, on an
    /// injection link, of which a node has some.
    pub fn new(
        routing: &Arc<dyn Routing>,
        (seed, planes): (u64, u32),
        (packet, slot): (u32, u64),
        span: Span,
        flows: &[(NodeId, &[Flow])],
    ) -> Self {
        let sender = |(node, plane, flows): (NodeId, u32, &[Flow])| Sender {
            stream: Stream::new(seed, owner(node, plane)),
            node,
            plane,
            flows: of_plane(flows, plane, (planes, packet)),
            turn: 0,
            generated_at: span.start,
            members: Vec::new(),
        };
        let senders = flows.iter().flat_map(|&(node, flows)| (0..planes).map(move |plane| (node, plane, flows)));
        let senders = senders.map(sender).collect();
        Self { senders, routing: Arc::clone(routing), seed, planes, packet, slot, end: span.end }
    }

    /// Starts the next phase at a time, in ticks: the flows of each node, by its number in the machine.
    pub fn begin_phase(&mut self, flows: &[Vec<Flow>], at: u64, actions: &mut Actions) {
        let of_planes = (self.planes, self.packet);
        for (local, sender) in (0..).zip(&mut self.senders) {
            sender.flows = of_plane(&flows[sender.node.index()], sender.plane, of_planes);
            // Every phase draws from the start of the node's stream, as it does where each is a run of its own.
            sender.stream = Stream::new(self.seed, owner(sender.node, sender.plane));
            (sender.turn, sender.generated_at) = (0, at);
            if !sender.flows.is_empty() {
                actions.wake(local);
            }
        }
    }
}

/// What of some flows goes by a plane, given how many there are and the bytes of a packet: whole packets, as evenly as can be.
fn of_plane(flows: &[Flow], plane: u32, (planes, packet): (u32, u32)) -> Vec<Flow> {
    let own = |flow: &Flow| {
        let stripe = host::stripes(flow.left, packet, planes).find(|stripe| stripe.rail == plane)?;
        Some(Flow { left: stripe.bytes, ..flow.clone() })
    };
    flows.iter().filter_map(own).collect()
}

/// For a network that carries flows whole.
impl VolumeTraffic {
    /// When the flows that have not been taken start, in ticks, if there are any.
    pub fn starts_at(&self) -> Option<u64> {
        let start = self.senders.iter().filter(|sender| !sender.flows.is_empty()).map(|sender| sender.generated_at);
        start.min().filter(|&start| start < self.end)
    }

    /// Takes the flows of a node.
    pub fn take_flows(&mut self, node: usize) -> Vec<Flow> {
        std::mem::take(&mut self.senders[node].flows)
    }

    /// Nothing is sent from this time on, in ticks.
    pub fn end(&self) -> u64 {
        self.end
    }
}

impl VolumeTraffic {
    /// The next packet of a source, of the flows in turn the first that may send: a function of destination and bytes.
    #[inline]
    pub(super) fn next_of(&mut self, node: usize, may_send: impl Fn(NodeId, u32) -> bool) -> Option<Demand> {
        let sender = &mut self.senders[node];
        if sender.generated_at >= self.end {
            return None;
        }
        let (count, packet) = (sender.flows.len(), u64::from(self.packet));
        let first = if sender.turn >= count { 0 } else { sender.turn };
        let ready = |&at: &usize| may_send(sender.flows[at].dst, sender.flows[at].left.min(packet) as u32);
        sender.turn = (first..count).chain(0..first).find(ready)?;
        let (to, state) = sender.address(sender.turn, &*self.routing);
        let flow = &mut sender.flows[sender.turn];
        let bytes = flow.left.min(packet);
        flow.left -= bytes;
        if flow.left == 0 {
            sender.flows.remove(sender.turn);
        } else {
            sender.turn += 1;
        }
        let generated_at = sender.generated_at;
        sender.generated_at += host::time_of(bytes, self.packet, self.slot);
        let (release, flow_id) = (generated_at, sender.node.0);
        Some(Demand { generated_at, part: 0, release, to, bytes: bytes as u32, state, flow_id, mark: 0 })
    }
}

impl Traffic for VolumeTraffic {
    fn next(&mut self, node: usize, _now: u64, _actions: &mut Actions) -> Option<Demand> {
        self.next_of(node, |_, _| true)
    }

    fn members(&self, node: usize) -> &[Member] {
        &self.senders[node].members
    }
}
