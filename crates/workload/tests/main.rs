//! Workloads: patterns, placements, programs, collective operations, task graphs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

mod calls;
mod catalogue;
mod chakra;
mod collectives;
mod hostile;
mod lammps;
mod patterns;
mod placement;
mod programs;
mod schedule;
mod tasks;
