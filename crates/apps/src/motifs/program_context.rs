//! Nodes of a program, and the backend of its collective operations.

use std::path::Path;

use units::Time;

use mpi::collectives::CollectiveBackend;
use mpi::communicator::Interconnect;

/// Nodes and surroundings of a program that is being built.
#[derive(Clone, Copy, Debug)]
pub struct ProgramContext<'a> {
    /// Node of each rank.
    pub node_of: &'a [u32],
    /// Folder that relative paths start from.
    pub base: &'a Path,
    /// Component that carries out collective operations. `None`: chosen by each operation's algorithm.
    pub backend: Option<CollectiveBackend>,
    /// Interconnect of the nodes.
    pub interconnect: &'a Interconnect,
    /// Time after a barrier in which interfaces become idle. Benchmarks begin to measure after it.
    pub settle: Time,
}
