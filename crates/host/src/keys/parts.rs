//! Parts of `[nic]`: one section for each part of a network interface.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bandwidth, Bytes, Time};

use crate::context::MatchingParams;
use crate::nic::{BusParams, DmaParams, PerByte};
use crate::registration::{BufferRule, RegisteredEnds, RegistrationParams};

/// Cost of message matching: searches of the queues of posted receives and unexpected messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.matching]\nper_entry = \"20 ns\"\non = \"host\""))]
pub struct MatchingSpec {
    /// Time of each entry that a search visits. A search starts at the front of the queue.
    #[schemars(extend("x-rules" = ["requires nic.matching.on = nic if workload.collectives = nic"]))]
    pub per_entry: Time,
    /// Side that searches.
    pub on: Matcher,
}

impl MatchingSpec {
    pub(super) fn params(&self) -> MatchingParams {
        MatchingParams { per_entry: self.per_entry.0, on_nic: self.on == Matcher::Nic }
    }
}

/// Side that matches messages and receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Matcher {
    /// The processor, as library work.
    #[default]
    Host,
    /// The interface, one search at a time. It also handles the requests and answers of the rendezvous protocol, which
    /// then need no processor and pay no overhead.
    Nic,
}

/// Programmed input and output (PIO): the processor writes data to the interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[nic.pio]\nbandwidth = \"12 Gb/s\"\nlimit = \"16 KiB\""))]
pub struct PioSpec {
    /// Rate at which the processor writes. The processor is occupied while the interface already sends written data.
    #[schemars(extend("minimum" = 1))]
    pub bandwidth: Bandwidth,
    /// Largest message that the processor writes. Larger messages are read by `[nic.dma]`. Default: no limit.
    #[schemars(extend("x-rules" = ["requires nic.dma: it reads larger messages"]))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Bytes>,
    /// Room of the interface for written data that have not left, shared by all rails of a node. The call of a send
    /// writes the data that fit. The progress engine (`progress`) writes the rest as room is freed, and the send ends
    /// when all data are written. Default: no limit. Excludes `topology.kind = "flat"` and operations that switches
    /// execute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1))]
    pub buffer: Option<Bytes>,
}

/// DMA engines of the interface, which read data from memory. Each engine reads one message at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[nic.dma]\nbandwidth = \"16 Gb/s\"\nsetup = \"500 ns\"\nengines = 2"))]
pub struct DmaSpec {
    /// Rate at which an engine reads.
    #[schemars(extend("minimum" = 1))]
    pub bandwidth: Bandwidth,
    /// Time of an engine for each message, before its first byte.
    #[serde(default)]
    pub setup: Time,
    /// Number of engines.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 64))]
    pub engines: u32,
}

impl DmaSpec {
    pub(super) fn params(&self) -> DmaParams {
        DmaParams { engines: self.engines, setup: self.setup.0, per_byte: PerByte::at(self.bandwidth) }
    }
}

fn one() -> u32 {
    1
}

/// Bus between host and interface. Departing and arriving packets cross it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[nic.bus]\nbandwidth = \"8 Gb/s\"\ndirections = \"one\""))]
pub struct BusSpec {
    /// Bandwidth of the bus, for each direction if `directions = "both"`.
    #[schemars(extend("minimum" = 1))]
    pub bandwidth: Bandwidth,
    /// Whether departing and arriving packets share the bandwidth.
    #[serde(default)]
    pub directions: Directions,
    /// Time of each packet before its first byte crosses. The bus is occupied meanwhile.
    #[serde(default)]
    pub per_packet: Time,
    /// Whether each rail has a bus, or all rails of a node share one.
    #[serde(default)]
    pub of: BusOwner,
}

impl BusSpec {
    pub(super) fn params(&self) -> BusParams {
        BusParams {
            per_byte: PerByte::at(self.bandwidth),
            per_packet: self.per_packet.0,
            shared: self.directions == Directions::One,
            of_node: self.of == BusOwner::Node,
        }
    }
}

/// Directions of a bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Directions {
    /// Departing and arriving packets take turns (half duplex), as on PCI-X.
    One,
    /// Each direction has the whole bandwidth (full duplex), as on PCI Express.
    #[default]
    Both,
}

/// Registration of memory with the interface by processors. Messages of the rendezvous protocol need it, at both ends,
/// because their data move from memory to memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.registration]\ntime = \"10 us\"\nper_page = \"100 ns\"\ncached = 64"))]
pub struct RegistrationSpec {
    /// Time of a registration, in addition to `per_page`.
    pub time: Time,
    /// Time of each page of a registration.
    pub per_page: Time,
    /// Size of a page.
    #[schemars(extend("minimum" = 1))]
    pub page_size: Bytes,
    /// Registration cache: number of buffers of a rank that stay registered. The least recently used buffer is evicted
    /// first. Default: 0 (each message registers its memory).
    pub cached: u32,
    /// Messages of a rank that share a buffer.
    pub buffers: BufferRule,
    /// Ends of a message at which memory is registered.
    pub ends: RegisteredEnds,
}

impl RegistrationSpec {
    pub(super) fn params(&self) -> RegistrationParams {
        RegistrationParams {
            time: self.time.0,
            per_page: self.per_page.0,
            page: self.page_size.0,
            cached: self.cached,
            buffers: self.buffers,
            ends: self.ends,
        }
    }
}

impl Default for RegistrationSpec {
    fn default() -> Self {
        Self {
            time: Time(0),
            per_page: Time(0),
            page_size: Bytes(4096),
            cached: 0,
            buffers: BufferRule::ByPeer,
            ends: RegisteredEnds::Both,
        }
    }
}

/// Copies of the data of eager messages by processors, into and out of buffers of the interface or of the library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[nic.copy]\nbandwidth = \"3.2 GB/s\"\nat = \"receiver\""))]
pub struct CopySpec {
    /// Rate at which a processor copies. It is occupied meanwhile.
    #[schemars(extend("minimum" = 1))]
    pub bandwidth: Bandwidth,
    /// Ends of a message at which its data are copied.
    #[serde(default)]
    pub at: CopyEnds,
}

impl CopySpec {
    /// Returns the copy time of a byte at the sender and at the receiver.
    pub(super) fn params(&self) -> [PerByte; 2] {
        let of = |copies: bool| if copies { PerByte::at(self.bandwidth) } else { PerByte::FREE };
        [of(self.at != CopyEnds::Receiver), of(self.at != CopyEnds::Sender)]
    }
}

/// Ends of an eager message at which its data are copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopyEnds {
    /// Sender and receiver.
    #[default]
    Both,
    /// Sender only. Arriving data go directly to their destination.
    Sender,
    /// Receiver only: out of the buffer into which messages without an address arrive.
    Receiver,
}

/// Rails of a node that share a bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BusOwner {
    /// Each rail has a separate bus.
    #[default]
    Rail,
    /// All rails of a node share one bus.
    Node,
}
