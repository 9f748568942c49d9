//! Incast: all ranks send to a single rank, which receives from any source.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError};

use super::{Motif, send};
use mpi::program::{Action, Burst, ScriptCall};

/// Incast: all ranks send to a single rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IncastSpec {
    /// Receiving rank.
    pub root: u32,
    /// Size of a message in bytes.
    #[schemars(extend("minimum" = 1))]
    pub message_size: Bytes,
    /// Messages from each other rank. It sends the next one when the previous one has been handed to the network
    /// interface.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub messages: u32,
}

impl Default for IncastSpec {
    fn default() -> Self {
        Self { root: 0, message_size: Bytes(64 * 1024), messages: 1 }
    }
}

/// Incast among ranks.
#[derive(Debug)]
pub(super) struct Incast {
    spec: IncastSpec,
    /// Messages of all ranks.
    total: u32,
}

impl Incast {
    /// Creates the incast among `ranks` ranks.
    ///
    /// # Errors
    /// A root that does not exist, a single rank, or more messages than the limit.
    pub fn new(spec: &IncastSpec, ranks: u32) -> Result<Self, KeyError> {
        if spec.root >= ranks {
            let message = format!("there is no rank {}: 0 to {} are allowed", spec.root, ranks.saturating_sub(1));
            return Err(KeyError::new("root", message));
        }
        if ranks < 2 {
            return Err(KeyError::new("kind", "an incast needs two ranks, and there is one".to_owned()));
        }
        let total = spec.messages.checked_mul(ranks - 1).filter(|&total| total <= MOST);
        let total = total.ok_or_else(|| {
            let message =
                format!("{} from each of {} ranks are too many: up to {MOST} in all", spec.messages, ranks - 1);
            KeyError::new("messages", message)
        })?;
        Ok(Self { spec: spec.clone(), total })
    }
}

/// Largest number of messages. The root has a receive for each.
const MOST: u32 = 1 << 24;

impl Motif for Incast {
    fn rounds(&self) -> u32 {
        self.spec.messages
    }

    fn repeats(&self) -> bool {
        true
    }

    fn round(&self, rank: u32, round: u32, calls: &mut Vec<ScriptCall>) {
        let IncastSpec { root, message_size: Bytes(bytes), .. } = self.spec;
        if rank != root {
            calls.extend([send(root, bytes, 0), ScriptCall::WaitAll]);
        } else if round == 0 {
            let first = Action::recv(None, bytes, Some(0));
            calls.push(ScriptCall::Burst(Burst { first, count: self.total, stride: 0 }));
        }
    }
}
