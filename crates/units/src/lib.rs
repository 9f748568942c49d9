#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod arithmetic;
pub mod cycle;
mod draw;
mod grid;
mod ids;
pub mod input;
mod key_error;
mod located_error;
mod notes;
mod quantity;
mod reason;
mod record;
mod shortened;
mod spelling;
mod state;
mod stream;

pub use arithmetic::{Arithmetic, ElementType, Operator, Reference};
pub use draw::{Draw, shuffle, unit_of};
pub use grid::{Boundary, Direction};
pub use ids::{ChannelId, NodeId, PlaneId, PortId, RouterId, TaskId, VcClass};
pub use key_error::{KeyError, KeyResult};
pub use located_error::LocatedError;
pub use notes::{Notes, counted};
pub use quantity::{Bandwidth, Bytes, Capacity, Duration, Length, Power, QuantityError, Time};
pub use reason::reason;
pub use record::{Record, take_all};
pub use shortened::{abridged, shortened};
pub use state::{State, take_count};
pub use stream::NamedStream;
