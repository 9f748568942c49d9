//! What the traffic of a job with a pacer is built from.

use std::sync::Arc;

use crate::network::Network;
use crate::pacers::PacerSpec;

/// What a pacer is built for.
#[derive(Clone, Debug)]
pub struct PacedSpec {
    /// The network.
    pub network: Network,
    /// The number of the job,
    pub job: usize,
    /// and that of its acknowledgements, if they are packets.
    pub number: Option<usize>,
    /// The seed of its streams.
    pub seed: u64,
    /// The pacer.
    pub pacer: PacerSpec,
    /// By node of the machine, its partition.
    pub partition_of: Arc<[u16]>,
}
