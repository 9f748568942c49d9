//! `[nic]`: the network interface of a node, and the processor time of sending and receiving.

use host::{ConnectionsSpec, HostSpec, LoggpNicSpec, ProgressMode, RegistrationSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bandwidth, Time};

use crate::nic_presets::PRESETS;

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
    pub fn progress(&self) -> ProgressMode {
        let own = if self.occupies() { ProgressMode::Calls } else { ProgressMode::Independent };
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
            let own = host.forwarding();
            [
                ("collectives.send_overhead", Time(own.send)),
                ("collectives.receive_overhead", Time(own.receive)),
                ("collectives.combine_per_byte", Time(own.combine)),
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
