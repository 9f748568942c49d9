//! What a real program has called, as an experiment names it.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{check_room, shown};
use super::site::ProgramSite;
use crate::PatternError;
use crate::program::Programs;
use crate::program::trace::{LARGEST_SCALE, Replay, Trace};

/// Where a trace is, and how it is replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// The file, relative to the experiment file.
    pub file: PathBuf,
    /// Whether receives that took messages from any rank, or under any tag, do so again. Without it they are for the messages that they met
    /// when the trace was recorded.
    #[serde(default)]
    pub wildcards: bool,
    /// What the times of calculations are multiplied by: 0.5 is a processor twice as fast as the one that recorded them.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    #[serde(default = "one")]
    pub compute_scale: f64,
}

const fn one() -> f64 {
    1.0
}

impl TraceSpec {
    /// The trace as a program.
    pub(super) fn build(&self, site: &ProgramSite<'_>) -> Result<Arc<dyn Programs>, PatternError> {
        let name = shown(&self.file);
        let wrong = |message: String| PatternError::new("file", format!("{name}: {message}"));
        if !(0.0..=LARGEST_SCALE).contains(&self.compute_scale) {
            let message = format!("{} is out of range: 0 to {LARGEST_SCALE} are allowed", self.compute_scale);
            return Err(PatternError::new("compute_scale", message));
        }
        let replay = Replay { wildcards: self.wildcards, compute_scale: self.compute_scale, carrier: site.carrier };
        let trace = Trace::open(&site.base.join(&self.file), replay).map_err(|error| wrong(error.to_string()))?;
        check_room(trace.ranks(), site.node_of.len() as u32).map_err(wrong)?;
        Ok(Arc::new(trace.on_nodes(site.node_of, site.unserved)))
    }
}
