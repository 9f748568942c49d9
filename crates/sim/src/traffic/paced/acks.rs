//! Acknowledgements, at the nodes that send them: packets of their own, or notices that take the time of the idle path.

use std::collections::VecDeque;
use std::sync::Arc;

use engine::{Owner, Stream};
use fabric::{Actions, Demand, FLOW_BITS, Notice, NoticeContent, Target};
use units::{NodeId, RouterId};

use super::spec::PacedSpec;
use crate::network::Network;
use crate::traffic::numbers::flow_of;

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    /// The node that it has arrived at, by its number in the partition, and that node.
    pub node: (u32, NodeId),
    /// The node that has sent it.
    pub from: NodeId,
    /// Its size in bytes.
    pub bytes: u32,
}

/// How the nodes of a partition acknowledge packets.
#[derive(Debug)]
pub(super) enum Acknowledgements {
    /// By packets.
    Packets(AckPackets),
    /// By notices.
    Notices(AckNotices),
}

impl Acknowledgements {
    /// Of some nodes, none to be sent yet.
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

    /// The next acknowledgement of a node that is a packet, if there is one. All are due.
    pub fn next(&mut self, node: usize, now: u64) -> Option<Demand> {
        match self {
            Self::Packets(acks) => acks.next(node, now),
            Self::Notices(_) => None,
        }
    }

    /// The number, among those of jobs, by which packets are known to be acknowledgements.
    pub fn number(&self) -> Option<usize> {
        match self {
            Self::Packets(acks) => Some(acks.number),
            Self::Notices(_) => None,
        }
    }
}

/// Acknowledgements that are packets: one for each packet that has arrived, in the order of arrival.
#[derive(Debug)]
pub(super) struct AckPackets {
    spec: PacedSpec,
    size: u32,
    number: usize,
    nodes: Vec<NodeId>,
    streams: Vec<Stream>,
    /// By node, for whom and for how many bytes: no more than the windows of the flows to it.
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

/// Acknowledgements that load nothing.
#[derive(Debug)]
pub(super) struct AckNotices {
    network: Network,
    /// By node of the machine, its partition.
    partition_of: Arc<[u16]>,
    job: usize,
    /// The routers of the nodes, in ascending order, and by node the number of its router there.
    routers: Vec<RouterId>,
    router_of: Vec<u32>,
    /// By router, the delay of the idle path to each router whose nodes have sent to its own, in ascending order of these.
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
