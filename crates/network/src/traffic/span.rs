//! Period in which a job sends.

/// Period in which a job sends, in ticks. Packets generated before the end are still sent.
pub type Span = std::ops::Range<u64>;
