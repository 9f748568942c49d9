//! Where a program runs, and who carries its collective operations out.

use std::path::Path;

use units::Time;

use crate::collectives::Carrier;
use crate::communicator::Unserved;

/// Where a program runs.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSite<'a> {
    /// By rank, its node.
    pub node_of: &'a [u32],
    /// The folder that paths start from.
    pub base: &'a Path,
    /// Who carries collective operations out; none: who each operation's algorithm says.
    pub carrier: Option<Carrier>,
    /// Groups that switches have no room for.
    pub unserved: &'a Unserved,
    /// Time in which interfaces that have sent and received a barrier's messages come to rest: benchmarks begin to measure after it.
    pub settle: Time,
}
