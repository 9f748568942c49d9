//! Who sends what when, as data: traffic patterns and injection processes.

pub mod injection;
mod pattern;
pub mod patterns;

pub use pattern::{Pattern, PatternError};
