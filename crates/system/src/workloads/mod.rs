//! Workloads: the traffic of a job, and the rule by which its measurement or its run ends.
//!
//! A [`Workload`] is immutable data. It answers the questions of the analyses and of the plan, and makes a
//! [`WorkloadRun`], the state of one run. A run makes the traffic of each partition. It decides at fixed simulated
//! times, from sums over all partitions, so that its decisions cannot depend on threads.

mod adversary;
pub(crate) mod application;
mod build;
mod build_context;
mod closed;
mod collective;
mod demand;
pub(crate) mod exchange;
mod open;
mod operations;
pub(crate) mod ranks;
mod sizes;
mod sources;
mod steady;
mod volumes;

use std::fmt::Debug;
use std::sync::Arc;

use fabric::Batch;
use mpi::program::Programs;
use traffic::Placement;
use units::{NodeId, State, Time};

use crate::progress::Phase;
use crate::run::outcome::RunError;
use ::experiment::MeasureSpec;
use ::network::traffic::{Flow, JobTraffic, Span};
use ::network::{Machine, Part};
use ::network::{Network, Packets};
use measure::{MappingFigures, PointResult};

pub use application::SetLoads;
pub(crate) use build::build;
pub(crate) use build_context::BuildContext;
pub use demand::{Copies, DemandModel, Weights};
pub(crate) use open::Open;
pub use ranks::OperationVolumes;
pub(crate) use ranks::Ranks;
pub use sources::SATURATED_BELOW;
pub(crate) use sources::Sources;
pub(crate) use volumes::Volumes;

/// Traffic of a job: the one place where kinds of workloads differ. `build` makes a workload from its section of the
/// file.
pub trait Workload: Debug + Send + Sync {
    /// Returns the traffic as analyses and plans model it.
    fn demand(&self) -> DemandModel<'_>;
    /// Returns this workload at another load.
    ///
    /// # Errors
    /// If the workload has no load, or cannot have this one.
    fn at_load(&self, _load: f64) -> Result<Arc<dyn Workload>, String> {
        Err("a closed workload has a volume, not a load".into())
    }
    /// Groups of nodes whose collective operations routers carry out.
    fn groups(&self) -> Vec<Vec<NodeId>> {
        Vec::new()
    }
    /// Placement of the tasks on nodes.
    fn placement(&self) -> &Arc<Placement>;
    /// Whether the workload is open: it never ends by itself.
    fn is_open(&self) -> bool {
        false
    }
    /// Division of messages into packets.
    fn packets(&self) -> Packets;
    /// Sizes of partial packets, in bytes. 0 stands for none.
    fn partial_packets(&self) -> Vec<u64>;
    /// Returns whether packets may have any size: those of a program that is called back, and of operations that
    /// routers carry out.
    fn has_unknown_sizes(&self) -> bool {
        false
    }
    /// Times of the host that must be multiples of the tick.
    fn host_times(&self) -> Vec<Time> {
        Vec::new()
    }
    /// Whether packets are generated at any picosecond, not only at multiples of a packet's serialization time.
    fn is_continuous(&self) -> bool {
        false
    }
    /// Returns the batch length that the workload wants for its statistics, in ticks.
    fn batch(&self, network: &Network, measure: &MeasureSpec) -> u64;
    /// Returns the length of a run. `batch` is the length of a batch in ticks.
    fn run_length(&self, network: &Network, measure: &MeasureSpec, batch: u64) -> RunLength;
    /// Returns a lower bound of the time of a run, in ticks. For open traffic it bounds only runs that end by
    /// themselves.
    fn least_time(&self, network: &Network, measure: &MeasureSpec, batch: u64) -> u64 {
        self.run_length(network, measure, batch).usual_time()
    }
    /// Creates the state of a run that is about to begin.
    fn start(&self, context: &RunContext) -> Box<dyn WorkloadRun>;
    /// Returns the number of packets between nodes that a message of `bytes` bytes between ranks takes, control
    /// messages included.
    fn packets_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.packets().packet)).max(1)
    }
    /// Number of phases. 0 for workloads without phases.
    fn phases(&self) -> usize {
        0
    }
    /// Flows of each node to other nodes in a phase. Empty without phases.
    fn flows(&self, _phase: usize) -> Vec<Vec<Flow>> {
        Vec::new()
    }
    /// Returns a workload of one phase, which begins at once. None for workloads that have no phases.
    fn only_phase(&self, _phase: usize) -> Option<Arc<dyn Workload>> {
        None
    }
    /// Programs of the ranks. None for workloads without ranks.
    fn programs(&self) -> Option<&Arc<dyn Programs>> {
        None
    }
    /// Path lengths of an application's bytes. None for other workloads.
    fn mapping(&self) -> Option<MappingFigures> {
        None
    }
}

