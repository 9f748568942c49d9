//! MPI: calls, collective operations, schedules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

mod calls;
mod collectives;
mod schedule;
