//! Results of runs as plain data. Names of fields end in their units.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

pub mod channels;
mod closed;
mod collective;
mod latencies;
mod messages;
mod open;
mod point;
mod processes;
mod quantiles;
mod ranks;
mod reuse;
mod series;
mod time;
mod validation;
mod warning;

pub use channels::{ChannelUtilization, ClassUtilization};
pub use closed::{ApplicationResult, ClosedResult, MappingFigures, PhaseResult, StepsResult};
pub use collective::CollectiveResult;
pub use latencies::Latencies;
pub use messages::{Distribution, LoggedMessage, MessageFigures, MessageResult, MessageSize};
pub use open::OpenResult;
pub use point::{JobResult, KindResult, Listed, PointResult};
pub use processes::ProcessesResult;
pub use quantiles::Quantiles;
pub use ranks::{
    BenchmarkResult, GroupsResult, MeasureResult, MeasuredTimes, PairResult, ProgramResult, RelaysResult, RowResult,
    TableResult,
};
pub use reuse::ReuseResult;
pub use series::{QueueSeries, SeriesResult};
pub use time::{
    BreakdownMean, BreakdownRanks, BreakdownResult, CriticalPathResult, Explained, PathClass, TimelineMessages,
    TimelinePath, TimelineResult,
};
pub use validation::ValidationResult;
pub use warning::Warning;

/// Returns the JSON Schema of a point's result. Its key `x-kinds` lists the kinds of results, general ones first: the
/// name of a kind, the phrase for a point of the kind, its quantities without those of more special kinds, and those of
/// them that each of its points has.
pub fn result_schema() -> Value {
    let mut schema = schema_of::<PointResult>();
    let all = [
        (["open traffic", "open traffic"], schema_of::<OpenResult>()),
        (["workloads that finish", "a workload that finishes"], schema_of::<ClosedResult>()),
        (["groups in routers", "a workload with groups in routers"], schema_of::<GroupsResult>()),
        (["multicasts and operations at a rate", "operations at a rate"], schema_of::<CollectiveResult>()),
        (["applications", "an application"], schema_of::<ApplicationResult>()),
        (["applications with a table of hops", "an application"], schema_of::<MappingFigures>()),
        (["message-driven applications", "a message-driven application"], schema_of::<StepsResult>()),
        (["programs", "a program"], schema_of::<ProgramResult>()),
        (["programs that measure times", "a program"], schema_of::<MeasuredTimes>()),
        (["benchmarks of message latency", "a benchmark"], schema_of::<BenchmarkResult>()),
        (["benchmarks with a table", "a benchmark"], schema_of::<TableResult>()),
    ];
    let names = all.each_ref().map(|(_, schema)| properties(schema));
    let kinds = all.iter().zip(&names).map(|(([name, point], schema), own)| {
        let is_part = |other: &&BTreeSet<String>| other.len() < own.len() && other.is_subset(own);
        let parts: BTreeSet<&String> = names.iter().filter(is_part).flatten().collect();
        let quantities: Vec<&String> = own.iter().filter(|name| !parts.contains(name)).collect();
        let is_own = |held: &&Value| quantities.iter().any(|name| held == &name.as_str());
        let required: Vec<&Value> = schema["required"].as_array().into_iter().flatten().filter(is_own).collect();
        json!({ "name": name, "point": point, "quantities": quantities, "required": required })
    });
    schema["x-kinds"] = kinds.collect();
    schema
}

/// Returns the names of the properties of a schema.
fn properties(schema: &Value) -> BTreeSet<String> {
    schema["properties"].as_object().into_iter().flat_map(|held| held.keys().cloned()).collect()
}

/// Returns the JSON Schema of a type as it is written. Fields that are omitted when empty are optional.
fn schema_of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<T>().to_value()
}
