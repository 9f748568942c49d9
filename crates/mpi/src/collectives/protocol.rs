//! Transport of an operation's data: the protocol that expands messages, and the channels that divide them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Protocol of messages between GPUs. Protocols differ in the bytes on the wire and in the time of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Low latency: each line of 16 bytes has 8 bytes of data and 8 bytes of flags, which the receiver polls.
    Ll,
    /// Low latency by lines of 128 bytes, each with 120 bytes of data and 8 bytes of flags.
    Ll128,
    /// Data without flags. The ends synchronize by counters after each step.
    #[default]
    Simple,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 3] = [Self::Ll, Self::Ll128, Self::Simple];

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ll => "ll",
            Self::Ll128 => "ll128",
            Self::Simple => "simple",
        }
    }

    /// Returns the bytes of data in a line, and the bytes of a line on the wire.
    pub const fn line(self) -> (u64, u64) {
        match self {
            Self::Ll => (8, 16),
            Self::Ll128 => (120, 128),
            Self::Simple => (1, 1),
        }
    }

    /// Returns the bytes on the wire of a message of `bytes` bytes of data.
    #[inline]
    pub const fn on_wire(self, bytes: u64) -> u64 {
        let (data, wire) = self.line();
        if wire == 1 { bytes } else { bytes.div_ceil(data).saturating_mul(wire) }
    }
}

/// Transport of the messages of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Protocol.
    pub protocol: Protocol,
    /// Number of channels, at least 1. Each message is one message on each channel, as even as whole elements allow.
    /// Channels without an element send nothing.
    pub channels: u32,
    /// Size of an element in bytes, at least 1.
    pub element: u32,
}

impl Transport {
    /// Returns the number of messages of `elements` elements on all channels.
    #[inline]
    pub fn count(self, elements: u64) -> u64 {
        u64::from(self.channels).min(elements).max(1)
    }

    /// Visits the messages on the channels that carry `elements` elements: the bytes on the wire, and the number of
    /// messages with that size.
    #[inline]
    pub fn each(self, elements: u64, visit: &mut dyn FnMut(u64, u32)) {
        let (count, element) = (self.count(elements), u64::from(self.element));
        let (small, larger) = (elements / count, elements % count);
        let mut each = |elements: u64, count: u64| {
            if count > 0 {
                visit(self.protocol.on_wire(elements.saturating_mul(element)), count as u32);
            }
        };
        each(small + 1, larger);
        each(small, count - larger);
    }
}
