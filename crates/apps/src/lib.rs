//! Programs of applications: communication motifs, benchmarks of MPI libraries, and message-driven programs.

#![forbid(unsafe_code)]

pub mod benchmarks;
pub mod message_driven;
pub mod motifs;
mod program_pattern;

pub use program_pattern::pattern_of;
