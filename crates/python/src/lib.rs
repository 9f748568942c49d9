//! The Python extension module `cutthrough._core`: convert, call, convert. What stands here has no knowledge of its own.

mod documents;
mod errors;
mod experiment;
mod mapping;
mod progress;
mod topology;

/// The compiled half of Cutthrough. Private: use what `cutthrough` exports.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::documents::{catalogue, message_latency, reference, schema};
    #[pymodule_export]
    use crate::errors::{Cancelled, ExperimentError, RunError};
    #[pymodule_export]
    use crate::experiment::Experiment;
    #[pymodule_export]
    use crate::mapping::{
        Machine, MapProgress, TaskGraph, default_budget, map_tasks, mapping_catalogue, measure_mapping,
    };
    #[pymodule_export]
    use crate::progress::Progress;
    #[pymodule_export]
    use crate::topology::Topology;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
