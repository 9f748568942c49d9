//! Benchmarks of all ranks in a ring: IMB's Sendrecv, in which each rank sends to the next, and Exchange, in which each
//! rank sends to both neighbours.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError};

use super::sizes::{Smallest, powers, repetition};
use super::table::{TableBenchmark, TableRow};
use super::timed::{At, Exercise, Timed};
use crate::motifs::ProgramContext;
use mpi::communicator::Group;
use mpi::program::{Action, ScriptCall};

/// All ranks, which exchange messages with their neighbours in a ring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RingSpec {
    /// Sizes of messages; one row each. Default: 0 B and the powers of two up to 4 MiB.
    #[schemars(extend("x-example" = "[\"0 B\", \"1 KiB\"]"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Bytes>>,
    /// Measured iterations for each size.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repetitions: u32,
    /// Unmeasured warm-up iterations for each size, before the measured ones.
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
}

impl Default for RingSpec {
    fn default() -> Self {
        Self { sizes: None, repetitions: 10, warm_up: 1 }
    }
}

/// Neighbours that a rank sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Neighbours {
    /// Next rank. Messages come from the previous rank.
    Next,
    /// Both neighbours, in both directions.
    Both,
}

#[derive(Debug)]
struct Ring(Neighbours);

/// Returns the next rank and the previous rank in the ring.
fn around(at: At) -> (u32, u32) {
    ((at.rank + 1) % at.ranks, (at.rank + at.ranks - 1) % at.ranks)
}

impl Exercise for Ring {
    fn call(&self, at: At, number: u32) -> Option<ScriptCall> {
        let (next, before) = around(at);
        let send = |to, tag| Some(ScriptCall::Do(Action::send(to, at.bytes, tag)));
        let receive = |from, tag| Some(ScriptCall::Do(Action::recv(Some(from), at.bytes, Some(tag))));
        // Tags distinguish the two directions in a ring of two ranks.
        match (self.0, number) {
            (Neighbours::Next, 0) => send(next, 0),
            (Neighbours::Next, 1) => receive(before, 0),
            // As in IMB: non-blocking sends, then receives.
            (Neighbours::Both, 0) => send(next, 0),
            (Neighbours::Both, 1) => send(before, 1),
            (Neighbours::Both, 2) => receive(before, 0),
            (Neighbours::Both, 3) => receive(next, 1),
            (Neighbours::Next, 2) | (Neighbours::Both, 4) => Some(ScriptCall::WaitAll),
            _ => None,
        }
    }

    fn messages(&self, at: At, visit: &mut dyn FnMut(u32, u64, u64)) {
        let (next, before) = around(at);
        visit(next, at.bytes, 1);
        if self.0 == Neighbours::Both {
            visit(before, at.bytes, 1);
        }
    }

    fn measures(&self, _rank: u32) -> bool {
        true
    }
}

/// Builds the benchmark with the name `kind`.
///
/// # Errors
/// [`KeyError`] for fewer than two ranks and for sizes out of range.
pub(super) fn build(
    spec: &RingSpec,
    (kind, neighbours): (&'static str, Neighbours),
    context: &ProgramContext<'_>,
) -> Result<TableBenchmark, KeyError> {
    let ranks = context.node_of.len() as u32;
    if ranks < 2 {
        return Err(KeyError::new("kind", format!("a benchmark of neighbours needs two ranks, and there is {ranks}")));
    }
    let sizes = spec.sizes.clone().unwrap_or_else(|| powers(Smallest::Empty));
    let repetition = repetition(&sizes, (spec.repetitions, spec.warm_up), context.settle)?;
    // Bytes of one rank, sent and received.
    let moved = if neighbours == Neighbours::Both { 4 } else { 2 };
    let rows = Timed::rows(&repetition.sizes, spec.repetitions, |bytes| TableRow {
        parts: 1,
        moved: Some(moved * bytes),
        ..TableRow::default()
    });
    let programs = Timed::new(Ring(neighbours), (ranks, Group::all(ranks)), repetition);
    Ok(TableBenchmark { kind, programs: Arc::new(programs), ranks, rows })
}
