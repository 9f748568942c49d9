#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod collectives;
pub mod communicator;
pub mod program;
pub mod schedule;
