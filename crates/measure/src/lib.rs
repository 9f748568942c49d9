//! Results of runs as plain data, and the measurements that fill them.
//!
//! [`PointResult`] is the result of a point; names of fields end in their units. [`MessageTimes`] are the latencies and
//! idle times of messages, [`Series`] what happens over time, and [`activity`] says where the time of ranks goes.

#![forbid(unsafe_code)]

pub mod activity;
mod messages;
pub mod perfetto;
mod results;
mod series;

pub use messages::{Arrived, MessageTimes, direct_routing};
pub use results::{
    ApplicationResult, BenchmarkResult, BreakdownMean, BreakdownRanks, BreakdownResult, ChannelUtilization,
    ClassUtilization, ClosedResult, CollectiveResult, CriticalPathResult, Distribution, GroupsResult, JobResult,
    Latencies, MappingFigures, MeasureResult, MeasuredTimes, MessageFigures, MessageResult, MessageSize, PairResult,
    PathClass, PhaseResult, PointResult, ProgramResult, QueueSeries, RowResult, SeriesResult, StepsResult, TableResult,
    TimelineMessages, TimelinePath, TimelineResult, Warning, channels, result_schema,
};
pub use series::Series;
