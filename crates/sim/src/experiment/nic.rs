//! `[nic]`: the interface between a node and the network, and what sending and receiving take the processors of ranks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bandwidth, Bytes, Time};

use super::nic_collectives::NicCollectivesSpec;
use super::rails::{ConnectionModeSpec, ConnectionsSpec, RailsSpec};

/// The interface between a node and the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "an experiment has one, and nothing holds many")]
pub enum NicSpec {
    /// Keeps up with its link; what software and interface take is pure latency, reported apart from the network's.
    Ideal(HostSpec),
    /// LogGP: overheads that occupy the processor, and gaps per message and per byte that occupy the interface, at the sender and at
    /// the receiver. Of ranks that send and receive only.
    Loggp(LoggpNicSpec),
}

impl Default for NicSpec {
    fn default() -> Self {
        Self::Ideal(HostSpec::default())
    }
}

impl NicSpec {
    /// What all kinds have.
    pub fn host(&self) -> &HostSpec {
        match self {
            Self::Ideal(host) => host,
            Self::Loggp(nic) => &nic.host,
        }
    }

    /// Whether overheads occupy processors.
    pub fn occupies(&self) -> bool {
        self.host().occupies.unwrap_or(matches!(self, Self::Loggp(_)))
    }

    /// When the library of a rank reacts to what arrives.
    pub fn progress(&self) -> ProgressSpec {
        let own = if self.occupies() { ProgressSpec::Calls } else { ProgressSpec::Independent };
        self.host().progress.unwrap_or(own)
    }

    /// The parts of the interface, if it has any.
    pub fn parts(&self) -> Option<&LoggpNicSpec> {
        match self {
            Self::Ideal(_) => None,
            Self::Loggp(nic) => Some(nic),
        }
    }

    /// Memory of a connection at each of its ranks, in bytes.
    pub fn connection_bytes(&self) -> u64 {
        self.parts().and_then(|nic| nic.connections.as_ref()).map_or(0, |own| own.memory.0)
    }

    /// The rate at which the interface brings what has arrived into memory, if that takes time.
    pub fn drain(&self) -> Option<Bandwidth> {
        let nic = self.parts()?;
        let bus = nic.bus.as_ref().map(|bus| bus.bandwidth);
        let per_byte = nic.receive_gap_per_byte.unwrap_or(nic.gap_per_byte).0;
        // A byte is 8 bits, and a second 10^12 ps.
        let gap = (per_byte > 0).then(|| Bandwidth((8_000_000_000_000 / per_byte).max(1)));
        [bus, gap].into_iter().flatten().min()
    }

    /// Keys that contradict one another: the path of the one to show, and what is wrong. `ranks`: whether there are workloads of
    /// ranks that send and receive.
    /// `on_nic`: whether interfaces carry out the collective operations of any of them.
    pub(super) fn contradiction(&self, ranks: bool, on_nic: bool) -> Option<(String, String)> {
        let HostSpec { occupies, progress, interrupt_cost, eager_limit, eager_credits, rails, .. } = self.host();
        let of_ranks = [
            ("kind", matches!(self, Self::Loggp(_))),
            ("eager_limit", eager_limit.is_some()),
            ("eager_credits", eager_credits.is_some()),
            ("occupies", *occupies == Some(true)),
            ("rails", rails.is_some()),
        ];
        if let Some((key, _)) = of_ranks.into_iter().find(|(_, written)| *written && !ranks) {
            let what = if key == "kind" { "`nic.kind` = \"loggp\"".to_owned() } else { format!("`nic.{key}`") };
            let message = format!(
                "{what} is for ranks that send and receive: only workloads of kind \"benchmark\" and \"program\", and \
                 message-driven applications, have them"
            );
            return Some((format!("nic.{key}"), message));
        }
        let progress_alone = progress.is_some_and(|progress| progress != ProgressSpec::Independent) && !self.occupies();
        let searched = self.parts().and_then(|nic| nic.matching.as_ref());
        let (key, message) = match () {
            () if self.host().collectives.is_some() && !on_nic => (
                "collectives",
                "`nic.collectives` is of interfaces that carry collective operations out; it goes with `workload.collectives = \"nic\"`",
            ),
            () if on_nic && searched.is_some_and(|own| own.on == Matcher::Host && own.per_entry.0 > 0) => (
                "matching.on",
                "an interface that carries collective operations out searches its own queues: with `workload.collectives = \"nic\"` only \
                 \"nic\" is allowed",
            ),
            () if self.host().control_size.is_some() && !self.host().has_control() => (
                "control_size",
                "`nic.control_size` is of messages that ask first, and of credits; it goes with `nic.eager_limit` or \
                 `nic.eager_credits`",
            ),
            () if self.host().rendezvous.is_some() && eager_limit.is_none() => {
                ("rendezvous", "`nic.rendezvous` is of messages that ask first; it goes with `nic.eager_limit`")
            }
            () if progress_alone => (
                "progress",
                "`nic.progress` is when the processor does library work; overheads that are latency take none: set \
                 `nic.occupies = true`",
            ),
            () if interrupt_cost.is_some() && self.progress() != ProgressSpec::Interrupt => {
                ("interrupt_cost", "`nic.interrupt_cost` goes with `nic.progress = \"interrupt\"`")
            }
            () => return self.parts().and_then(LoggpNicSpec::contradiction),
        };
        Some((format!("nic.{key}"), message.into()))
    }

