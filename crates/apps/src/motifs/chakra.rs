//! Chakra execution traces, as keys of an experiment.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{KeyError, KeyResult};

use super::limits::{check_ending, check_room, shown};
use super::program_context::ProgramContext;
use mpi::program::{Programs, calls};
use traces::chakra::{ChakraError, Options, open, read_groups};

/// Chakra execution traces and their replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChakraSpec {
    /// File of any rank, `PREFIX.RANK.et` or `PREFIX.RANK.json`, relative to the experiment file. The files of the
    /// other ranks lie in that folder.
    pub file: PathBuf,
    /// Factor on the durations of calculations. 0.5 is an accelerator twice as fast as that of the trace.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    #[serde(default = "one")]
    pub compute_scale: f64,
    /// Operations (`num_ops`) of a rank per second. Required for nodes without a duration.
    #[schemars(range(min = 1.0, max = 1e21))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_second: Option<f64>,
    /// Process groups: JSON file with the ranks of each group by name, relative to the experiment file. Default:
    /// `PREFIX.groups.json`, if it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<PathBuf>,
}

const fn one() -> f64 {
    1.0
}

impl ChakraSpec {
    /// Builds the program of the traces.
    pub(super) fn build(&self, context: &ProgramContext<'_>) -> Result<Arc<dyn Programs>, KeyError> {
        let &ProgramContext { node_of, base, backend, interconnect, .. } = context;
        let name = shown(&self.file);
        let wrong = |message: String| KeyError::new("file", format!("{name}: {message}"));
        check_ending(&self.file, "chakra")?;
        let groups = match &self.groups {
            None => std::collections::BTreeMap::new(),
            Some(file) => {
                let read = read_groups(&base.join(file));
                read.at_key("groups")?
            }
        };
        let options = Options {
            compute_scale: self.compute_scale,
            ops_per_second: self.ops_per_second,
            groups,
            ..Options::default()
        };
        let traces = open(&base.join(&self.file), options).map_err(|error| match error {
            ChakraError::Range { key, value, allowed } => {
                KeyError::new(key, format!("{value} is out of range: {allowed} are allowed"))
            }
            error => KeyError::new("file", error.to_string()),
        })?;
        let calls: calls::Calls = traces.calls.with_notes(traces.notes);
        let calls = calls.carried_by(backend).map_err(|error| wrong(error.to_string()))?;
        check_room(calls.ranks(), node_of.len() as u32).map_err(wrong)?;
        calls.check(None).map_err(|error| wrong(error.to_string()))?;
        let calls = calls.on_nodes(node_of).among(interconnect);
        calls.check_islands().map_err(|error| wrong(error.to_string()))?;
        Ok(Arc::new(calls))
    }
}
