//! Last time that the simulation clock holds.
//!
//! Times are picoseconds, or longer ticks, in 64 bits. Events later than the present, such as the arrival of a packet
//! that leaves now, have to fit too, so a run may use half of the range. A run that certainly takes longer is refused
//! when its system is built. A run that turns out to take longer ends with `RunError::Clock`, since the time of a run
//! is not known in advance.

use units::Time;

/// One second, in picoseconds.
const SECOND: u64 = 1_000_000_000_000;

/// Last time that a run may reach: 104 days, below 2^63 ps.
pub(crate) const LAST_TIME: Time = Time(9_000_000 * SECOND);

/// Longest time that a run may be given. The rest is for packets sent before the end to arrive.
pub(crate) const LONGEST_RUN: Time = Time(8_000_000 * SECOND);

/// Rounds a long time down to whole seconds.
pub(crate) fn seconds(picoseconds: u64) -> Time {
    Time(picoseconds / SECOND * SECOND)
}
