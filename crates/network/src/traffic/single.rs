//! Traffic of one job without a pacer: one of the kinds.

use fabric::{Actions, Demand, Member, Traffic, TrafficEvent, TreePacket};
use units::{NodeId, State};

use super::numbers::job_of;
use super::open::OpenTraffic;
use super::scheduled::ScheduledTraffic;
use super::volume::{Flow, VolumeTraffic};

/// Traffic of a job at the nodes of one partition.
#[derive(Debug)]
pub enum JobTraffic {
    /// Open traffic at a rate.
    Open(OpenTraffic),
    /// Given volumes, sent as fast as links take them.
    Volume(VolumeTraffic),
    /// Messages of ranks, sent by their programs.
    Scheduled(Box<ScheduledTraffic>),
}

impl JobTraffic {
    /// Starts further volumes of the job at `at`, in ticks. `flows` holds the flows of each node, by its index in the
    /// machine.
    pub fn begin_phase(&mut self, flows: &[Vec<Flow>], at: u64, actions: &mut Actions) {
        if let Self::Volume(traffic) = self {
            traffic.begin_phase(flows, at, actions);
        }
    }

    /// Returns the node that has sent a packet which arrives at `node` now. The packet has a flow id and a mark.
    pub(super) fn sender(&self, node: NodeId, packet: (u32, u32)) -> NodeId {
        match self {
            Self::Open(_) | Self::Volume(_) => self.source(job_of(packet.0).1),
            Self::Scheduled(traffic) => traffic.sender(node, packet),
        }
    }
}

impl State for JobTraffic {
    fn save(&self, to: &mut Vec<u8>) {
        match self {
            Self::Open(traffic) => traffic.save(to),
            Self::Volume(traffic) => traffic.save(to),
            Self::Scheduled(traffic) => traffic.save(to),
        }
    }

    fn load(&mut self, from: &mut &[u8]) -> Option<()> {
        match self {
            Self::Open(traffic) => traffic.load(from),
            Self::Volume(traffic) => traffic.load(from),
            Self::Scheduled(traffic) => traffic.load(from),
        }
    }
}

impl Traffic for JobTraffic {
    // Each packet of each node passes here: nested calls would each copy the whole demand.
    #[inline(always)]
    fn next(&mut self, node: usize, now: u64, actions: &mut Actions) -> Option<Demand> {
        match self {
            Self::Open(traffic) => traffic.next(node, now, actions),
            Self::Volume(traffic) => traffic.next(node, now, actions),
            Self::Scheduled(traffic) => traffic.next(node, now, actions),
        }
    }

    fn members(&self, node: usize) -> &[Member] {
        match self {
            Self::Open(traffic) => traffic.members(node),
            Self::Volume(traffic) => traffic.members(node),
            Self::Scheduled(_) => &[],
        }
    }

    fn tree_packet(&self, node: usize) -> Option<TreePacket> {
        match self {
            Self::Open(traffic) => traffic.tree_packet(node),
            Self::Volume(_) => None,
            Self::Scheduled(traffic) => traffic.tree_packet(node),
        }
    }

    #[inline]
    fn before_next(&self, node: usize) {
        if let Self::Open(traffic) = self {
            traffic.before_next(node);
        }
    }

    fn wants_events(&self) -> bool {
        matches!(self, Self::Scheduled(_))
    }

    fn begin(&mut self, now: u64, actions: &mut Actions) {
        if let Self::Scheduled(traffic) = self {
            traffic.begin(now, actions);
        }
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, actions: &mut Actions) {
        if let Self::Scheduled(traffic) = self {
            traffic.on_event(what, now, actions);
        }
    }

    fn source(&self, flow_id: u32) -> NodeId {
        match self {
            Self::Open(_) | Self::Volume(_) => NodeId(flow_id),
            Self::Scheduled(traffic) => traffic.source(flow_id),
        }
    }
}