    /// The times of the interface, by key.
    pub fn times(&self) -> Vec<(&'static str, Time)> {
        let host = self.host();
        let mut times = vec![("send_overhead", host.send_overhead), ("receive_overhead", host.receive_overhead)];
        times.extend(host.interrupt_cost.map(|cost| ("interrupt_cost", cost)));
        times.extend(host.collectives.iter().flat_map(|_| {
            let (send, receive, combine) = host.forwarding();
            [
                ("collectives.send_overhead", send),
                ("collectives.receive_overhead", receive),
                ("collectives.combine_per_byte", combine),
            ]
        }));
        if let Some(nic) = self.parts() {
            times.extend([("gap", nic.gap), ("gap_per_byte", nic.gap_per_byte)]);
            times.push(("overhead_per_byte", nic.overhead_per_byte));
            times.extend(nic.receive_gap.map(|gap| ("receive_gap", gap)));
            times.extend(nic.receive_gap_per_byte.map(|gap| ("receive_gap_per_byte", gap)));
            times.extend(nic.matching.iter().map(|part| ("matching.per_entry", part.per_entry)));
            times.extend(nic.dma.iter().map(|part| ("dma.setup", part.setup)));
            times.extend(nic.bus.iter().map(|part| ("bus.per_packet", part.per_packet)));
            let of =
                |part: &RegistrationSpec| [("registration.time", part.time), ("registration.per_page", part.per_page)];
            times.extend(nic.registration.iter().flat_map(of));
            let of = |own: &ConnectionsSpec| {
                let times = [("connections.setup", own.setup), ("connections.miss", own.miss)];
                times.into_iter().filter_map(|(key, time)| Some((key, time?)))
            };
            times.extend(nic.connections.iter().flat_map(of));
        }
        times
    }
}

/// Sending and receiving on a node's processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
// The schema of a kind has all keys in one table, which the validator reads, if other keys are refused.
#[schemars(extend("additionalProperties" = false))]
pub struct HostSpec {
    /// Time from the start of a send to the handing over of its message: added to a message's latency at its sender.
    pub send_overhead: Time,
    /// Time from a message's arrival to the end of its receive: added to a message's latency at its receiver.
    pub receive_overhead: Time,
    /// Whether overheads occupy the processor of their rank, which then does one thing at a time; otherwise they are latency. Without
    /// it, those of kind "ideal" do not, and those of other kinds do. Of ranks that send and receive only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupies: Option<bool>,
    /// When the library of a rank reacts to what arrives: receives messages, reads requests, answers. Without it, "calls" if
    /// overheads occupy processors and otherwise "independent".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressSpec>,
    /// What interrupting a calculation takes the processor; goes with `progress = "interrupt"`. Without it, nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupt_cost: Option<Time>,
    /// Larger messages ask their receivers first (rendezvous), by control messages that take both overheads too; without
    /// it, none does. Of ranks that send and receive only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eager_limit: Option<Bytes>,
    /// Who moves the data of messages that ask their receivers first; goes with `eager_limit`. Without it, "write".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendezvous: Option<RendezvousSpec>,
    /// Messages that do not ask first that a rank may have sent to another, on another node, before that has received them; those
    /// beyond them wait at their sender. A control message brings a credit back. Without it, any number. Of ranks that send and
    /// receive only.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eager_credits: Option<u32>,
    /// Size of a control message of the rendezvous, or of a credit; without it, 32 bytes, or a packet if that is less.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1))]
    pub control_size: Option<Bytes>,
    /// By which of `topology.planes` messages go. Without it, round-robin, and those above 16 KiB striped. Of ranks that send and receive
    /// only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rails: Option<RailsSpec>,
    /// What collective operations take the processor of an interface that carries them out; goes with `workload.collectives = "nic"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collectives: Option<NicCollectivesSpec>,
}

impl HostSpec {
    /// What collective operations take the processor of an interface that carries them out: a message that leaves, one that has come, and a
    /// byte that is combined.
    pub fn forwarding(&self) -> (Time, Time, Time) {
        self.collectives.clone().unwrap_or_default().times((self.send_overhead, self.receive_overhead))
    }

    /// Size of a control message, if a packet holds it.
    pub fn control(&self) -> Bytes {
        self.control_size.unwrap_or(Bytes(32))
    }

    /// Above how many bytes messages are striped over rails; none: no message is.
    pub fn stripe_above(&self) -> Option<u64> {
        self.rails.clone().unwrap_or_default().striped_above()
    }

    /// Whether there are control messages at all.
    pub fn has_control(&self) -> bool {
        self.eager_limit.is_some() || self.eager_credits.is_some()
    }

