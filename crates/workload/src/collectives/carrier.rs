//! Who carries collective operations out: one choice for all of a program.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who carries collective operations out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// Switches, those operations that they serve; the others are made of messages.
    Hardware,
    /// The processors of ranks, by messages.
    Software,
    /// The processors of network interfaces, by messages: ranks hand an operation over and are notified of its end.
    Nic,
}

impl Carrier {
    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Software => "software",
            Self::Nic => "nic",
        }
    }
}
