//! What runs measure, as plain data with units in the names.

pub(crate) mod channels;
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
pub(crate) use latencies::Latencies;
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

/// The JSON Schema of a point's result: what it measures, with units in the names.
pub fn result_schema() -> serde_json::Value {
    // As results are written: what is left out where there is nothing need not be there.
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<PointResult>().to_value()
}
