//! Routings: the contract suite, closed forms, naive enumeration; and the trees of groups.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "a test may fail")]

mod catalogue;
mod cliques;
mod common;
mod detours;
mod dragonfly;
mod ecmp;
mod fat_tree;
mod faults;
mod grid;
mod group_detours;
mod levels;
mod opensm;
mod pair_paths;
mod polarized;
mod shortest_path;
mod table;
mod trees;
mod up_down;
mod worst;
mod xgft;
