//! The strategies, one file each, and their catalogue.

mod catalogue;
mod simple;

pub use catalogue::{StrategyName, map};
