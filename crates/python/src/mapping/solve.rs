//! Search for mappings, and their measures.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mapping::strategies::{StrategyName, map};
use mapping::{MapSpec, Mapping, MappingError, NamedMachine, NamedNode, Problem, Watch, channel_use, measure};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use tasks::GraphSpec;

use super::{Machine, TaskGraph, numbers, wrong, wrong_at};
use crate::errors::Cancelled;
use crate::topology::{doubles, unplaced, words};

/// Progress of a search, and a way to end it early.
#[pyclass(frozen, module = "cutthrough._core")]
#[derive(Default)]
pub struct MapProgress {
    state: Mutex<(f64, String)>,
    stopped: AtomicBool,
    /// Fraction of the allowed time that has passed, as the bits of a float.
    time_share: AtomicU64,
    time_decided: AtomicBool,
}

impl Watch for MapProgress {
    fn report(&self, share: f64, doing: &str) {
        if let Ok(mut state) = self.state.lock() {
            state.0 = share;
            doing.clone_into(&mut state.1);
        }
    }

    fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn time_share(&self) -> f64 {
        f64::from_bits(self.time_share.load(Ordering::Relaxed))
    }

    fn time_decides(&self) {
        self.time_decided.store(true, Ordering::Relaxed);
    }
}

#[pymethods]
impl MapProgress {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The completed fraction of the current phase, 0 to 1.
    #[getter]
    fn fraction(&self) -> f64 {
        self.state.lock().map_or(0.0, |state| state.0)
    }

    /// The current phase of the search.
    #[getter]
    fn phase(&self) -> String {
        self.state.lock().map_or_else(|_| String::new(), |state| state.1.clone())
    }

    /// Whether the allowed time has influenced the search, so that another run may find another mapping.
    #[getter]
    fn time_decided(&self) -> bool {
        self.time_decided.load(Ordering::Relaxed)
    }

    /// Sets the fraction of the allowed time that has passed.
    fn set_time_share(&self, share: f64) {
        self.time_share.store(share.to_bits(), Ordering::Relaxed);
    }

    /// Makes the search return soon, with the best mapping found so far, or raise `Cancelled` if there is none.
    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

fn raise(error: &MappingError) -> PyErr {
    match error {
        MappingError::Unfit { key, message } => wrong_at(Some(key), message),
        MappingError::Cancelled => Cancelled::new_err(error.to_string()),
    }
}

/// The place of every task, as 32-bit numbers.
#[pyfunction]
pub fn map_tasks<'py>(
    py: Python<'py>,
    graph: &TaskGraph,
    machine: &Machine,
    spec: &str,
    fixed: Vec<(u32, u32)>,
    current: Option<&[u8]>,
    progress: &MapProgress,
) -> PyResult<Bound<'py, PyBytes>> {
    let spec: MapSpec = serde_json::from_str(spec).map_err(|error| wrong(&unplaced(&error)))?;
    let current = current.map(|bytes| Mapping { place_of: words(bytes) });
    if let Some(current) = &current {
        check(current, graph, machine)?;
    }
    let mut fixed = fixed;
    fixed.sort_unstable();
    let problem = Problem {
        graph: &graph.inner,
        machine: &machine.inner,
        spec: &spec,
        fixed: &fixed,
        current: current.as_ref(),
        watch: progress,
    };
    let found = py.detach(|| map(&problem)).map_err(|error| raise(&error))?;
    Ok(numbers(py, found.place_of.into_iter(), u32::to_ne_bytes))
}

/// The default budget of a search for the mapping of a graph, in nominal seconds.
#[pyfunction]
pub fn default_budget(graph: &TaskGraph) -> f64 {
    mapping::default_budget(graph.inner.tasks())
}

fn check(mapping: &Mapping, graph: &TaskGraph, machine: &Machine) -> PyResult<()> {
    let (tasks, places) = (graph.inner.tasks(), machine.inner.places());
    if mapping.place_of.len() != tasks as usize || mapping.place_of.iter().any(|&place| place >= places) {
        let message = format!("a mapping has a place from 0 to {} for each of the {tasks} tasks", places - 1);
        return Err(wrong(&message));
    }
    Ok(())
}

/// JSON: the measures of a mapping; and the bytes over every channel of `Topology.channel_table`, as 64-bit floats.
#[pyfunction]
pub fn measure_mapping<'py>(
    py: Python<'py>,
    graph: &TaskGraph,
    machine: &Machine,
    places: &[u8],
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let mapping = Mapping { place_of: words(places) };
    check(&mapping, graph, machine)?;
    let (found, channels) = py.detach(|| {
        (measure(&graph.inner, &machine.inner, &mapping), channel_use(&graph.inner, &machine.inner, &mapping))
    });
    let channels = channels.map_err(|error| raise(&error))?;
    let topology = &**machine.inner.topology();
    let hottest = channels.hottest(topology, 5).into_iter().map(|(router, port, bytes)| {
        json!({ "router": router.0, "port": port.0, "class": topology.class_names()[usize::from(topology.class(router, port).0)], "bytes": bytes })
    });
    let phase = |phase: &mapping::PhaseMeasures| json!({ "name": phase.name, "hop_bytes": phase.hop_bytes, "hops_per_byte": phase.hops_per_byte, "proxies": phase.proxies });
    let text = json!({
        "hop_bytes": found.hop_bytes,
        "hops_per_byte": found.hops_per_byte,
        "multicast_hop_bytes": found.multicast_hop_bytes,
        "dilation_p50": found.dilation.percentile(0.5),
        "dilation_p90": found.dilation.percentile(0.9),
        "dilation_p99": found.dilation.percentile(0.99),
        "dilation_max": found.dilation.max(),
        "bytes_by_hops": found.dilation.bytes_by_hops,
        "max_channel_load": channels.max,
        "mean_channel_load": channels.mean,
        "hottest_channels": hottest.collect::<Vec<_>>(),
        "imbalance": found.imbalance,
        "proxies": found.proxies,
        "phases": found.phases.iter().map(phase).collect::<Vec<_>>(),
    });
    Ok((text.to_string(), doubles(py, &channels.bytes)))
}

/// JSON: the strategies, machines, nodes and graphs that can be named, each with a line of description.
#[pyfunction]
pub fn mapping_catalogue() -> String {
    let strategy = |name: &StrategyName| json!({ "name": name.name(), "summary": name.about(), "keys": [] });
    let file = |own: mapping::MachineEntry| json!({ "name": own.name, "summary": own.summary(), "keys": own.parameters, "text": own.text });
    let graph = |(name, example, key): &(&str, &str, &str)| json!({ "name": name, "summary": format!("for example {example}"), "keys": [key] });
    let list = |values: Vec<Value>| Value::Array(values);
    json!({
        "strategies": list(StrategyName::ALL.iter().map(strategy).collect()),
        "machines": list(NamedMachine::entries().into_iter().map(file).collect()),
        "nodes": list(NamedNode::entries().into_iter().map(file).collect()),
        "graphs": list(GraphSpec::KINDS.iter().map(graph).collect()),
    })
    .to_string()
}