    /// Control messages that a message of so many bytes takes beside its data.
    pub fn controls(&self, bytes: u64) -> u64 {
        match self.eager_limit.is_some_and(|limit| bytes > limit.0) {
            true if self.rendezvous == Some(RendezvousSpec::Read) => 3,
            true => 2,
            false => u64::from(self.eager_credits.is_some()),
        }
    }
}

/// Who moves the data of a message that asks its receiver first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RendezvousSpec {
    /// The sender writes them when the receiver has answered its request.
    Write,
    /// The receiver reads them from the sender's interface, and then sends a notice that ends the send.
    Read,
}

/// When the library of a rank reacts to what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProgressSpec {
    /// At once and beside the processor, which computes meanwhile: on a core of its own, or on the interface.
    Independent,
    /// On the processor, while the rank is inside the library: in calls, and while it waits.
    Calls,
    /// On the processor, at once: a calculation under way ends later.
    Interrupt,
}

/// A network interface as LogGP has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("additionalProperties" = false))]
pub struct LoggpNicSpec {
    /// What all kinds have.
    #[serde(flatten)]
    pub host: HostSpec,
    /// g: least time from the last byte of a message to the next message that leaves the interface.
    pub gap: Time,
    /// G: time of each byte that leaves the interface.
    pub gap_per_byte: Time,
    /// The same as `gap` for messages that arrive; without it, `gap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_gap: Option<Time>,
    /// The same as `gap_per_byte` for bytes that arrive; without it, `gap_per_byte`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_gap_per_byte: Option<Time>,
    /// O: time of each byte of data on the processor, at the sender and at the receiver, beyond the overheads.
    pub overhead_per_byte: Time,
    /// Which bytes of a message the times per byte are of.
    pub charged_bytes: ChargedBytes,
    /// What searching the queues of posted receives and unexpected messages takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matching: Option<MatchingSpec>,
    /// Data that the processor writes to the interface (programmed input and output).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pio: Option<PioSpec>,
    /// Engines of the interface that read data from memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dma: Option<DmaSpec>,
    /// The bus between host and interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus: Option<BusSpec>,
    /// Memory that has to be known to the interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration: Option<RegistrationSpec>,
    /// Connections of ranks, which an interface with connected transports needs. Without it, none is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<ConnectionsSpec>,
}

/// What searching the queues of posted receives and unexpected messages takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-example" = "[nic.matching]\nper_entry = \"20 ns\"\non = \"host\""))]
pub struct MatchingSpec {
    /// Time of each entry that a search from the front of a queue looks at.
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
    /// Time of each packet beyond that of its bytes.
    #[serde(default)]
    pub per_packet: Time,
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
        Self { time: Time(0), per_page: Time(0), page_size: Bytes(4096), cached: 0, buffers: BuffersSpec::ByPeer }
    }
}

impl LoggpNicSpec {
    /// Parts that contradict one another: the path of the key to show, and what is wrong.
    fn contradiction(&self) -> Option<(String, String)> {
        let searches = self.matching.as_ref().is_some_and(|matching| matching.on == Matcher::Nic);
        let limit = self.pio.as_ref().and_then(|pio| pio.limit);
        let (key, message) = match () {
            () if limit.is_some() && self.dma.is_none() => {
                ("pio.limit", "`nic.pio.limit` leaves larger messages to DMA engines: write [nic.dma]")
            }
            () if self.pio.is_some() && self.dma.is_some() && limit.is_none() => {
                ("pio", "[nic.pio] writes all messages, and [nic.dma] has none to read: set `nic.pio.limit`")
            }
            () if self.registration.is_some() && self.host.eager_limit.is_none() => (
                "registration",
                "[nic.registration] is of messages that wait for their receivers; it goes with `nic.eager_limit`",
            ),
            () if self
                .connections
                .as_ref()
                .is_some_and(|own| own.setup.is_some() && own.mode != ConnectionModeSpec::OnDemand) =>
            {
                (
                    "connections.setup",
                    "`nic.connections.setup` is of connections that are set up on demand; set `nic.connections.mode = \"on-demand\"`",
                )
            }
            () if self.connections.as_ref().is_some_and(|own| own.miss.is_some() && own.cached.is_none()) => (
                "connections.miss",
                "`nic.connections.miss` is of connections of which the interface does not hold the state; it goes with \
                 `nic.connections.cached`",
            ),
            () if self.connections.as_ref().is_some_and(ConnectionsSpec::has_none) => (
                "connections.mode",
                "\"connectionless\" goes without the other keys of [nic.connections]: there is nothing that they could be of",
            ),
            () if self.registration.is_some() && searches => (
                "registration",
                "[nic.registration] takes processors, and an interface that matches handles the rendezvous without them",
            ),
            () => return None,
        };
        Some((format!("nic.{key}"), message.into()))
    }
}

/// The bytes of a message that take time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChargedBytes {
    /// All but the first, whose time is part of the overhead, as LogGP has it: (s - 1) G.
    #[default]
    AllButFirst,
    /// All: s G.
    All,
}
