#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod generators;
mod graph;
mod limits;
mod readers;
mod several;
mod spec;

pub use graph::{ArcList, Arcs, Group, GroupKind, MAX_ARCS, MAX_TASKS, Phase, TaskArray, TaskGraph};
pub use readers::{GraphFormat, parse_graph, read_graph, write_metis};
pub use several::{beside, combine};
pub use spec::{GraphFileSpec, GraphSpec, shuffled};
