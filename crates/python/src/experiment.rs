//! Python class of experiments.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Map, Value, json};
use sim::{CheckpointPlace, Point, ReuseFiles, RunOptions};

use crate::errors::{unfinished, wrong, wrong_key, wrong_topology};
use crate::mapping::numbers;
use crate::processes::Processes;
use crate::programs::{Program, Runs};
use crate::progress::Progress;
use crate::topology::{Topology, doubles};
use crate::watched::{interruptible, watched};

/// Checks a file of records of episodes as far as it does not depend on a point. `simulator` is the version and the
/// build.
#[pyfunction]
pub fn check_records(py: Python<'_>, path: PathBuf, simulator: String) -> PyResult<()> {
    py.detach(|| sim::check_records(&path, &simulator)).map_err(|error| wrong_key(&error))
}

/// A checked experiment: one point, or the points of a sweep.
#[pyclass(frozen, module = "cutthrough._core")]
pub struct Experiment {
    inner: Arc<sim::Experiment>,
    /// Overrides: keys that replace those of the file, with their values.
    overrides: Vec<(String, String)>,
    /// Programs of the experiment that are called back.
    called: Runs,
}

/// Arguments of `Experiment::load`: a text, its name in messages, the folder from which its relative paths start, and
/// overrides.
type Parts<'a> = (&'a str, &'a str, &'a Path, Vec<(String, String)>);

/// Files of a run: a dictionary by the names of fields.
#[derive(Default, FromPyObject)]
#[pyo3(from_item_all)]
struct RunFiles {
    /// Paths and hashes of the files that the point reads.
    inputs: Vec<(String, String)>,
    /// Folder of checkpoints, and a text that is equal for runs with equal results only.
    #[pyo3(default)]
    checkpoints: Option<(PathBuf, String)>,
    /// Files of records of episodes, one to read, and one to write, and the version and the build of the simulator.
    #[pyo3(default)]
    reuse: (Option<PathBuf>, Option<PathBuf>, String),
}

impl Experiment {
    fn of(py: Python<'_>, inner: sim::Experiment, overrides: Vec<(String, String)>) -> PyResult<Self> {
        let called = Runs::of(py, inner.called_back())?;
        let inner = if called.is_empty() { inner } else { inner.with_programs(called.begin(py)?.given()) };
        Ok(Self { inner: Arc::new(inner), overrides, called })
    }

    fn point(&self, index: usize) -> PyResult<&Point> {
        let points = self.inner.points();
        let missing = || PyIndexError::new_err(format!("no point {index}; there are {}", points.len()));
        points.get(index).ok_or_else(missing)
    }
}

impl Experiment {
    /// Runs work on a point that may take long. Ctrl-C and other signals end it, and so does its progress.
    fn watched<T: Send + 'static>(
        &self,
        py: Python<'_>,
        (index, progress): (usize, Option<&Progress>),
        work: impl FnOnce(&sim::Experiment, &Point, &sim::Progress) -> T + Send + 'static,
    ) -> PyResult<T> {
        let point = self.point(index)?;
        let progress = progress.map_or_else(sim::Progress::new, |progress| progress.inner.clone());
        if !self.called.is_empty() {
            // The Python code of programs that are called back runs on the calling thread, which outlives it.
            return Ok(py.detach(|| work(&self.inner, point, &progress)));
        }
        let (inner, own) = (Arc::clone(&self.inner), progress.clone());
        watched(py, &progress, move || work(&inner, &inner.points()[index], &own))
    }
}

