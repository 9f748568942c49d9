//! The typed experiment, the built system, the run and its result.

mod experiment;

pub use experiment::*;
