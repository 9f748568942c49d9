//! Benchmarks of two ranks that exchange messages: IMB's PingPong and PingPing, and the OSU benchmarks' latency.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError};

use super::sizes::{Smallest, check_pair, powers, repetition};
use super::table::{TableBenchmark, TableRow};
use super::timed::{At, Exercise, Timed};
use crate::motifs::ProgramContext;
use mpi::communicator::Group;
use mpi::program::{Action, ScriptCall};

/// Two ranks that exchange messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PairSpec {
    /// Sizes of messages; one row each. Default: the powers of two up to 4 MiB, and 0 B in IMB's benchmarks.
    #[schemars(extend("x-example" = "[\"0 B\", \"1 KiB\"]"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Bytes>>,
    /// Measured iterations for each size. A few are enough: in a simulation all iterations may take equal time.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repetitions: u32,
    /// Unmeasured warm-up iterations for each size, before the measured ones. They set up connections and register
    /// memory.
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
    /// Ranks of the pair. The first one measures the time. All other ranks are idle.
    #[schemars(length(min = 2, max = 2))]
    pub pair: [u32; 2],
}

impl Default for PairSpec {
    fn default() -> Self {
        Self { sizes: None, repetitions: 10, warm_up: 1, pair: [0, 1] }
    }
}

/// Messages of the two ranks in an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// The first rank sends, then the second one answers.
    InTurn,
    /// Both ranks send at once, then receive.
    AtOnce,
}

#[derive(Debug)]
struct Pair {
    pair: [u32; 2],
    exchange: Exchange,
}

impl Pair {
    fn other(&self, rank: u32) -> u32 {
        if rank == self.pair[0] { self.pair[1] } else { self.pair[0] }
    }
}

impl Exercise for Pair {
    fn call(&self, at: At, number: u32) -> Option<ScriptCall> {
        let other = self.other(at.rank);
        let send = ScriptCall::Do(Action::send(other, at.bytes, 0));
        let receive = ScriptCall::Do(Action::recv(Some(other), at.bytes, Some(0)));
        match (self.exchange, number) {
            (Exchange::InTurn, 0 | 2) => Some(if (at.rank == self.pair[0]) == (number == 0) { send } else { receive }),
            (Exchange::InTurn, 1 | 3) => Some(ScriptCall::WaitAll),
            (Exchange::AtOnce, 0) => Some(send),
            (Exchange::AtOnce, 1) => Some(receive),
            (Exchange::AtOnce, 2) => Some(ScriptCall::WaitAll),
            _ => None,
        }
    }

    fn messages(&self, at: At, visit: &mut dyn FnMut(u32, u64, u64)) {
        visit(self.other(at.rank), at.bytes, 1);
    }

    fn measures(&self, rank: u32) -> bool {
        rank == self.pair[0]
    }

    fn is_one_way(&self) -> bool {
        true
    }
}

/// Builds the benchmark with the name `kind`.
///
/// # Errors
/// [`KeyError`] for ranks that do not exist and for sizes out of range.
pub(super) fn build(
    spec: &PairSpec,
    (kind, exchange, smallest): (&'static str, Exchange, Smallest),
    context: &ProgramContext<'_>,
) -> Result<TableBenchmark, KeyError> {
    let ranks = context.node_of.len() as u32;
    check_pair(spec.pair, ranks)?;
    let sizes = spec.sizes.clone().unwrap_or_else(|| powers(smallest));
    let repetition = repetition(&sizes, (spec.repetitions, spec.warm_up), context.settle)?;
    let (parts, moved) = match exchange {
        Exchange::InTurn => (2, 2),
        Exchange::AtOnce => (1, 1),
    };
    let rows = Timed::rows(&repetition.sizes, spec.repetitions, |bytes| TableRow {
        parts,
        moved: Some(moved * bytes),
        ..TableRow::default()
    });
    let group = Group::list(spec.pair.to_vec());
    let programs = Timed::new(Pair { pair: spec.pair, exchange }, (ranks, group), repetition);
    Ok(TableBenchmark { kind, programs: std::sync::Arc::new(programs), ranks: 2, rows })
}
