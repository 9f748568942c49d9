//! From when until when a job sends.

/// From when until when a job sends, in ticks: packets generated before the end still go.
pub type Span = std::ops::Range<u64>;
