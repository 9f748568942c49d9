//! Acknowledgements at the nodes that send them: packets, or notices that take the time of the idle path.

use std::collections::VecDeque;
use std::sync::Arc;

use engine::{Owner, Stream};
use fabric::{Actions, Demand, FLOW_BITS, Notice, NoticeContent, Target};
use units::{NodeId, PlaneId, RouterId, State};

use super::spec::PacedSpec;
use crate::network::Network;
use crate::traffic::numbers::flow_of;
use crate::traffic::sources::{number, sources};

/// Packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// Destination node.
    pub node: NodeId,
    /// Link of the destination into the plane of the packet, by its index among the sources of the partition.
    pub source: u32,
    /// Node that has sent the packet.
    pub from: NodeId,
    /// Size of the packet, in bytes.
    pub bytes: u32,
}

/// Method by which the nodes of a partition acknowledge packets.
#[derive(Debug)]
pub(super) enum Acknowledgements {
    /// Packets, which load channels.
    Packets(AckPackets),
    /// Notices, which load nothing.
    Notices(AckNotices),
}

impl State for Acknowledgements {
    fn save(&self, to: &mut Vec<u8>) {
        if let Self::Packets(acks) = self {
            acks.save(to);
        }
    }

    fn load(&mut self, from: &mut &[u8]) -> Option<()> {
        match self {
            Self::Packets(acks) => acks.load(from),
            Self::Notices(_) => Some(()),
        }
    }
}

impl Acknowledgements {
    /// Creates the state of some nodes without acknowledgements.
    pub fn new(spec: &PacedSpec, nodes: &[u32]) -> Self {
        match (spec.pacer.ack_size(), spec.number) {
            (Some(size), Some(number)) => Self::Packets(AckPackets::new(spec, (size, number), nodes)),
            _ => Self::Notices(AckNotices::new(spec, nodes)),
        }
    }

    /// Acknowledges a packet whose tail has just arrived.
    pub fn acknowledge(&mut self, arrived: Arrived, now: u64, actions: &mut Actions) {
        match self {
            Self::Packets(acks) => {
                acks.queues[arrived.source as usize].push_back((arrived.from, arrived.bytes));
                actions.wake(arrived.source);
            }
            Self::Notices(acks) => acks.send(arrived, now, actions),
        }
    }

    /// Returns the next acknowledgement packet of a source. All are due. None if there is none, or if acknowledgements
    /// are notices.
    pub fn next(&mut self, source: usize, now: u64) -> Option<Demand> {
        match self {
            Self::Packets(acks) => acks.next(source, now),
            Self::Notices(_) => None,
        }
    }

    /// Returns the packet class of acknowledgements. None if they are notices.
    pub fn number(&self) -> Option<usize> {
        match self {
            Self::Packets(acks) => Some(acks.number),
            Self::Notices(_) => None,
        }
    }
}

/// Acknowledgements as packets: one for each packet that has arrived, in the order of arrival, on the packet's plane.
#[derive(Debug)]
pub(super) struct AckPackets {
    spec: PacedSpec,
    size: u32,
    number: usize,
    /// Nodes of the sources, and the planes that they send into.
    sources: Vec<(NodeId, u32)>,
    streams: Vec<Stream>,
    /// Pending acknowledgements of each source: destination and acknowledged bytes. Bounded by the windows of the flows
    /// to the node.
    queues: Vec<VecDeque<(NodeId, u32)>>,
}
units::state!(AckPackets { streams, queues; rebuilt spec, size, number, sources });

impl AckPackets {
    fn new(spec: &PacedSpec, (size, class): (u32, usize), nodes: &[u32]) -> Self {
        let sources: Vec<_> = sources(nodes, spec.planes()).collect();
        let stream = |&(node, plane): &(NodeId, u32)| Stream::new(spec.seed, Owner::Acknowledger(number(node, plane)));
        Self {
            spec: spec.clone(),
            size,
            number: class,
            streams: sources.iter().map(stream).collect(),
            queues: vec![VecDeque::new(); sources.len()],
            sources,
        }
    }

    fn next(&mut self, source: usize, now: u64) -> Option<Demand> {
        let (dst, acknowledged) = self.queues[source].pop_front()?;
        let (from, plane) = self.sources[source];
        Some(Demand {
            generated_at: now,
            part: 0,
            release: now,
            to: Target::Node(dst),
            bytes: self.size,
            state: self.spec.network.start_on(plane, (from, dst), &mut self.streams[source]),
            flow_id: flow_of(self.number, from.0),
            mark: acknowledged,
        })
    }
}

/// Acknowledgements as notices, which load nothing.
#[derive(Debug)]
pub(super) struct AckNotices {
    network: Network,
    /// Partition of each node of the machine.
    partition_of: Arc<[u16]>,
    job: usize,
    /// Routers of the nodes, in ascending order, and the index of each source's router. 0 for a source without router.
    routers: Vec<RouterId>,
    router_of: Vec<u32>,
    /// Delays of the idle paths from each router, in ticks, to the routers whose nodes have sent to its nodes. In
    /// ascending order of routers.
    delays: Vec<Vec<(RouterId, u64)>>,
}

impl AckNotices {
    fn new(spec: &PacedSpec, nodes: &[u32]) -> Self {
        let attachment = |(node, plane)| spec.network.topology.attachment_on(node, PlaneId(plane as u8));
        let of_sources: Vec<_> = sources(nodes, spec.planes()).map(attachment).collect();
        let mut routers: Vec<RouterId> = of_sources.iter().flatten().map(|&(router, _)| router).collect();
        routers.sort_unstable();
        routers.dedup();
        let number = |own: &Option<(RouterId, _)>| {
            own.map_or(0, |(router, _)| routers.partition_point(|&other| other < router) as u32)
        };
        Self {
            network: spec.network.clone(),
            partition_of: Arc::clone(&spec.partition_of),
            job: spec.job,
            router_of: of_sources.iter().map(number).collect(),
            delays: vec![Vec::new(); routers.len()],
            routers,
        }
    }

    fn send(&mut self, arrived: Arrived, now: u64, actions: &mut Actions) {
        let Arrived { node, source, from, bytes } = arrived;
        let router = self.router_of[source as usize] as usize;
        let plane = self.network.topology.plane_of(self.routers[router]);
        let Some((to, _)) = self.network.topology.attachment_on(from, plane) else {
            debug_assert!(false, "a packet from a node without a port in its plane");
            return;
        };
        let delays = &mut self.delays[router];
        let place = delays.binary_search_by_key(&to, |&(to, _)| to).unwrap_or_else(|place| {
            delays.insert(place, (to, self.network.idle_path(self.routers[router], to)));
            place
        });
        let content = NoticeContent::Acknowledged(bytes);
        let notice = Notice { to: from, from: node, flow_id: (self.job as u32) << FLOW_BITS, content };
        actions.notice(now + delays[place].1, self.partition_of[from.index()], notice);
    }
}
