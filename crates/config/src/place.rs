//! Places in the texts that a file is read from.

use std::ops::Range;

/// A part of a text: of the main file (source 0), of a file that it includes, or of an option that overrides them.
/// Sources are numbered in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub(crate) source: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Place {
    /// Creates the place of `span`. Texts are far shorter than 4 GiB, since the loader refuses longer ones.
    pub(crate) fn new(source: usize, span: Range<usize>) -> Self {
        Self { source: source as u32, start: span.start as u32, end: span.end as u32 }
    }
}
