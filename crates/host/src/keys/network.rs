//! `network.NAME.nic`: the parts of the interface of an endpoint into one of several networks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Time;

use super::{BusSpec, DmaSpec};
use crate::nic::{BusParams, DmaParams, GapParams, PartParams, PerByte};

/// Interface of an endpoint into one network. Its parts replace those of `[nic]` in this network. Overheads, protocols,
/// matching, copies and PIO belong to processors and their library: `[nic]` gives them for all networks. An empty
/// section stands for an interface that keeps up with its link. Requires ranks that send and receive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[network.nic]\nlatency = \"600 ns\"\nbus = { bandwidth = \"512 Gb/s\" }"))]
pub struct NetworkNicSpec {
    /// Time of each packet in the interface, when it leaves and when it arrives. It occupies nothing.
    pub latency: Time,
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
    /// DMA engines: the interface reads data from memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dma: Option<DmaSpec>,
    /// Bus between endpoint and interface. With `of = "node"`, the planes of the network share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus: Option<BusSpec>,
}

impl NetworkNicSpec {
    /// Returns the parts. `first_byte_free`: whether the times per byte leave out the first byte of a message, as
    /// `nic.charged_bytes` says.
    pub fn params(&self, first_byte_free: bool) -> PartParams {
        let [send_gap, receive_gap] = self.gaps().map(|(per_message, per_byte)| GapParams {
            per_message: per_message.0,
            per_byte: PerByte::of(per_byte.0),
            first_byte_free,
        });
        PartParams {
            dma: self.dma.as_ref().map_or(DmaParams::NONE, DmaSpec::params),
            bus: self.bus.as_ref().map_or(BusParams::NONE, BusSpec::params),
            send_gap,
            receive_gap,
            latency: self.latency.0,
            ..PartParams::NONE
        }
    }

    /// Returns the gaps per message and per byte: of leaving and of arriving messages.
    fn gaps(&self) -> [(Time, Time); 2] {
        let (receive, per_byte) = (self.receive_gap, self.receive_gap_per_byte);
        let arriving = (receive.unwrap_or(self.gap), per_byte.unwrap_or(self.gap_per_byte));
        [(self.gap, self.gap_per_byte), arriving]
    }

    /// Returns the times of the interface, by key.
    pub fn times(&self) -> Vec<(&'static str, Time)> {
        let [(gap, per_byte), (receive_gap, receive_per_byte)] = self.gaps();
        let mut times = vec![
            ("latency", self.latency),
            ("gap", gap),
            ("gap_per_byte", per_byte),
            ("receive_gap", receive_gap),
            ("receive_gap_per_byte", receive_per_byte),
        ];
        times.extend(self.dma.iter().map(|own| ("dma.setup", own.setup)));
        times.extend(self.bus.iter().map(|own| ("bus.per_packet", own.per_packet)));
        times
    }

    /// Returns the time in which the interface is at rest after it has sent and received a message and a credit.
    pub fn settle(&self) -> Time {
        let [(gap, _), (receive_gap, _)] = self.gaps();
        let packet = self.bus.as_ref().map_or(0, |bus| bus.per_packet.0);
        let once = gap.0.saturating_add(receive_gap.0).saturating_add(packet.saturating_mul(2));
        Time(once.saturating_mul(2))
    }
}
