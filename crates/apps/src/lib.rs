#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod benchmarks;
pub mod message_driven;
pub mod motifs;
mod program_pattern;

pub use program_pattern::pattern_of;
