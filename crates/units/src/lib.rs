//! Picoseconds, bytes, bandwidths and identifiers, and their text form.
//!
//! Every quantity with a dimension has its own type, held as an integer in its smallest unit: quantities of different
//! dimensions cannot be mixed, and nothing is ever rounded silently. In an experiment file a quantity is a string with
//! its unit (`"40 Gb/s"`, `"4 KiB"`, `"20 ns"`); `b` is bit, `B` is byte, `k` is 1000 and `Ki` is 1024.
//!
//! The crate also holds what all crates need and none owns: the interface of random streams, the search for cycles,
//! operators on numbers, input files (`input`), omissions of their readers (`Notes`), and texts of messages.

#![forbid(unsafe_code)]

mod arithmetic;
pub mod cycle;
mod draw;
mod ids;
pub mod input;
mod notes;
mod quantity;
mod reason;
mod shortened;
mod spelling;
mod stream;

pub use arithmetic::{Arithmetic, ElementType, Operator, Reference};
pub use draw::{Draw, unit_of};
pub use ids::{ChannelId, NodeId, PlaneId, PortId, RouterId, TaskId, VcClass};
pub use notes::{Notes, counted};
pub use quantity::{Bandwidth, Bytes, Capacity, QuantityError, Time};
pub use reason::reason;
pub use shortened::shortened;
pub use stream::NamedStream;
