//! `[node.memory]`: memory through which ranks of a node exchange messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bandwidth, Time};

use crate::memory::MemoryParams;

/// Memory through which ranks of a node exchange messages. Default: such messages take the overheads only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[node.memory]\nbandwidth = \"40 GB/s\"\nlatency = \"100 ns\""))]
pub struct MemorySpec {
    /// Bandwidth of the copies of a node. Concurrent copies of one job share it equally.
    #[schemars(extend("minimum" = 1))]
    pub bandwidth: Bandwidth,
    /// Time from the end of a write by one rank until another rank can read the data.
    #[serde(default)]
    pub latency: Time,
    /// Number of copies of a message above `nic.eager_limit`. 2: through a buffer that both ranks share. 1: directly
    /// from the sender's buffer to the receiver's; the sender waits for the copy. Eager messages are copied twice.
    #[schemars(range(min = 1, max = 2), extend("x-rules" = ["requires nic.eager_limit if node.memory.copies = 1"]))]
    #[serde(default = "two")]
    pub copies: u32,
}

fn two() -> u32 {
    2
}

impl MemorySpec {
    /// Returns the section as parameters of executors.
    pub fn params(&self) -> MemoryParams {
        MemoryParams { bandwidth: self.bandwidth.0, latency: self.latency.0, single_copy: self.copies == 1 }
    }
}
