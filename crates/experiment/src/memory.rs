//! `[node.memory]`: memory through which ranks of a node exchange messages.

use host::MemoryParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bandwidth, Time};

/// Memory through which ranks of a node exchange messages. Default: such messages take the overheads only. Ranks only.
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
    /// from the sender's buffer to the receiver's; the sender waits for the copy. Requires `nic.eager_limit` for the
    /// value 1. Eager messages are copied twice.
    #[schemars(range(min = 1, max = 2))]
    #[serde(default = "two")]
    pub copies: u32,
}

fn two() -> u32 {
    2
}

impl MemorySpec {
    /// Returns the section as parameters of executors.
    pub fn parameters(&self) -> MemoryParams {
        MemoryParams { bandwidth: self.bandwidth.0, latency: self.latency.0, single_copy: self.copies == 1 }
    }

    /// Returns a key of `[node]` that contradicts other keys, and the message. `ranks`: whether there are ranks that
    /// send and receive. `eager_limit`: whether there is an eager limit.
    pub(crate) fn contradiction(&self, ranks: bool, eager_limit: bool) -> Option<(&'static str, &'static str)> {
        match self {
            _ if !ranks => Some((
                "memory",
                "`node.memory` is of messages between ranks: only workloads of kind \"benchmark\" and \"program\", and \
                 message-driven applications, have them",
            )),
            Self { copies: 1, .. } if !eager_limit => Some((
                "memory.copies",
                "a message that is copied once waits for its receiver: `node.memory.copies = 1` goes with \
                 `nic.eager_limit`",
            )),
            _ => None,
        }
    }
}
