//! Clock, event wheel, lookahead windows, random streams and statistics. Independent of networks.
//!
//! Time is counted in *ticks*: the greatest common divisor of all times of an experiment. Where everything keeps step,
//! one slot of the wheel is one instant and nothing is ever sorted.

#![forbid(unsafe_code)]

mod bits;
mod calendar;
mod prefetch;
pub mod statistics;
mod stream;
mod sync;
mod wheel;
mod windows;

pub use bits::Bits;
pub use calendar::Calendar;
pub use prefetch::read_through;
pub use stream::{Owner, Stream, split_mix};
pub use wheel::{Event, Instant, Wheel};
pub use windows::{Pool, SpinBarrier};