#[pymethods]
impl Experiment {
    /// Reads TOML. `name` stands in messages; relative paths in the file start from `base_dir`.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        text: String,
        name: String,
        base_dir: PathBuf,
        overrides: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let own = overrides.clone();
        let inner = interruptible(py, move || sim::Experiment::load(&text, &name, &base_dir, &own))?;
        Self::of(py, inner.map_err(|error| wrong(&error))?, overrides)
    }

    /// Reads a file. Relative paths in it start from its folder.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, overrides: Vec<(String, String)>) -> PyResult<Self> {
        let own = overrides.clone();
        let inner = interruptible(py, move || sim::Experiment::read(&path, &own))?;
        Self::of(py, inner.map_err(|error| wrong(&error))?, overrides)
    }

    /// The arguments of `load` that make an equal experiment, also in another process: text, name, base directory and
    /// overrides.
    fn parts(&self) -> Parts<'_> {
        (self.inner.text(), self.inner.name(), self.inner.base_dir(), self.overrides.clone())
    }

    /// The title of the first point.
    #[getter]
    fn title(&self) -> &str {
        &self.inner.points()[0].spec.title
    }

    /// The seed of the first point.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.points()[0].spec.seed
    }

    /// JSON: a list of `{"keys": {...}, "seed": n}`, one a point.
    fn points(&self) -> String {
        let describe = |point: &sim::Point| {
            let keys: Map<String, Value> = point.keys.iter().cloned().collect();
            json!({ "keys": keys, "seed": point.spec.seed })
        };
        Value::Array(self.inner.points().iter().map(describe).collect()).to_string()
    }

    /// JSON: the experiment as written, with the options that override it: `{"sections": {...}, "sweep": [{"keys":
    /// [[key, values], ...], "labels": null}, ...]}`; keys of a group move together, and the last group changes
    /// fastest.
    fn written(&self) -> String {
        let (sections, sweep) = self.inner.written();
        json!({ "sections": sections, "sweep": sweep }).to_string()
    }

    /// JSON: the keys that distinguish points, in order.
    fn axes(&self) -> String {
        json!(self.inner.axes()).to_string()
    }

    /// One point as TOML, with every default written out. `complete` adds the defaults that follow from the network.
    #[pyo3(signature = (point, complete = true))]
    fn resolved_point(&self, py: Python<'_>, point: usize, complete: bool) -> PyResult<String> {
        if !complete {
            return Ok(self.inner.resolved(self.point(point)?));
        }
        let found = self.watched(py, (point, None), |experiment, point, _| sim::completed(experiment, point))?;
        Ok(found.spec.to_toml())
    }

    /// The keys of a point that are left out and follow from its network.
    fn derived_keys(&self, py: Python<'_>, point: usize) -> PyResult<Vec<String>> {
        Ok(self.watched(py, (point, None), |experiment, point, _| sim::completed(experiment, point))?.keys)
    }

    /// Builds a point and proves it free of deadlock, without simulating it, on `threads` threads; 0 stands for the
    /// number of processors.
    #[pyo3(signature = (point, progress = None, threads = 0))]
    fn validate(&self, py: Python<'_>, point: usize, progress: Option<&Progress>, threads: usize) -> PyResult<()> {
        let work = move |experiment: &sim::Experiment, point: &Point, progress: &sim::Progress| {
            workers::limited(threads, || sim::validate_point(experiment, point, progress))
        };
        self.watched(py, (point, progress), work)?.map_err(|error| unfinished(&error))
    }

    /// JSON: sizes, cost and deadlock freedom of a point.
    fn check(&self, py: Python<'_>, point: usize) -> PyResult<String> {
        let check = self.watched(py, (point, None), sim::check_point)?.map_err(|error| unfinished(&error))?;
        Ok(json!(check).to_string())
    }

    /// The shape of a point's machine.
    fn topology(&self, py: Python<'_>, point: usize) -> PyResult<Topology> {
        let point = self.point(point)?.clone();
        let spec = Some(point.spec.topology.clone()).filter(|_| point.spec.networks.is_empty());
        let experiment = self.inner.clone();
        let built = interruptible(py, move || experiment.topology(&point))?;
        let inner = built.map_err(|error| wrong_topology(&error.key, &error))?;
        Ok(Topology { spec, inner })
    }

    /// The names of its programs that are called back, which no file can express.
    fn called_back(&self) -> Vec<String> {
        self.inner.called_back().into_iter().collect()
    }

    /// The program of a point's ranks, and the node of each rank, as 32-bit numbers.
    fn program<'py>(&self, py: Python<'py>, point: usize) -> PyResult<(Program, Bound<'py, PyBytes>)> {
        let point = self.point(point)?;
        let (programs, nodes) = py.detach(|| sim::program_of(&self.inner, point)).map_err(|error| wrong(&error))?;
        Ok((Program::other(programs), numbers(py, nodes.into_iter(), u32::to_ne_bytes)))
    }

    /// JSON: channel loads of a point; and the load of each channel of `Topology.channel_table` as a fraction of its
    /// bandwidth, per unit of offered load, as 64-bit floats.
    #[pyo3(signature = (point, progress = None))]
    fn analyze<'py>(
        &self,
        py: Python<'py>,
        point: usize,
        progress: Option<&Progress>,
    ) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let analysis = self.watched(py, (point, progress), sim::analyze_point)?.map_err(|error| wrong(&error))?;
        Ok((json!(analysis).to_string(), doubles(py, &analysis.channel_loads)))
    }

    /// JSON: the permutation of the nodes that loads a channel most; and the partner of each node, as 32-bit numbers.
    /// `network` names one of several networks.
    #[pyo3(signature = (point, network = None, progress = None))]
    fn worst_case<'py>(
        &self,
        py: Python<'py>,
        point: usize,
        network: Option<String>,
        progress: Option<&Progress>,
    ) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let found = self.watched(py, (point, progress), move |experiment, point, progress| {
            sim::worst_case_of_point(experiment, point, progress, network.as_deref())
        })?;
        let found = found.map_err(|error| wrong(&error))?;
        Ok((json!(found).to_string(), numbers(py, found.to.iter().map(|node| node.0), u32::to_ne_bytes)))
    }

    /// The forwarding tables of a point's network, of several by its name: the name and the text of each file.
    #[pyo3(signature = (point, network = None))]
    fn forwarding_files(
        &self,
        py: Python<'_>,
        point: usize,
        network: Option<String>,
    ) -> PyResult<Vec<(&'static str, String)>> {
        let found = self.watched(py, (point, None), move |experiment, point, progress| {
            sim::forwarding_files_of_point(experiment, point, progress, network.as_deref())
        })?;
        let found = found.map_err(|error| wrong(&error))?;
        let files =
            [("opensm-lfts.dump", Some(found.tables)), ("path-sl.txt", found.path_sl), ("fabric.topo", found.fabric)];
        Ok(files.into_iter().filter_map(|(name, text)| Some((name, text?))).collect())
    }

    /// JSON: the effective bisection bandwidth of a point's network over a number of random pairings. `network` names
    /// one of several networks.
    #[pyo3(signature = (point, pairings, network = None, progress = None))]
    fn effective_bisection(
        &self,
        py: Python<'_>,
        point: usize,
        pairings: u32,
        network: Option<String>,
        progress: Option<&Progress>,
    ) -> PyResult<String> {
        let found = self.watched(py, (point, progress), move |experiment, point, progress| {
            sim::effective_bisection_of_point(experiment, point, progress, (network.as_deref(), pairings))
        })?;
        Ok(json!(found.map_err(|error| wrong(&error))?).to_string())
    }

    /// The load of each channel of `Topology.channel_table` by job, as a fraction of the channel's bandwidth per unit
    /// of the load that the job offers, as 64-bit floats.
    fn job_loads<'py>(&self, py: Python<'py>, point: usize) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let loads =
            self.watched(py, (point, None), |experiment, point, _| sim::job_loads_of_point(experiment, point))?;
        let loads = loads.map_err(|error| wrong(&error))?;
        Ok(loads.iter().map(|own| doubles(py, own)).collect())
    }

    /// JSON: the results of a point; and the fraction of time in which each channel of `Topology.channel_table` sends,
    /// as 64-bit floats. Releases the interpreter. `threads` threads build and prove the network and simulate it; 0
    /// stands for one thread that simulates, and for the number of processors that prove. `processes` run the point
    /// together: each of them calls this, and process 0 gets the results.
    #[pyo3(signature = (point, threads, progress, processes = None, files = RunFiles::default()))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        point: usize,
        threads: usize,
        progress: &Progress,
        processes: Option<&Processes>,
        files: RunFiles,
    ) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let RunFiles { inputs, checkpoints, reuse: (from, to, simulator) } = files;
        let place = |(folder, identity)| CheckpointPlace { folder, identity, most: None };
        let mut options = RunOptions {
            threads: threads.max(1),
            progress: progress.inner.clone(),
            inputs,
            checkpoints: checkpoints.map(place),
            reuse: ReuseFiles { from, to, simulator },
            ..RunOptions::default()
        };
        if let Some(processes) = processes {
            options.exchange = processes.exchange();
        }
        let result = if self.called.is_empty() {
            let work = move |experiment: &sim::Experiment, point: &Point, _: &sim::Progress| {
                workers::limited(threads, || sim::run_point(experiment, point, &options))
            };
            self.watched(py, (point, Some(progress)), work)?
        } else {
            let point = self.point(point)?;
            let run = self.called.begin(py)?;
            let own = (*self.inner).clone().with_programs(run.given());
            let result = py.detach(|| workers::limited(threads, || sim::run_point(&own, point, &options)));
            self.called.end(py, &run, result.is_ok())?;
            result
        };
        let result = result.map_err(|error| unfinished(&error))?;
        Ok((json!(result).to_string(), doubles(py, &result.channel_utilization)))
    }
}
