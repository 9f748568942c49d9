//! Configuration language: TOML files with included files, swept keys, and options that override them.
//!
//! A [`Language`] names the keys of a file by the JSON Schema of a Rust type. [`File::load`] compares a file with it
//! and yields one typed value for each point of the sweep. Every error has its line, its key and the allowed values.
//! The crate itself has the keys `include`, `exclude`, `seeds` and `sweep`.

#![forbid(unsafe_code)]

mod error;
mod file;
mod include;
mod kinds;
mod language;
mod locate;
mod place;
mod range;
mod reference;
mod schema;
mod seeds;
mod sweep;
mod tree;
mod validate;

pub use error::{Diagnosis, ExperimentError, Position};
pub use file::{File, Loaded, Point, Swept};
pub use include::MAX_FILE;
pub use language::Language;
pub use place::Place;
pub use range::MAX_POINTS;
pub use reference::{KeyDoc, SectionDoc, ValueDoc, reference};
pub use schema::{TableShape, schema, shape_of};
pub use sweep::{Axis, SweptKey};
pub use tree::{Entry, Node, Table, Value};
