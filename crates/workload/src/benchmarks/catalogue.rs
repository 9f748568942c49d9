//! The benchmarks, as the experiment file names them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Benchmark, wicon, wocon};
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
    /// A rank that does not exist, fewer than two ranks, more operations than a schedule may have.
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

/// The most operations of a benchmark: each takes some 150 bytes to build, and 50 of every thread that runs it.
const MOST: u64 = 1 << 24;

/// Refuses what is too little to measure or too much to hold: a round trip is four operations.
pub(super) fn check_size(pairs: u64, ranks: u32, messages: u32) -> Result<(), PatternError> {
    if pairs == 0 {
        let message = format!("a benchmark needs two ranks, and there is {ranks}");
        return Err(PatternError::new("kind", message));
    }
    let most = MOST / (4 * pairs);
    if u64::from(messages) > most {
        let message = format!("{messages} round trips of {pairs} pairs are too many: up to {most} are supported");
        return Err(PatternError::new("messages", message));
    }
    Ok(())
}
