//! Limits of traces.

/// Largest number of ranks.
pub const MOST_RANKS: u32 = 1 << 24;

/// Largest message in bytes.
pub const LARGEST: u64 = 1 << 40;
