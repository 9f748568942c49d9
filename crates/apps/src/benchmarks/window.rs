//! Benchmarks with many outstanding messages: the bandwidths of the OSU benchmarks, and the streaming bandwidth and
//! message rate of Brightwell, Doerfler and Underwood ("A preliminary analysis of the InfiniPath and XD1 network
//! interfaces", section 3).
//!
//! A rank sends a window of messages to its partner. The partner has posted an equal number of receives and answers
//! when all messages have arrived.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, KeyError};

use super::sizes::{MOST_WINDOW, Smallest, check_pair, powers, repetition};
use super::table::{TableBenchmark, TableRow};
use super::timed::{At, Exercise, Timed};
use crate::motifs::ProgramContext;
use mpi::communicator::Group;
use mpi::program::{Action, Burst, ScriptCall};

/// Pair of ranks in which one rank, or both, send windows of messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WindowSpec {
    /// Sizes of messages; one row each. Default: the powers of two up to 4 MiB.
    #[schemars(extend("x-example" = "[\"8 B\", \"1 KiB\"]"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Bytes>>,
    /// Measured windows for each size.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repetitions: u32,
    /// Unmeasured warm-up windows for each size, before the measured ones.
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
    /// Number of messages that a rank sends before it waits for the answer. Default: 64; `streaming`: 160.
    #[schemars(range(min = 1, max = 1_048_576))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Size of the answer.
    pub answer_size: Bytes,
    /// Ranks of the pair. The first one sends first. All other ranks are idle.
    #[schemars(length(min = 2, max = 2))]
    pub pair: [u32; 2],
}

impl Default for WindowSpec {
    fn default() -> Self {
        Self { sizes: None, repetitions: 5, warm_up: 1, window: None, answer_size: Bytes(4), pair: [0, 1] }
    }
}

/// Pairs of ranks, in each of which one rank sends windows of messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ManyPairsSpec {
    /// Sizes of messages; one row each. Default: the powers of two up to 4 MiB.
    #[schemars(extend("x-example" = "[\"8 B\", \"1 KiB\"]"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<Bytes>>,
    /// Measured windows for each size.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub repetitions: u32,
    /// Unmeasured warm-up windows for each size, before the measured ones.
    #[schemars(range(max = 1_000_000))]
    pub warm_up: u32,
    /// Number of messages that a rank sends before it waits for the answer.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub window: u32,
    /// Size of the answer.
    pub answer_size: Bytes,
    /// Number of pairs. Rank i sends to rank i + `pairs`. Default: half of the ranks.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u32>,
}

impl Default for ManyPairsSpec {
    fn default() -> Self {
        Self { sizes: None, repetitions: 5, warm_up: 1, window: 64, answer_size: Bytes(4), pairs: None }
    }
}

/// Assignment of senders to receivers.
#[derive(Clone, Copy, Debug)]
enum Senders {
    /// Two ranks, the first of which sends. The flag tells whether the second one sends windows too.
    Pair([u32; 2], bool),
    /// Number of pairs. Rank i sends to the rank whose number is higher by the number of pairs.
    Many(u32),
}

impl Senders {
    /// Returns the partner of `rank`, whether `rank` sends windows, and whether it receives windows.
    fn of(self, rank: u32) -> (u32, bool, bool) {
        match self {
            Self::Pair([first, second], both) => {
                let is_first = rank == first;
                (if is_first { second } else { first }, both || is_first, both || !is_first)
            }
            Self::Many(pairs) if rank < pairs => (rank + pairs, true, false),
            Self::Many(pairs) => (rank - pairs, false, true),
        }
    }
}

/// Tag of the messages of a window.
const DATA: u32 = 0;
/// Tag of an answer.
const ANSWER: u32 = 1;

#[derive(Debug)]
struct Windows {
    senders: Senders,
    window: u32,
    answer: u64,
}

impl Exercise for Windows {
    fn call(&self, at: At, number: u32) -> Option<ScriptCall> {
        let (partner, sends, receives) = self.senders.of(at.rank);
        let burst = |first| ScriptCall::Burst(Burst { first, count: self.window, stride: 0 });
        let receive =
            |first: bool| (receives == first).then(|| burst(Action::recv(Some(partner), at.bytes, Some(DATA))));
        // Receives come first, then sends, then the wait. The second rank of a pair tells the first that all messages
        // have arrived.
        let steps = [
            receive(true),
            sends.then(|| burst(Action::send(partner, at.bytes, DATA))),
            Some(ScriptCall::WaitAll),
            Some(match self.answers(at.rank) {
                true => ScriptCall::Do(Action::send(partner, self.answer, ANSWER)),
                false => ScriptCall::Do(Action::recv(Some(partner), self.answer, Some(ANSWER))),
            }),
            Some(ScriptCall::WaitAll),
        ];
        steps.into_iter().flatten().nth(number as usize)
    }

