//! Traffic of ranks that run programs: connects the executor to the fabric.

use std::sync::Arc;

use engine::Stream;
use fabric::{Actions, Demand, Notice, NoticeContent, Target, Traffic, TrafficEvent, TreePacket};
use host::{Arrived, Envelope, Executor, GroupWork, PacketContext, SendSlot};
use mpi::program::Context;
use routing::{RouteState, Routing};
use units::{NodeId, PlaneId};

use super::groups::GroupTrees;
use super::numbers::{flow_of, job_of};
use super::sources::{owner, sources};

/// Assignment of a machine's nodes to partitions.
#[derive(Clone, Debug)]
pub struct Division {
    /// Partition of each node.
    pub partition_of: Arc<[u16]>,
    /// Index of each node in its partition.
    pub number_of: Arc<[u32]>,
    /// Lookahead window, in ticks: anything sent between partitions arrives no sooner.
    pub window: u64,
}

impl Division {
    /// Creates the assignment of `nodes` nodes. `parts` lists the nodes of each partition.
    pub fn new<'a>(nodes: u32, parts: impl Iterator<Item = &'a [u32]>, window: u64) -> Self {
        let (mut partition_of, mut number_of) = (vec![0; nodes as usize], vec![0; nodes as usize]);
        for (part, own) in (0..).zip(parts) {
            for (number, &node) in (0..).zip(own) {
                (partition_of[node as usize], number_of[node as usize]) = (part, number);
            }
        }
        Self { partition_of: partition_of.into(), number_of: number_of.into(), window }
    }
}

/// Context of the ranks of a partition.
#[derive(Clone, Debug)]
pub struct RankContext {
    /// Job number.
    pub job: usize,
    /// Packet class of the job's acknowledgements. None without acknowledgements.
    pub acks: Option<usize>,
    /// Seed of the nodes' random streams.
    pub seed: u64,
    /// Time from which on nothing is sent, in ticks.
    pub end: u64,
    /// Routing that determines the initial state of packets.
    pub routing: Arc<dyn Routing>,
    /// Number of planes of all networks together.
    pub planes: u32,
    /// Assignment of nodes to partitions.
    pub division: Division,
    /// Trees of the job's groups. None without groups.
    pub groups: Option<GroupTrees>,
}

/// Ranks of one partition's nodes.
#[derive(Debug)]
pub struct ScheduledTraffic {
    executor: Executor,
    context: RankContext,
    /// Node of each source, by the source's index in the partition.
    nodes: Vec<NodeId>,
    streams: Vec<Stream>,
    /// Content of each node's last packet for a group. Empty without groups.
    given: Vec<Option<TreePacket>>,
}
units::state!(ScheduledTraffic { executor, streams, given; rebuilt context, nodes });

impl ScheduledTraffic {
    /// Creates the traffic of an executor's ranks on `nodes`.
    pub fn new(executor: Executor, context: RankContext, nodes: &[u32]) -> Self {
        let planes = context.planes;
        let stream = |(node, plane)| Stream::new(context.seed, owner(node, plane));
        Self {
            executor,
            nodes: sources(nodes, planes).map(|(node, _)| node).collect(),
            streams: sources(nodes, planes).map(stream).collect(),
            given: Vec::new(),
            context,
        }
    }

    /// Returns the executor of the ranks.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Returns the executor of the ranks, to advance it.
    pub fn executor_mut(&mut self) -> &mut Executor {
        &mut self.executor
    }
}

/// Forwards the requests of an executor to the fabric.
struct Asking<'a> {
    actions: &'a mut Actions,
    context: &'a RankContext,
    now: u64,
}

impl PacketContext for Asking<'_> {
    fn wake(&mut self, node: u32) {
        self.actions.wake(node);
    }

    fn alarm(&mut self, at: u64) {
        self.actions.alarm(at, 0, 0);
    }

    /// Announces a message. The notice takes one window; packets have to be sent and to cross a link between partitions,
    /// so they arrive later.
    fn announce(&mut self, node: u32, envelope: Envelope) {
        let Envelope { source, number, turn, to, tag, context, bytes, place, rendezvous: asks } = envelope;
        // No message has 2^63 bytes: the highest bit is free.
        let size = bytes | u64::from(asks) << 63;
        let words = [source, turn, number, to, tag, context.bits(), size as u32, (size >> 32) as u32, place.0];
        let notice = Notice {
            to: NodeId(node),
            from: NodeId(node),
            flow_id: flow_of(self.context.job, 0),
            content: NoticeContent::Announced(words),
        };
        let Division { partition_of, window, .. } = &self.context.division;
        self.actions.notice(self.now + window, partition_of[node as usize], notice);
    }
}

