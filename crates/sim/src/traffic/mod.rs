//! What the nodes of a partition send: one file for each kind of traffic, and several at once.

mod numbers;
mod open;
mod paced;
mod scheduled;
mod shared;
mod volume;

use fabric::{Actions, Demand, FLOW_BITS, Traffic, TrafficEvent};
use units::NodeId;

pub use numbers::JobNumbers;
pub use open::{OpenTraffic, OpenTrafficSpec};
pub use paced::{PacedSpec, PacedTraffic};
pub use scheduled::ScheduledTraffic;
pub use shared::SharedTraffic;
pub use volume::{Flow, VolumeTraffic};

pub use crate::network::Packets;

/// From when until when a job sends, in ticks: packets generated before the end still go.
pub type Span = std::ops::Range<u64>;

/// The traffic of one partition's nodes.
#[derive(Debug)]
pub enum NodeTraffic {
    /// At a rate, without end.
    Open(OpenTraffic),
    /// Given volumes, as fast as they go.
    Volume(VolumeTraffic),
    /// What ranks send by their schedules.
    Scheduled(Box<ScheduledTraffic>),
    /// One of these with a pacer before it.
    Paced(Box<PacedTraffic>),
    /// That of several jobs.
    Shared(Box<SharedTraffic>),
}

impl NodeTraffic {
    /// The traffic of a job alone, without its pacer; itself if there are no others.
    pub fn of_job(&self, job: usize) -> Option<&Self> {
        match self {
            Self::Shared(shared) => shared.job(job)?.of_job(job),
            Self::Paced(paced) => Some(paced.inner()),
            _ => Some(self),
        }
    }

    /// The ranks of a job, if it has any.
    pub fn scheduled(&self, job: usize) -> Option<&ScheduledTraffic> {
        match self.of_job(job)? {
            Self::Scheduled(traffic) => Some(traffic),
            _ => None,
        }
    }

    /// Whether the packets of a job are known by the nodes that send them.
    pub fn knows_sources(&self, job: usize) -> bool {
        self.scheduled(job).is_none()
    }

    /// When the next packet of a job at a node (by its number in the partition) is or will be generated, in ticks, rounded
    /// down; `head` is the time of the packet that the partition holds for the node, of whatever job.
    pub fn next_generation_time(&self, job: usize, node: usize, head: Option<u64>) -> Option<u64> {
        match self {
            Self::Shared(shared) => shared.next_generation_time(job, node),
            Self::Paced(paced) => paced.next_generation_time(node),
            _ => head,
        }
    }

    /// Has a job send further volumes from a time on: those of each node, by its number in the machine.
    pub fn begin_phase(&mut self, job: usize, flows: &[Vec<Flow>], at: u64, actions: &mut Actions) {
        match self {
            Self::Volume(traffic) => traffic.begin_phase(flows, at, actions),
            Self::Paced(paced) => paced.begin_phase(job, flows, at, actions),
            Self::Shared(shared) => shared.begin_phase(job, flows, at, actions),
            Self::Open(_) | Self::Scheduled(_) => {}
        }
    }
}

/// The flow id of a packet that the traffic of a job knows by `own`.
fn flow_of(job: usize, own: u32) -> u32 {
    (job as u32) << FLOW_BITS | own
}

/// The job of a flow, and what the job's traffic knows it by.
fn job_of(flow_id: u32) -> (usize, u32) {
    ((flow_id >> FLOW_BITS) as usize, flow_id & ((1 << FLOW_BITS) - 1))
}

impl Traffic for NodeTraffic {
    #[inline]
    fn next(&mut self, node: usize, now: u64, actions: &mut Actions) -> Option<Demand> {
        match self {
            Self::Open(traffic) => traffic.next(node, now, actions),
            Self::Volume(traffic) => traffic.next(node, now, actions),
            Self::Scheduled(traffic) => traffic.next(node, now, actions),
            Self::Paced(traffic) => traffic.next(node, now, actions),
            Self::Shared(traffic) => traffic.next(node, now, actions),
        }
    }

    #[inline]
    fn before_next(&self, node: usize) {
        if let Self::Open(traffic) = self {
            traffic.before_next(node);
        }
    }

    fn wants_events(&self) -> bool {
        match self {
            Self::Open(_) | Self::Volume(_) => false,
            Self::Scheduled(_) => true,
            Self::Paced(traffic) => traffic.wants_events(),
            Self::Shared(traffic) => traffic.wants_events(),
        }
    }

    fn wants_deliveries(&self) -> bool {
        match self {
            Self::Open(_) | Self::Volume(_) | Self::Scheduled(_) => false,
            Self::Paced(traffic) => traffic.wants_deliveries(),
            Self::Shared(traffic) => traffic.wants_deliveries(),
        }
    }

    fn begin(&mut self, now: u64, actions: &mut Actions) {
        match self {
            Self::Open(_) | Self::Volume(_) => {}
            Self::Scheduled(traffic) => traffic.begin(now, actions),
            Self::Paced(traffic) => traffic.begin(now, actions),
            Self::Shared(traffic) => traffic.begin(now, actions),
        }
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, actions: &mut Actions) {
        match self {
            Self::Open(_) | Self::Volume(_) => {}
            Self::Scheduled(traffic) => traffic.on_event(what, now, actions),
            Self::Paced(traffic) => traffic.on_event(what, now, actions),
            Self::Shared(traffic) => traffic.on_event(what, now, actions),
        }
    }

    fn take_back(&mut self, node: usize) -> bool {
        match self {
            Self::Paced(traffic) => traffic.take_back(node),
            Self::Shared(traffic) => traffic.take_back(node),
            _ => false,
        }
    }

    fn source(&self, flow_id: u32) -> NodeId {
        match self {
            Self::Open(_) | Self::Volume(_) => NodeId(flow_id),
            Self::Scheduled(traffic) => traffic.source(flow_id),
            Self::Paced(traffic) => traffic.source(flow_id),
            Self::Shared(traffic) => traffic.source(flow_id),
        }
    }
}
