//! Stochastic traffic: patterns, injection processes, multicast sets, placements and pacers.
//!
//! A pattern determines the destination of a task's next message and gives exact probabilities of destinations. An
//! injection process determines when a message is generated. Patterns know networks only by their shape, and injection
//! processes know simulated time only as ticks.

#![forbid(unsafe_code)]

mod catalogue;
mod injection;
pub mod multicast;
pub mod pacers;
mod pattern;
pub mod patterns;
mod placed;
mod placement;
mod shape;

pub use catalogue::{PatternEntry, PatternSpec, list};
pub use injection::{Injection, InjectionError, InjectionSpec, InjectionState};
pub use pattern::{Pattern, PatternError, Shares, Spread};
pub use placed::PlacedPattern;
pub use placement::{Placement, PlacementFile, PlacementSpec, TasksPerNode};
pub use shape::Shape;
