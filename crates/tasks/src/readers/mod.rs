//! Readers of task graphs: METIS, Matrix Market, edge lists, matrices of bytes between ranks (text or NumPy), and dumps
//! of Charm++'s load balancing.

mod charm;
mod edges;
mod matrix;
mod matrix_market;
mod metis;
mod npy;
mod text;

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use metis::write_metis;

use units::{LocatedError, input};

use super::TaskGraph;
use super::limits::summable;
use formats::rows::{self, Form};

/// File format of a task graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GraphFormat {
    /// METIS: one line per vertex with its neighbours (`.graph`, `.metis`).
    Metis,
    /// Matrix Market: sparse matrix of bytes (`.mtx`).
    MatrixMarket,
    /// Edge list: lines `from,to,bytes[,messages]`, `task,number[,load]` and groups. A table that cannot be a list is
    /// read as a matrix (`.csv`).
    Edges,
    /// Matrix of bytes between ranks, as text, one row per sending rank (`.mat`, `.txt`).
    Matrix,
    /// Matrix of bytes between ranks, as a NumPy array (`.npy`).
    Npy,
    /// Dump of Charm++'s load balancing (`+LBDump`), recognised by its first bytes.
    CharmLb,
}

impl GraphFormat {
    /// Returns the format of a file's extension.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "graph" | "metis" => Some(Self::Metis),
            "mtx" => Some(Self::MatrixMarket),
            "csv" => Some(Self::Edges),
            "mat" | "txt" => Some(Self::Matrix),
            "npy" => Some(Self::Npy),
            _ => None,
        }
    }
}

/// Reads a graph. Default format: according to the extension. `name` is the name of the file in error messages.
///
/// # Errors
/// If the file cannot be read, its format is unknown, or a line is wrong.
pub fn read_graph(path: &Path, name: &str, format: Option<GraphFormat>) -> Result<TaskGraph, LocatedError> {
    let known =
        format.or_else(|| GraphFormat::of(path)).or_else(|| begins_as_dump(path).then_some(GraphFormat::CharmLb));
    let Some(format) = known else {
        if let Some("trace" | "et" | "goal" | "calls") = path.extension().and_then(|ending| ending.to_str()) {
            let message =
                format!("it is a program of ranks: `cutthrough convert {name} -o FILE.csv` makes a task graph of it");
            return Err(LocatedError::new(message).in_file(name));
        }
        let message = "its format is unknown: .graph and .metis are METIS, .mtx is Matrix Market, .csv lists edges \
                       or is a matrix, .mat, .txt and .npy are matrices, and no dump of Charm++ begins so";
        return Err(LocatedError::new(message).in_file(name));
    };
    let bytes = input::TASK_GRAPH.read(path).map_err(|error| LocatedError::new(format!("it {error}")).in_file(name))?;
    parse_graph(&bytes, format)
        .map(|graph| TaskGraph { name: name.to_owned(), ..graph })
        .map_err(|error| error.in_file(name))
}

/// Whether a file is a dump of Charm++. The extension of a dump is the number of a step.
fn begins_as_dump(path: &Path) -> bool {
    let mut begin = [0; 4];
    // A pipe would lose the bytes that are read here.
    path.is_file()
        && input::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut begin)).is_ok()
        && charm::is_dump(&begin)
}

/// Reads a graph from a file's bytes.
///
/// # Errors
/// An error at the line that is wrong.
pub fn parse_graph(bytes: &[u8], format: GraphFormat) -> Result<TaskGraph, LocatedError> {
    let graph = match format {
        GraphFormat::Metis => metis::parse(bytes),
        GraphFormat::MatrixMarket => matrix_market::parse(bytes),
        GraphFormat::Edges => table(bytes),
        GraphFormat::Matrix => matrix(bytes),
        GraphFormat::Npy => npy::parse(bytes),
        GraphFormat::CharmLb => charm::parse(bytes),
    };
    graph.and_then(summable)
}

/// Reads a matrix, and names the form of lists in its errors.
fn matrix(bytes: &[u8]) -> Result<TaskGraph, LocatedError> {
    matrix::parse(bytes).map_err(|error| {
        let lists = "a .csv lists edges `from,to,bytes[,messages]` or is a matrix of a row a rank";
        LocatedError { message: format!("{}; {lists}", error.message), ..error }
    })
}

/// Reads an edge list, or a matrix if the table is not a list.
fn table(bytes: &[u8]) -> Result<TaskGraph, LocatedError> {
    rows::check_labels(bytes).map_err(|(line, message)| LocatedError::at(line, message))?;
    match rows::form(bytes, None) {
        Form::List => edges::parse(bytes),
        Form::Matrix => matrix(bytes),
        Form::Either => Err(LocatedError::new(
            "its three rows of three columns may be edges or a matrix: write `from,to,bytes` as the first line of a list, and \
             name a matrix .txt",
        )),
    }
}
