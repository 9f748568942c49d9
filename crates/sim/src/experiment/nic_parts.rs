//! The parts of `[nic]`: what they take, each a section of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bandwidth, Bytes, Time};

/// What searching the queues of posted receives and unexpected messages takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.matching]\nper_entry = \"20 ns\"\non = \"host\""))]
pub struct MatchingSpec {
    /// Time of each entry that a search from the front of a queue visits.
    pub per_entry: Time,
    /// Who searches.
    pub on: Matcher,
}

/// Who matches messages and receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Matcher {
    /// The processor, as library work.
    #[default]
    Host,
    /// The interface, one search after the other; it also handles the requests and answers of the rendezvous, which then take no
    /// overhead of a processor and do not wait for one.
    Nic,
}

/// Data that the processor writes to the interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[nic.pio]\nbandwidth = \"12 Gb/s\"\nlimit = \"16 KiB\""))]
pub struct PioSpec {
    /// Rate at which the processor writes, and is occupied. The interface sends what has been written meanwhile.
    #[schemars(extend("minimum" = 1))]
    pub bandwidth: Bandwidth,
    /// Messages of more bytes are read by `[nic.dma]`; without it, all are written by the processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Bytes>,
    /// Room of the interface for written data that have not left; all rails of a node share it. In the call of a send the processor writes
    /// what fits; it writes the rest as room becomes free, when the library reacts (`progress`), and the send ends when all is written.
    /// Default: no limit. Not of networks of kind "flat", nor of operations that switches carry out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1))]
    pub buffer: Option<Bytes>,
}

/// Engines of the interface that read data from memory, each one message after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[nic.dma]\nbandwidth = \"16 Gb/s\"\nsetup = \"500 ns\"\nengines = 2"))]
pub struct DmaSpec {
    /// Rate at which an engine reads.
    #[schemars(extend("minimum" = 1))]
    pub bandwidth: Bandwidth,
    /// Time from when an engine takes a message to its first byte.
    #[serde(default)]
    pub setup: Time,
    /// How many engines there are.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 64))]
    pub engines: u32,
}

fn one() -> u32 {
    1
}

/// The bus between host and interface: packets that leave and packets that arrive cross it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[nic.bus]\nbandwidth = \"8 Gb/s\"\ndirections = \"one\""))]
pub struct BusSpec {
    /// Bandwidth, of each direction if there are two.
    #[schemars(extend("minimum" = 1))]
    pub bandwidth: Bandwidth,
    /// Whether what leaves and what arrives share the bus.
    #[serde(default)]
    pub directions: Directions,
    /// Time of each packet before its first byte crosses; the bus is kept for it.
    #[serde(default)]
    pub per_packet: Time,
    /// Whether each rail has a bus, or all rails of a node share one.
    #[serde(default)]
    pub of: BusOwner,
}

/// The directions of a bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Directions {
    /// What leaves and what arrives take turns (half duplex), as on PCI-X.
    One,
    /// Each has the bandwidth to itself (full duplex), as on PCI Express.
    #[default]
    Both,
}

/// Memory that processors have to register with the interface, of messages that wait for their receivers, at both ends: their data
/// go from memory to memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.registration]\ntime = \"10 us\"\nper_page = \"100 ns\"\ncached = 64"))]
pub struct RegistrationSpec {
    /// Time of a registration,
    pub time: Time,
    /// and of each page of it.
    pub per_page: Time,
    /// Size of a page.
    #[schemars(extend("minimum" = 1))]
    pub page_size: Bytes,
    /// How many buffers of a rank stay registered, least recently used first to give way (a cache of registrations). Without it, none: each
    /// message registers its memory.
    pub cached: u32,
    /// Which messages of a rank are in the same buffer.
    pub buffers: BuffersSpec,
    /// At which ends of a message memory is registered.
    pub ends: RegisteredEndsSpec,
}

/// Which messages of a rank are in the same buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BuffersSpec {
    /// Those that it sends to a rank are in one, and those that it receives from a rank are in one.
    #[default]
    ByPeer,
    /// Those that it sends are in one, and those that it receives are in one.
    One,
    /// Those under a tag of a communicator are in one, whether it sends or receives them: the program names its buffers by tags.
    ByTag,
    /// No two are in the same.
    Fresh,
}

impl Default for RegistrationSpec {
    fn default() -> Self {
        Self {
            time: Time(0),
            per_page: Time(0),
            page_size: Bytes(4096),
            cached: 0,
            buffers: BuffersSpec::ByPeer,
            ends: RegisteredEndsSpec::Both,
        }
    }
}

/// Data of messages that do not wait for their receivers, which processors copy: into buffers of the interface or of the library, and out of
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-example" = "[nic.copy]\nbandwidth = \"3.2 GB/s\"\nat = \"receiver\""))]
pub struct CopySpec {
    /// Rate at which a processor copies, and is occupied.
    #[schemars(extend("minimum" = 1))]
    pub bandwidth: Bandwidth,
    /// Where data are copied.
    #[serde(default)]
    pub at: CopyEnds,
}

/// Where data of messages that do not wait for their receivers are copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopyEnds {
    /// At the sender and at the receiver.
    #[default]
    Both,
    /// At the sender only: what arrives goes where it belongs.
    Sender,
    /// At the receiver only: out of the buffer that messages without an address come into.
    Receiver,
}

/// Which rails of a node a bus serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BusOwner {
    /// Each has one.
    #[default]
    Rail,
    /// One serves all rails of a node.
    Node,
}

/// At which ends of a message memory has to be registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RegisteredEndsSpec {
    /// At both.
    #[default]
    Both,
    /// Where it is received: the processor writes what is sent to the interface, which reads no memory.
    Receiver,
}
