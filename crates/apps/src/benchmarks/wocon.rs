//! WOCON: one rank exchanges messages with every other rank, one at a time, on an idle network.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError};

use super::round_trips::{Benchmark, benchmark, check_size};

/// Messages without contention, between one rank and all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WoconSpec {
    /// Rank that exchanges messages with every other rank.
    pub master: u32,
    /// Number of round trips with each rank.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub messages: u32,
    /// Size of a message.
    #[schemars(extend("minimum" = 1))]
    pub message_size: Bytes,
}

/// Name in the experiment file.
pub(super) const KIND: &str = "wocon";

impl Default for WoconSpec {
    fn default() -> Self {
        Self { master: 0, messages: 1, message_size: Bytes(1024) }
    }
}

/// Builds the benchmark for `ranks` ranks.
///
/// # Errors
/// [`KeyError`] for a master that does not exist, fewer than two ranks, and too many messages.
pub(super) fn build(spec: &WoconSpec, ranks: u32) -> Result<Benchmark, KeyError> {
    if spec.master >= ranks {
        let last = ranks.saturating_sub(1);
        return Err(KeyError::new("master", format!("there is no rank {}: 0 to {last} are allowed", spec.master)));
    }
    check_size(u64::from(ranks.saturating_sub(1)), ranks, spec.messages)?;
    let master = spec.master;
    let pairs: Vec<_> = (0..ranks).filter(|&rank| rank != master).map(|rank| (master, rank)).collect();
    let part = move |rank: u32| match rank.cmp(&master) {
        Ordering::Equal => 0..ranks - 1,
        Ordering::Less => rank..rank + 1,
        Ordering::Greater => rank - 1..rank,
    };
    Ok(benchmark(ranks, pairs, (spec.messages, spec.message_size.0), part))
}
