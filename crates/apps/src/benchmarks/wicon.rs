//! WICON: all ranks exchange messages in pairs, at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Draw, KeyError};

use super::round_trips::{Benchmark, benchmark, check_size};
use units::NamedStream;

/// Messages with contention, between pairs of ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WiconSpec {
    /// Partner of each rank.
    pub pairs: PairsSpec,
    /// Number of round trips of each pair.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub messages: u32,
    /// Size of a message.
    #[schemars(extend("minimum" = 1))]
    pub message_size: Bytes,
}

/// Partner of each rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PairsSpec {
    /// Ranks whose numbers differ by one: 0 and 1, 2 and 3, and so on. With the placement `round-robin` on a torus the
    /// ranks of a pair are one channel apart, if the first dimension is even.
    #[default]
    NearNeighbour,
    /// Random pairs, drawn from the experiment's seed.
    Random,
}

/// Name in the experiment file.
pub(super) const KIND: &str = "wicon";

impl Default for WiconSpec {
    fn default() -> Self {
        Self { pairs: PairsSpec::default(), messages: 10, message_size: Bytes(1024) }
    }
}

/// Builds the benchmark for `ranks` ranks. If their number is odd, one rank has no partner and is idle.
///
/// # Errors
/// [`KeyError`] for fewer than two ranks and for too many messages.
pub(super) fn build(spec: &WiconSpec, ranks: u32, seed: u64) -> Result<Benchmark, KeyError> {
    check_size(u64::from(ranks / 2), ranks, spec.messages)?;
    let mut order: Vec<u32> = (0..ranks).collect();
    if spec.pairs == PairsSpec::Random {
        let mut draw = NamedStream::new(seed, "wicon");
        for last in (1..ranks).rev() {
            order.swap(last as usize, draw.below(last + 1) as usize);
        }
    }
    // The smaller rank of a pair begins.
    let mut pairs: Vec<_> = order.chunks_exact(2).map(|pair| (pair[0].min(pair[1]), pair[0].max(pair[1]))).collect();
    pairs.sort_unstable();
    let mut parts = vec![0..0; ranks as usize];
    for (pair, &(one, other)) in (0..).zip(&pairs) {
        [one, other].iter().for_each(|&rank| parts[rank as usize] = pair..pair + 1);
    }
    Ok(benchmark(ranks, pairs, (spec.messages, spec.message_size.0), move |rank| parts[rank as usize].clone()))
}
