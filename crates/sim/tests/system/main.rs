//! The simulator as a whole: against theory, against its own analysis, and against itself on other numbers of threads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod application;
mod application_multicasts;
mod architectures;
mod benchmark;
mod benchmark_tables;
mod bounds;
mod cancelled;
mod carriers;
mod clock;
mod collective;
mod common;
mod credits;
mod defaults;
mod determinism;
mod dragonfly;
mod driven_groups;
mod fairness;
mod flat;
mod flat_jobs;
mod in_switch;
mod in_switch_limits;
mod in_switch_values;
mod interface;
mod jobs;
mod lammps;
mod message_driven;
mod messages;
mod multicast;
mod multicast_switch;
mod operations;
mod pacer;
mod planes;
mod product;
mod program;
mod protocols;
mod seeds;
mod series;
mod table;
mod theory;
mod timeline;
mod training;
mod warnings;
mod watchdog;
mod zero_load;
