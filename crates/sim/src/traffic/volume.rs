//! Traffic of given volumes: each node has flows, served in turn packet by packet, as fast as its link takes them.

use std::sync::Arc;

use engine::{Owner, Stream};
use fabric::{Actions, Demand, Target, Traffic};
use routing::Routing;
use units::NodeId;

use super::span::Span;

/// What a node still has to send to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The node that it is for.
    pub dst: NodeId,
    /// Bytes that are not yet in packets.
    pub left: u64,
}

/// A node's flows, served in turn packet by packet.
#[derive(Debug)]
struct Sender {
    stream: Stream,
    node: NodeId,
    flows: Vec<Flow>,
    turn: usize,
    /// When the next packet is generated, in ticks: as fast as the link takes them, so that routers that serve the oldest
    /// packet first hold back whoever is ahead.
    generated_at: u64,
}

/// Nodes that send given volumes.
#[derive(Debug)]
pub struct VolumeTraffic {
    senders: Vec<Sender>,
    routing: Arc<dyn Routing>,
    seed: u64,
    packet: u32,
    slot: u64,
    /// Nothing is generated from this time on.
    end: u64,
}

impl VolumeTraffic {
    /// The flows of some nodes within a span of time, cut into packets of a size in bytes that take a slot, in ticks, on an
    /// injection link.
    pub fn new(
        routing: &Arc<dyn Routing>,
        seed: u64,
        (packet, slot): (u32, u64),
        span: Span,
        flows: Vec<(NodeId, Vec<Flow>)>,
    ) -> Self {
        let sender = |(node, flows): (NodeId, Vec<Flow>)| Sender {
            stream: Stream::new(seed, Owner::Node(node.0)),
            node,
            flows: flows.into_iter().filter(|flow| flow.left > 0).collect(),
            turn: 0,
            generated_at: span.start,
        };
        let senders = flows.into_iter().map(sender).collect();
        Self { senders, routing: Arc::clone(routing), seed, packet, slot, end: span.end }
    }

    /// Starts the next phase at a time, in ticks: the flows of each node, by its number in the machine.
    pub fn begin_phase(&mut self, flows: &[Vec<Flow>], at: u64, actions: &mut Actions) {
        for (local, sender) in (0..).zip(&mut self.senders) {
            let own = flows[sender.node.index()].iter().filter(|flow| flow.left > 0);
            sender.flows = own.copied().collect();
            // Every phase draws from the start of the node's stream, as it does where each is a run of its own.
            sender.stream = Stream::new(self.seed, Owner::Node(sender.node.0));
            (sender.turn, sender.generated_at) = (0, at);
            if !sender.flows.is_empty() {
                actions.wake(local);
            }
        }
    }
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
    /// The next packet of a node, of the flows in turn the first that may send: a function of destination and bytes.
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
        let flow = &mut sender.flows[sender.turn];
        let bytes = flow.left.min(packet);
        flow.left -= bytes;
        let dst = flow.dst;
        if flow.left == 0 {
            sender.flows.remove(sender.turn);
        } else {
            sender.turn += 1;
        }
        let state = self.routing.start(sender.node, dst, &mut sender.stream);
        let generated_at = sender.generated_at;
        sender.generated_at += host::time_of(bytes, self.packet, self.slot);
        let (release, flow_id) = (generated_at, sender.node.0);
        Some(Demand {
            generated_at,
            part: 0,
            release,
            to: Target::Node(dst),
            bytes: bytes as u32,
            state,
            flow_id,
            mark: 0,
        })
    }
}

impl Traffic for VolumeTraffic {
    fn next(&mut self, node: usize, _now: u64, _actions: &mut Actions) -> Option<Demand> {
        self.next_of(node, |_, _| true)
    }
}