    fn messages(&self, at: At, visit: &mut dyn FnMut(u32, u64, u64)) {
        let (partner, sends, _) = self.senders.of(at.rank);
        if sends {
            visit(partner, at.bytes, u64::from(self.window));
        }
        if self.answers(at.rank) {
            visit(partner, self.answer, 1);
        }
    }

    fn measures(&self, rank: u32) -> bool {
        !self.answers(rank)
    }

    fn is_one_way(&self) -> bool {
        true
    }
}

impl Windows {
    /// Returns whether a rank sends the answer, instead of waiting for it.
    fn answers(&self, rank: u32) -> bool {
        match self.senders {
            Senders::Pair(pair, _) => rank == pair[1],
            Senders::Many(pairs) => rank >= pairs,
        }
    }
}

/// Name and defaults of a benchmark of windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    /// Name in the experiment file.
    pub kind: &'static str,
    /// Whether both ranks send windows.
    pub both: bool,
    /// Default number of messages in a window.
    pub window: u32,
    /// Whether the table has a message rate.
    pub rates: bool,
}

fn check_window(window: u32, answer: Bytes) -> Result<(), KeyError> {
    if !(1..=MOST_WINDOW).contains(&window) {
        return Err(KeyError::new("window", format!("{window} is out of range: 1 to {MOST_WINDOW} are allowed")));
    }
    match answer.0 > 1 << 30 {
        true => Err(KeyError::new("answer_size", format!("{answer} is too large: at most 1 GiB is allowed"))),
        false => Ok(()),
    }
}

/// Builds the benchmark of two ranks.
///
/// # Errors
/// [`KeyError`] for ranks that do not exist and for sizes or windows out of range.
pub(super) fn build(spec: &WindowSpec, style: Style, context: &ProgramContext<'_>) -> Result<TableBenchmark, KeyError> {
    let ranks = context.node_of.len() as u32;
    check_pair(spec.pair, ranks)?;
    let window = spec.window.unwrap_or(style.window);
    check_window(window, spec.answer_size)?;
    let sizes = spec.sizes.clone().unwrap_or_else(|| powers(Smallest::Byte));
    let repetition = repetition(&sizes, (spec.repetitions, spec.warm_up), context.settle)?;
    let all = u64::from(window) * if style.both { 2 } else { 1 };
    let rows = rows(&repetition.sizes, spec.repetitions, (all, style.rates));
    let windows = Windows { senders: Senders::Pair(spec.pair, style.both), window, answer: spec.answer_size.0 };
    let programs = Timed::new(windows, (ranks, Group::list(spec.pair.to_vec())), repetition);
    Ok(TableBenchmark { kind: style.kind, programs: Arc::new(programs), ranks: 2, rows })
}

/// Builds the benchmark of many pairs.
///
/// # Errors
/// [`KeyError`] for more pairs than the ranks allow and for sizes or windows out of range.
pub(super) fn build_many(
    spec: &ManyPairsSpec,
    kind: &'static str,
    context: &ProgramContext<'_>,
) -> Result<TableBenchmark, KeyError> {
    let ranks = context.node_of.len() as u32;
    if ranks < 2 {
        return Err(KeyError::new("kind", format!("a benchmark of pairs needs two ranks, and there is {ranks}")));
    }
    let pairs = spec.pairs.unwrap_or(ranks / 2);
    if pairs == 0 || pairs > ranks / 2 {
        return Err(KeyError::new("pairs", format!("{pairs} pairs of {ranks} ranks: 1 to {} are allowed", ranks / 2)));
    }
    check_window(spec.window, spec.answer_size)?;
    let sizes = spec.sizes.clone().unwrap_or_else(|| powers(Smallest::Byte));
    let repetition = repetition(&sizes, (spec.repetitions, spec.warm_up), context.settle)?;
    let rows = rows(&repetition.sizes, spec.repetitions, (u64::from(spec.window) * u64::from(pairs), true));
    let windows = Windows { senders: Senders::Many(pairs), window: spec.window, answer: spec.answer_size.0 };
    let programs = Timed::new(windows, (ranks, Group::all(2 * pairs)), repetition);
    Ok(TableBenchmark { kind, programs: Arc::new(programs), ranks: 2 * pairs, rows })
}

fn rows(sizes: &[u64], repetitions: u32, (messages, rates): (u64, bool)) -> Vec<TableRow> {
    Timed::rows(sizes, repetitions, |bytes| TableRow {
        parts: 1,
        moved: Some(bytes.saturating_mul(messages)),
        messages: rates.then_some(messages),
        ..TableRow::default()
    })
}
