//! The sizes of messages of a benchmark, and the keys that most benchmarks have.
//!
//! These keys stand in each benchmark's section anew: serde cannot deny unknown keys beside a flattened struct, and their words and what
//! they are without being written differ.

use units::{Bytes, Time};

use super::timed::Repetition;
use crate::PatternError;

/// The largest message.
const LARGEST: u64 = 1 << 30;

/// The most sizes.
const MOST_SIZES: usize = 256;

/// The most messages of a rank in an iteration.
pub(super) const MOST_WINDOW: u32 = 1 << 20;

/// The powers of two up to 4 MiB, from no byte on as IMB has them, or from one byte on as the OSU benchmarks do.
pub(super) fn powers(with_none: bool) -> Vec<Bytes> {
    let none = with_none.then_some(Bytes(0));
    none.into_iter().chain((0..=22).map(|power| Bytes(1 << power))).collect()
}

/// Checks sizes and numbers of iterations.
///
/// # Errors
/// What is out of range, at its key.
pub(super) fn repetition(
    sizes: &[Bytes],
    (measured, warm_up): (u32, u32),
    settle: Time,
) -> Result<Repetition, PatternError> {
    if sizes.is_empty() || sizes.len() > MOST_SIZES {
        let message = format!("there are {}: 1 to {MOST_SIZES} sizes are allowed", sizes.len());
        return Err(PatternError::new("sizes", message));
    }
    if let Some(size) = sizes.iter().find(|size| size.0 > LARGEST) {
        return Err(PatternError::new("sizes", format!("{size} is out of range: 0 B to 1 GiB are allowed")));
    }
    Ok(Repetition { sizes: sizes.iter().map(|size| size.0).collect(), measured, warm_up, settle })
}

/// Checks the two ranks of a benchmark of a pair.
///
/// # Errors
/// A rank that does not exist, or twice the same.
pub(super) fn check_pair(pair: [u32; 2], ranks: u32) -> Result<(), PatternError> {
    if ranks < 2 {
        return Err(PatternError::new("kind", format!("a benchmark of a pair needs two ranks, and there is {ranks}")));
    }
    if let Some(absent) = pair.iter().find(|&&rank| rank >= ranks) {
        return Err(PatternError::new("pair", format!("there is no rank {absent}: 0 to {} are allowed", ranks - 1)));
    }
    if pair[0] == pair[1] {
        return Err(PatternError::new("pair", format!("a pair is two ranks, and it is rank {} twice", pair[0])));
    }
    Ok(())
}