/// Decodes the envelope of a notice.
fn envelope_of([source, turn, number, to, tag, context, low, high, place]: [u32; 9]) -> Envelope {
    let size = u64::from(high) << 32 | u64::from(low);
    let (bytes, asks) = (size & (u64::MAX >> 1), size >> 63 == 1);
    let (context, place) = (Context::from_bits(context), SendSlot(place));
    Envelope { source, number, turn, to, tag, context, bytes, place, rendezvous: asks }
}

impl ScheduledTraffic {
    /// Returns the next packet of a source: of the first message in round-robin order for which `may_send` holds.
    /// `may_send` gets the destination and the bytes of the packet.
    #[inline]
    pub(super) fn next_of(
        &mut self,
        source: usize,
        (now, actions): (u64, &mut Actions),
        may_send: impl Fn(NodeId, u32) -> bool,
    ) -> Option<Demand> {
        if now >= self.context.end {
            return None;
        }
        let packet = self.executor.next_of(source, now, |dst, bytes| may_send(NodeId(dst), bytes))?;
        if let Some(alarm) = self.executor.wanted_alarm() {
            actions.alarm(alarm, 0, 0);
        }
        if packet.dst == host::Outgoing::GROUP {
            return self.for_group(source, &packet);
        }
        let dst = NodeId(packet.dst);
        let ends = (self.nodes[source], dst);
        let state = match self.context.planes {
            1 => self.context.routing.start(ends.0, ends.1, &mut self.streams[source]),
            planes => {
                let plane = PlaneId((source as u32 % planes) as u8);
                self.context.routing.start_on(plane, ends, &mut self.streams[source])
            }
        };
        let host::Outgoing { generated_at, bytes, flow_id, mark, .. } = packet;
        Some(Demand {
            generated_at,
            part: 0,
            release: generated_at,
            to: Target::Node(dst),
            bytes,
            state,
            flow_id,
            mark,
        })
    }
}

impl ScheduledTraffic {
    /// Returns a node's packet for a group.
    #[inline(never)]
    fn for_group(&mut self, node: usize, packet: &host::Outgoing) -> Option<Demand> {
        let groups = self.context.groups.as_ref()?;
        let own = self.executor.group_packet(node);
        let (of, mark) = groups.packet(self.nodes[node], &own);
        self.given.resize(self.nodes.len(), None);
        self.given[node] = Some(of);
        let &host::Outgoing { generated_at, bytes, flow_id, .. } = packet;
        // Acknowledgements load channels, but belong to no message.
        let flow_id = match self.context.acks {
            Some(number) if own.work == GroupWork::Acknowledge => flow_of(number, flow_id),
            _ => flow_id,
        };
        let (to, state) = (Target::Tree, RouteState::default());
        Some(Demand { generated_at, part: 0, release: generated_at, to, bytes, state, flow_id, mark })
    }
}

impl ScheduledTraffic {
    /// Returns the node that has sent a packet which arrives at `node` now: its source, or the last relay.
    pub(super) fn sender(&self, node: NodeId, (flow_id, mark): (u32, u32)) -> NodeId {
        NodeId(self.executor.sender(node.0, (job_of(flow_id).1, mark)))
    }
}

impl Traffic for ScheduledTraffic {
    fn next(&mut self, node: usize, now: u64, actions: &mut Actions) -> Option<Demand> {
        self.next_of(node, (now, actions), |_, _| true)
    }

    fn tree_packet(&self, node: usize) -> Option<TreePacket> {
        self.given.get(node).copied().flatten()
    }

    fn wants_events(&self) -> bool {
        true
    }

    fn begin(&mut self, now: u64, actions: &mut Actions) {
        let Self { executor, context, .. } = self;
        executor.begin(now, &mut Asking { actions, context, now });
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, actions: &mut Actions) {
        let Self { executor, context, .. } = self;
        let around = &mut Asking { actions, context, now };
        match what {
            TrafficEvent::Delivered { node: NodeId(node), flow_id, mark, bytes, plane, .. } => {
                let packet = Arrived { flow_id: job_of(flow_id).1, mark, bytes, node, rail: u32::from(plane.0) };
                executor.arrived(packet, now, around);
            }
            TrafficEvent::Collected { node, of, bytes, mark, .. } => {
                let Some(groups) = &context.groups else { return };
                let arrival = groups.arrival(&of, (bytes, mark));
                let number = context.division.number_of[node.index()] as usize;
                executor.group_arrived(number, arrival, now, around);
            }
            TrafficEvent::Notice(Notice { content: NoticeContent::Announced(words), .. }) => {
                executor.announced(envelope_of(words));
            }
            TrafficEvent::Alarm { .. } => executor.alarm(now, around),
            // Acknowledgements are for pacers.
            TrafficEvent::Notice(_) => {}
        }
    }

    fn source(&self, flow_id: u32) -> NodeId {
        NodeId(self.executor.source(job_of(flow_id).1))
    }
}
