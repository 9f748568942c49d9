//! `[nic.collectives]`: network interfaces that carry collective operations out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

/// The processor of an interface that carries collective operations out: one message after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.collectives]\nsend_overhead = \"1300 ns\"\nreceive_overhead = \"1300 ns\""))]
pub struct NicCollectivesSpec {
    /// Its time for a message that leaves; without it, `nic.send_overhead`: a processor as slow as the paper's ("hardware-collectives",
    /// table 1, gives the overheads of messages as those of the interface).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_overhead: Option<Time>,
    /// Its time for a message that has come; without it, `nic.receive_overhead`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_overhead: Option<Time>,
    /// Its time for each byte that it combines with another. No source gives it: by default 10 ns, eight cycles of 100 MHz for 8 bytes.
    pub combine_per_byte: Time,
}

impl Default for NicCollectivesSpec {
    fn default() -> Self {
        Self { send_overhead: None, receive_overhead: None, combine_per_byte: Time(10_000) }
    }
}

impl NicCollectivesSpec {
    /// The times of a message that leaves, of one that has come, and of a byte that is combined, given the overheads of `[nic]`.
    pub(super) fn times(&self, (send, receive): (Time, Time)) -> (Time, Time, Time) {
        (self.send_overhead.unwrap_or(send), self.receive_overhead.unwrap_or(receive), self.combine_per_byte)
    }
}
