//! Network model: the way in which a network carries the traffic of nodes. The crates above ask for its features, and
//! never which model it is.

use std::fmt::Debug;
use std::sync::Arc;

use engine::Exchange;
use fabric::catalogue::RouterSpec;
use fabric::{Grain, Plan};
use traffic::Placement;
use traffic::pacers::PacerSpec;

use crate::feature::Feature;
use crate::machine::Machine;
use crate::part::Part;
use crate::reuse::ReuseRecords;
use crate::traffic::{JobNumbers, NodeTraffic, Span};

/// Network model.
pub trait NetworkModel: Debug + Send + Sync {
    /// Returns the name of the model, as in `simulation.model`.
    fn name(&self) -> &'static str;
    /// Returns the features of the model.
    fn features(&self) -> &'static [Feature];
    /// Whether the model has a feature.
    fn has(&self, feature: Feature) -> bool {
        self.features().contains(&feature)
    }
    /// Builds the machine of a network at time 0.
    fn build(&self, plan: &Arc<Plan>, run: &MachineRun<'_>) -> Box<dyn Machine>;
}

/// Job on a machine.
pub struct MachineJob<'a> {
    /// Period in which the job may send, in ticks. Ends by `measure.max_time`; empty if the job starts later.
    pub span: Span,
    /// Placement of its ranks or tasks.
    pub placement: &'a Placement,
    /// Pacer of its flows, for models that do not hold back packets.
    pub pacer: &'a PacerSpec,
    /// Packets that it sends, about. 0 if the model carries packets, or if it sends for a time.
    pub packets: u64,
}

/// Rule by which a network is divided into partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DivisionRule {
    /// Number of workers of all processes.
    pub workers: usize,
    /// Size of partitions.
    pub grain: Grain,
}
units::record!(DivisionRule { workers, grain });

/// Run for which a machine is built.
pub struct MachineRun<'a> {
    /// Router architecture.
    pub router: &'a RouterSpec,
    /// Number of threads of each process.
    pub threads: usize,
    /// Exchange between the processes of the run.
    pub exchange: &'a Arc<dyn Exchange>,
    /// Size of partitions.
    pub grain: Grain,
    /// Division of the run that this one goes on with. None for a run from the start, which is divided by `threads` and
    /// `grain`.
    pub division: Option<DivisionRule>,
    /// Packet classes of the jobs.
    pub numbers: &'a JobNumbers,
    /// Records of episodes that an earlier run has kept, for a model that replays them.
    pub records: Option<&'a ReuseRecords>,
    /// Jobs, in the order of the system.
    pub jobs: &'a [MachineJob<'a>],
    /// Makes the traffic of a partition.
    pub traffic: &'a dyn Fn(Part<'_>) -> NodeTraffic,
}
