//! `[nic]`: the interface between a node and the network, and what sending and receiving take the processors of ranks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

/// The interface between a node and the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum NicSpec {
    /// Keeps up with its link; what software and interface take is pure latency, reported apart from the network's.
    Ideal(IdealNicSpec),
    /// LogGP: overheads that occupy the processor, and gaps per message and per byte that occupy the interface, at the sender and at
    /// the receiver. Of ranks that send and receive only.
    Loggp(LoggpNicSpec),
}

impl Default for NicSpec {
    fn default() -> Self {
        Self::Ideal(IdealNicSpec::default())
    }
}

impl NicSpec {
    /// What all kinds have.
    pub fn host(&self) -> &HostSpec {
        match self {
            Self::Ideal(nic) => &nic.host,
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

    /// Keys that contradict one another: the path of the one to show, and what is wrong. `ranks`: whether there are workloads of
    /// ranks that send and receive.
    pub(super) fn contradiction(&self, ranks: bool) -> Option<(String, String)> {
        let HostSpec { occupies, progress, interrupt_cost, eager_limit, control_size, .. } = self.host();
        let of_ranks = [
            ("kind", matches!(self, Self::Loggp(_))),
            ("eager_limit", eager_limit.is_some()),
            ("occupies", *occupies == Some(true)),
        ];
        if let Some((key, _)) = of_ranks.into_iter().find(|(_, written)| *written && !ranks) {
            let what = if key == "kind" { "`nic.kind` = \"loggp\"".to_owned() } else { format!("`nic.{key}`") };
            let message = format!(
                "{what} is for ranks that send and receive: only workloads of kind \"benchmark\" and \"program\" have them"
            );
            return Some((format!("nic.{key}"), message));
        }
        let progress_alone = progress.is_some_and(|progress| progress != ProgressSpec::Independent) && !self.occupies();
        let (key, message) = match () {
            () if control_size.is_some() && eager_limit.is_none() => {
                ("control_size", "`nic.control_size` is of messages that ask first; it goes with `nic.eager_limit`")
            }
            () if progress_alone => (
                "progress",
                "`nic.progress` is when the processor does library work; overheads that are latency take none: set \
                 `nic.occupies = true`",
            ),
            () if interrupt_cost.is_some() && self.progress() != ProgressSpec::Interrupt => {
                ("interrupt_cost", "`nic.interrupt_cost` goes with `nic.progress = \"interrupt\"`")
            }
            () => return None,
        };
        Some((format!("nic.{key}"), message.into()))
    }

    /// The times of the interface, by key.
    pub fn times(&self) -> Vec<(&'static str, Time)> {
        let host = self.host();
        let mut times = vec![("send_overhead", host.send_overhead), ("receive_overhead", host.receive_overhead)];
        times.extend(host.interrupt_cost.map(|cost| ("interrupt_cost", cost)));
        if let Some(nic) = self.parts() {
            times.extend([("gap", nic.gap), ("gap_per_byte", nic.gap_per_byte)]);
            times.push(("overhead_per_byte", nic.overhead_per_byte));
            times.extend(nic.receive_gap.map(|gap| ("receive_gap", gap)));
            times.extend(nic.receive_gap_per_byte.map(|gap| ("receive_gap_per_byte", gap)));
        }
        times
    }
}

/// A network interface that adds latency and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdealNicSpec {
    /// What all kinds have.
    #[serde(flatten)]
    pub host: HostSpec,
}

/// Sending and receiving on a node's processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
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
    /// Size of a control message of the rendezvous; without it, 32 bytes, or a packet if that is less.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1))]
    pub control_size: Option<Bytes>,
}

impl HostSpec {
    /// Size of a control message, if a packet holds it.
    pub fn control(&self) -> Bytes {
        self.control_size.unwrap_or(Bytes(32))
    }
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
