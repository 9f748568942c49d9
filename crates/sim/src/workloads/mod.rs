//! Workloads: what a job sends, and how it is known when it has been measured or has ended.
//!
//! A workload is data: it answers what analyses and the plan ask, and makes a *course*, the state of one run of it. A
//! course makes the traffic and takes its decisions at fixed times from sums over all partitions, so that they cannot
//! depend on threads.

pub(crate) mod application;
mod build;
mod closed;
mod collective;
pub(crate) mod exchange;
mod open;
mod operations;
pub(crate) mod ranks;
mod site;
mod sizes;
mod sources;
mod steady;
mod volumes;

use std::fmt::Debug;
use std::sync::Arc;

use fabric::Batch;
use units::{NodeId, Time};
use workload::multicast::FixedSets;
use workload::program::Programs;
use workload::{PlacedPattern, Placement};

use crate::experiment::MeasureSpec;
use crate::machine::Machine;
use crate::network::{Network, Packets};
use crate::progress::Phase;
use crate::results::{MappingFigures, PointResult};
use crate::run::outcome::RunError;
use crate::traffic::{Division, Flow, JobTraffic, Multicasts, Span};

pub use application::SetLoads;
pub(crate) use build::build;
pub(crate) use open::Open;
pub use ranks::OperationVolumes;
pub(crate) use ranks::Ranks;
pub(crate) use site::Site;
pub use sources::SATURATED_BELOW;
pub(crate) use sources::Sources;
pub(crate) use volumes::Volumes;

/// What a job sends. The one place where kinds differ; `build` makes one from its section of the file.
pub trait Workload: Debug + Send + Sync {
    /// Who sends to whom: nodes, as tasks have been placed.
    fn pattern(&self) -> &Arc<PlacedPattern>;
    /// A node's share of the offered load.
    fn weight(&self, node: NodeId) -> f64 {
        self.pattern().weight(node)
    }
    /// The offered load of a node of weight 1. Of a closed workload, what analyses take it for: the node that sends most
    /// sends at full load, the others in proportion, in all phases together.
    fn load(&self) -> f64 {
        1.0
    }
    /// The same workload at another load.
    ///
    /// # Errors
    /// If it has none, or cannot have that one.
    fn at_load(&self, _load: f64) -> Result<Arc<dyn Workload>, String> {
        Err("a closed workload has a volume, not a load".into())
    }
    /// Nodes that a message is for, on average.
    fn destinations(&self) -> f64 {
        1.0
    }
    /// The multicasts that routers make copies of, if it has any.
    fn multicasts(&self) -> Option<&Multicasts> {
        None
    }
    /// What its nodes send, if it is given beforehand and routers make copies of some of it.
    fn sets(&self) -> Option<&SetLoads> {
        None
    }
    /// The sets that its senders always send to, if it has such, and whether routers copy what they send by trees.
    fn fixed_sets(&self) -> Option<(&FixedSets, bool)> {
        None
    }
    /// What its ranks send by the trees of groups, if they call operations that routers carry out.
    fn operations(&self) -> Option<&OperationVolumes> {
        None
    }
    /// The groups of nodes whose operations routers carry out.
    fn groups(&self) -> Vec<Vec<NodeId>> {
        Vec::new()
    }
    /// Where its tasks are.
    fn placement(&self) -> &Arc<Placement>;
    /// Whether it never ends by itself.
    fn is_open(&self) -> bool {
        false
    }
    /// How messages are cut into packets.
    fn packets(&self) -> Packets;
    /// The sizes in bytes of packets that are not whole; 0 for none.
    fn rests(&self) -> Vec<u64>;
    /// Times of the host that the tick has to divide.
    fn host_times(&self) -> Vec<Time> {
        Vec::new()
    }
    /// Whether packets are generated at any time, to the picosecond, not only at multiples of a packet's.
    fn is_continuous(&self) -> bool {
        false
    }
    /// The length that it wants of the batches in which it is counted, in ticks.
    fn batch(&self, network: &Network, measure: &MeasureSpec) -> u64;
    /// How much a run of it does, counted in batches of a length in ticks.
    fn extent(&self, network: &Network, measure: &MeasureSpec, batch: u64) -> Extent;
    /// A time that no run of it is shorter than, in ticks: of an open one, of those that end by themselves.
    fn least_time(&self, network: &Network, measure: &MeasureSpec, batch: u64) -> u64 {
        self.extent(network, measure, batch).usual_time()
    }
    /// A run of it that is about to begin.
    fn course(&self, setting: &Setting) -> Box<dyn Course>;
    /// Packets of a message of ranks of `bytes` bytes between nodes, control messages included.
    fn packets_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.packets().packet)).max(1)
    }
    /// The number of its phases, if it has phases.
    fn phases(&self) -> usize {
        0
    }
    /// What each node sends others in a phase, if it has phases.
    fn flows(&self, _phase: usize) -> Vec<Vec<Flow>> {
        Vec::new()
    }
    /// What its ranks do, if it has ranks.
    fn programs(&self) -> Option<&Arc<dyn Programs>> {
        None
    }
    /// How far an application's bytes travel, of one.
    fn mapping(&self) -> Option<MappingFigures> {
        None
    }
}

