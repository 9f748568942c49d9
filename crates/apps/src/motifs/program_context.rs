//! Nodes of a program, and the backend of its collective operations.

use std::path::Path;

use units::Time;

use mpi::collectives::CollectiveBackend;
use mpi::communicator::OffloadLimits;

/// Nodes and surroundings of a program that is being built.
#[derive(Clone, Copy, Debug)]
pub struct ProgramContext<'a> {
    /// Node of each rank.
    pub node_of: &'a [u32],
    /// Folder that relative paths start from.
    pub base: &'a Path,
    /// Component that carries out collective operations. `None`: chosen by each operation's algorithm.
    pub backend: Option<CollectiveBackend>,
    /// Groups that switches have no room for.
    pub offload_limits: &'a OffloadLimits,
    /// Time after a barrier in which interfaces become idle. Benchmarks begin to measure after it.
    pub settle: Time,
}
