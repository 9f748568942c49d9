//! The pacers, as the experiment file names them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use super::Pacer;
use super::window::Window;

/// When the packets of a flow, from one node to another, may leave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PacerSpec {
    /// As soon as the node's link is free.
    None {},
    /// While what is sent and not acknowledged fits into a window.
    Window(WindowSpec),
}

/// A window of outstanding bytes for each flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowSpec {
    /// Bytes of a flow that may be sent and not acknowledged: at least a packet.
    #[schemars(extend("minimum" = 1))]
    pub window: Bytes,
    /// Size of an acknowledgement, a packet that the destination sends back through the network for each that arrives: at most
    /// `packet_size`. Without it acknowledgements load nothing, and come back after the delay of the idle path.
    #[schemars(extend("minimum" = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_size: Option<Bytes>,
}

/// What is wrong with a pacer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PacerError {
    /// The key below `pacer`.
    pub key: &'static str,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl Default for PacerSpec {
    fn default() -> Self {
        Self::None {}
    }
}

impl PacerSpec {
    /// Whether it is the one that does nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::None {}
    }

    /// Size in bytes of acknowledgements that are packets, if they are.
    pub fn ack_size(&self) -> Option<u32> {
        match self {
            Self::None {} => None,
            // Checked: not above the size of a packet.
            Self::Window(spec) => spec.ack_size.map(|size| size.0 as u32),
        }
    }

    /// Checks it for a workload whose largest packet has so many bytes.
    ///
    /// # Errors
    /// A window that holds no packet, and an acknowledgement that is larger than a packet.
    pub fn check(&self, packet: u32) -> Result<(), PacerError> {
        let Self::Window(WindowSpec { window, ack_size }) = self else { return Ok(()) };
        let packet = Bytes(u64::from(packet));
        if *window < packet {
            let message = format!(
                "{window} is less than one packet of {packet}, so that none could be sent; at least {packet} are allowed"
            );
            return Err(PacerError { key: "window", message });
        }
        match ack_size {
            Some(size) if *size > packet => {
                let message = format!("{size} is more than one packet of {packet}: at most {packet} are allowed");
                Err(PacerError { key: "ack_size", message })
            }
            _ => Ok(()),
        }
    }

    /// The pacer of some nodes' flows; none if there is nothing to decide.
    pub(crate) fn build(&self) -> Option<Box<dyn Pacer>> {
        match self {
            Self::None {} => None,
            Self::Window(spec) => Some(Box::new(Window::new(spec.window.0))),
        }
    }
}
