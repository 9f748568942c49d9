//! Task graphs: what the tasks of an application send to one another in a step, and how much each computes.
//!
//! A graph is directed: an arc is what one task sends another in one step of a phase. Where a source gives undirected
//! weights (METIS), an edge has as many bytes in each direction.

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
