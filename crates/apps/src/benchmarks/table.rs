//! Table of a benchmark: a row for each size of messages or for each polling interval.

use std::sync::Arc;

use mpi::program::Programs;

/// Benchmark whose result is a table: its program, and the rows that its measurements fill.
#[derive(Clone, Debug)]
pub struct TableBenchmark {
    /// Name in the experiment file.
    pub kind: &'static str,
    /// Program of every rank. The keys of the intervals that ranks measure are indices of rows.
    pub programs: Arc<dyn Programs>,
    /// Number of participating ranks.
    pub ranks: u32,
    /// Rows of the table.
    pub rows: Vec<TableRow>,
}

/// Row of a table: the work between the begin and the end of a measured interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableRow {
    /// Size of a message, in bytes.
    pub bytes: u64,
    /// Number of measured iterations.
    pub repetitions: u32,
    /// Number of equal times that an iteration consists of, by which its time is divided: 2 if a message goes there and
    /// back.
    pub parts: u32,
    /// Bytes moved in an iteration, as the benchmark counts them: of all ranks together, or in a ring of one rank (sent
    /// and received). `None` if the benchmark has no bandwidth.
    pub moved: Option<u64>,
    /// Messages of all ranks together in an iteration. `None` if the benchmark has no message rate.
    pub messages: Option<u64>,
    /// Time between two polls in picoseconds, and number of polls of a rank. `None` unless the benchmark polls.
    pub polling: Option<(u64, u64)>,
}

/// Number of keys of a row of a polling benchmark: one for the calculation, and one for messages. Rows of other
/// benchmarks have one key.
pub const KEYS_OF_POLLING: u32 = 2;
