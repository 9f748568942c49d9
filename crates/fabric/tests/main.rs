//! The fabric: every router on small networks, against conservation laws, naive models and saturated switches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

mod common;
mod conservation;
mod crosspoint_switch;
mod delivery;
mod division;
mod groups;
mod multicast;
mod multicast_switch;
mod order;
mod saturated;
