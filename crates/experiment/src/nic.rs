//! `[nic]`: the network interface of a node, and the processor time of sending and receiving.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bandwidth, Bytes, Time};

use crate::nic_collectives::NicCollectivesSpec;
use crate::nic_parts::{BusSpec, CopySpec, DmaSpec, MatchingSpec, PioSpec, RegistrationSpec};
use crate::nic_presets::PRESETS;
use crate::rails::{ConnectionsSpec, RailsSpec};
use crate::workload::RANKS;

/// Network interface of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(extend("x-otherwise" = "any other interface is kind = \"loggp\" with the times of its parts, which `cutthrough \
                                   calibrate` fits to measured tables"))]
pub enum NicSpec {
    /// Interface that keeps up with its link. Times of software and interface are pure latency, reported separately
    /// from the network's.
    Ideal(HostSpec),
    /// LogGP: overheads occupy the processor; gaps per message and per byte occupy the interface, at the sender and at
    /// the receiver.
    Loggp(LoggpNicSpec),
    /// PathScale's InfiniPath of 2005: the processor writes all data, matches and makes progress; no connections.
    /// Preset of `loggp`.
    #[schemars(extend("x-example" = PRESETS[0].1))]
    Infinipath(LoggpNicSpec),
    /// Cray's RapidArray of 2005, in the XD1: copies for small messages, DMA for larger ones, two rails. Preset of
    /// `loggp`.
    #[schemars(extend("x-example" = PRESETS[1].1))]
    Rapidarray(LoggpNicSpec),
    /// Quadrics' Elan-4 of 2004: the interface matches and makes progress; on PCI-X. Preset of `loggp`.
    #[schemars(extend("x-example" = PRESETS[2].1))]
    Elan4(LoggpNicSpec),
    /// 4x InfiniBand of 2005 under MVAPICH: verbs, connections and registered memory. Preset of `loggp`.
    #[schemars(extend("x-example" = PRESETS[3].1))]
    Infiniband(LoggpNicSpec),
    /// InfiniBand NDR of 2022, 400 Gb/s. Preset of `loggp`.
    #[schemars(extend("x-example" = PRESETS[4].1))]
    Ndr(LoggpNicSpec),
    /// HPE Slingshot 11 of 2021, 200 Gb/s. Preset of `loggp`.
    #[schemars(extend("x-example" = PRESETS[5].1))]
    Slingshot(LoggpNicSpec),
}

impl Default for NicSpec {
    fn default() -> Self {
        Self::Ideal(HostSpec::default())
    }
}

impl NicSpec {
    /// Returns the keys that all kinds share.
    pub fn host(&self) -> &HostSpec {
        match self {
            Self::Ideal(host) => host,
            Self::Loggp(nic)
            | Self::Infinipath(nic)
            | Self::Rapidarray(nic)
            | Self::Elan4(nic)
            | Self::Infiniband(nic)
            | Self::Ndr(nic)
            | Self::Slingshot(nic) => &nic.host,
        }
    }

    /// Returns the kind as written in the experiment file.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Ideal(_) => "ideal",
            Self::Loggp(_) => "loggp",
            Self::Infinipath(_) => PRESETS[0].0,
            Self::Rapidarray(_) => PRESETS[1].0,
            Self::Elan4(_) => PRESETS[2].0,
            Self::Infiniband(_) => PRESETS[3].0,
            Self::Ndr(_) => PRESETS[4].0,
            Self::Slingshot(_) => PRESETS[5].0,
        }
    }

    /// Returns whether overheads occupy processors.
    pub fn occupies(&self) -> bool {
        self.host().occupies.unwrap_or(self.parts().is_some())
    }

    /// Returns when the progress engine of a rank runs.
    pub fn progress(&self) -> ProgressSpec {
        let own = if self.occupies() { ProgressSpec::Calls } else { ProgressSpec::Independent };
        self.host().progress.unwrap_or(own)
    }

    /// Returns the parts of the interface; `None` for the kind "ideal".
    pub fn parts(&self) -> Option<&LoggpNicSpec> {
        match self {
            Self::Ideal(_) => None,
            Self::Loggp(nic)
            | Self::Infinipath(nic)
            | Self::Rapidarray(nic)
            | Self::Elan4(nic)
            | Self::Infiniband(nic)
            | Self::Ndr(nic)
            | Self::Slingshot(nic) => Some(nic),
        }
    }

    /// Returns the memory of a connection at each of its ranks, in bytes.
    pub fn connection_bytes(&self) -> u64 {
        self.parts().and_then(|nic| nic.connections.as_ref()).map_or(0, |own| own.memory.0)
    }

    /// Returns the time in which an interface is at rest after it has sent and received the messages of a barrier.
    /// Later messages are then not delayed by gaps of these messages or by credits for them.
    pub fn settle(&self) -> Time {
        let Some(nic) = self.parts() else { return Time(0) };
        let gaps = nic.gap.0.saturating_add(nic.receive_gap.unwrap_or(nic.gap).0);
        let packet = nic.bus.as_ref().map_or(0, |bus| bus.per_packet.0);
        // A message and a credit each leave and arrive.
        Time(gaps.saturating_add(packet.saturating_mul(2)).saturating_mul(2))
    }

    /// Returns the rate at which the interface writes arrived data to memory; `None` if that takes no time.
    pub fn drain(&self) -> Option<Bandwidth> {
        let nic = self.parts()?;
        let bus = nic.bus.as_ref().map(|bus| bus.bandwidth);
        let per_byte = nic.receive_gap_per_byte.unwrap_or(nic.gap_per_byte).0;
        // A byte is 8 bits, and a second 10^12 ps.
        let gap = (per_byte > 0).then(|| Bandwidth((8_000_000_000_000 / per_byte).max(1)));
        [bus, gap].into_iter().flatten().min()
    }

    /// Returns the times of the interface, by key.
    pub fn times(&self) -> Vec<(&'static str, Time)> {
        let host = self.host();
        let mut times = vec![("send_overhead", host.send_overhead), ("receive_overhead", host.receive_overhead)];
        times.extend(host.interrupt_cost.map(|cost| ("interrupt_cost", cost)));
        times.extend(host.poll_overhead.map(|time| ("poll_overhead", time)));
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

/// Overheads and protocols of a node's processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
// Refusing other keys makes the schema of a kind one table of all keys, which the validator reads.
#[schemars(extend("additionalProperties" = false))]
pub struct HostSpec {
    /// Send overhead: time from the start of a send until its message is handed over. It adds to the message's latency
    /// at the sender.
    pub send_overhead: Time,
    /// Receive overhead: time from a message's arrival to the end of its receive. It adds to the message's latency at
    /// the receiver.
    pub receive_overhead: Time,
    /// Time of a call that polls without waiting (a test or a non-blocking probe), whether or not it finds a message.
    /// Default: 0.
    #[schemars(extend("x-rules" = RANKS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_overhead: Option<Time>,
    /// Whether overheads occupy the processor of their rank, which then does one thing at a time. Otherwise overheads
    /// are latency. Default: `false` for the kind "ideal", `true` for all others.
    #[schemars(extend("x-rules" = ["requires ranks that send and receive if nic.occupies = true"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupies: Option<bool>,
    /// When the progress engine of a rank runs: receives messages, and reads and answers rendezvous requests. Default:
    /// "calls" if overheads occupy processors, otherwise "independent".
    #[schemars(extend("x-rules" = [
        "requires overheads that occupy processors if nic.progress = calls",
        "requires overheads that occupy processors if nic.progress = interrupt"
    ]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressSpec>,
    /// Processor time of an interrupt of a calculation. Default: 0.
    #[schemars(extend("x-rules" = ["requires nic.progress = interrupt"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupt_cost: Option<Time>,
    /// Eager limit. Larger messages use the rendezvous protocol, whose control messages pay both overheads. Default: no
    /// limit (all messages are eager).
    #[schemars(extend("x-rules" = RANKS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eager_limit: Option<Bytes>,
    /// Side that moves the data in the rendezvous protocol. Default: "write".
    #[schemars(extend("x-rules" = ["requires nic.eager_limit: only larger messages use the protocol"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendezvous: Option<RendezvousSpec>,
    /// Eager credits: number of eager messages that a rank may have sent to one peer on another node and that the peer
    /// has not received. `without_credit` determines what happens to further messages. A control message returns a
    /// credit. Default: no limit.
    #[schemars(range(min = 1), extend("x-rules" = RANKS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eager_credits: Option<u32>,
    /// Protocol of an eager message that finds no credit. Default: "wait".
    #[schemars(extend("x-rules" = ["requires nic.eager_credits"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_credit: Option<WithoutCreditSpec>,
    /// Size of a control message: of the rendezvous protocol, or a credit. Default: 32 B, or the packet size if that is
    /// less.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1, "x-rules" = ["requires nic.eager_limit or nic.eager_credits"]))]
    pub control_size: Option<Bytes>,
    /// Rails (planes of `topology.planes`) that messages take. Default: round-robin, with messages above 16 KiB
    /// striped.
    #[schemars(extend("x-rules" = RANKS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rails: Option<RailsSpec>,
    /// Times of collective operations on the processor of the interface.
    #[schemars(extend("x-rules" = ["requires workload.collectives = nic"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collectives: Option<NicCollectivesSpec>,
}

impl HostSpec {
    /// Returns the times of collective operations on the processor of the interface: per message sent, per message
    /// received, and per combined byte.
    pub fn forwarding(&self) -> (Time, Time, Time) {
        self.collectives.clone().unwrap_or_default().times((self.send_overhead, self.receive_overhead))
    }

    /// Returns the size of a control message, before it is limited to the packet size.
    pub fn control(&self) -> Bytes {
        self.control_size.unwrap_or(Bytes(32))
    }

    /// Returns the size above which messages are striped over rails, in bytes; `None` if no message is striped.
    pub fn stripe_above(&self) -> Option<u64> {
        self.rails.clone().unwrap_or_default().striped_above()
    }

    /// Returns whether there are control messages.
    pub fn has_control(&self) -> bool {
        self.eager_limit.is_some() || self.eager_credits.is_some()
    }

    /// Returns the number of control messages of a message of `bytes` bytes.
    pub fn controls(&self, bytes: u64) -> u64 {
        match self.eager_limit.is_some_and(|limit| bytes > limit.0) {
            true if self.rendezvous == Some(RendezvousSpec::Read) => 3,
            true => 2,
            false => u64::from(self.eager_credits.is_some()),
        }
    }
}

/// Side that moves the data in the rendezvous protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RendezvousSpec {
    /// The sender writes the data when the receiver has answered its request.
    Write,
    /// The receiver reads the data from the sender's interface. It then sends a notice that ends the send.
    Read,
}

/// Protocol of an eager message that finds no credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WithoutCreditSpec {
    /// The message waits at the sender until a credit returns. All later messages to that rank wait behind it.
    Wait,
    /// The message uses the rendezvous protocol. Its data are copied like those of other eager messages, not
    /// registered.
    Rendezvous,
}

/// When the progress engine of a rank runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProgressSpec {
    /// Immediately and in parallel with the processor's calculations: on a separate core, or on the interface.
    Independent,
    /// On the processor, while the rank is inside the library: in calls, and while it waits.
    Calls,
    /// On the processor, immediately: a calculation in progress is interrupted and ends later.
    Interrupt,
}

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
