//! Pacers as the experiment file names them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError};

use super::Pacer;
use super::window::Window;

/// Pacer: rule for the times at which packets of a flow (one source and one destination) may leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PacerSpec {
    /// No pacer: a packet leaves as soon as the node's link is free.
    None {},
    /// Window: a packet leaves if the bytes sent but not acknowledged, including its own, fit into a window.
    Window(WindowSpec),
}

/// Window of outstanding bytes for each flow. With several planes or networks, it limits the bytes on all links
/// together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowSpec {
    /// Number of bytes of a flow that may be sent but not acknowledged: at least one packet.
    #[schemars(extend("minimum" = 1))]
    pub window: Bytes,
    /// Size of an acknowledgement, a packet that the destination sends back through the network for each arriving
    /// packet. At most `packet_size`. Default: acknowledgements cause no load, and arrive after the delay of the idle
    /// path.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_size: Option<Bytes>,
}

impl Default for PacerSpec {
    fn default() -> Self {
        Self::None {}
    }
}

impl PacerSpec {
    /// Returns whether the pacer is `None`, which does nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::None {}
    }

    /// Returns the size of acknowledgement packets, in bytes; `None` if acknowledgements are not packets.
    pub fn ack_size(&self) -> Option<u32> {
        match self {
            Self::None {} => None,
            // `check` has verified that it is at most a packet's size.
            Self::Window(spec) => spec.ack_size.map(|size| size.0 as u32),
        }
    }

    /// Checks the pacer for a workload whose largest packet has `packet` bytes.
    ///
    /// # Errors
    /// A window that holds no packet, and an acknowledgement that is larger than a packet.
    pub fn check(&self, packet: u32) -> Result<(), KeyError> {
        let Self::Window(WindowSpec { window, ack_size }) = self else { return Ok(()) };
        let packet = Bytes(u64::from(packet));
        if *window < packet {
            let message = format!(
                "{window} is less than one packet of {packet}, so that none could be sent; at least {packet} are allowed"
            );
            return Err(KeyError::new("window", message));
        }
        match ack_size {
            Some(size) if *size > packet => {
                let message = format!("{size} is more than one packet of {packet}: at most {packet} are allowed");
                Err(KeyError::new("ack_size", message))
            }
            _ => Ok(()),
        }
    }

    /// Creates the pacer for the flows of some nodes; returns `None` if every packet may leave.
    pub fn build(&self) -> Option<Box<dyn Pacer>> {
        match self {
            Self::None {} => None,
            Self::Window(spec) => Some(Box::new(Window::new(spec.window.0))),
        }
    }
}
