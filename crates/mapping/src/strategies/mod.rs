//! The strategies, one file each, and their catalogue.

pub mod affinity;
mod annealing;
mod axes;
mod catalogue;
mod embedding;
mod grids;
mod layout;
mod near;
mod simple;

pub use catalogue::{StrategyName, map};
