//! What a user of this crate says of its files.

use serde::de::DeserializeOwned;

use super::schema::TableShape;
use super::sweep::Axis;
use super::tree::Table;

/// Keys of a file, and the rules among them that their schema does not state.
pub trait Language {
    /// The file at one point of its sweep.
    type Spec: DeserializeOwned;

    /// Keys whose values may name files. Included files name them relative to their own folder.
    const FILE_KEYS: &'static [&'static str];

    /// Returns the shape of a file; see [`crate::shape_of`].
    fn shape() -> &'static TableShape;

    /// Returns the name of a section that is missing although the shape does not require it.
    fn missing(root: &Table) -> Option<&'static str>;

    /// Writes the kinds that follow from other sections, before the default kinds.
    fn fill_kinds(root: &mut Table);

    /// Writes the values that follow from kinds, where the file has none.
    fn fill(root: &mut Table);

    /// Takes keys out of the sweep that a point determines by itself. Returns whether the axes have changed.
    fn prune(root: &mut Table, axes: &mut Vec<Axis>) -> bool;

    /// Returns the first pair of keys that are each valid but contradict one another: the path of the key to show, and
    /// the message.
    fn contradiction(spec: &Self::Spec) -> Option<(String, String)>;
}
