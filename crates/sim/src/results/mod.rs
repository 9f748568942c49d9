//! What runs measure, as plain data with units in the names.

pub(crate) mod channels;
mod closed;
mod latencies;
mod messages;
mod point;
mod ranks;
mod series;
mod warning;

pub use channels::{ChannelUtilization, ClassUtilization};
pub use closed::{ApplicationResult, ClosedResult, MappingFigures, PhaseResult};
pub(crate) use latencies::Latencies;
pub use messages::{Distribution, MessageFigures, MessageResult, MessageSize};
pub use point::{JobResult, PointResult};
pub use ranks::{BenchmarkResult, PairResult};
pub use series::{QueueSeries, SeriesResult};
pub use warning::Warning;
