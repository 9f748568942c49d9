//! Workloads, as data: traffic patterns, injection processes, placements, programs, schedules and task graphs.
//!
//! A pattern says to which task a task's next message goes and, exactly, with which probability; an injection process says
//! when the message is generated. Neither depends on networks beyond their shape, nor on simulated time beyond ticks.

pub mod benchmarks;
mod catalogue;
pub mod collectives;
pub mod communicator;
mod injection;
pub mod message_driven;
pub mod motifs;
pub mod multicast;
mod pattern;
pub mod patterns;
mod placed;
mod placement;
pub mod program;
mod rows;
pub mod schedule;
mod shape;
mod stream;
pub mod tasks;

pub use catalogue::{PatternEntry, PatternSpec, list};
pub use injection::{Injection, InjectionError, InjectionSpec, InjectionState};
pub use pattern::{Pattern, PatternError, Shares, Spread};
pub use placed::PlacedPattern;
pub use placement::{Placement, PlacementFile, PlacementSpec, TasksPerNode};
pub use shape::Shape;
pub use stream::Stream;
