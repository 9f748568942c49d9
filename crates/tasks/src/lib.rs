//! Task graphs: messages between the tasks of an application in a step, and the computation of each task.
//!
//! A graph is directed: an arc holds the messages from one task to another in one step of a phase. Undirected weights
//! of a source (METIS) become equal bytes in both directions.

#![forbid(unsafe_code)]

pub mod generators;
mod graph;
mod limits;
mod readers;
mod several;
mod spec;

pub use graph::{ArcList, Arcs, GraphError, Group, GroupKind, MAX_ARCS, MAX_TASKS, Phase, TaskArray, TaskGraph};
pub use readers::{GraphFormat, parse_graph, read_graph, write_metis};
pub use several::{beside, combine};
pub use spec::{GraphFileSpec, GraphSpec, shuffled};
