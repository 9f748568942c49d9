//! Ranks and their programs, as data.

use std::sync::Arc;

use host::MemoryParams;
use mpi::program::{Programs, Sizes};
use traffic::{PlacedPattern, Placement};

use super::measured::{LimitedGroups, Measured};
use super::operations::OperationVolumes;
use super::processors::NodeProcessors;
use ::experiment::NicSpec;

/// Ranks that run programs, with the measurements to take.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    pub programs: Arc<dyn Programs>,
    /// Number of messages of each size, as far as it is known in advance.
    pub sizes: Arc<Sizes>,
    pub measured: Measured,
    pub placement: Arc<Placement>,
    pub pattern: Arc<PlacedPattern>,
    /// Size of a packet, in bytes.
    pub packet: u32,
    pub nic: NicSpec,
    /// Traffic of each node to others, relative to the node that sends most. Delay model only. There `pattern` is
    /// empty, since a list of all pairs would take more memory than the run.
    pub volumes: Option<Arc<[f64]>>,
    /// Traffic along the trees of groups. None if no operation is carried out by routers.
    pub operations: Option<Arc<OperationVolumes>>,
    /// Shared memory between ranks of a node. None if messages within a node take no time.
    pub memory: Option<MemoryParams>,
    pub processors: NodeProcessors,
    /// Whether interfaces carry out collective operations.
    pub on_nic: bool,
    /// Groups whose operations were to be in routers that have no room for them.
    pub interconnect: LimitedGroups,
}
