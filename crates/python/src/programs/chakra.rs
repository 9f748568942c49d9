//! Execution traces of Chakra, as Python reads them.

use std::collections::BTreeMap;
use std::path::Path;

use workload::program::calls::Calls;
use workload::program::chakra::{Options, files, read};

/// What the ranks of the files with a prefix call.
pub fn open(
    prefix: &str,
    compute_scale: f64,
    ops_per_second: Option<f64>,
    groups: BTreeMap<String, Vec<u32>>,
) -> Result<Calls, String> {
    if !(0.0..=1e6).contains(&compute_scale) {
        return Err(format!("`compute_scale` is {compute_scale}; 0 to 1000000 are allowed"));
    }
    if let Some(rate) = ops_per_second.filter(|rate| !(1.0..=1e21).contains(rate)) {
        return Err(format!("`ops_per_second` is {rate}; 1 to 1e21 are allowed"));
    }
    let options = Options { compute_scale, ops_per_second, groups };
    let found = files(Path::new(prefix)).map_err(|error| error.to_string())?;
    read(&found, &options).map_err(|error| error.to_string())
}
