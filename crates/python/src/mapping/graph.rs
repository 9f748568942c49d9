//! Task graphs.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::json;
use tasks::{self, ArcList, GraphSpec};

use super::{numbers, wrong, wrong_input};
use crate::topology::words;
use crate::watched::interruptible;

/// Communication of an application's tasks in one step.
#[pyclass(frozen, module = "cutthrough._core")]
pub struct TaskGraph {
    pub inner: tasks::TaskGraph,
}

fn copies(graphs: &[PyRef<'_, TaskGraph>]) -> Vec<tasks::TaskGraph> {
    graphs.iter().map(|graph| graph.inner.clone()).collect()
}

#[pymethods]
impl TaskGraph {
    /// Reads a shorthand or a file.
    #[staticmethod]
    fn read(py: Python<'_>, graph: String, base_dir: PathBuf, seed: u64) -> PyResult<Self> {
        let read = move || graph.parse::<GraphSpec>().and_then(|spec| spec.build(&base_dir, seed));
        let made = interruptible(py, read)?;
        made.map(|inner| Self { inner }).map_err(|error| wrong_input(&error))
    }

    /// Makes a graph of lists: 32-bit sources and targets, 64-bit bytes, and 64-bit floats for loads (empty: all 1);
    /// and a name.
    #[staticmethod]
    fn of_arcs(tasks: u32, arcs: (&[u8], &[u8], &[u8]), loads: &[u8], name: &str) -> PyResult<Self> {
        if tasks == 0 || tasks > tasks::MAX_TASKS {
            return Err(wrong(&format!("{tasks} tasks; 1 to {} are supported", tasks::MAX_TASKS)));
        }
        let (sources, targets, sizes) = (words(arcs.0), words(arcs.1), arcs.2);
        let long = |bytes: &[u8]| u64::from_ne_bytes(std::array::from_fn(|at| bytes[at]));
        let sizes: Vec<u64> = sizes.chunks_exact(8).map(long).collect();
        if sizes.len() > tasks::MAX_ARCS {
            return Err(wrong(&format!("{} arcs; up to {} are supported", sizes.len(), tasks::MAX_ARCS)));
        }
        let mut list = ArcList::new(tasks);
        for ((&from, &to), &bytes) in sources.iter().zip(&targets).zip(&sizes) {
            if from >= tasks || to >= tasks || from == to {
                return Err(wrong(&format!(
                    "an arc leads from task {from} to {to}; tasks are 0 to {} and send to others",
                    tasks - 1
                )));
            }
            list.add(from, to, bytes, 1);
        }
        let mut inner = tasks::TaskGraph::new(name, list.build());
        if !loads.is_empty() {
            inner.loads = loads.chunks_exact(8).map(|bytes| f64::from_bits(long(bytes))).collect();
            if inner.loads.len() != tasks as usize || inner.loads.iter().any(|&load| !(load >= 0.0 && load.is_finite()))
            {
                return Err(wrong(&format!("there are not {tasks} loads, or one is negative")));
            }
        }
        Ok(Self { inner })
    }

    /// The number of tasks.
    #[getter]
    fn tasks(&self) -> u32 {
        self.inner.tasks()
    }

    /// Bytes sent in one step.
    #[getter]
    fn total_bytes(&self) -> u64 {
        self.inner.total_bytes()
    }

    /// JSON: the name, the phases, the arrays, and the assumptions.
    fn about(&self) -> String {
        let phase = |phase: &tasks::Phase| json!({ "name": phase.name, "weight": phase.weight, "arcs": phase.arcs.len(), "groups": phase.groups.len() });
        let array = |array: &tasks::TaskArray| json!({ "name": array.name, "first": array.first, "dims": array.dims });
        json!({
            "name": self.inner.name,
            "phases": self.inner.phases.iter().map(phase).collect::<Vec<_>>(),
            "arrays": self.inner.arrays.iter().map(array).collect::<Vec<_>>(),
            "notes": self.inner.notes,
        })
        .to_string()
    }

    /// The arcs of all phases: columns of 32-bit `source` and `target` and 64-bit `bytes`.
    fn arcs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = || self.inner.phases.iter().flat_map(|phase| phase.arcs.iter());
        let columns = PyDict::new(py);
        columns.set_item("source", numbers(py, all().map(|arc| arc.0), u32::to_ne_bytes))?;
        columns.set_item("target", numbers(py, all().map(|arc| arc.1), u32::to_ne_bytes))?;
        columns.set_item("bytes", numbers(py, all().map(|arc| arc.2), u64::to_ne_bytes))?;
        Ok(columns)
    }

    /// The loads of the tasks, as 64-bit floats.
    fn loads<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        numbers(py, self.inner.loads.iter().copied(), f64::to_ne_bytes)
    }

    /// The graph with its tasks renumbered at random.
    fn shuffled(&self, seed: u64) -> Self {
        Self { inner: tasks::shuffled(&self.inner, seed) }
    }

    /// Combines several graphs over one set of tasks into one graph, each with a weight.
    #[staticmethod]
    fn combine(graphs: Vec<PyRef<'_, Self>>, weights: Vec<f64>) -> PyResult<Self> {
        let inner = tasks::combine(&copies(&graphs), &weights);
        inner.map(|inner| Self { inner }).map_err(|error| wrong_input(&error))
    }

    /// Places several applications side by side as one graph.
    #[staticmethod]
    fn beside(graphs: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        tasks::beside(&copies(&graphs)).map(|inner| Self { inner }).map_err(|error| wrong_input(&error))
    }

    /// The graph in METIS's format.
    fn metis(&self) -> String {
        tasks::write_metis(&self.inner)
    }
}
