//! Reader of Chakra execution traces.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::PyDict;
pub use traces::chakra::Options;
use traces::chakra::{Contents, Traces, open as open_traces};

/// Contents of traces, and notes about them.
pub struct Facts {
    contents: Contents,
    pub notes: Vec<String>,
}

impl Facts {
    /// Returns the contents of the traces as a Python dictionary.
    pub fn contents<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let own = &self.contents;
        let found = PyDict::new(py);
        for (name, value) in [
            ("nodes", own.nodes),
            ("data_dependencies", own.data_dependencies),
            ("control_dependencies", own.control_dependencies),
            ("collectives", own.collectives),
            ("collective_bytes", own.collective_bytes),
            ("messages", own.messages),
            ("message_bytes", own.message_bytes),
        ] {
            found.set_item(name, value)?;
        }
        Ok(found)
    }
}

/// Returns the files that are read together with `path`: for a Chakra trace, the files of all ranks and of their
/// process groups.
#[pyfunction]
pub fn read_together(path: PathBuf) -> Vec<PathBuf> {
    traces::chakra::read_together(&path)
}

/// Reads the calls of the ranks from the files with a prefix, or beside a file.
pub fn open(path: &str, options: Options) -> Result<(mpi::program::calls::Calls, Facts), String> {
    let traces = open_traces(Path::new(path), options).map_err(|error| error.to_string())?;
    let Traces { calls, contents, notes } = traces;
    Ok((calls, Facts { contents, notes }))
}