/// How much a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It runs for a time, in ticks.
    Time {
        /// If it converges as soon as it may.
        usual: u64,
        /// Past saturation: latencies grow for as long as the warm-up may last.
        saturated: u64,
        /// If it never converges.
        longest: u64,
    },
    /// It sends so many packets.
    Packets(u64),
}

impl Extent {
    /// The usual time, in ticks; 0 of packets.
    pub fn usual_time(&self) -> u64 {
        if let Self::Time { usual, .. } = *self { usual } else { 0 }
    }

    /// The longest time, in ticks; 0 of packets.
    pub fn longest_time(&self) -> u64 {
        if let Self::Time { longest, .. } = *self { longest } else { 0 }
    }
}

/// Where and when a workload runs.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The network.
    pub network: Network,
    /// How it is measured.
    pub measure: MeasureSpec,
    /// The number of the job, from 0.
    pub job: usize,
    /// The seed of its nodes' streams.
    pub seed: u64,
    /// From when until when it sends.
    pub span: Span,
    /// The length of a batch, in ticks.
    pub batch: u64,
    /// The number of the job's acknowledgements (`JobNumbers`), if it has any.
    pub acks: Option<usize>,
    /// The number of the job's first group, among those of all jobs.
    pub first_group: u32,
    /// Whether others run in the same network: then all decide at common times.
    pub shared: bool,
    /// Latency that the network interfaces add to every message, in nanoseconds.
    pub nic_overhead_ns: f64,
}

impl Setting {
    /// The simulated time at which the run ends in any case, in ticks.
    pub fn longest(&self) -> u64 {
        self.measure.max_time.map_or(u64::MAX, |time| time.0 / self.network.plan.tick().0)
    }

    /// The time after the present that ends a batch, where batches are common to all jobs.
    pub fn end_of_batch(&self, now: u64) -> u64 {
        (now / self.batch).saturating_add(1).saturating_mul(self.batch)
    }
}

/// How far a course is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// Under way: the share that is done, 0 to 1.
    Running(f64),
    /// It has been measured, and goes on sending.
    Steady,
    /// It sends no more.
    Ended,
}

/// What a run has counted besides what its courses know.
#[derive(Clone, Copy, Debug)]
pub struct Totals {
    /// Packets of the job that routers have sent.
    pub packet_hops: u64,
    /// Simulated time, in ticks.
    pub end: u64,
    /// Seconds of the simulation.
    pub wall_s: f64,
}

/// What has been counted of a job since the last decision.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// The batches that have ended since.
    pub batches: Vec<Batch>,
    /// All that has been counted since.
    pub sum: Batch,
}

/// A partition of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Its number.
    pub number: usize,
    /// Its nodes.
    pub nodes: &'a [u32],
    /// Where all nodes are.
    pub division: &'a Division,
}

/// One run of a workload.
pub trait Course {
    /// The traffic of a partition, by its number, at the begin of a machine.
    fn traffic(&self, part: Part<'_>) -> JobTraffic;
    /// Begins on a machine at time 0.
    fn begin(&mut self, machine: &mut dyn Machine);
    /// The time after the present at which it has to decide something next, in ticks.
    fn next_decision(&self, now: u64) -> u64;
    /// Until when nothing happens to it, in ticks, as it found at its last decision: what it decides before then changes nothing. 0 if it
    /// does not know.
    fn idle_until(&self) -> u64 {
        0
    }
    /// Takes in what has been counted since the last call, and decides what is due.
    fn observe(&mut self, counts: &Counts, now: u64, machine: &mut dyn Machine);
    /// How far it is.
    fn state(&self) -> State;
    /// Why it cannot go on, if it cannot.
    fn error(&self, _machine: &dyn Machine) -> Option<RunError> {
        None
    }
    /// What it is doing.
    fn doing(&self) -> Phase {
        Phase::Measuring
    }
    /// Where its batches begin, in ticks, if it runs alone.
    fn origin(&self) -> u64 {
        0
    }
    /// Whether packets may be stuck although others move: measured ones have not arrived.
    fn may_be_stuck(&self) -> bool {
        false
    }
    /// Ends on a machine: takes what it has counted.
    fn leave(&mut self, machine: &mut dyn Machine, now: u64);
    /// Whether it goes on with a machine of its own that starts empty at time 0.
    fn continues(&mut self) -> bool {
        false
    }
    /// What it has measured.
    fn result(self: Box<Self>, totals: &Totals) -> PointResult;
}

/// What arrives at all nodes while the one that sends most sends one, and how many nodes send, of a workload as analyses take it.
pub(crate) fn offered(workload: &dyn Workload, nodes: u32) -> (f64, usize) {
    let senders = |sent: &[f64]| sent.iter().filter(|&&weight| weight > 0.0).count();
    if let Some(own) = workload.operations() {
        return (own.delivered, senders(&own.sent));
    }
    let weights = weights(workload, nodes);
    (weights.iter().sum::<f64>() * workload.destinations(), senders(&weights))
}

/// What all nodes of a workload send while the one that sends most sends one.
pub(crate) fn sent(workload: &dyn Workload, nodes: u32) -> f64 {
    workload.operations().map_or_else(|| weights(workload, nodes).iter().sum(), |own| own.sent.iter().sum())
}

/// Each node's weight.
pub(crate) fn weights(workload: &dyn Workload, nodes: u32) -> Vec<f64> {
    (0..nodes).map(|node| workload.weight(NodeId(node))).collect()
}
