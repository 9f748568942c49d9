//! The typed experiment, the built system, the run and its result.
//!
//! `Experiment` reads a file and gives its points; `System::build` makes one of them into a topology, a routing, a
//! pattern and a plan; `check` and `analyze` say what can be said without simulating; `run` and `saturation` simulate.

mod analysis;
mod application;
mod benchmark;
mod clock;
mod closed;
mod experiment;
mod looks;
mod machine;
mod memory;
mod path_sample;
mod point;
mod progress;
mod proofs;
mod result;
mod run;
mod scheduled;
mod search;
mod sources;
mod system;
pub mod traffic;

pub use analysis::{Analysis, BindingChannel, Check, ClassLoads, analyze, check, loads};
pub use application::{ApplicationResult, MappingFigures};
pub use benchmark::{BenchmarkResult, PairResult};
pub use closed::{ClosedResult, PhaseResult};
pub use experiment::*;
pub use point::{PointError, analyze_point, check_point, run_point};
pub use progress::{Phase, Progress};
pub use result::{ChannelUtilization, ClassUtilization, PointResult};
pub use run::{RunError, RunOptions, SATURATED_BELOW, run};
pub use search::saturation;
pub use system::{Closed, System, SystemError, Volumes};
