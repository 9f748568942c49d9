//! `[nic.collectives]`: network interfaces that carry collective operations out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

use super::nic::HostSpec;

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

impl HostSpec {
    /// What collective operations take the processor of an interface that carries them out: a message that leaves, one that has come, and a
    /// byte that is combined.
    pub fn forwarding(&self) -> (Time, Time, Time) {
        let own = self.collectives.clone().unwrap_or_default();
        let send = own.send_overhead.unwrap_or(self.send_overhead);
        (send, own.receive_overhead.unwrap_or(self.receive_overhead), own.combine_per_byte)
    }
}
