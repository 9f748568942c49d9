//! The strategies, one file each, and their catalogue.

pub mod affinity;
mod annealing;
mod applications;
mod auto;
mod axes;
mod bisection;
mod catalogue;
mod channel_load;
mod classics;
mod domains;
mod dynamic;
mod embedding;
mod geometric;
mod greedy;
mod grids;
mod layout;
mod near;
mod partition;
mod parts;
mod prices;
mod repair;
mod simple;

pub use catalogue::{StrategyName, map};
