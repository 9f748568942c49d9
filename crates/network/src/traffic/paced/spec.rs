//! Parameters of a job's traffic behind a pacer.

use std::sync::Arc;

use crate::network::Network;
use ::traffic::pacers::PacerSpec;

/// Parameters of a job's traffic behind a pacer.
#[derive(Clone, Debug)]
pub struct PacedSpec {
    /// Network of the job.
    pub network: Network,
    /// Job number.
    pub job: usize,
    /// Packet class of the job's acknowledgements. None if they are not packets.
    pub number: Option<usize>,
    /// Seed of the acknowledgers' random streams.
    pub seed: u64,
    /// Pacer of the job's flows.
    pub pacer: PacerSpec,
    /// Partition of each node of the machine.
    pub partition_of: Arc<[u16]>,
}

impl PacedSpec {
    /// Returns the number of planes of all networks together: the sources of a node.
    pub(super) fn planes(&self) -> u32 {
        self.network.topology.planes()
    }
}
