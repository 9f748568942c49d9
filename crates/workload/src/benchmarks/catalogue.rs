//! The benchmarks, as the experiment file names them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::round_trips::Benchmark;
use super::{wicon, wocon};
use crate::PatternError;

/// A benchmark of message latency, and its keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(rename = "Benchmark")]
pub enum BenchmarkSpec {
    /// Without contention: one rank exchanges messages with every other, one at a time.
    Wocon(wocon::WoconSpec),
    /// With contention: all ranks exchange messages in pairs, at once.
    Wicon(wicon::WiconSpec),
}

impl Default for BenchmarkSpec {
    fn default() -> Self {
        Self::Wocon(wocon::WoconSpec::default())
    }
}

impl BenchmarkSpec {
    /// The benchmark among so many ranks; `seed` is the experiment's.
    ///
    /// # Errors
    /// A rank that does not exist, fewer than two ranks, more round trips than a benchmark may have.
    pub fn build(&self, ranks: u32, seed: u64) -> Result<Benchmark, PatternError> {
        match self {
            Self::Wocon(spec) => wocon::build(spec, ranks),
            Self::Wicon(spec) => wicon::build(spec, ranks, seed),
        }
    }

    /// The benchmark's name as the experiment file writes it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Wocon(_) => wocon::KIND,
            Self::Wicon(_) => wicon::KIND,
        }
    }

    /// The size of a message, in bytes.
    pub const fn message_size(&self) -> u64 {
        match self {
            Self::Wocon(spec) => spec.message_size.0,
            Self::Wicon(spec) => spec.message_size.0,
        }
    }
}
