//! Traffic matrix: the weight of each pair of tasks is read from a CSV file.
//!
//! The file is either a list of rows `from,to,weight`, in which omitted pairs have weight 0, or a dense matrix with a
//! row per source and a column per destination. A first line `from,to,weight` (or `src,dst,weight`) marks a list.
//! Without it, a file with a column per task is a matrix. The dialect is that of task graphs (`formats::rows`), whose
//! lists are accepted unchanged.
//!
//! Only ratios matter: the source with the largest sum of weights offers the full load, and others in proportion
//! ([`Pattern::weight`]). A source of weight 0 does not send. A task may send to itself, through the network.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Draw, KeyError, KeyResult, TaskId};

use super::matrix_file::{self, Entry};
use crate::{Pattern, Shares};

/// Name in the experiment file.
pub const KIND: &str = "matrix";

/// Keys of `matrix`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MatrixSpec {
    /// CSV file: rows `from,to,weight`, or a matrix with a row per source and a column per destination. Relative to the
    /// experiment file.
    pub path: PathBuf,
}

/// Sparse matrix of probabilities. Takes 12 bytes per entry.
#[derive(Debug)]
pub struct Matrix {
    /// First entry of each source, and the number of entries.
    first: Vec<usize>,
    destinations: Vec<TaskId>,
    /// Cumulative probability of the entries of a row, up to and including this entry. 1 in the last entry of a row.
    cumulative: Vec<f64>,
    weights: Vec<f64>,
    notes: Vec<String>,
}

impl Matrix {
    /// Adds notes on omissions of the file's reader.
    #[must_use]
    pub fn with_notes(mut self, notes: &[String]) -> Self {
        self.notes.extend_from_slice(notes);
        self
    }

    /// Reads the matrix for `tasks` tasks. A relative path starts from `base`.
    ///
    /// # Errors
    /// If the file is absent, empty, not a text, too large or malformed. The message names file and line.
    pub fn read(spec: &MatrixSpec, tasks: u32, base: &Path) -> Result<Self, KeyError> {
        let path = base.join(&spec.path);
        let (entries, notes) = matrix_file::read(&path, tasks)?;
        let matrix =
            Self::new(&entries, tasks).and_then(|matrix| match matrix.weights.iter().any(|&weight| weight > 0.0) {
                true => Ok(matrix),
                false => Err("all weights are 0, so that no task sends".to_owned()),
            });
        let matrix = matrix.map_err(|why| matrix_file::refuse(format!("{}: {why}", path.display())))?;
        Ok(matrix.with_notes(notes.sentences()))
    }

    /// Creates a matrix from weights of pairs of tasks below `tasks`, in ascending order of source and destination,
    /// each pair once. Weights are positive.
    ///
    /// # Errors
    /// If the sum exceeds the largest double.
    pub fn of_pairs(pairs: impl Iterator<Item = (u32, u32, f64)>, tasks: u32) -> Result<Self, KeyError> {
        let entries: Vec<Entry> = pairs.map(|(src, dst, weight)| Entry { src, dst, weight }).collect();
        Self::new(&entries, tasks).at_key("graph")
    }

    /// Creates a matrix from entries of positive weight, in ascending order of source and destination. Without entries,
    /// no task sends.
    fn new(entries: &[Entry], tasks: u32) -> Result<Self, String> {
        let mut matrix = Self {
            first: vec![0],
            destinations: Vec::new(),
            cumulative: Vec::new(),
            weights: Vec::new(),
            notes: Vec::new(),
        };
        let mut rest = entries;
        for src in 0..tasks {
            let (row, after) = rest.split_at(rest.partition_point(|entry| entry.src == src));
            rest = after;
            matrix.add_row(row);
        }
        let largest = matrix.weights.iter().copied().fold(0.0, f64::max);
        if largest.is_infinite() {
            return Err("the weights of a source add up to more than 1e308; scale them down".to_owned());
        }
        if largest > 0.0 {
            matrix.weights.iter_mut().for_each(|weight| *weight /= largest);
        }
        Ok(matrix)
    }

    fn add_row(&mut self, row: &[Entry]) {
        let total: f64 = row.iter().map(|entry| entry.weight).sum();
        let mut sum = 0.0;
        for entry in row {
            sum += entry.weight;
            self.destinations.push(TaskId(entry.dst));
            self.cumulative.push(sum / total);
        }
        self.first.push(self.destinations.len());
        self.weights.push(total);
    }

    fn row(&self, src: TaskId) -> std::ops::Range<usize> {
        self.first[src.index()]..self.first[src.index() + 1]
    }
}

impl Pattern for Matrix {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn sends(&self, src: TaskId) -> bool {
        self.weights[src.index()] > 0.0
    }

    fn destination(&self, src: TaskId, draw: &mut dyn Draw) -> TaskId {
        let row = self.row(src);
        let drawn = draw.unit();
        let place = self.cumulative[row.clone()].partition_point(|&up_to| up_to <= drawn);
        self.destinations[row.start + place]
    }

    fn shares(&self, src: TaskId) -> Shares {
        if !self.sends(src) {
            return Shares::default();
        }
        let mut before = 0.0;
        let part = |place: usize| {
            let part = self.cumulative[place] - before;
            before = self.cumulative[place];
            (self.destinations[place], part)
        };
        Shares::of_single(self.row(src).map(part).collect())
    }

    fn weight(&self, src: TaskId) -> f64 {
        self.weights[src.index()]
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
