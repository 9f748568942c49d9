//! The last time that the clock of a simulation holds.
//!
//! Times are picoseconds, or ticks of more, in 64 bits. What happens later than the present, such as the arrival of what leaves now,
//! has to fit too, so that a run has half of them. What certainly takes longer is refused when a system is built; what turns out to,
//! since nobody knows beforehand what waits for what, ends with `RunError::Clock`.

use units::Time;

/// A second, in picoseconds.
const SECOND: u64 = 1_000_000_000_000;

/// The last time that a run may reach: 104 days, below 2^63 ps.
pub(crate) const LAST_TIME: Time = Time(9_000_000 * SECOND);

/// The longest time that a run may be given: the rest is for what was sent before its end to arrive.
pub(crate) const LONGEST_RUN: Time = Time(8_000_000 * SECOND);

/// A long time in whole seconds, rounded down.
pub(crate) fn seconds(picoseconds: u64) -> Time {
    Time(picoseconds / SECOND * SECOND)
}
