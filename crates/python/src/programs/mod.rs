//! Python class of programs of ranks.

mod called;
mod chakra;

pub use chakra::read_together;
mod table;
mod trace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mpi::program::calls::{Calls, NoSchedule, text};
use mpi::program::{Messages, Programs};
use mpi::schedule::{Schedule, goal};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use traces::recorded::{Trace, join};

use crate::errors::Parts;
use crate::mapping::numbers;
use crate::watched::interruptible;

pub use called::Runs;

/// Program of ranks.
#[pyclass(frozen, module = "cutthrough._core")]
pub struct Program {
    written: Written,
    /// Contents of the Chakra traces that the program was read from.
    traces: Option<chakra::Facts>,
}

/// Form in which a program is given.
enum Written {
    Calls(Arc<Calls>),
    Schedule(Arc<Schedule>),
    Trace(Arc<Trace>),
    /// Another form, such as a motif.
    Other(Arc<dyn Programs>),
}

impl From<Written> for Program {
    fn from(written: Written) -> Self {
        Self { written, traces: None }
    }
}

/// Converts a fault of a program to an exception.
fn wrong(message: &str) -> PyErr {
    Parts { message, key: "program", ..Parts::default() }.raise(format!("error: program: {message}"))
}

impl Program {
    /// Makes a program that only provides its messages.
    pub fn other(programs: Arc<dyn Programs>) -> Self {
        Self::from(Written::Other(programs))
    }

    fn of(calls: Calls) -> PyResult<Self> {
        calls.check(None).map_err(|error| wrong(&error.to_string()))?;
        Ok(Self::from(Written::Calls(Arc::new(calls))))
    }

    fn programs(&self) -> &dyn Programs {
        match &self.written {
            Written::Calls(calls) => &**calls,
            Written::Schedule(schedule) => &**schedule,
            Written::Trace(trace) => &**trace,
            Written::Other(programs) => &**programs,
        }
    }
}

#[pymethods]
impl Program {
    /// Makes a program of the calls of all ranks: the number of calls of each rank, as 64-bit numbers; the calls, as
    /// rows of 64-bit numbers; and the ranks of communicators, numbered from 1 on.
    #[staticmethod]
    fn of_calls(py: Python<'_>, counts: &[u8], rows: &[u8], groups: Vec<Vec<u32>>) -> PyResult<Self> {
        let calls = py.detach(|| table::calls(counts, rows, groups));
        Self::of(calls.map_err(|message| wrong(&message))?)
    }

    /// Reads the text of calls.
    #[staticmethod]
    fn of_text(py: Python<'_>, source: &str) -> PyResult<Self> {
        let calls = py.detach(|| text::read(source));
        Self::of(calls.map_err(|error| wrong(&error.to_string()))?)
    }

    /// Reads a GOAL schedule.
    #[staticmethod]
    fn of_goal(py: Python<'_>, source: &str) -> PyResult<Self> {
        let schedule = py.detach(|| goal::read(source)).map_err(|error| wrong(&error.to_string()))?;
        Ok(Self::from(Written::Schedule(Arc::new(schedule))))
    }

    /// Opens a trace. `wildcards` keeps its wildcard receives; `compute_scale` multiplies the duration of its
    /// calculations.
    #[staticmethod]
    fn of_trace(py: Python<'_>, path: String, wildcards: bool, compute_scale: f64) -> PyResult<Self> {
        let opened = interruptible(py, move || trace::open(&path, wildcards, compute_scale))?;
        let trace = opened.map_err(|message| wrong(&message))?;
        Ok(Self::from(Written::Trace(Arc::new(trace))))
    }

    /// Reads Chakra execution traces, given their prefix or the file of a rank. `speeds` are the factor on durations and
    /// the number of operations that a rank does in a second. `groups` are the ranks of process groups by name. `ranks`
    /// is the number of ranks that the trace is scaled to, with the names of the groups that grow.
    #[staticmethod]
    fn of_chakra(
        py: Python<'_>,
        path: String,
        speeds: (f64, Option<f64>),
        groups: BTreeMap<String, Vec<u32>>,
        ranks: Option<(u32, Vec<String>)>,
    ) -> PyResult<Self> {
        let (compute_scale, ops_per_second) = speeds;
        let (ranks, grow) = ranks.map_or((None, Vec::new()), |(count, grow)| (Some(count), grow));
        let options = chakra::Options { compute_scale, ops_per_second, groups, ranks, grow };
        let read = interruptible(py, move || chakra::open(&path, options))?;
        let (calls, facts) = read.map_err(|message| wrong(&message))?;
        Ok(Self { traces: Some(facts), ..Self::of(calls)? })
    }

