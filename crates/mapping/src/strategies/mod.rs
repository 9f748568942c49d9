//! The strategies, one file each, and their catalogue.

pub mod affinity;
mod catalogue;
mod simple;

pub use catalogue::{StrategyName, map};
