//! Backends of collective operations. A program has one backend for all its operations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Backend that carries out the collective operations of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectiveBackend {
    /// Switches carry out the operations that they support. All other operations are made of messages.
    Hardware,
    /// Processors of ranks, by messages.
    Software,
    /// Processors of network interfaces, by messages. A rank hands an operation over and is notified of its end.
    Nic,
}

impl CollectiveBackend {
    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Software => "software",
            Self::Nic => "nic",
        }
    }
}
