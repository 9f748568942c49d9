//! Typed experiments, built systems, runs and results.
//!
//! `Experiment` reads a file and yields its points. `System::build` turns a point into a topology, a routing, a pattern
//! and a plan. `check` and `analyze` work without simulation. `run` and `saturation` simulate.

#![forbid(unsafe_code)]

mod allocation;
mod analysis;
mod clock;
mod completed;
mod credit_bound;
mod detours;
mod effort;
mod error;
mod experiment;
mod flat;
mod groups;
mod job;
mod last_time;
mod loads;
mod memory;
mod open_rates;
mod parts;
mod path_sample;
mod point;
mod progress;
mod proofs;
mod rank_messages;
mod router_memory;
mod routing_table;
mod run;
mod shared_interfaces;
mod starvation;
mod system;
mod warnings;
mod workloads;

pub use ::experiment::*;
pub use ::network::{Machine, Network, Packets, Part, Sample, SourceWaits, traffic};
pub use ::traffic::pacers::{PacerError, PacerSpec, WindowSpec};
pub use analysis::{Analysis, BindingChannel, Check, ClassLoads, analyze, check};
pub use completed::{Completed, completed};
pub use engine::statistics::{student_quantile, student_tail};
pub use error::SystemError;
pub use experiment::Experiment;
pub use job::Job;
pub use loads::{LoadsKind, loads};
pub use measure::{
    ApplicationResult, BenchmarkResult, BreakdownMean, BreakdownRanks, BreakdownResult, ChannelUtilization,
    ClassUtilization, ClosedResult, CriticalPathResult, Distribution, GroupsResult, JobResult, MappingFigures,
    MeasureResult, MeasuredTimes, MessageFigures, MessageResult, MessageSize, PairResult, PathClass, PhaseResult,
    PointResult, QueueSeries, RowResult, SeriesResult, StepsResult, TableResult, TimelineMessages, TimelinePath,
    TimelineResult, Warning, perfetto, result_schema,
};
pub use parts::GivenPrograms;
pub use point::{PointError, analyze_point, check_point, job_loads_of_point, program_of, run_point, validate_point};
pub use progress::{Phase, Progress};
pub use router_memory::{BufferSpan, RouterMemory};
pub use routing_table::routing_table;
pub use run::outcome::{RunError, RunOptions};
pub use run::{run, saturation};
pub use system::System;
pub use warnings::warnings;
pub use workloads::{
    Counts, Course, Extent, OperationVolumes, SATURATED_BELOW, SetLoads, Setting, State, Totals, Workload,
};
