//! Acknowledgements at the nodes that send them: packets, or notices that take the time of the idle path.

use std::collections::VecDeque;
use std::sync::Arc;

use engine::{Owner, Stream};
use fabric::{Actions, Demand, FLOW_BITS, Notice, NoticeContent, Target};
use units::{NodeId, RouterId};

use super::spec::PacedSpec;
use crate::network::Network;
use crate::traffic::numbers::flow_of;

/// Packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// Destination node, with its index in the partition.
    pub node: (u32, NodeId),
    /// Source node.
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
        let (node, _) = arrived.node;
        match self {
            Self::Packets(acks) => {
                acks.queues[node as usize].push_back((arrived.from, arrived.bytes));
                actions.wake(node);
            }
            Self::Notices(acks) => acks.send(arrived, now, actions),
        }
    }

    /// Returns the next acknowledgement packet of a node. All are due. None if there is none, or if acknowledgements
    /// are notices.
    pub fn next(&mut self, node: usize, now: u64) -> Option<Demand> {
        match self {
            Self::Packets(acks) => acks.next(node, now),
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

/// Acknowledgements as packets: one for each packet that has arrived, in the order of arrival.
#[derive(Debug)]
pub(super) struct AckPackets {
    spec: PacedSpec,
    size: u32,
    number: usize,
    nodes: Vec<NodeId>,
    streams: Vec<Stream>,
    /// Pending acknowledgements of each node: destination and acknowledged bytes. Bounded by the windows of the flows
    /// to the node.
    queues: Vec<VecDeque<(NodeId, u32)>>,
}

impl AckPackets {
    fn new(spec: &PacedSpec, (size, number): (u32, usize), nodes: &[u32]) -> Self {
        Self {
            spec: spec.clone(),
            size,
            number,
            nodes: nodes.iter().map(|&node| NodeId(node)).collect(),
            streams: nodes.iter().map(|&node| Stream::new(spec.seed, Owner::Acknowledger(node))).collect(),
            queues: vec![VecDeque::new(); nodes.len()],
        }
    }

    fn next(&mut self, node: usize, now: u64) -> Option<Demand> {
        let (dst, acknowledged) = self.queues[node].pop_front()?;
        let from = self.nodes[node];
        Some(Demand {
            generated_at: now,
            part: 0,
            release: now,
            to: Target::Node(dst),
            bytes: self.size,
            state: self.spec.network.routing.start(from, dst, &mut self.streams[node]),
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
    /// Routers of the nodes, in ascending order, and the index of each node's router.
    routers: Vec<RouterId>,
    router_of: Vec<u32>,
    /// Delays of the idle paths from each router, in ticks, to the routers whose nodes have sent to its nodes. In
    /// ascending order of routers.
    delays: Vec<Vec<(RouterId, u64)>>,
}

impl AckNotices {
    fn new(spec: &PacedSpec, nodes: &[u32]) -> Self {
        let router = |&node: &u32| spec.network.topology.attachment(NodeId(node)).0;
        let mut routers: Vec<RouterId> = nodes.iter().map(router).collect();
        routers.sort_unstable();
        routers.dedup();
        let number = |node: &u32| routers.partition_point(|&other| other < router(node)) as u32;
        Self {
            network: spec.network.clone(),
            partition_of: Arc::clone(&spec.partition_of),
            job: spec.job,
            router_of: nodes.iter().map(number).collect(),
            delays: vec![Vec::new(); routers.len()],
            routers,
        }
    }

    fn send(&mut self, arrived: Arrived, now: u64, actions: &mut Actions) {
        let Arrived { node: (number, node), from, bytes } = arrived;
        let router = self.router_of[number as usize] as usize;
        let (to, _) = self.network.topology.attachment(from);
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
