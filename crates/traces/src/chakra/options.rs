//! Options for reading traces.

use std::collections::BTreeMap;
use std::path::Path;

use formats::json::Unique;

use mpi::program::calls::MOST_RANKS;

use super::error::ChakraError;

/// Options for converting nodes to calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Factor on durations.
    pub compute_scale: f64,
    /// Operations (`num_ops`) of a rank per second, for nodes without a duration.
    pub ops_per_second: Option<f64>,
    /// Ranks of process groups by name (`pg_name`). They take precedence over groups described in the trace.
    pub groups: BTreeMap<String, Vec<u32>>,
    /// Number of ranks that the trace is scaled to. `None` keeps its ranks.
    pub ranks: Option<u32>,
    /// Names, or beginnings of names, of the process groups that grow with the ranks. Empty: those of data parallelism.
    pub grow: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { compute_scale: 1.0, ops_per_second: None, groups: BTreeMap::new(), ranks: None, grow: Vec::new() }
    }
}

impl Options {
    /// Refuses numbers out of range.
    ///
    /// # Errors
    /// The option that is out of range.
    pub fn check(&self) -> Result<(), ChakraError> {
        if !(0.0..=1e6).contains(&self.compute_scale) {
            let value = self.compute_scale.to_string();
            return Err(ChakraError::Range { key: "compute_scale", value, allowed: "0 to 1000000" });
        }
        if let Some(ranks) = self.ranks.filter(|ranks| !(1..=MOST_RANKS).contains(ranks)) {
            return Err(ChakraError::Range { key: "ranks", value: ranks.to_string(), allowed: "1 to 16777216" });
        }
        if self.ranks.is_none() && !self.grow.is_empty() {
            let value = self.grow.join(",");
            return Err(ChakraError::Range { key: "grow", value, allowed: "names of groups, together with `ranks`," });
        }
        match self.ops_per_second.filter(|rate| !(1.0..=1e21).contains(rate)) {
            Some(rate) => {
                Err(ChakraError::Range { key: "ops_per_second", value: rate.to_string(), allowed: "1 to 1e21" })
            }
            None => Ok(()),
        }
    }
}

/// Reads the process groups of a file: a JSON object with a list of ranks for each name, as in ASTRA-sim.
///
/// # Errors
/// A file that cannot be read, or has other content.
pub fn read_groups(path: &Path) -> Result<BTreeMap<String, Vec<u32>>, ChakraError> {
    let file = path.display().to_string();
    let text = super::files::text_of(path, units::input::SHORT_TABLE)?;
    let groups = serde_json::from_str(&text).and_then(|Unique(groups)| serde_json::from_value(groups));
    groups.map_err(|error| {
        let reason = format!("{error}: it is an object with a list of ranks for each process group");
        ChakraError::Json { file, reason }
    })
}
