//! Traffic of ranks that run schedules: the executor on one side, the fabric on the other.

use std::sync::Arc;

use engine::{Owner, Stream};
use fabric::{Actions, Demand, Traffic, TrafficEvent};
use host::{Alarm, Executor, HostContext};
use routing::Routing;
use units::NodeId;

/// The ranks of one partition's nodes.
#[derive(Debug)]
pub struct ScheduledTraffic {
    executor: Executor,
    routing: Arc<dyn Routing>,
    /// By node, by its number in the partition.
    nodes: Vec<NodeId>,
    streams: Vec<Stream>,
    /// Nothing is sent from this time on, in ticks.
    end: u64,
}

impl ScheduledTraffic {
    /// The executor's ranks, on its nodes, which send nothing from the time `end` on.
    pub fn new(executor: Executor, routing: &Arc<dyn Routing>, (seed, end): (u64, u64), nodes: &[u32]) -> Self {
        Self {
            executor,
            routing: Arc::clone(routing),
            nodes: nodes.iter().map(|&node| NodeId(node)).collect(),
            streams: nodes.iter().map(|&node| Stream::new(seed, Owner::Node(node))).collect(),
            end,
        }
    }

    /// The ranks, as far as they have come.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }
}

/// What an executor asks for, handed to the fabric.
struct Asking<'a>(&'a mut Actions);

impl HostContext for Asking<'_> {
    fn wake(&mut self, node: u32) {
        self.0.wake(node);
    }

    fn alarm(&mut self, at: u64, op: u32, what: Alarm) {
        self.0.alarm(at, op, what.number());
    }
}

impl ScheduledTraffic {
    /// The next packet of a node, of its messages in turn the first that may be sent: a function of destination and bytes.
    #[inline]
    pub(super) fn next_of(&mut self, node: usize, now: u64, may_send: impl Fn(NodeId, u32) -> bool) -> Option<Demand> {
        if now >= self.end {
            return None;
        }
        let packet = self.executor.next_of(node, |dst, bytes| may_send(NodeId(dst), bytes))?;
        let dst = NodeId(packet.dst);
        let state = self.routing.start(self.nodes[node], dst, &mut self.streams[node]);
        let host::Outgoing { generated_at, bytes, flow_id, .. } = packet;
        Some(Demand { generated_at, part: 0, release: generated_at, dst, bytes, state, flow_id, mark: 0 })
    }
}

impl Traffic for ScheduledTraffic {
    fn next(&mut self, node: usize, now: u64, _actions: &mut Actions) -> Option<Demand> {
        self.next_of(node, now, |_, _| true)
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn begin(&mut self, now: u64, actions: &mut Actions) {
        self.executor.begin(now, &mut Asking(actions));
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, actions: &mut Actions) {
        let around = &mut Asking(actions);
        match what {
            TrafficEvent::Arrival { flow_id } => self.executor.arrived(flow_id, now, around),
            TrafficEvent::Alarm { target, purpose } => {
                if let Some(what) = Alarm::of(purpose) {
                    self.executor.alarm(target, what, now, around);
                }
            }
            // Reported to a pacer, which passes arrivals on.
            TrafficEvent::Delivered { .. } | TrafficEvent::Notice(_) => {}
        }
    }

    fn source(&self, flow_id: u32) -> NodeId {
        NodeId(self.executor.source(flow_id))
    }
}
