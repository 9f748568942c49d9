//! `[nic.collectives]`: network interfaces that execute collective operations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

use crate::context::ForwardingParams;

/// Processor of an interface that executes collective operations. It handles one message at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.collectives]\nsend_overhead = \"1300 ns\"\nreceive_overhead = \"1300 ns\""))]
pub struct NicCollectivesSpec {
    /// Time of the interface's processor for each message that leaves. Default: `nic.send_overhead`, a processor as
    /// slow as the paper's ("hardware-collectives", table 1, gives the overheads of messages as those of the
    /// interface).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_overhead: Option<Time>,
    /// Time of the interface's processor for each message that has arrived. Default: `nic.receive_overhead`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_overhead: Option<Time>,
    /// Time of the interface's processor to combine one byte. No source gives it. The default of 10 ns is eight cycles
    /// of 100 MHz for 8 bytes.
    pub combine_per_byte: Time,
}

impl Default for NicCollectivesSpec {
    fn default() -> Self {
        Self { send_overhead: None, receive_overhead: None, combine_per_byte: Time(10_000) }
    }
}

impl NicCollectivesSpec {
    /// Returns the times of the section, given the overheads of `[nic]`.
    pub(super) fn params(&self, (send, receive): (Time, Time)) -> ForwardingParams {
        ForwardingParams {
            send: self.send_overhead.unwrap_or(send).0,
            receive: self.receive_overhead.unwrap_or(receive).0,
            combine: self.combine_per_byte.0,
        }
    }
}
