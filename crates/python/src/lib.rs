#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod documents;
mod errors;
mod experiment;
mod mapping;
mod processes;
mod programs;
mod progress;
mod statistics;
mod topology;
mod watched;

/// The compiled half of Cutthrough. Private: use what `cutthrough` exports.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::documents::{bits_per_second, catalogue, message_latency, perfetto, reference, result_schema, schema};
    #[pymodule_export]
    use crate::errors::{Cancelled, ExperimentError, RunError, error_text};
    #[pymodule_export]
    use crate::experiment::{Experiment, check_records};
    #[pymodule_export]
    use crate::mapping::{
        Machine, MapProgress, TaskGraph, default_budget, hosts_of_list, hosts_of_machine, map_tasks, mapping_catalogue,
        measure_mapping,
    };
    #[pymodule_export]
    use crate::processes::{Processes, mpi_library};
    #[pymodule_export]
    use crate::programs::read_together;
    #[pymodule_export]
    use crate::programs::{
        Program, bytes_of, chosen_algorithms, collective_names, join_trace, picoseconds, selection_names,
    };
    #[pymodule_export]
    use crate::progress::Progress;
    #[pymodule_export]
    use crate::statistics::{student_quantile, student_tail};
    #[pymodule_export]
    use crate::topology::Topology;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::errors::set_defaults(module.py())?;
        module.add("FILE_KEYS", sim::FILE_KEYS)?;
        let inputs = units::input::INPUTS.map(|input| (input.name, input.most_bytes, input.formats));
        module.add("INPUTS", inputs)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
