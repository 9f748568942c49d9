//! How traces are read.

use std::collections::BTreeMap;

/// How nodes become calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What durations are multiplied by.
    pub compute_scale: f64,
    /// Operations (`num_ops`) that a rank does in a second, of nodes without a duration.
    pub ops_per_second: Option<f64>,
    /// By the name of a process group (`pg_name`), its ranks. Without any, all operations are of all ranks.
    pub groups: BTreeMap<String, Vec<u32>>,
}

impl Default for Options {
    fn default() -> Self {
        Self { compute_scale: 1.0, ops_per_second: None, groups: BTreeMap::new() }
    }
}
