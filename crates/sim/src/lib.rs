#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod completed;
mod experiment;
mod point;
mod routing_table;

pub use ::analysis::{
    Analysis, BindingChannel, BufferSpan, CableCount, CableUpgrade, Check, ClassLoads, ClassUpgrade, CostSums, Design,
    EffectiveBisection, LoadsKind, RouterMemory, SwitchCount, Upgrades, WorstCase, analyze, check, effective_bisection,
    forwarding_files, loads, warnings, worst_case,
};
pub use ::experiment::*;
pub use ::network::{Machine, Network, Packets, Part, Sample, SourceWaits, traffic};
pub use ::system::{
    CheckpointPlace, GivenPrograms, Job, JobCounts, OperationVolumes, Phase, Progress, ReuseFiles, RunContext,
    RunError, RunLength, RunOptions, RunState, RunTotals, SATURATED_BELOW, SetLoads, System, Workload, WorkloadRun,
    check_records, run, saturation,
};
pub use ::traffic::pacers::{PacerSpec, WindowSpec};
pub use completed::{Completed, completed};
pub use engine::statistics::{student_quantile, student_tail};
pub use experiment::Experiment;
pub use measure::{
    ApplicationResult, BenchmarkResult, BreakdownMean, BreakdownRanks, BreakdownResult, ChannelUtilization,
    ClassUtilization, ClosedResult, CriticalPathResult, Distribution, GroupsResult, JobResult, KindResult,
    MappingFigures, MeasureResult, MeasuredTimes, MessageFigures, MessageResult, MessageSize, OpenResult, PairResult,
    PathClass, PhaseResult, PointResult, QueueSeries, RowResult, SeriesResult, StepsResult, TableResult,
    TimelineMessages, TimelinePath, TimelineResult, Warning, perfetto, result_schema,
};
pub use point::{
    PointError, analyze_point, check_point, effective_bisection_of_point, forwarding_files_of_point,
    job_loads_of_point, program_of, run_point, validate_point, worst_case_of_point,
};
pub use routing_table::routing_table;
