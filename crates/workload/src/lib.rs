//! Workloads, as data: traffic patterns, injection processes, placements, programs, schedules and task graphs.
//!
//! A pattern determines the destination of a task's next message and gives exact probabilities of destinations. An
//! injection process determines when a message is generated. Patterns know networks only by their shape, and injection
//! processes know simulated time only as ticks.

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
