//! `[node.memory]`: the memory by way of which ranks of a node exchange messages.

use host::MemoryParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bandwidth, Time};

/// The memory by way of which ranks of a node exchange messages. Without it, such messages take the overheads only. Of ranks that
/// send and receive only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[node.memory]\nbandwidth = \"40 GB/s\"\nlatency = \"100 ns\""))]
pub struct MemorySpec {
    /// Bandwidth of the copies of a node, which those of a job that are under way at a time share equally.
    #[schemars(extend("minimum" = 1))]
    pub bandwidth: Bandwidth,
    /// Time from when a rank has written something until another can read it.
    #[serde(default)]
    pub latency: Time,
    /// Copies of a message of more than `nic.eager_limit`: 2, by way of a buffer that both ranks share, or 1, from the sender's own
    /// to the receiver's, which the sender waits for. Other messages are copied twice.
    #[schemars(range(min = 1, max = 2))]
    #[serde(default = "two")]
    pub copies: u32,
}

fn two() -> u32 {
    2
}

impl MemorySpec {
    /// The same, as executors take it.
    pub(crate) fn parameters(&self) -> MemoryParams {
        MemoryParams { bandwidth: self.bandwidth.0, latency: self.latency.0, single_copy: self.copies == 1 }
    }

    /// A key of `[node]` that does not go with others, and why: whether there are ranks that send and receive, and messages that ask
    /// first.
    pub(super) fn contradiction(&self, ranks: bool, eager_limit: bool) -> Option<(&'static str, &'static str)> {
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
