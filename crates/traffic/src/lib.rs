#![doc = include_str!("../README.md")]
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
pub use pattern::{Pattern, Shares, Spread};
pub use placed::PlacedPattern;
pub use placement::{Placement, PlacementFile, PlacementSpec, TasksPerNode};
pub use shape::Shape;
