//! Ranks and their programs, as data.

use std::sync::Arc;

use host::MemoryParams;
use workload::program::{Programs, Sizes};
use workload::{PlacedPattern, Placement};

use super::measured::{Measured, UnservedGroups};
use super::operations::OperationVolumes;
use super::processors::NodeProcessors;
use crate::experiment::NicSpec;

/// Ranks that run programs, and what is measured of them.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    pub programs: Arc<dyn Programs>,
    /// How many messages of each size they send, as far as that is known beforehand.
    pub sizes: Arc<Sizes>,
    pub measured: Measured,
    pub placement: Arc<Placement>,
    pub pattern: Arc<PlacedPattern>,
    /// Bytes of a packet.
    pub packet: u32,
    pub nic: NicSpec,
    /// On a flat network, what each node sends others, as a share of what the one that sends most does; there `pattern` is empty, since
    /// a list of all pairs would take more memory than the run.
    pub volumes: Option<Arc<[f64]>>,
    /// What goes by the trees of groups, if routers carry operations out.
    pub operations: Option<Arc<OperationVolumes>>,
    /// By way of which ranks of a node exchange messages, if it takes time.
    pub memory: Option<MemoryParams>,
    pub processors: NodeProcessors,
    /// Whether interfaces carry collective operations out.
    pub on_nic: bool,
    /// Groups whose operations were to be in routers, which do not have room for them.
    pub unserved: UnservedGroups,
}
