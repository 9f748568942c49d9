//! The topologies: the contract suite, closed forms, known figures.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

mod bisection;
mod catalogue;
mod channels;
mod dragonfly;
mod fat_tree;
mod file;
mod grid;
mod grids;
mod hyperx;
mod machines;
mod multiplied;
mod networks;
mod planes;
mod router_classes;
mod twisted;
mod wired;
mod xgft;
