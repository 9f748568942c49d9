//! Flat network: a machine that carries whole messages over a delay and a bandwidth, without routers.

mod machine;
mod volumes;
mod worker;

pub use machine::{FlatJob, build};
