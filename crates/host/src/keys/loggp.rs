//! `[nic]` of the kinds with parts: LogGP's times, and a section for each part.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

use super::{BusSpec, ConnectionsSpec, CopySpec, DmaSpec, HostSpec, MatchingSpec, PioSpec, RANKS, RegistrationSpec};
use crate::connections::ConnectionParams;
use crate::context::{MatchingParams, NicParams};
use crate::nic::{BusParams, DmaParams, GapParams, PartParams, PerByte};
use crate::registration::RegistrationParams;

/// LogGP network interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false, "x-rules" = RANKS))]
pub struct LoggpNicSpec {
    /// Keys that all kinds share.
    #[serde(flatten)]
    pub host: HostSpec,
    /// g: least time from the last byte of a message to the next message that leaves the interface.
    pub gap: Time,
    /// G: time of each byte that leaves the interface.
    pub gap_per_byte: Time,
    /// g of arriving messages. Default: `gap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_gap: Option<Time>,
    /// G of arriving bytes. Default: `gap_per_byte`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_gap_per_byte: Option<Time>,
    /// O: processor time of each byte of data, at the sender and at the receiver, beyond the overheads.
    pub overhead_per_byte: Time,
    /// Bytes of a message that the times per byte apply to.
    pub charged_bytes: ChargedBytes,
    /// Cost of message matching. Default: matching takes no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matching: Option<MatchingSpec>,
    /// Programmed input and output (PIO): the processor writes data to the interface.
    #[schemars(extend("x-rules" = ["requires nic.pio.limit if nic.dma: otherwise no message is left for DMA engines"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pio: Option<PioSpec>,
    /// DMA engines: the interface reads data from memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dma: Option<DmaSpec>,
    /// Copies of the data of eager messages by processors. Default: no copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy: Option<CopySpec>,
    /// Bus between host and interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus: Option<BusSpec>,
    /// Registration of memory with the interface.
    #[schemars(extend("x-rules" = [
        "requires nic.eager_limit: only messages of the rendezvous protocol need registered memory",
        "excludes nic.matching.on = nic: such an interface handles the rendezvous protocol without processors"
    ]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration: Option<RegistrationSpec>,
    /// Connections of ranks, for an interface with connected transports. Default: no connections are needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<ConnectionsSpec>,
}

impl LoggpNicSpec {
    /// Returns whether times per byte leave out the first byte of a message.
    pub fn is_first_byte_free(&self) -> bool {
        self.charged_bytes == ChargedBytes::AllButFirst
    }

    /// Returns `nic` with the times per byte and the parts of these keys, without the keys that all kinds share.
    pub fn params(&self, nic: NicParams) -> NicParams {
        NicParams {
            overhead_per_byte: PerByte::of(self.overhead_per_byte.0),
            first_byte_free: self.is_first_byte_free(),
            copy: self.copy.as_ref().map_or([PerByte::FREE; 2], CopySpec::params),
            matching: self.matching.as_ref().map_or_else(MatchingParams::default, MatchingSpec::params),
            registration: self.registration.as_ref().map_or(RegistrationParams::NONE, RegistrationSpec::params),
            connections: self.connections.as_ref().map_or(ConnectionParams::NONE, ConnectionsSpec::params),
            parts: self.part_params(),
            ..nic
        }
    }

    fn part_params(&self) -> PartParams {
        let gap = |per_message: Time, per_byte: Time| GapParams {
            per_message: per_message.0,
            per_byte: PerByte::of(per_byte.0),
            first_byte_free: self.is_first_byte_free(),
        };
        let receive_gap = self.receive_gap.unwrap_or(self.gap);
        let receive_gap_per_byte = self.receive_gap_per_byte.unwrap_or(self.gap_per_byte);
        let pio = self.pio.as_ref();
        PartParams {
            pio: pio.map(|pio| PerByte::at(pio.bandwidth)),
            pio_room: pio.and_then(|pio| pio.buffer).map(|room| room.0),
            pio_limit: pio.and_then(|pio| pio.limit).map_or(u64::MAX, |limit| limit.0),
            dma: self.dma.as_ref().map_or(DmaParams::NONE, DmaSpec::params),
            bus: self.bus.as_ref().map_or(BusParams::NONE, BusSpec::params),
            send_gap: gap(self.gap, self.gap_per_byte),
            receive_gap: gap(receive_gap, receive_gap_per_byte),
            latency: 0,
        }
    }
}

/// Bytes of a message that the times per byte apply to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChargedBytes {
    /// All bytes but the first, whose time is part of the overhead, as in LogGP: (s - 1) G.
    #[default]
    AllButFirst,
    /// All bytes: s G.
    All,
}
