#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod allocation;
mod build_cache;
mod cables;
mod capacity;
mod clock;
mod deadlocks;
mod files;
mod floor;
mod groups;
mod job;
mod last_time;
mod memory;
pub mod model;
mod networks;
mod ports;
mod progress;
mod proofs;
mod reuse;
mod run;
mod shared_interfaces;
mod system;
mod validation;
mod workloads;

pub use build_cache::{BuildCache, GivenPrograms};
pub use cables::{WithDelays, each_cable, with_delays};
pub use capacity::Capacities;
pub use clock::Stopwatch;
pub use floor::Floor;
pub use job::Job;
pub use memory::of_network as memory_of_network;
pub use networks::complete_delays;
pub use ports::connected_ports;
pub use progress::{Phase, Progress};
pub use proofs::Proofs;
pub use reuse::check_records;
pub use run::checkpoints::CheckpointPlace;
pub use run::outcome::{ReuseFiles, RunError, RunOptions};
pub use run::{division, most_runs, run, saturation, search, simulate};
pub use system::System;
pub use validation::{packet_point, validate};
pub use workloads::{
    Copies, DemandModel, JobCounts, OperationVolumes, RunContext, RunLength, RunState, RunTotals, SATURATED_BELOW,
    SetLoads, Weights, Workload, WorkloadRun,
};