/// Length of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLength {
    /// A time, in ticks.
    Time {
        /// Time if the run converges as early as it can, in ticks.
        usual: u64,
        /// Time past saturation, in ticks: latencies grow until the longest warm-up ends.
        saturated: u64,
        /// Time if the run never converges, in ticks.
        longest: u64,
    },
    /// A number of packets to send.
    Packets(u64),
}

impl RunLength {
    /// Returns the usual time in ticks, or 0 for a number of packets.
    pub fn usual_time(&self) -> u64 {
        if let Self::Time { usual, .. } = *self { usual } else { 0 }
    }

    /// Returns the number of packets to send, or 0 for a time.
    pub fn packets(&self) -> u64 {
        if let Self::Packets(packets) = *self { packets } else { 0 }
    }

    /// Returns the longest time in ticks, or 0 for a number of packets.
    pub fn longest_time(&self) -> u64 {
        if let Self::Time { longest, .. } = *self { longest } else { 0 }
    }
}

/// Context of a run: network, measurement and identity of the job.
#[derive(Clone, Debug)]
pub struct RunContext {
    /// Network that the job runs on.
    pub network: Network,
    /// Settings of the measurement.
    pub measure: MeasureSpec,
    /// Job number, from 0.
    pub job: usize,
    /// Seed of the nodes' random streams.
    pub seed: u64,
    /// Period in which the job sends, in ticks.
    pub span: Span,
    /// Length of a batch, in ticks.
    pub batch: u64,
    /// Packet class of the job's acknowledgements (`JobNumbers`). None without acknowledgements.
    pub acks: Option<usize>,
    /// Index of the job's first group among the groups of all jobs.
    pub first_group: u32,
    /// Whether other jobs run in this network. All jobs then decide at common times.
    pub shared: bool,
    /// Latency that the network interfaces add to every message, in nanoseconds.
    pub nic_overhead_ns: f64,
    /// Whether each message is logged, if messages are measured.
    pub logs_messages: bool,
}

impl RunContext {
    /// Returns the time limit of the run, in ticks.
    pub fn longest(&self) -> u64 {
        self.network.time_limit(self.measure.max_time)
    }

    /// Returns the first end of a batch after `now`, in ticks. Requires batches that are common to all jobs.
    pub fn end_of_batch(&self, now: u64) -> u64 {
        (now / self.batch).saturating_add(1).saturating_mul(self.batch)
    }
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunState {
    /// Under way. The value is the finished share, from 0 to 1.
    Running(f64),
    /// Measurement is complete; the run continues to send.
    Steady,
    /// Finished; the run sends nothing more.
    Ended,
}

/// Totals of a simulation that its workload runs do not count.
#[derive(Clone, Copy, Debug)]
pub struct RunTotals {
    /// Transmissions of the job's packets by routers (packet-hops).
    pub packet_hops: u64,
    /// Simulated time at the end, in ticks.
    pub end: u64,
    /// Wall-clock time of the simulation, in seconds.
    pub wall_s: f64,
}

/// Counts of a job since the last decision.
#[derive(Clone, Debug, Default)]
pub struct JobCounts {
    /// Batches that ended in this time.
    pub batches: Vec<Batch>,
    /// Sum of all counts in this time.
    pub sum: Batch,
}

/// State of one run of a workload.
pub trait WorkloadRun: State {
    /// Creates the traffic of a partition at the beginning of a machine.
    fn traffic(&self, part: Part<'_>) -> JobTraffic;
    /// Begins on a machine at time 0.
    fn begin(&mut self, machine: &mut dyn Machine);
    /// Returns the next decision time after `now`, in ticks.
    fn next_decision(&self, now: u64) -> u64;
    /// Returns the time in ticks before which nothing happens to this run, as found at its last decision. Decisions
    /// before that time change nothing. 0 if unknown.
    fn idle_until(&self) -> u64 {
        0
    }
    /// Adds the counts since the last call, and takes the decisions that are due.
    fn observe(&mut self, counts: &JobCounts, now: u64, machine: &mut dyn Machine);
    /// Returns the progress of the run.
    fn state(&self) -> RunState;
    /// Returns the reason why the run cannot continue. None while it can.
    fn error(&self, _machine: &dyn Machine) -> Option<RunError> {
        None
    }
    /// Returns the phase to report as progress.
    fn doing(&self) -> Phase {
        Phase::Measuring
    }
    /// Start of the batches, in ticks. Used only if no other workload runs.
    fn origin(&self) -> u64 {
        0
    }
    /// Whether measured packets have not arrived, so that packets may be stuck although others move.
    fn may_be_stuck(&self) -> bool {
        false
    }
    /// Ends on a machine, and takes over its counts.
    fn leave(&mut self, machine: &mut dyn Machine, now: u64);
    /// Whether the run continues on a new machine that starts empty at time 0.
    fn continues(&mut self) -> bool {
        false
    }
    /// Returns the measurements.
    fn result(self: Box<Self>, totals: &RunTotals) -> PointResult;
}
