#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod activity;
mod messages;
pub mod perfetto;
mod results;
mod series;

pub use messages::{Arrived, MessageTimes, direct_routing};
pub use results::{
    ApplicationResult, BenchmarkResult, BreakdownMean, BreakdownRanks, BreakdownResult, ChannelUtilization,
    ClassUtilization, ClosedResult, CollectiveResult, CriticalPathResult, Distribution, Explained, GroupsResult,
    JobResult, KindResult, Latencies, Listed, LoggedMessage, MappingFigures, MeasureResult, MeasuredTimes,
    MessageFigures, MessageResult, MessageSize, OpenResult, PairResult, PathClass, PhaseResult, PointResult,
    ProcessesResult, ProgramResult, Quantiles, QueueSeries, RelaysResult, ReuseResult, RowResult, SeriesResult,
    StepsResult, TableResult, TimelineMessages, TimelinePath, TimelineResult, ValidationResult, Warning, channels,
    result_schema,
};
pub use series::Series;
