#![doc = include_str!("../README.md")]
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
mod relations;
mod rule;
mod schema;
mod seeds;
mod sweep;
mod tree;
mod validate;

pub use error::{Diagnosis, ExperimentError, Position};
pub use file::{File, Loaded, Point, Swept};
pub use include::MAX_FILE;
pub use kinds::{fill_section, only_kind};
pub use language::{Fact, Fault, Language};
pub use place::Place;
pub use range::MAX_POINTS;
pub use reference::{KeyDoc, SectionDoc, ValueDoc, reference};
pub use schema::{TableShape, schema, shape_of};
pub use sweep::{Axis, SweptKey};
pub use tree::{Entry, Node, Table, Value};
