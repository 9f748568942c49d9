//! Results of runs as plain data. Names of fields end in their units.

pub mod channels;
mod closed;
mod collective;
mod latencies;
mod messages;
mod point;
mod ranks;
mod series;
mod time;
mod warning;

pub use channels::{ChannelUtilization, ClassUtilization};
pub use closed::{ApplicationResult, ClosedResult, MappingFigures, PhaseResult, StepsResult};
pub use collective::CollectiveResult;
pub use latencies::Latencies;
pub use messages::{Distribution, MessageFigures, MessageResult, MessageSize};
pub use point::{JobResult, PointResult};
pub use ranks::{
    BenchmarkResult, GroupsResult, MeasureResult, MeasuredTimes, PairResult, ProgramResult, RowResult, TableResult,
};
pub use series::{QueueSeries, SeriesResult};
pub use time::{
    BreakdownMean, BreakdownRanks, BreakdownResult, CriticalPathResult, PathClass, TimelineMessages, TimelinePath,
    TimelineResult,
};
pub use warning::Warning;

/// Returns the JSON Schema of a point's result.
pub fn result_schema() -> serde_json::Value {
    // The schema of serialization, in which fields that are omitted when empty are optional.
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<PointResult>().to_value()
}
