//! Traffic of given volumes: each node serves its flows in round-robin order, packet by packet, at the rate of its
//! link. With several links, one into each plane, each link takes a stripe of every flow. Packets of a flow for several
//! nodes carry the destinations in their headers.

use std::ops::Range;
use std::sync::Arc;

use engine::Stream;
use fabric::{Actions, Demand, Member, Target, Traffic};
use routing::{RouteState, Routing};
use units::NodeId;

use super::sources::owner;
use super::span::Span;

/// Largest part of a flow that is carried whole, in bytes.
const MOST_WHOLE: u64 = 1 << 31;

/// Flow: bytes that a node has yet to send to one destination or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Destination node. With several destinations, the first.
    pub dst: NodeId,
    /// Bytes that are not yet in packets.
    pub left: u64,
    /// Destination nodes of a multicast, which routers copy. None for a single destination.
    pub set: Option<Arc<[NodeId]>>,
}
units::record!(Flow { dst, left, set });

impl Flow {
    /// Creates a flow of `left` bytes to one node.
    pub const fn to(dst: NodeId, left: u64) -> Self {
        Self { dst, left, set: None }
    }

    /// Creates a flow of `left` bytes to each of `nodes`, which routers copy. None if `nodes` is empty.
    pub fn to_each(nodes: &[NodeId], left: u64) -> Option<Self> {
        let dst = *nodes.first()?;
        Some(Self { dst, left, set: (nodes.len() > 1).then(|| nodes.into()) })
    }

    /// Returns the destination nodes.
    pub fn nodes(&self) -> &[NodeId] {
        self.set.as_deref().unwrap_or(std::slice::from_ref(&self.dst))
    }

    /// Returns the bytes that arrive, all copies together.
    pub fn delivered(&self) -> u64 {
        self.left * self.nodes().len() as u64
    }
}

/// Flows of a node on one plane, served in round-robin order, packet by packet.
#[derive(Debug)]
struct Sender {
    stream: Stream,
    node: NodeId,
    plane: u32,
    flows: Vec<Flow>,
    turn: usize,
    /// Generation time of the next packet, in ticks. Packets are generated at the rate of the link, so that routers
    /// that serve the oldest packet first hold back nodes that are ahead.
    generated_at: u64,
    /// Destinations of the last packet, with the routing state that it carries for each. Empty for packets with one
    /// destination.
    members: Vec<Member>,
}
units::state!(Sender { stream, flows, turn, generated_at, members; rebuilt node, plane });

impl Sender {
    /// Returns the target of a flow's next packet, and its initial routing state.
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
    planes: Range<u32>,
    packet: u32,
    slot: u64,
    /// Most bytes that are sent together: a packet, or more if flows are carried whole.
    most: u64,
    /// Time from which on nothing is generated, in ticks.
    end: u64,
}
units::state!(VolumeTraffic { ; each senders; rebuilt routing, seed, planes, packet, slot, most, end });

impl VolumeTraffic {
    /// Creates the traffic of some nodes' flows within `span`. `packet` is the size of packets in bytes, `slot` the
    /// serialization time of a packet on an injection link in ticks, and `planes` the number of planes of all networks,
    /// and those of the job's network.
    pub fn new(
        routing: &Arc<dyn Routing>,
        (seed, (all_planes, planes)): (u64, (u32, Range<u32>)),
        (packet, slot): (u32, u64),
        span: Span,
        flows: &[(NodeId, &[Flow])],
    ) -> Self {
        let sender = |(node, plane, flows): (NodeId, u32, &[Flow])| Sender {
            stream: Stream::new(seed, owner(node, plane)),
            node,
            plane,
            flows: of_plane(flows, plane, (&planes, packet)),
            turn: 0,
            generated_at: span.start,
            members: Vec::new(),
        };
        let senders = flows.iter().flat_map(|&(node, flows)| (0..all_planes).map(move |plane| (node, plane, flows)));
        let senders = senders.map(sender).collect();
        Self { senders, routing: Arc::clone(routing), seed, planes, packet, slot, most: packet.into(), end: span.end }
    }

    /// Hands all flows over as they begin, each whole, for a network on which they share links.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { slot: 0, most: MOST_WHOLE, ..self }
    }

    /// Starts the next phase at `at`, in ticks. `flows` holds the flows of each node, by its index in the machine.
    pub fn begin_phase(&mut self, flows: &[Vec<Flow>], at: u64, actions: &mut Actions) {
        for (local, sender) in (0..).zip(&mut self.senders) {
            sender.flows = of_plane(&flows[sender.node.index()], sender.plane, (&self.planes, self.packet));
            // Every phase draws from the start of the node's stream, as if it were a run by itself.
            sender.stream = Stream::new(self.seed, owner(sender.node, sender.plane));
            (sender.turn, sender.generated_at) = (0, at);
            if !sender.flows.is_empty() {
                actions.wake(local);
            }
        }
    }
}

/// Returns a plane's stripe of some flows. Flows are divided over the planes `planes` in whole packets of `packet`
/// bytes, as evenly as possible.
fn of_plane(flows: &[Flow], plane: u32, (planes, packet): (&Range<u32>, u32)) -> Vec<Flow> {
    let own = |flow: &Flow| {
        let mut stripes = host::stripes(flow.left, packet, planes.len() as u32);
        let stripe = stripes.find(|stripe| planes.start + stripe.rail == plane)?;
        Some(Flow { left: stripe.bytes, ..flow.clone() })
    };
    flows.iter().filter_map(own).collect()
}

/// Interface to a network that carries flows whole.
impl VolumeTraffic {
    /// Returns the start of the flows that have not been taken, in ticks. None if there are none.
    pub fn starts_at(&self) -> Option<u64> {
        let start = self.senders.iter().filter(|sender| !sender.flows.is_empty()).map(|sender| sender.generated_at);
        start.min().filter(|&start| start < self.end)
    }

    /// Takes the flows of a node.
    pub fn take_flows(&mut self, node: usize) -> Vec<Flow> {
        std::mem::take(&mut self.senders[node].flows)
    }

    /// Returns the time from which on nothing is sent, in ticks.
    pub fn end(&self) -> u64 {
        self.end
    }
}

impl VolumeTraffic {
    /// Returns the next packet of a source: of the first flow in round-robin order for which `may_send` holds.
    /// `may_send` gets the destination and the bytes of the packet.
    #[inline]
    pub(super) fn next_of(&mut self, node: usize, may_send: impl Fn(NodeId, u32) -> bool) -> Option<Demand> {
        let sender = &mut self.senders[node];
        if sender.generated_at >= self.end {
            return None;
        }
        let (count, packet) = (sender.flows.len(), self.most);
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