    /// The contents of Chakra traces; None of another program.
    fn contents<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.traces.as_ref().map(|facts| facts.contents(py)).transpose()
    }

    /// Deviations of the program from its files.
    fn notes(&self) -> Vec<String> {
        self.traces.as_ref().map_or_else(|| self.programs().notes().to_vec(), |facts| facts.notes.clone())
    }

    /// The properties of a trace besides the calls of its ranks; None of another program.
    fn recording<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        match &self.written {
            Written::Trace(own) => trace::facts(py, own).map(Some),
            _ => Ok(None),
        }
    }

    /// The number of ranks.
    #[getter]
    fn ranks(&self) -> u32 {
        self.programs().ranks()
    }

    /// The messages between pairs: columns of 32-bit `source` and `target`, and of 64-bit `bytes` and `messages`, in
    /// ascending order of pairs.
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let pairs = py.detach(|| pairs(self.programs()));
        let columns = PyDict::new(py);
        columns.set_item("source", numbers(py, pairs.iter().map(|pair| pair.from), u32::to_ne_bytes))?;
        columns.set_item("target", numbers(py, pairs.iter().map(|pair| pair.to), u32::to_ne_bytes))?;
        columns.set_item("bytes", numbers(py, pairs.iter().map(|pair| pair.bytes), u64::to_ne_bytes))?;
        columns.set_item("messages", numbers(py, pairs.iter().map(|pair| pair.count), u64::to_ne_bytes))?;
        Ok(columns)
    }

    /// The text of the calls.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        match &self.written {
            Written::Calls(calls) => Ok(py.detach(|| text::write(calls))),
            Written::Trace(own) => py.detach(|| Ok(text::write(&calls_of(own)?))),
            Written::Schedule(_) => Err(wrong(
                "a schedule in GOAL cannot be written as calls (.calls): it does not say what ranks wait for; .goal, .csv and \
                 pictures are possible",
            )),
            Written::Other(_) => Err(wrong(GENERATED)),
        }
    }

    /// The program as a GOAL schedule.
    fn goal(&self, py: Python<'_>) -> PyResult<String> {
        match &self.written {
            Written::Calls(calls) => py.detach(|| goal_of(calls)),
            Written::Trace(own) => py.detach(|| goal_of(&calls_of(own)?)),
            Written::Schedule(schedule) => Ok(py.detach(|| goal::write(schedule))),
            Written::Other(_) => Err(wrong(GENERATED)),
        }
    }
}

/// Reason why a program of an experiment has neither calls nor a schedule.
const GENERATED: &str = "a program that the experiment generates has no calls and no schedule to write (.calls, .goal); .csv and \
                         pictures are possible";

/// Reads the calls of a trace's ranks.
fn calls_of(trace: &Trace) -> PyResult<Calls> {
    trace.calls().map_err(|error| wrong(&error.to_string()))
}

/// Converts calls to a GOAL schedule.
fn goal_of(calls: &Calls) -> PyResult<String> {
    let schedule = calls.schedule().map_err(|error: NoSchedule| wrong(&error.to_string()))?;
    Ok(goal::write(&schedule))
}

/// Merges all messages between two ranks into one entry: their total bytes, and their number.
fn pairs(programs: &dyn Programs) -> Vec<Messages> {
    let (mut all, mut limit) = (Vec::new(), 1 << 16);
    programs.each_message(&mut |Messages { from, to, bytes, count }| {
        all.push(Messages { from, to, bytes: bytes.saturating_mul(count), count });
        // Merging at intervals bounds the memory by the number of pairs, not of messages.
        if all.len() >= limit {
            merge(&mut all);
            limit = limit.max(2 * all.len());
        }
    });
    merge(&mut all);
    all
}

fn merge(all: &mut Vec<Messages>) {
    all.sort_unstable_by_key(|pair| (pair.from, pair.to));
    all.dedup_by(|next, kept| {
        let same = (next.from, next.to) == (kept.from, kept.to);
        if same {
            kept.bytes = kept.bytes.saturating_add(next.bytes);
            kept.count += next.count;
        }
        same
    });
}

/// Returns the collective operations in the order of their numbers, each with the algorithms that serve it; and all
/// algorithms in the order of their numbers.
#[pyfunction]
pub fn collective_names() -> (Vec<(&'static str, Vec<&'static str>)>, Vec<&'static str>) {
    table::names()
}

/// Joins the files of ranks in a folder into one trace. Returns its contents.
#[pyfunction]
pub fn join_trace<'py>(py: Python<'py>, folder: &str, path: &str) -> PyResult<Bound<'py, PyDict>> {
    let (from, path) = (PathBuf::from(folder), PathBuf::from(path));
    let joined = interruptible(py, move || join(&from, &path))?;
    trace::joined(py, &joined.map_err(|error| wrong(&format!("{folder}: {error}")))?)
}

/// Returns a time, written as in experiment files (`5 us`), in picoseconds.
#[pyfunction]
pub fn picoseconds(text: &str) -> PyResult<u64> {
    text.parse::<units::Time>().map(|time| time.0).map_err(|error| wrong(&error.to_string()))
}

/// Returns a size, written as in experiment files (`4 KiB`), in bytes.
#[pyfunction]
pub fn bytes_of(text: &str) -> PyResult<u64> {
    text.parse::<units::Bytes>().map(|size| size.0).map_err(|error| wrong(&error.to_string()))
}

/// Returns the names of the selection tables of MPI libraries.
#[pyfunction]
pub fn selection_names() -> Vec<&'static str> {
    mpi::collectives::selection_names().collect()
}

/// Returns the algorithm of each operation, and the size of its segments (0: none), that a selection table chooses for
/// calls of `bytes` bytes in a group of `ranks` members, with elements of `element` bytes.
#[pyfunction]
pub fn chosen_algorithms(
    selection: PathBuf,
    ranks: u32,
    bytes: u64,
    element: u32,
) -> PyResult<Vec<(&'static str, &'static str, u64)>> {
    use mpi::collectives::{Operation, Selection};
    let table = Selection::given(Path::new("."), &selection).map_err(|message| wrong(&message))?;
    let of = |operation: Operation| {
        let (algorithm, segment) = table.choose(operation, ranks, (bytes, element));
        (operation.name(), algorithm.name(), segment)
    };
    Ok(Operation::ALL.into_iter().map(of).collect())
}
