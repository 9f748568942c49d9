//! The placement of tasks: machines, metrics, strategies, applications.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

mod applications;
mod forwarding;
mod graphml;
mod infragraph;
mod machines;
mod metrics;
mod named;
mod networks;
mod strategies;
