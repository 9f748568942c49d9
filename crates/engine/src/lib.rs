#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod bits;
mod calendar;
mod exchange;
mod prefetch;
pub mod statistics;
mod stream;
mod sync;
mod wheel;
mod windows;

pub use bits::Bits;
pub use calendar::Calendar;
pub use exchange::{Alone, Exchange, Peer};
pub use prefetch::read_through;
pub use stream::{Owner, Stream, split_mix};
pub use wheel::{Event, Instant, Wheel};
pub use windows::{BetweenWindows, Pool, SpinBarrier};
