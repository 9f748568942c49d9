//! Sizes of messages of a benchmark, and checks of keys that most benchmarks have.
//!
//! Each benchmark's section defines these keys anew: serde cannot deny unknown keys beside a flattened struct, and
//! their documentation and defaults differ.

use units::{Bytes, KeyError, Time};

use super::timed::Repetition;

/// Maximum size of a message, in bytes.
const LARGEST: u64 = 1 << 30;

/// Maximum number of sizes.
const MOST_SIZES: usize = 256;

/// Maximum number of messages of a rank in an iteration.
pub(super) const MOST_WINDOW: u32 = 1 << 20;

/// Smallest default size of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Smallest {
    /// 0 B, as in IMB.
    Empty,
    /// 1 B, as in the OSU benchmarks.
    Byte,
}

/// Returns the powers of two up to 4 MiB, after 0 B if that is the smallest size.
pub(super) fn powers(smallest: Smallest) -> Vec<Bytes> {
    let none = (smallest == Smallest::Empty).then_some(Bytes(0));
    none.into_iter().chain((0..=22).map(|power| Bytes(1 << power))).collect()
}

/// Checks sizes, and returns them with the numbers of iterations and the pause `settle` after barriers.
///
/// # Errors
/// [`KeyError`] with the key `sizes` if their number or a size is out of range.
pub(super) fn repetition(
    sizes: &[Bytes],
    (measured, warm_up): (u32, u32),
    settle: Time,
) -> Result<Repetition, KeyError> {
    if sizes.is_empty() || sizes.len() > MOST_SIZES {
        let message = format!("there are {}: 1 to {MOST_SIZES} sizes are allowed", sizes.len());
        return Err(KeyError::new("sizes", message));
    }
    if let Some(size) = sizes.iter().find(|size| size.0 > LARGEST) {
        return Err(KeyError::new("sizes", format!("{size} is out of range: 0 B to 1 GiB are allowed")));
    }
    Ok(Repetition { sizes: sizes.iter().map(|size| size.0).collect(), measured, warm_up, settle })
}

/// Checks the two ranks of a benchmark of a pair.
///
/// # Errors
/// [`KeyError`] for a rank that does not exist and for two equal ranks.
pub(super) fn check_pair(pair: [u32; 2], ranks: u32) -> Result<(), KeyError> {
    if ranks < 2 {
        return Err(KeyError::new("kind", format!("a benchmark of a pair needs two ranks, and there is {ranks}")));
    }
    if let Some(absent) = pair.iter().find(|&&rank| rank >= ranks) {
        return Err(KeyError::new("pair", format!("there is no rank {absent}: 0 to {} are allowed", ranks - 1)));
    }
    if pair[0] == pair[1] {
        return Err(KeyError::new("pair", format!("a pair is two ranks, and it is rank {} twice", pair[0])));
    }
    Ok(())
}
