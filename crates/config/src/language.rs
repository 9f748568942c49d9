//! What a user of this crate says of its files.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::schema::TableShape;
use super::sweep::Axis;
use super::tree::Table;

/// A fact about a file that rules of the schema name, because no single key states it.
#[derive(Debug)]
pub struct Fact<T> {
    /// The fact as a noun phrase, as rules name it.
    pub phrase: &'static str,
    /// Remedy where the fact is required, as one sentence without a full stop. Empty if the phrase says it.
    pub help: &'static str,
    /// Returns whether the fact holds at a point.
    pub holds: fn(&T) -> bool,
}

/// A fault of a file that a language finds by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path of the key at fault.
    pub path: String,
    /// Fault, as one sentence without a full stop.
    pub message: String,
    /// Name at fault, as written.
    pub written: String,
    /// Names that are allowed in its place.
    pub allowed: Vec<String>,
}

/// Keys of a file, and the rules among them that their schema does not state.
pub trait Language {
    /// The file at one point of its sweep.
    type Spec: DeserializeOwned + Serialize + 'static;

    /// Keys whose values may name files. Included files name them relative to their own folder.
    const FILE_KEYS: &'static [&'static str];

    /// Facts that rules of the schema name.
    const FACTS: &'static [Fact<Self::Spec>];

    /// Returns the shape of a file; see [`crate::shape_of`].
    fn shape() -> &'static TableShape;

    /// Returns the name of a section that is missing although the shape does not require it.
    fn missing(root: &Table) -> Option<&'static str>;

    /// Writes sections in full that may be written as short names, and the values and kinds that follow from other
    /// sections, before the default kinds.
    ///
    /// # Errors
    /// A short name that is none, or a key from which nothing can follow.
    fn fill_kinds(root: &mut Table) -> Result<(), Fault>;

    /// Returns the names of tables that `fill_kinds` adds to the list `section`. Options and sweeps may set their keys.
    fn implied(root: &Table, section: &str) -> Vec<String>;

    /// Writes the values that follow from kinds, where the file has none.
    fn fill(root: &mut Table);

    /// Takes keys out of the sweep that a point determines by itself. Returns whether the axes have changed.
    fn prune(root: &mut Table, axes: &mut Vec<Axis>) -> bool;

    /// Returns the first contradiction that no rule of the schema states: the path of the key to show, and the message.
    fn contradiction(spec: &Self::Spec) -> Option<(String, String)>;
}
