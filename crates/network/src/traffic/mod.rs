//! Traffic of the nodes of a partition: one file for each kind (`single` has the one match), with an optional pacer
//! (`paced`), and shared between jobs (`shared`).

mod groups;
mod multicasts;
mod numbers;
mod open;
mod paced;
mod scheduled;
mod shared;
mod single;
mod sources;
mod span;
mod volume;

use fabric::{Actions, Demand, Member, Traffic, TrafficEvent, TreePacket};
use host::Executor;
use units::{NodeId, State};

pub use groups::GroupTrees;
pub use multicasts::{Multicasts, Runs};
pub use numbers::JobNumbers;
pub use open::{OpenTraffic, OpenTrafficSpec};
pub use paced::{PacedSpec, PacedTraffic};
pub use scheduled::{Division, RankContext, ScheduledTraffic};
pub use shared::SharedTraffic;
pub use single::JobTraffic;
pub use span::Span;
pub use volume::{Flow, VolumeTraffic};

pub use crate::network::Packets;

/// Traffic of the nodes of one partition.
#[derive(Debug)]
pub enum NodeTraffic {
    /// Traffic of one job.
    Job(JobTraffic),
    /// Traffic of one job behind a pacer.
    Paced(Box<PacedTraffic>),
    /// Traffic of several jobs.
    Shared(Box<SharedTraffic<NodeTraffic>>),
}

impl NodeTraffic {
    /// Creates the traffic of a job, with its pacer if it has one.
    pub fn of(job: JobTraffic, spec: &PacedSpec, nodes: &[u32]) -> Self {
        match PacedTraffic::over(job, spec, nodes) {
            Ok(paced) => Self::Paced(Box::new(paced)),
            Err(job) => Self::Job(job),
        }
    }

    /// Returns the traffic of a job without its pacer.
    pub fn of_job(&self, job: usize) -> Option<&JobTraffic> {
        match self {
            Self::Shared(shared) => shared.job(job)?.of_job(job),
            Self::Paced(paced) => Some(paced.inner()),
            Self::Job(traffic) => Some(traffic),
        }
    }

    /// Returns the ranks of a job. None if the job has no ranks.
    pub fn scheduled(&self, job: usize) -> Option<&ScheduledTraffic> {
        match self.of_job(job)? {
            JobTraffic::Scheduled(traffic) => Some(traffic),
            JobTraffic::Open(_) | JobTraffic::Volume(_) => None,
        }
    }

    /// Returns the traffic of a job without a pacer for a network that carries whole messages and advances the traffic
    /// itself.
    pub fn of_job_mut(&mut self, job: usize) -> Option<&mut JobTraffic> {
        match self {
            Self::Shared(shared) => shared.job_mut(job)?.of_job_mut(job),
            Self::Paced(_) => None,
            Self::Job(traffic) => Some(traffic),
        }
    }

    /// Returns the executor of a job's ranks for a network that carries whole messages. None if the job has no ranks.
    pub fn executor_mut(&mut self, job: usize) -> Option<&mut Executor> {
        match self.of_job_mut(job)? {
            JobTraffic::Scheduled(traffic) => Some(traffic.executor_mut()),
            JobTraffic::Open(_) | JobTraffic::Volume(_) => None,
        }
    }

    /// Whether the flow ids of a job's packets identify the nodes that send them.
    pub fn knows_sources(&self, job: usize) -> bool {
        self.scheduled(job).is_none()
    }

    /// Returns the generation time of the next packet of a job at `node`, an index in the partition, in ticks, rounded
    /// down. `head` is the generation time of the packet that the partition holds for the node, whichever job it
    /// belongs to.
    pub fn next_generation_time(&self, job: usize, node: usize, head: Option<u64>) -> Option<u64> {
        match self {
            Self::Shared(shared) => {
                shared.job(job)?.next_generation_time(job, node, shared.next_generation_time(job, node))
            }
            Self::Paced(paced) => paced.next_generation_time(node),
            Self::Job(_) => head,
        }
    }

    /// Starts further volumes of a job at `at`, in ticks. `flows` holds the flows of each node, by its index in the
    /// machine.
    pub fn begin_phase(&mut self, job: usize, flows: &[Vec<Flow>], at: u64, actions: &mut Actions) {
        match self {
            Self::Job(traffic) => traffic.begin_phase(flows, at, actions),
            Self::Paced(paced) => paced.begin_phase(flows, at, actions),
            // Finished volumes have no head that could be taken back.
            Self::Shared(shared) => {
                shared.with_job(job, (u64::MAX, actions), |traffic, own| traffic.begin_phase(job, flows, at, own));
            }
        }
    }
}

impl State for NodeTraffic {
    fn save(&self, to: &mut Vec<u8>) {
        match self {
            Self::Job(traffic) => traffic.save(to),
            Self::Paced(traffic) => traffic.save(to),
            Self::Shared(traffic) => traffic.save(to),
        }
    }

    fn load(&mut self, from: &mut &[u8]) -> Option<()> {
        match self {
            Self::Job(traffic) => traffic.load(from),
            Self::Paced(traffic) => traffic.load(from),
            Self::Shared(traffic) => traffic.load(from),
        }
    }
}

impl Traffic for NodeTraffic {
    #[inline(always)]
    fn next(&mut self, node: usize, now: u64, actions: &mut Actions) -> Option<Demand> {
        match self {
            Self::Job(traffic) => traffic.next(node, now, actions),
            Self::Paced(traffic) => traffic.next(node, now, actions),
            Self::Shared(traffic) => traffic.next(node, now, actions),
        }
    }

    #[inline]
    fn before_next(&self, node: usize) {
        if let Self::Job(traffic) = self {
            traffic.before_next(node);
        }
    }

    fn wants_events(&self) -> bool {
        match self {
            Self::Job(traffic) => traffic.wants_events(),
            Self::Paced(traffic) => traffic.wants_events(),
            Self::Shared(traffic) => traffic.wants_events(),
        }
    }

    fn begin(&mut self, now: u64, actions: &mut Actions) {
        match self {
            Self::Job(traffic) => traffic.begin(now, actions),
            Self::Paced(traffic) => traffic.begin(now, actions),
            Self::Shared(traffic) => traffic.begin(now, actions),
        }
    }

    fn on_event(&mut self, what: TrafficEvent, now: u64, actions: &mut Actions) {
        match self {
            Self::Job(traffic) => traffic.on_event(what, now, actions),
            Self::Paced(traffic) => traffic.on_event(what, now, actions),
            Self::Shared(traffic) => traffic.on_event(what, now, actions),
        }
    }

    fn members(&self, node: usize) -> &[Member] {
        match self {
            Self::Job(traffic) => traffic.members(node),
            Self::Paced(traffic) => traffic.members(node),
            Self::Shared(traffic) => traffic.members(node),
        }
    }

    fn tree_packet(&self, node: usize) -> Option<TreePacket> {
        match self {
            Self::Job(traffic) => traffic.tree_packet(node),
            Self::Paced(traffic) => traffic.tree_packet(node),
            Self::Shared(traffic) => traffic.tree_packet(node),
        }
    }

    fn take_back(&mut self, node: usize) -> bool {
        match self {
            Self::Job(traffic) => traffic.take_back(node),
            Self::Paced(traffic) => traffic.take_back(node),
            Self::Shared(traffic) => traffic.take_back(node),
        }
    }

    fn source(&self, flow_id: u32) -> NodeId {
        match self {
            Self::Job(traffic) => traffic.source(flow_id),
            Self::Paced(traffic) => traffic.source(flow_id),
            Self::Shared(traffic) => traffic.source(flow_id),
        }
    }
}
