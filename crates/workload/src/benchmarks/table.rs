//! What a benchmark's table is made of: a row for each size of messages, or for each interval of polling.

use std::sync::Arc;

use crate::program::Programs;

/// A benchmark whose result is a table: its program, and how its rows follow from what ranks measure.
#[derive(Clone, Debug)]
pub struct TableBenchmark {
    /// Its name in the experiment file.
    pub kind: &'static str,
    /// What every rank does. What a rank measures has the number of its row as key.
    pub programs: Arc<dyn Programs>,
    /// The ranks that take part.
    pub ranks: u32,
    /// The rows.
    pub rows: Vec<TableRow>,
}

/// A row of a table: what is done between the begin and the end of what ranks measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableRow {
    /// Bytes of a message.
    pub bytes: u64,
    /// Iterations.
    pub repetitions: u32,
    /// The times of which an iteration consists, which is divided by it: 2 of a message that goes there and back.
    pub parts: u32,
    /// Bytes that all ranks together move in an iteration, as the benchmark counts them; none if it has no bandwidth.
    pub moved: Option<u64>,
    /// Messages of all ranks together in an iteration, of benchmarks with a rate of messages.
    pub messages: Option<u64>,
    /// Of polling: the time between two polls in picoseconds, and how often a rank polls.
    pub polling: Option<(u64, u64)>,
}

/// The key of what a rank measures of a row; of polling there are two: its calculation, and messages.
pub const KEYS_OF_POLLING: u32 = 2;
