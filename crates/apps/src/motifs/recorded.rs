//! Recorded traces of real programs, as keys of an experiment.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::KeyError;

use super::limits::{check_ending, check_room, shown};
use super::program_context::ProgramContext;
use mpi::program::Programs;
use traces::recorded::{LARGEST_SCALE, Replay, Trace};

/// Recorded trace and its replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// Path of the file, relative to the experiment file.
    pub file: PathBuf,
    /// Replay wildcard receives (any source, any tag) as wildcards. If false, they receive the messages that they
    /// matched in the recorded run.
    #[serde(default)]
    pub wildcards: bool,
    /// Factor on the durations of calculations. 0.5 is a processor twice as fast as that of the recording.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    #[serde(default = "one")]
    pub compute_scale: f64,
}

const fn one() -> f64 {
    1.0
}

impl TraceSpec {
    /// Builds the program of the trace.
    pub(super) fn build(&self, context: &ProgramContext<'_>) -> Result<Arc<dyn Programs>, KeyError> {
        let name = shown(&self.file);
        let wrong = |message: String| KeyError::new("file", format!("{name}: {message}"));
        if !(0.0..=LARGEST_SCALE).contains(&self.compute_scale) {
            let message = format!("{} is out of range: 0 to {LARGEST_SCALE} are allowed", self.compute_scale);
            return Err(KeyError::new("compute_scale", message));
        }
        let replay = Replay { wildcards: self.wildcards, compute_scale: self.compute_scale, backend: context.backend };
        // A recording may have any name, so that the ending only explains why it cannot be read.
        let not_read = |error: String| check_ending(&self.file, "trace").err().unwrap_or_else(|| wrong(error));
        let trace = Trace::open(&context.base.join(&self.file), replay).map_err(|error| not_read(error.to_string()))?;
        check_room(trace.ranks(), context.node_of.len() as u32).map_err(wrong)?;
        Ok(Arc::new(trace.on_nodes(context.node_of, context.interconnect)))
    }
}
