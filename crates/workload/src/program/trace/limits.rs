//! What a trace may have at most.

/// The most ranks.
pub const MOST_RANKS: u32 = 1 << 24;

/// The largest message in bytes.
pub const LARGEST: u64 = 1 << 40;
